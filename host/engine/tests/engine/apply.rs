//! The state after an apply, especially after errors.

use wardian_engine::PlanOptions;
use wardian_state::State;

use crate::fixture::{Fixture, addresses};

fn object(state: &State, address: &str) -> std::sync::Arc<wardian_state::Object> {
    state.current(&address.parse().unwrap()).cloned().unwrap_or_else(|| panic!("no {address}"))
}

#[test]
fn apply_stores_private_data_and_dependencies() {
    let mut fixture = Fixture::new();
    fixture.apply(
        r#"
        resource "memory_thing" "a" { name = "a" }
        resource "memory_thing" "b" { name = memory_thing.a.id }
        resource "memory_thing" "c" { name = memory_thing.b.id }
        "#,
    );
    let c = object(&fixture.state, "memory_thing.c");
    assert_eq!(&*c.private, b"applied");
    let dependencies: Vec<String> = c.dependencies.iter().map(ToString::to_string).collect();
    assert_eq!(dependencies, ["memory_thing.a", "memory_thing.b"]);
}

#[test]
fn apply_continues_independent_changes_after_failure() {
    let mut fixture = Fixture::new();
    let errors = fixture.apply_errors(
        r#"
        resource "memory_thing" "bad" {
          name     = "bad"
          mischief = "fail"
        }
        resource "memory_thing" "behind" { name = memory_thing.bad.id }
        resource "memory_thing" "good"   { name = "good" }
        "#,
    );
    assert!(errors.contains("The thing broke."), "{errors}");
    assert_eq!(addresses(&fixture.state), ["memory_thing.good"]);
}

#[test]
fn failed_create_is_tainted_and_replaced() {
    let mut fixture = Fixture::new();
    let broken = "resource \"memory_thing\" \"a\" {\n name = \"a\"\n mischief = \"fail half way\"\n}";
    fixture.apply_errors(broken);
    assert!(object(&fixture.state, "memory_thing.a").is_tainted());
    fixture.world.forget_calls();
    fixture.apply(r#"resource "memory_thing" "a" { name = "a" }"#);
    assert_eq!(fixture.world.calls(), ["read a", "destroy a", "create a"]);
    assert!(!object(&fixture.state, "memory_thing.a").is_tainted());
}

#[test]
fn failed_update_is_not_tainted() {
    let mut fixture = Fixture::new();
    fixture.apply(r#"resource "memory_thing" "a" { name = "a" }"#);
    fixture.apply_errors(
        "resource \"memory_thing\" \"a\" {\n name = \"a\"\n size = 2\n mischief = \"fail half way\"\n}",
    );
    let object = object(&fixture.state, "memory_thing.a");
    assert!(!object.is_tainted());
    let wardian_state::Attributes::Json(text) = &object.attributes else { panic!("JSON") };
    assert!(text.contains("\"size\":2"), "{text}");
}

#[test]
fn object_that_cannot_be_destroyed_stays_in_state() {
    let mut fixture = Fixture::new();
    let configuration = "resource \"memory_thing\" \"a\" {\n name = \"a\"\n mischief = \"refuse to go\"\n}";
    fixture.apply(configuration);
    let applied = fixture.destroy(configuration);
    assert!(applied.diagnostics.has_errors());
    assert_eq!(addresses(&fixture.state), ["memory_thing.a"]);
}

#[test]
fn panic_in_operation_does_not_affect_other_operations() {
    let mut fixture = Fixture::new();
    let errors = fixture.apply_errors(
        r#"
        resource "memory_thing" "bad" {
          name     = "bad"
          mischief = "panic"
        }
        resource "memory_thing" "good" { name = "good" }
        "#,
    );
    assert!(errors.contains("aborted"), "{errors}");
    assert_eq!(addresses(&fixture.state), ["memory_thing.good"]);
}

#[test]
fn state_is_empty_after_destroy() {
    let mut fixture = Fixture::new();
    let configuration = r#"
        resource "memory_thing" "a" { name = "a" }
        data "memory_lookup" "x"    { name = "x" }
        resource "memory_thing" "b" { name = "${memory_thing.a.id}-${data.memory_lookup.x.found}" }
        output "b" { value = memory_thing.b.id }
    "#;
    fixture.apply(configuration);
    fixture.world.forget_calls();
    let applied = fixture.destroy(configuration);
    assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
    assert_eq!(applied.counts.destroy, 2);
    assert!(fixture.state.is_empty(), "{:?}", fixture.state);
    let calls: Vec<String> = fixture.world.calls().into_iter().filter(|c| c.starts_with("destroy")).collect();
    assert_eq!(calls[1], "destroy a");
}

#[test]
fn finished_changes_are_recorded_in_order() {
    let mut fixture = Fixture::new();
    let recorded = fixture.apply(
        r#"
        resource "memory_thing" "a" { name = "a" }
        resource "memory_thing" "b" { name = memory_thing.a.id }
        "#,
    );
    assert_eq!(recorded, ["memory_thing.a here", "memory_thing.b here"]);
}

#[test]
fn parallelism_limits_running_operations() {
    let mut fixture = Fixture::new();
    let options = PlanOptions { parallelism: 1, ..PlanOptions::default() };
    let configuration = r#"
        resource "memory_thing" "a" {
          count = 20
          name  = format("%02d", count.index)
        }
    "#;
    let (applied, recorded) = fixture.apply_with(configuration, &[], &options);
    assert_eq!(applied.counts.add, 20);
    let expected: Vec<String> = (0..20).map(|i| format!("memory_thing.a[{i}] here")).collect();
    assert_eq!(recorded, expected);
}

#[test]
fn unchanged_object_stores_new_dependencies() {
    let mut fixture = Fixture::new();
    let with = |depends_on: &str| {
        format!(
            "resource \"memory_thing\" \"a\" {{ name = \"a\" }}\n\
             resource \"memory_thing\" \"b\" {{\n name = \"b\"\n {depends_on}\n}}\n\
             resource \"memory_thing\" \"c\" {{ name = \"c\" }}"
        )
    };
    fixture.apply(
        "resource \"memory_thing\" \"a\" { name = \"a\" }\nresource \"memory_thing\" \"b\" { name = \"b\" }",
    );
    fixture.apply(&with("depends_on = [memory_thing.a]"));
    let dependencies = object(&fixture.state, "memory_thing.b").dependencies.clone();
    assert_eq!(dependencies.iter().map(ToString::to_string).collect::<Vec<_>>(), ["memory_thing.a"]);
}

#[test]
fn plan_keeps_stored_dependencies_until_object_changes() {
    let mut fixture = Fixture::new();
    let with = |name: &str, needed: &str| {
        format!(
            "resource \"memory_thing\" \"a\" {{ name = \"a\" }}\n\
             resource \"memory_thing\" \"b\" {{ name = \"b\" }}\n\
             resource \"memory_thing\" \"c\" {{\n name = \"{name}\"\n depends_on = [memory_thing.{needed}]\n}}"
        )
    };
    fixture.apply(&with("c", "a"));
    let planned = |name: &str, needed: &str, refresh: bool| {
        let options = PlanOptions { refresh, ..PlanOptions::default() };
        let (plan, _) = fixture.plan_with(&with(name, needed), &[], &options);
        let state = plan.unwrap().prior_state;
        let dependencies = &object(&state, "memory_thing.c").dependencies;
        dependencies.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(planned("other", "b", true), ["memory_thing.a", "memory_thing.b"]);
    assert_eq!(planned("other", "b", false), ["memory_thing.a"]);
    assert_eq!(planned("c", "b", true), ["memory_thing.b"]);
    assert_eq!(planned("c", "b", false), ["memory_thing.b"]);
}
