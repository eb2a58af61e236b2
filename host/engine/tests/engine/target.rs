//! Partial plans: targets, exclusions, and requested replacements.

use wardian_engine::{Action, Mode, PlanOptions};

use crate::fixture::{Fixture, actions, addresses};

#[test]
fn target_includes_dependencies_only() {
    let fixture = Fixture::new();
    let options = PlanOptions { targets: vec!["memory_thing.b".parse().unwrap()], ..PlanOptions::default() };
    let configuration = r#"
        resource "memory_thing" "a" { name = "a" }
        resource "memory_thing" "b" { name = memory_thing.a.id }
        resource "memory_thing" "c" { name = "c" }
        output "c" { value = memory_thing.c.id }
    "#;
    let (plan, diagnostics) = fixture.plan_with(configuration, &[], &options);
    assert!(!diagnostics.has_errors(), "{diagnostics}");
    let plan = plan.unwrap();
    let found: Vec<String> = actions(&plan).into_iter().map(|(address, _)| address).collect();
    assert_eq!(found, ["memory_thing.a", "memory_thing.b"]);
    assert!(!plan.has_output_changes());
}

#[test]
fn exclusion_omits_only_object_and_dependents() {
    let mut fixture = Fixture::new();
    let configuration = r#"
        resource "memory_thing" "a" { name = "a" }
        resource "memory_thing" "b" {
          count = 2
          name  = "b${count.index}-${memory_thing.a.name}"
        }
        resource "memory_thing" "c" { name = "c-${memory_thing.b[0].name}" }
        resource "memory_thing" "d" { name = "d" }
        output "c" { value = memory_thing.c.id }
        output "d" { value = memory_thing.d.id }
    "#;
    let planned = |fixture: &Fixture, mode: Mode, excluded: &str| {
        let options =
            PlanOptions { mode, excludes: vec![excluded.parse().unwrap()], ..PlanOptions::default() };
        let (plan, diagnostics) = fixture.plan_with(configuration, &[], &options);
        assert!(!diagnostics.has_errors(), "{diagnostics}");
        let plan = plan.unwrap();
        let outputs =
            plan.outputs.iter().filter(|(_, o)| o.action != Action::NoOp).map(|(n, _)| n.to_string());
        let changes = actions(&plan).into_iter().map(|(address, _)| address.replace("memory_thing.", ""));
        changes.chain(outputs.map(|name| format!("output {name}"))).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(planned(&fixture, Mode::Normal, "memory_thing.b"), "a, d, output d");
    assert_eq!(planned(&fixture, Mode::Normal, "memory_thing.b[1]"), "a, b[0], d, output d");
    assert_eq!(planned(&fixture, Mode::Normal, "memory_thing.d"), "a, b[0], b[1], c, output c");
    let options = PlanOptions { excludes: vec!["memory_thing.c".parse().unwrap()], ..PlanOptions::default() };
    let (applied, _) = fixture.apply_with(configuration, &[], &options);
    assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
    assert_eq!(
        addresses(&fixture.state),
        ["memory_thing.a", "memory_thing.b[0]", "memory_thing.b[1]", "memory_thing.d"]
    );
    fixture.apply(configuration);
    // Dependencies of retained objects are retained as well.
    assert_eq!(planned(&fixture, Mode::Destroy, "memory_thing.c"), "d, output d");
    assert_eq!(planned(&fixture, Mode::Destroy, "memory_thing.a"), "b[0], b[1], c, d, output c, output d");
    let options = PlanOptions {
        mode: Mode::Destroy,
        excludes: vec!["memory_thing.c".parse().unwrap()],
        ..PlanOptions::default()
    };
    let (applied, _) = fixture.apply_with(configuration, &[], &options);
    assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
    assert_eq!(
        addresses(&fixture.state),
        ["memory_thing.a", "memory_thing.b[0]", "memory_thing.b[1]", "memory_thing.c"]
    );
    let outputs: Vec<String> = fixture.state.outputs.keys().map(ToString::to_string).collect();
    assert_eq!(outputs, ["c"]);
}

#[test]
fn orphan_required_by_excluded_object_is_kept() {
    let mut fixture = Fixture::new();
    fixture.apply(
        r#"
        resource "memory_thing" "a" { name = "a" }
        resource "memory_thing" "b" { name = "b-${memory_thing.a.name}" }
        resource "memory_thing" "c" { name = "c" }
        "#,
    );
    let options = PlanOptions { excludes: vec!["memory_thing.b".parse().unwrap()], ..PlanOptions::default() };
    let (plan, _) = fixture.plan_with("", &[], &options);
    assert_eq!(actions(&plan.unwrap()), [("memory_thing.c".to_owned(), Action::Delete)]);
}

#[test]
fn replacement_without_matching_object_is_a_warning() {
    let mut fixture = Fixture::new();
    let configuration = "resource \"memory_thing\" \"a\" {\n count = 2\n name = \"a\"\n}";
    fixture.apply(configuration);
    let warned = |address: &str| {
        let options = PlanOptions { replace: vec![address.parse().unwrap()], ..PlanOptions::default() };
        let (plan, diagnostics) = fixture.plan_with(configuration, &[], &options);
        assert!(!diagnostics.has_errors(), "{diagnostics}");
        (actions(&plan.unwrap()).len(), diagnostics.to_string())
    };
    assert_eq!(warned("memory_thing.a[1]"), (1, String::new()));
    let (changes, text) = warned("memory_thing.a");
    assert!(changes == 0 && text.contains("-replace='memory_thing.a[1]'"), "{text}");
    let (changes, text) = warned("memory_thing.ghost");
    assert!(changes == 0 && text.contains("The plan has no memory_thing.ghost"), "{text}");
}

#[test]
fn targeted_destruction_includes_dependents_only() {
    let mut fixture = Fixture::new();
    let configuration = r#"
        resource "memory_thing" "a" { name = "a" }
        resource "memory_thing" "b" { name = "b-${memory_thing.a.name}" }
        resource "memory_thing" "c" { name = "c-${memory_thing.b.name}" }
        resource "memory_thing" "other" { name = "other" }
        output "other" { value = memory_thing.other.id }
        output "c"     { value = memory_thing.c.id }
        output "const" { value = true }
    "#;
    fixture.apply(configuration);
    let options = PlanOptions {
        mode: Mode::Destroy,
        targets: vec!["memory_thing.b".parse().unwrap()],
        ..PlanOptions::default()
    };
    let (plan, _) = fixture.plan_with(configuration, &[], &options);
    let found: Vec<String> = actions(&plan.unwrap()).into_iter().map(|(address, _)| address).collect();
    assert_eq!(found, ["memory_thing.b", "memory_thing.c"]);
    let (applied, _) = fixture.apply_with(configuration, &[], &options);
    assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
    assert_eq!(addresses(&fixture.state), ["memory_thing.a", "memory_thing.other"]);
    let outputs: Vec<String> = fixture.state.outputs.keys().map(ToString::to_string).collect();
    assert_eq!(outputs, ["c", "const", "other"]);
}

#[test]
fn apply_of_targeted_plan_visits_targets_only() {
    let mut fixture = Fixture::new();
    let configuration = r#"
        resource "memory_thing" "n" { name = "n" }
        resource "memory_thing" "c" {
          count = length(memory_thing.n.id)
          name  = "c"
        }
        resource "memory_thing" "t" { name = "t" }
    "#;
    let options = PlanOptions { targets: vec!["memory_thing.t".parse().unwrap()], ..PlanOptions::default() };
    let (applied, _) = fixture.apply_with(configuration, &[], &options);
    assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
    assert_eq!(addresses(&fixture.state), ["memory_thing.t"]);
}

#[test]
fn module_without_keys_targets_all_instances() {
    let fixture = Fixture::new();
    let root = "module \"m\" {\n source = \"./m\"\n count = 2\n}";
    let module = "resource \"memory_thing\" \"t\" { name = \"t\" }";
    let options = PlanOptions { targets: vec!["module.m".parse().unwrap()], ..PlanOptions::default() };
    let (plan, diagnostics) = fixture.plan_with(root, &[("m", module)], &options);
    assert!(!diagnostics.has_errors(), "{diagnostics}");
    assert_eq!(actions(&plan.unwrap()).len(), 2);
}
