//! The messages of tests that fail.

use wardian_acceptance::{AcceptanceTest, ExpectedAction, PlanCheck, StateCheck, Step, json};

use crate::cloud::{FakeCloud, server, with_provider};

/// Returns the message of a test, without the positions in this file.
fn failure(test: AcceptanceTest) -> String {
    let text = test.try_run().expect_err("the test must fail").to_string();
    let mut lines = Vec::new();
    for line in text.lines() {
        match line.split_once("failures.rs:") {
            Some((before, after)) => {
                let before = before.rsplit_once(", ").map_or(before, |(before, _)| before);
                let after = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
                lines.push(format!("{before}, FILE:LINE{after}"));
            }
            None => lines.push(line.to_owned()),
        }
    }
    lines.join("\n")
}

fn web() -> Step {
    Step::apply(server("name = \"a\"\nsize = 8"))
}

#[test]
fn step_that_fails_in_the_middle_is_destroyed() {
    let cloud = FakeCloud::default();
    let test = cloud.test().step(web()).step(Step::apply(server("name = \"taken\"\nsize = 8"))).step(web());
    insta::assert_snapshot!(failure(test));
    assert!(cloud.lock().all.is_empty());
}

#[test]
fn failed_destroy_is_reported_too() {
    let cloud = FakeCloud::default();
    cloud.lock().is_protected = true;
    let test = cloud.test().step(web().check(StateCheck::value("cloud_server.web", "size", json!(9))));
    insta::assert_snapshot!(failure(test));
}

#[test]
fn configuration_that_does_not_parse_shows_its_line() {
    let test =
        FakeCloud::default().test().step(Step::apply("resource \"cloud_server\" \"web\" {\n  name = \n}\n"));
    insta::assert_snapshot!(failure(test));
}

#[test]
fn plan_after_apply_that_is_not_empty() {
    let cloud = FakeCloud::default();
    cloud.lock().rounds_sizes = true;
    insta::assert_snapshot!(failure(cloud.test().step(web())));
    cloud.test().step(web().without_idempotence_check()).run();
}

#[test]
fn provider_that_panics() {
    let test = FakeCloud::default().test().step(Step::apply(with_provider(
        "resource \"cloud_server\" \"web\" {\n  name = \"panic\"\n  size = 1\n}\nresource \"cloud_server\" \
         \"other\" {\n  name = \"b\"\n  size = 1\n}\n",
    )));
    insta::assert_snapshot!(failure(test));
}

#[test]
fn checks_that_fail() {
    let test = FakeCloud::default().test().step(
        web()
            .expect_plan(PlanCheck::action("cloud_server.web", ExpectedAction::Update))
            .expect_plan(PlanCheck::known("cloud_server.web", "id", json!("srv-1")))
            .expect_plan(PlanCheck::unknown("cloud_server.web", "size"))
            .expect_plan(PlanCheck::changes(2))
            .expect_plan(PlanCheck::empty())
            .expect_plan(PlanCheck::action("cloud_server.wbe", ExpectedAction::Create))
            .expect_plan(PlanCheck::replaced_because_of("cloud_server.web", "name"))
            .expect_plan(PlanCheck::output("name", json!("a"))),
    );
    insta::assert_snapshot!(failure(test));
    let test = FakeCloud::default().test().step(
        Step::apply(server("name = \"a\"\nsize = 8\npassword = \"hunter2\""))
            .check(StateCheck::value("cloud_server.web", "size", json!("8")))
            .check(StateCheck::value("cloud_server.web", "password", json!("hunter3")))
            .check(StateCheck::value("cloud_server.web", "colour", json!("red")))
            .check(StateCheck::value("cloud_server.web", "disk[", json!(1)))
            .check(StateCheck::matches("cloud_server.web", "id", "^[a-z]+$"))
            .check(StateCheck::matches("cloud_server.web", "id", "("))
            .check(StateCheck::identity("cloud_server.web", json!({ "id": "srv-2" })))
            .check(StateCheck::objects(2))
            .check(StateCheck::custom(|_| panic!("an assertion of the test"))),
    );
    insta::assert_snapshot!(failure(test));
}

#[test]
fn expected_error_that_does_not_occur() {
    let test = FakeCloud::default().test().step(
        Step::plan(server("name = \"a\"\nsize = 0")).expect_error("must be greater").expect_error("no such"),
    );
    insta::assert_snapshot!(failure(test));
    let test = FakeCloud::default().test().step(web().expect_error("no such"));
    insta::assert_snapshot!(failure(test));
}

#[test]
fn imported_object_that_differs() {
    let test = FakeCloud::default()
        .test()
        .step(Step::apply(server("name = \"a\"\nsize = 8\npassword = \"hunter2\"")))
        .step(Step::import("cloud_server.web"));
    insta::assert_snapshot!(failure(test));
    insta::assert_snapshot!(failure(
        FakeCloud::default().test().step(web()).step(Step::import("cloud_server.b"))
    ));
}

#[test]
fn mistakes_in_the_test_itself() {
    let first = FakeCloud::default().test().step(Step::refresh());
    insta::assert_snapshot!(failure(first));
    let unknown = FakeCloud::default().test().step(Step::plan("resource \"dns_record\" \"a\" {}"));
    insta::assert_snapshot!(failure(unknown));
    let pattern = wardian_acceptance::ExpectedDiagnostic::matching("(");
    insta::assert_snapshot!(failure(FakeCloud::default().test().step(web().expect_error(pattern))));
    let variable = FakeCloud::default().test().step(web().variable("size", json!(1)));
    insta::assert_snapshot!(failure(variable));
}

#[test]
fn objects_that_remain_at_the_service() {
    let test = FakeCloud::default().test().step(web()).check_destroy(|state| {
        Err(format!("{} still exists", state.managed().collect::<Vec<_>>().join(", ")))
    });
    insta::assert_snapshot!(failure(test));
}
