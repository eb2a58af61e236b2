//! The order in which objects are destroyed, created and changed.

use crate::fixture::Fixture;

fn calls(fixture: &Fixture) -> Vec<String> {
    fixture.world.calls().into_iter().filter(|call| !call.starts_with("read")).collect()
}

fn pair(fixed_a: &str, fixed_b: &str, lifecycle_b: &str) -> String {
    format!(
        "resource \"memory_thing\" \"a\" {{\n name = \"a\"\n fixed = \"{fixed_a}\"\n}}\n\
         resource \"memory_thing\" \"b\" {{\n name = \"b\"\n label = memory_thing.a.id\n fixed = \"{fixed_b}\"\n \
         {lifecycle_b}\n}}"
    )
}

const CREATE_FIRST: &str = "lifecycle {\n create_before_destroy = true\n }";

#[test]
fn replaced_dependent_is_destroyed_first_and_created_last() {
    let mut fixture = Fixture::new();
    fixture.apply(&pair("1", "1", ""));
    fixture.world.forget_calls();
    fixture.apply(&pair("2", "2", ""));
    assert_eq!(calls(&fixture), ["destroy b", "destroy a", "create a", "create b"]);
}

#[test]
fn dependent_of_replaced_object_is_updated() {
    let mut fixture = Fixture::new();
    fixture.apply(&pair("1", "1", ""));
    fixture.world.forget_calls();
    fixture.apply(&pair("2", "1", ""));
    assert_eq!(calls(&fixture), ["destroy a", "create a", "update b"]);
}

#[test]
fn create_before_destroy_extends_to_dependencies() {
    let mut fixture = Fixture::new();
    fixture.apply(&pair("1", "1", CREATE_FIRST));
    fixture.world.forget_calls();
    let recorded = fixture.apply(&pair("2", "2", CREATE_FIRST));
    assert_eq!(calls(&fixture), ["create a", "create b", "destroy b", "destroy a"]);
    assert_eq!(recorded[0], "memory_thing.a deposed");
    assert_eq!(recorded[1], "memory_thing.a here, and deposed");
    assert!(fixture.state.instances().all(|(_, _, instance)| instance.deposed.is_empty()));
}

#[test]
fn failed_replacement_keeps_old_object() {
    let mut fixture = Fixture::new();
    let with = |fixed: &str, mischief: &str| {
        format!(
            "resource \"memory_thing\" \"a\" {{\n name = \"a\"\n fixed = \"{fixed}\"\n {mischief}\n {CREATE_FIRST}\n}}"
        )
    };
    fixture.apply(&with("1", ""));
    fixture.apply_errors(&with("2", "mischief = \"fail\""));
    let (_, _, instance) = fixture.state.instances().next().unwrap();
    assert!(instance.current.is_some() && instance.deposed.is_empty());

    // A failure between the two steps leaves both objects; the next run destroys one of them.
    fixture.apply_errors(&with("3", "mischief = \"fail half way\""));
    let (_, _, instance) = fixture.state.instances().next().unwrap();
    assert!(instance.current.as_ref().unwrap().is_tainted() && instance.deposed.len() == 1);
    fixture.apply(&with("3", ""));
    let (_, _, instance) = fixture.state.instances().next().unwrap();
    assert!(!instance.current.as_ref().unwrap().is_tainted() && instance.deposed.is_empty());
}

#[test]
fn removed_objects_are_destroyed_in_reverse_order() {
    let mut fixture = Fixture::new();
    fixture.apply(
        r#"
        resource "memory_thing" "a" { name = "a" }
        resource "memory_thing" "b" { name = "b-${memory_thing.a.name}" }
        resource "memory_thing" "c" { name = "c-${memory_thing.b.name}" }
        "#,
    );
    fixture.world.forget_calls();
    fixture.apply("");
    assert_eq!(calls(&fixture), ["destroy c-b-a", "destroy b-a", "destroy a"]);
}

#[test]
fn dependent_is_destroyed_before_dependency_changes() {
    let mut fixture = Fixture::new();
    fixture.apply(
        r#"
        resource "memory_thing" "a" { name = "a" }
        resource "memory_thing" "b" { name = "b-${memory_thing.a.name}" }
        "#,
    );
    fixture.world.forget_calls();
    fixture.apply("resource \"memory_thing\" \"a\" {\n name = \"a\"\n size = 1\n}");
    assert_eq!(calls(&fixture), ["destroy b-a", "update a"]);
}

#[test]
fn instances_are_replaced_independently() {
    let mut fixture = Fixture::new();
    let with = |fixed: &str, mischief: &str| {
        format!(
            "resource \"memory_thing\" \"a\" {{\n count = 3\n name = \"a${{count.index}}\"\n fixed = \"{fixed}\"\n \
             mischief = count.index == 1 ? \"{mischief}\" : null\n}}"
        )
    };
    fixture.apply(&with("1", "refuse to go"));
    fixture.world.forget_calls();
    fixture.apply_errors(&with("2", "refuse to go"));
    let calls = calls(&fixture);
    for expected in ["create a0", "create a2"] {
        assert!(calls.contains(&expected.to_owned()), "{calls:?}");
    }
    assert!(!calls.contains(&"create a1".to_owned()), "{calls:?}");
    assert_eq!(fixture.state.instances().count(), 3);
}

#[test]
fn failed_create_does_not_block_other_instances() {
    let mut fixture = Fixture::new();
    let with = |fixed: &str, mischief: &str| {
        format!(
            "resource \"memory_thing\" \"a\" {{\n count = 3\n name = \"a${{count.index}}\"\n fixed = \"{fixed}\"\n \
             mischief = count.index == 1 ? \"{mischief}\" : null\n {CREATE_FIRST}\n}}"
        )
    };
    fixture.apply(&with("1", ""));
    fixture.apply_errors(&with("2", "fail"));
    assert!(fixture.state.instances().all(|(_, _, i)| i.current.is_some() && i.deposed.is_empty()));
}

#[test]
fn stored_dependencies_order_destruction() {
    let mut fixture = Fixture::new();
    fixture.apply(&pair("1", "1", ""));
    fixture.world.forget_calls();
    fixture.apply("resource \"memory_thing\" \"b\" {\n name = \"b\"\n label = \"new\"\n fixed = \"2\"\n}");
    let calls = calls(&fixture);
    let at = |call: &str| calls.iter().position(|c| c == call);
    assert!(at("destroy b") < at("destroy a") && at("destroy a").is_some(), "{calls:?}");
}

#[test]
fn dependent_is_updated_before_deposed_instance_is_destroyed() {
    let mut fixture = Fixture::new();
    let with = |count: usize| {
        format!(
            "resource \"memory_thing\" \"a\" {{\n count = {count}\n name = \"a${{count.index}}\"\n {CREATE_FIRST}\n}}\n\
             resource \"memory_thing\" \"b\" {{\n name = \"b\"\n label = join(\",\", memory_thing.a[*].name)\n}}"
        )
    };
    fixture.apply(&with(2));
    fixture.world.forget_calls();
    fixture.apply(&with(1));
    assert_eq!(calls(&fixture), ["update b", "destroy a1"]);
}
