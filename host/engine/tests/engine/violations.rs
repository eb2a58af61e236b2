//! Providers that break the rules are told of, by name.

use crate::fixture::Fixture;

fn thing(mischief: &str) -> String {
    format!("resource \"memory_thing\" \"a\" {{\n name = \"a\"\n mischief = \"{mischief}\"\n}}")
}

fn assert_says(errors: &str, expected: &[&str]) {
    for part in
        expected.iter().chain(&["example.com/test/memory", "memory_thing.a", "mistake is the provider's"])
    {
        assert!(errors.contains(part), "{part:?} is not in: {errors}");
    }
}

#[test]
fn a_plan_must_honour_the_configuration() {
    let errors = Fixture::new().plan_errors(&thing("plan another name"));
    assert_says(&errors, &["Provider produced invalid plan", ".name", "the configuration sets"]);
    let errors = Fixture::new().plan_errors(&thing("plan a size"));
    assert_says(&errors, &["Provider produced invalid plan", ".size", "only the configuration may set it"]);
}

#[test]
fn a_path_that_forces_replacement_must_exist() {
    let mut fixture = Fixture::new();
    fixture.apply(r#"resource "memory_thing" "a" { name = "a" }"#);
    assert_says(&fixture.plan_errors(&thing("replace a ghost")), &["requires replacement", ".ghost"]);
}

#[test]
fn an_apply_must_honour_the_plan() {
    let mut fixture = Fixture::new();
    let errors = fixture.apply_errors(&thing("apply another size"));
    assert_says(
        &errors,
        &["Provider produced inconsistent result after apply", ".size", "was null, but now 7"],
    );
    // What did happen is kept.
    assert_eq!(fixture.state.instances().count(), 1);
}

#[test]
fn all_is_known_after_an_apply() {
    let mut fixture = Fixture::new();
    let errors = fixture.apply_errors(&thing("leave unknown"));
    assert_says(&errors, &["Provider returned invalid result object after apply"]);
    assert_eq!(fixture.state.instances().count(), 1);
    let errors = Fixture::new().apply_errors(&thing("apply nothing"));
    assert_says(&errors, &["Provider returned invalid result object after apply"]);
}

#[test]
fn what_is_sensitive_is_not_shown_in_a_complaint() {
    let errors = Fixture::new().plan_errors(
        "resource \"memory_thing\" \"a\" {\n name = sensitive(\"hunter2\")\n mischief = \"plan another name\"\n}",
    );
    assert!(errors.contains(".name") && !errors.contains("hunter2"), "{errors}");
}
