//! Tests that pass.

use std::time::{Duration, Instant};

use wardian_acceptance::{
    AcceptanceTest, ExpectedAction, ExpectedDiagnostic, PlanCheck, StateCheck, Step, json,
};
use wardian_sdk::log::Level;
use wardian_sdk::testing::{CapturedLogs, TestClock};

use crate::cloud::{FakeCloud, TOKEN, server, with_provider};

#[test]
fn server_is_created_changed_and_replaced() {
    let cloud = FakeCloud::default();
    let after = cloud.clone();
    cloud
        .test()
        .step(
            Step::apply(server("name = \"a\"\nsize = 8"))
                .expect_plan(PlanCheck::action("cloud_server.web", ExpectedAction::Create))
                .expect_plan(PlanCheck::known("cloud_server.web", "size", json!(8)))
                .expect_plan(PlanCheck::unknown("cloud_server.web", "id"))
                .expect_plan(PlanCheck::changes(1))
                .check(StateCheck::value("cloud_server.web", "size", json!(8)))
                .check(StateCheck::matches("cloud_server.web", "id", "^srv-[0-9]+$"))
                .check(StateCheck::set("cloud_server.web", "address"))
                .check(StateCheck::null("cloud_server.web", "zone"))
                .check(StateCheck::objects(1)),
        )
        .step(
            Step::apply(server("name = \"a\"\nsize = 16"))
                .expect_plan(PlanCheck::action("cloud_server.web", ExpectedAction::Update))
                .check(StateCheck::unchanged("cloud_server.web", "id"))
                .check(StateCheck::changed("cloud_server.web", "size")),
        )
        .step(
            Step::apply(server("name = \"b\"\nsize = 16"))
                .expect_plan(PlanCheck::replaced_because_of("cloud_server.web", "name"))
                .check(StateCheck::changed("cloud_server.web", "id")),
        )
        .step(Step::plan(server("name = \"b\"\nsize = 16")).expect_plan(PlanCheck::empty()))
        .step(
            Step::destroy()
                .expect_plan(PlanCheck::action("cloud_server.web", ExpectedAction::Delete))
                .check(StateCheck::absent("cloud_server.web"))
                .check(StateCheck::objects(0)),
        )
        .check_destroy(move |state| {
            assert_eq!(state.managed().collect::<Vec<_>>(), ["cloud_server.web"]);
            let left = after.lock().all.len();
            if left == 0 { Ok(()) } else { Err(format!("{left} servers exist")) }
        })
        .run();
}

#[test]
fn objects_are_destroyed_at_the_end() {
    let cloud = FakeCloud::default();
    cloud.test().step(Step::apply(server("name = \"a\"\nsize = 8"))).run();
    assert!(cloud.lock().all.is_empty());
}

#[test]
fn waits_take_no_time() {
    let cloud = FakeCloud::default();
    cloud.lock().boot_reads = 10;
    let (clock, logs, start) = (TestClock::new(), CapturedLogs::new(), Instant::now());
    cloud
        .test()
        .clock(&clock)
        .logs(&logs)
        .step(
            Step::apply(server("name = \"a\"\nsize = 8"))
                .check(StateCheck::set("cloud_server.web", "address")),
        )
        .run();
    assert_eq!(clock.elapsed(), Duration::from_mins(5));
    assert!(start.elapsed() < Duration::from_mins(2));
    logs.assert_contains(Level::Debug, "POST https://api.cloud.example/servers");
    logs.assert_lacks(TOKEN);
}

#[test]
fn variables_outputs_and_several_providers() {
    let configuration = with_provider(
        r#"
variable "sizes" { type = map(number) }
resource "random_pet" "name" { length = 2 }
data "cloud_zone" "a" { name = "a" }
resource "cloud_server" "web" {
  for_each = var.sizes
  name     = "${random_pet.name.id}-${each.key}"
  size     = each.value
  zone     = data.cloud_zone.a.name
}
output "addresses" { value = [for server in cloud_server.web : server.address] }
output "region" { value = data.cloud_zone.a.region }
"#,
    );
    FakeCloud::default()
        .test()
        .provider(wardian_provider_random::provider)
        .step(
            Step::apply(configuration)
                .variable("sizes", json!({ "one": 1, "two": 2 }))
                .expect_plan(PlanCheck::changes(3))
                .expect_plan(PlanCheck::output("region", json!("region of a")))
                .expect_plan(PlanCheck::unknown("cloud_server.web[\"one\"]", "name"))
                .check(StateCheck::value("cloud_server.web[\"two\"]", "size", json!(2)))
                .check(StateCheck::output("region", json!("region of a")))
                .check(StateCheck::custom(|state| {
                    let pet = state.text("random_pet.name", "id")?;
                    let name = state.text("cloud_server.web[\"one\"]", "name")?;
                    if name == format!("{pet}-one") {
                        Ok(())
                    } else {
                        Err(format!("{name} is not {pet}-one"))
                    }
                })),
        )
        .step(Step::destroy().variable("sizes", json!({ "one": 1, "two": 2 })).check(StateCheck::objects(0)))
        .run();
}

#[test]
fn modules_and_same_values() {
    FakeCloud::default()
        .test()
        .step(
            Step::apply(with_provider("module \"web\" { source = \"./web\" }"))
                .file("web/main.tf", "resource \"cloud_server\" \"a\" {\n  name = \"a\"\n  size = 1\n}")
                .check(StateCheck::same(
                    ("module.web.cloud_server.a", "name"),
                    ("module.web.cloud_server.a", "name"),
                )),
        )
        .run();
}

#[test]
fn expected_errors_name_attribute_and_address() {
    FakeCloud::default()
        .test()
        .step(
            Step::plan(server("name = \"\"\nsize = 0"))
                .expect_error(ExpectedDiagnostic::any().at("name").for_address("cloud_server.web"))
                .expect_error(ExpectedDiagnostic::matching("(?s)Invalid.*0").at("size")),
        )
        .step(
            Step::apply(server("name = \"taken\"\nsize = 1"))
                .expect_error(
                    ExpectedDiagnostic::containing("Name in use").and_containing("already").at("name"),
                )
                .check(StateCheck::objects(0)),
        )
        .step(Step::apply(server("name = \"a\"\nsize = 2000")).expect_warning("Large server"))
        .run();
}

#[test]
fn objects_are_imported_by_each_key() {
    let cloud = FakeCloud::default();
    let second = cloud.clone();
    cloud
        .test()
        .step(
            Step::apply(server("name = \"a\"\nsize = 8\npassword = \"hunter2\""))
                .check(StateCheck::identity("cloud_server.web", json!({ "id": "srv-1" }))),
        )
        .step(Step::import("cloud_server.web").ignore("password"))
        .step(Step::import("cloud_server.web").by_identity().ignore("password"))
        .step(Step::import("cloud_server.web").by_id("name=a").ignore("password"))
        .step(
            Step::import("cloud_server.web")
                .before(move || {
                    second
                        .lock()
                        .all
                        .insert("srv-9".to_owned(), json!({ "id": "srv-9", "name": "a", "size": 1 }));
                })
                .by_id("name=a")
                .expect_error(
                    ExpectedDiagnostic::containing("Import key not unique").and_containing("srv-1, srv-9"),
                ),
        )
        .step(Step::import("cloud_server.web").by_id("srv-7").expect_error("Server not found"))
        .run();
}

#[test]
fn recorded_state_survives_a_panic() {
    let cloud = FakeCloud::default();
    cloud
        .test()
        .step(
            Step::apply(server("name = \"recorded\"\nsize = 8"))
                .expect_error("Provider panicked")
                .check(StateCheck::value("cloud_server.web", "id", json!("srv-1"))),
        )
        .run();
    assert!(cloud.lock().all.is_empty(), "the recorded object is destroyed");
}

#[test]
fn drift_is_found_by_refresh() {
    let cloud = FakeCloud::default();
    let (changed, deleted) = (cloud.clone(), cloud.clone());
    cloud
        .test()
        .step(Step::apply(server("name = \"a\"\nsize = 8")))
        .step(
            Step::refresh()
                .before(move || changed.lock().all.values_mut().for_each(|server| server["size"] = json!(9)))
                .check(StateCheck::value("cloud_server.web", "size", json!(9))),
        )
        .step(
            Step::refresh()
                .before(move || deleted.lock().all.clear())
                .check(StateCheck::absent("cloud_server.web")),
        )
        .step(
            Step::apply(server("name = \"a\"\nsize = 8"))
                .expect_plan(PlanCheck::action("cloud_server.web", ExpectedAction::Create)),
        )
        .run();
}

#[test]
fn required_providers_and_functions_are_accepted() {
    let configuration = r#"
terraform {
  required_providers { random = { source = "example.com/acme/random" } }
}
resource "random_integer" "a" {
  min = 1
  max = 1
}
ephemeral "random_password" "b" { length = 8 }
"#;
    AcceptanceTest::new(wardian_provider_random::provider)
        .step(Step::apply(configuration).check(StateCheck::value("random_integer.a", "result", json!(1))))
        .run();
}
