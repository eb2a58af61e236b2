//! Steps that run lists and invoke actions.

use wardian_acceptance::{ExpectedDiagnostic, PlanCheck, QueryCheck, StateCheck, Step, json};

use crate::cloud::{FakeCloud, with_provider};

const SERVERS: &str = r#"
resource "cloud_server" "web" {
  name = "a"
  size = 8
}

resource "cloud_server" "large" {
  name = "b"
  size = 64
}

action "cloud_restart" "web" {
  config {
    server = cloud_server.web.id
  }
}

action "cloud_restart" "absent" {
  config {
    server = "srv-99"
  }
}
"#;

const TRIGGER: &str = r#"
resource "cloud_server" "web" {
  name = "a"
  size = 8

  lifecycle {
    action_trigger {
      events  = [after_create]
      actions = [action.cloud_restart.web]
    }
  }
}

action "cloud_restart" "web" {
  config {
    server = cloud_server.web.id
  }
}
"#;

fn servers() -> Step {
    Step::apply(with_provider(SERVERS))
}

fn query(arguments: &str) -> Step {
    Step::query(format!("list \"cloud_server\" \"all\" {{\n  provider = cloud\n{arguments}\n}}\n"))
}

#[test]
fn lists_find_objects() {
    FakeCloud::default()
        .test()
        .step(servers())
        .step(
            query("")
                .expect_found(QueryCheck::count("list.cloud_server.all", 2))
                .expect_found(QueryCheck::named("list.cloud_server.all", "Server a"))
                .expect_found(QueryCheck::identity("list.cloud_server.all", json!({ "id": "srv-1" })))
                .check(StateCheck::objects(2)),
        )
        .step(
            query("include_resource = true\n  config {\n    min_size = 9\n  }")
                .expect_found(QueryCheck::count("list.cloud_server.all", 1))
                .expect_found(QueryCheck::object("list.cloud_server.all", "Server b", "size", json!(64))),
        )
        .step(
            query("config {\n    min_size = 0\n  }")
                .expect_error(ExpectedDiagnostic::containing("at least 1").at("min_size")),
        )
        .run();
}

#[test]
fn actions_report_progress_and_errors() {
    let cloud = FakeCloud::default();
    cloud
        .test()
        .step(servers())
        .step(
            Step::invoke("action.cloud_restart.web")
                .expect_progress("action.cloud_restart.web", "stop srv-")
                .expect_progress("action.cloud_restart.web", "start srv-")
                .expect_plan(PlanCheck::changes(0)),
        )
        .step(Step::invoke("action.cloud_restart.absent").expect_error("There is no server \"srv-99\""))
        .step(
            Step::apply(with_provider(TRIGGER))
                .expect_progress("action.cloud_restart.web", "start")
                .before(|| ()),
        )
        .try_run()
        .unwrap_err();
    // An apply that changes nothing triggers no action, so the last step has failed.
    FakeCloud::default()
        .test()
        .step(Step::apply(with_provider(TRIGGER)).expect_progress("action.cloud_restart.web", "start srv-1"))
        .run();
}

#[test]
fn failed_checks_name_what_was_found() {
    let failure = |step: Step| {
        let test = FakeCloud::default().test().step(servers()).step(step);
        test.try_run().unwrap_err().to_string()
    };
    let list = "list.cloud_server.all";
    for (step, expected) in [
        (query("").expect_found(QueryCheck::count(list, 3)), "found 2 objects, expected 3: \"Server "),
        (
            query("").expect_found(QueryCheck::named(list, "Server c")),
            "no object with the name \"Server c\", only",
        ),
        (
            query("").expect_found(QueryCheck::identity(list, json!({ "id": "srv-3" }))),
            "no object with the identity {\"id\":\"srv-3\"}, only",
        ),
        (
            query("").expect_found(QueryCheck::object(list, "Server a", "size", json!(8))),
            "add include_resource = true",
        ),
        (
            query("include_resource = true").expect_found(QueryCheck::object(
                list,
                "Server a",
                "size",
                json!(9),
            )),
            "size of \"Server a\" is 8, expected 9",
        ),
        (
            query("").expect_found(QueryCheck::count("list.cloud_server.al", 2)),
            "the query has no list.cloud_server.al, only list.cloud_server.all",
        ),
        (
            Step::invoke("action.cloud_restart.web").expect_progress("action.cloud_restart.web", "rebooted"),
            "reported no message with \"rebooted\", only \"stop srv-",
        ),
        (
            Step::invoke("action.cloud_restart.web").expect_progress("action.cloud_restart.large", "start"),
            "action.cloud_restart.large was not invoked, only action.cloud_restart.web",
        ),
        (Step::invoke("cloud_restart.web"), "the address of the action is not valid"),
        (Step::invoke("action.cloud_restart.missing"), "action.cloud_restart.missing"),
    ] {
        let text = failure(step);
        assert!(text.contains(expected), "expected: {expected}\nfound: {text}");
        assert!(text.contains("step 2 of 2"), "{text}");
    }
}
