//! Errors for responses that violate the protocol. Each error names the provider.

use crate::fixture::Fixture;

fn thing(mischief: &str) -> String {
    format!("resource \"memory_thing\" \"a\" {{\n name = \"a\"\n mischief = \"{mischief}\"\n}}")
}

fn assert_contains(errors: &str, expected: &[&str]) {
    for part in expected.iter().chain(&["example.com/test/memory", "memory_thing.a", "bug in the provider"]) {
        assert!(errors.contains(part), "{part:?} is not in: {errors}");
    }
}

#[test]
fn planned_values_must_match_configuration() {
    let errors = Fixture::new().plan_errors(&thing("plan another name"));
    assert_contains(&errors, &["Provider produced invalid plan", ".name", "the configuration sets"]);
    let errors = Fixture::new().plan_errors(&thing("plan a size"));
    assert_contains(
        &errors,
        &["Provider produced invalid plan", ".size", "only the configuration may set it"],
    );
}

#[test]
fn replace_path_must_exist() {
    let mut fixture = Fixture::new();
    fixture.apply(r#"resource "memory_thing" "a" { name = "a" }"#);
    assert_contains(&fixture.plan_errors(&thing("replace a ghost")), &["requires replacement", ".ghost"]);
}

#[test]
fn applied_values_must_match_plan() {
    let mut fixture = Fixture::new();
    let errors = fixture.apply_errors(&thing("apply another size"));
    assert_contains(
        &errors,
        &["Provider produced inconsistent result after apply", ".size", "was null, but now 7"],
    );
    // The object remains in the state.
    assert_eq!(fixture.state.instances().count(), 1);
}

#[test]
fn apply_returns_only_known_values() {
    let mut fixture = Fixture::new();
    let errors = fixture.apply_errors(&thing("leave unknown"));
    assert_contains(&errors, &["Provider returned invalid result object after apply"]);
    assert_eq!(fixture.state.instances().count(), 1);
    let errors = Fixture::new().apply_errors(&thing("apply nothing"));
    assert_contains(&errors, &["Provider returned invalid result object after apply"]);
}

#[test]
fn violation_error_hides_sensitive_values() {
    let errors = Fixture::new().plan_errors(
        "resource \"memory_thing\" \"a\" {\n name = sensitive(\"hunter2\")\n mischief = \"plan another name\"\n}",
    );
    assert!(errors.contains(".name") && !errors.contains("hunter2"), "{errors}");
}
