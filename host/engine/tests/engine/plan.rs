//! Planned changes, and their actions and reasons.

use wardian_engine::{Action, ActionReason, Mode, PlanOptions};
use wardian_value::Value;

use crate::fixture::{Fixture, actions, addresses};

#[test]
fn unknown_values_flow_through_references_locals_and_outputs() {
    let fixture = Fixture::new();
    let plan = fixture.plan(
        r#"
        resource "memory_thing" "a" { name = "a" }
        locals { id = memory_thing.a.id }
        resource "memory_thing" "b" { name = "b-${local.id}" }
        output "b" { value = memory_thing.b.name }
        "#,
    );
    let expected = [("memory_thing.a", Action::Create), ("memory_thing.b", Action::Create)];
    assert_eq!(actions(&plan), expected.map(|(a, b)| (a.to_owned(), b)));
    let name = plan.changes[1].after.get("name").unwrap();
    assert!(!name.is_known());
    assert_eq!(
        name.refinement().and_then(|r| r.prefix.as_deref().map(ToString::to_string)),
        Some("b-".into())
    );
    assert!(!plan.outputs["b"].after.is_known());
}

#[test]
fn applied_configuration_has_no_changes() {
    let mut fixture = Fixture::new();
    let configuration = r#"
        resource "memory_thing" "a" {
          for_each = toset(["x", "y"])
          name     = each.key
          size     = 3
        }
        resource "memory_thing" "b" {
          count = 2
          name  = "b${count.index}"
          label = memory_thing.a["x"].id
        }
        output "ids" { value = memory_thing.b[*].id }
    "#;
    fixture.apply(configuration);
    let plan = fixture.plan(configuration);
    assert_eq!(actions(&plan), []);
    assert!(!plan.has_changes());
}

#[test]
fn changes_have_actions_and_reasons() {
    let mut fixture = Fixture::new();
    fixture.apply(
        r#"
        resource "memory_thing" "updated"  { name = "updated" }
        resource "memory_thing" "replaced" {
          name  = "replaced"
          fixed = "1"
        }
        resource "memory_thing" "removed" { name = "removed" }
        resource "memory_thing" "counted" {
          count = 2
          name  = "counted"
        }
        resource "memory_thing" "each" {
          for_each = toset(["a", "b"])
          name     = each.value
        }
        "#,
    );
    let plan = fixture.plan(
        r#"
        resource "memory_thing" "updated" {
          name = "updated"
          size = 1
        }
        resource "memory_thing" "replaced" {
          name  = "replaced"
          fixed = "2"
        }
        resource "memory_thing" "counted" {
          count = 1
          name  = "counted"
        }
        resource "memory_thing" "each" {
          for_each = toset(["a"])
          name     = each.value
        }
        "#,
    );
    let found: Vec<_> = plan
        .changes
        .iter()
        .filter(|c| c.is_effective())
        .map(|c| (c.address.to_string(), c.action, c.reason))
        .collect();
    let expected = [
        ("memory_thing.counted[1]", Action::Delete, Some(ActionReason::DeleteBecauseCountIndex)),
        ("memory_thing.each[\"b\"]", Action::Delete, Some(ActionReason::DeleteBecauseEachKey)),
        ("memory_thing.removed", Action::Delete, Some(ActionReason::DeleteBecauseNoResourceConfig)),
        ("memory_thing.replaced", Action::DeleteThenCreate, Some(ActionReason::ReplaceBecauseCannotUpdate)),
        ("memory_thing.updated", Action::Update, None),
    ];
    assert_eq!(found, expected.map(|(a, b, c)| (a.to_owned(), b, c)));
    assert_eq!((plan.counts().add, plan.counts().change, plan.counts().destroy), (1, 1, 4));
}

#[test]
fn adding_count_moves_object_to_first_instance() {
    let mut fixture = Fixture::new();
    fixture.apply(r#"resource "memory_thing" "a" { name = "a" }"#);
    let configuration = r#"
        resource "memory_thing" "a" {
          count = 1
          name  = "a"
        }
    "#;
    let plan = fixture.plan(configuration);
    assert_eq!(actions(&plan), []);
    assert_eq!(plan.changes[0].previous_address.as_ref().unwrap().to_string(), "memory_thing.a");
    fixture.apply(configuration);
    assert_eq!(addresses(&fixture.state), ["memory_thing.a[0]"]);
}

#[test]
fn missing_object_is_recreated() {
    let mut fixture = Fixture::new();
    let configuration = r#"resource "memory_thing" "a" { name = "a" }"#;
    fixture.apply(configuration);
    fixture.world.gone.lock().unwrap().push("a".into());
    let plan = fixture.plan(configuration);
    assert_eq!(actions(&plan), [("memory_thing.a".to_owned(), Action::Create)]);
    assert_eq!(plan.drift.len(), 1);
    assert_eq!(plan.drift[0].action, Action::Delete);
    let options = PlanOptions { mode: Mode::Destroy, ..PlanOptions::default() };
    let (plan, _) = fixture.plan_with(configuration, &[], &options);
    assert!(plan.unwrap().drift.is_empty());
}

#[test]
fn refresh_only_plan_records_outside_changes() {
    let mut fixture = Fixture::new();
    let configuration = r#"
        resource "memory_thing" "a" {
          name     = "a"
          size     = 1
          mischief = "drift"
        }
        output "size" { value = memory_thing.a.size }
    "#;
    fixture.apply(configuration);
    let options = PlanOptions { mode: Mode::RefreshOnly, ..PlanOptions::default() };
    let (plan, _) = fixture.plan_with(configuration, &[], &options);
    let plan = plan.unwrap();
    assert!(actions(&plan).is_empty() && plan.is_applyable());
    assert_eq!(plan.outputs["size"].after, Value::number(99_i64));
    let (applied, _) = fixture.apply_with(configuration, &[], &options);
    assert_eq!(applied.state.outputs["size"].value, Value::number(99_i64));
}

#[test]
fn data_source_is_read_when_configuration_is_known() {
    let mut fixture = Fixture::new();
    let configuration = r#"
        resource "memory_thing" "a" { name = "a" }
        data "memory_lookup" "now"   { name = "x" }
        data "memory_lookup" "later" { name = memory_thing.a.id }
        output "now"   { value = data.memory_lookup.now.found }
        output "later" { value = data.memory_lookup.later.found }
    "#;
    let plan = fixture.plan(configuration);
    assert_eq!(plan.outputs["now"].after, Value::string("found x"));
    assert!(!plan.outputs["later"].after.is_known());
    let read = plan.changes.iter().find(|c| c.action == Action::Read).unwrap();
    assert_eq!(read.address.to_string(), "data.memory_lookup.later");
    assert_eq!(read.reason, Some(ActionReason::ReadBecauseConfigUnknown));
    fixture.apply(configuration);
    let later = fixture.state.outputs["later"].value.as_str().unwrap().to_owned();
    assert!(later.starts_with("found thing-"), "{later}");
    assert_eq!(actions(&fixture.plan(configuration)), []);
}

#[test]
fn data_source_waits_for_pending_dependencies() {
    let fixture = Fixture::new();
    let plan = fixture.plan(
        r#"
        resource "memory_thing" "a" { name = "a" }
        data "memory_lookup" "x" {
          name       = "x"
          depends_on = [memory_thing.a]
        }
        "#,
    );
    let read = plan.changes.iter().find(|c| c.action == Action::Read).unwrap();
    assert_eq!(read.reason, Some(ActionReason::ReadBecauseDependencyPending));
}

#[test]
fn sensitivity_is_kept_from_variable_to_state() {
    let mut fixture = Fixture::new();
    let configuration = r#"
        variable "password" {
          sensitive = true
          default   = "hunter2"
        }
        resource "memory_thing" "a" {
          name  = "a"
          label = "p-${var.password}"
        }
        resource "memory_thing" "b" { name = memory_thing.a.label }
        output "a" {
          value     = memory_thing.b.name
          sensitive = true
        }
    "#;
    let plan = fixture.plan(configuration);
    assert!(plan.changes.iter().all(|c| c.after.has_sensitive()));
    assert!(!format!("{plan:?}").contains("hunter2"), "{plan:?}");
    fixture.apply(configuration);
    let (_, _, instance) = fixture.state.instances().next().unwrap();
    let paths: Vec<String> =
        instance.current.as_ref().unwrap().sensitive_paths.iter().map(ToString::to_string).collect();
    assert_eq!(paths, [".label", ".secret"]);
    assert_eq!(actions(&fixture.plan(configuration)), []);
}

#[test]
fn sensitive_root_output_must_be_declared() {
    let errors = Fixture::new().plan_errors(
        r#"
        resource "memory_thing" "a" {
          name   = "a"
          secret = "s"
        }
        output "a" { value = memory_thing.a.secret }
        "#,
    );
    assert!(errors.contains("Output refers to sensitive values"), "{errors}");
}

#[test]
fn ignore_changes_ignores_named_attributes() {
    let mut fixture = Fixture::new();
    let with = |size: i64, lifecycle: &str| {
        format!("resource \"memory_thing\" \"a\" {{\n name = \"a\"\n size = {size}\n {lifecycle}\n}}")
    };
    fixture.apply(&with(1, ""));
    assert_eq!(actions(&fixture.plan(&with(2, "lifecycle {\n ignore_changes = [size]\n}"))), []);
    assert_eq!(actions(&fixture.plan(&with(2, "lifecycle {\n ignore_changes = all\n}"))), []);
    assert_eq!(actions(&fixture.plan(&with(2, ""))).len(), 1);
}

#[test]
fn prevent_destroy_fails_the_plan() {
    let mut fixture = Fixture::new();
    let with = |fixed: &str| {
        format!(
            "resource \"memory_thing\" \"a\" {{\n name = \"a\"\n fixed = \"{fixed}\"\n \
             lifecycle {{\n prevent_destroy = true\n }}\n}}"
        )
    };
    fixture.apply(&with("1"));
    assert!(fixture.plan_errors(&with("2")).contains("Instance cannot be destroyed"));
}

#[test]
fn replace_triggered_by_follows_changes() {
    let mut fixture = Fixture::new();
    let with = |size: i64| {
        format!(
            "resource \"memory_thing\" \"a\" {{\n name = \"a\"\n size = {size}\n}}\n\
             resource \"memory_thing\" \"b\" {{\n name = \"b\"\n lifecycle {{\n \
             replace_triggered_by = [memory_thing.a.size]\n }}\n}}"
        )
    };
    fixture.apply(&with(1));
    assert_eq!(actions(&fixture.plan(&with(1))), []);
    let plan = fixture.plan(&with(2));
    let b = plan.changes.iter().find(|c| c.address.to_string() == "memory_thing.b").unwrap();
    assert_eq!((b.action, b.reason), (Action::DeleteThenCreate, Some(ActionReason::ReplaceByTriggers)));
}

#[test]
fn failed_conditions_are_errors_with_message() {
    let fixture = Fixture::new();
    let errors = fixture.plan_errors(
        r#"
        resource "memory_thing" "a" {
          name = "a"
          size = 1
          lifecycle {
            postcondition {
              condition     = self.size > 2
              error_message = "Too small."
            }
          }
        }
        "#,
    );
    assert!(errors.contains("Resource postcondition failed") && errors.contains("Too small."), "{errors}");
}

#[test]
fn module_instances_receive_and_return_their_own_values() {
    let mut fixture = Fixture::new();
    let root = r#"
        module "m" {
          source   = "./m"
          for_each = { x = 1, y = 2 }
          size     = each.value
        }
        output "sizes" { value = { for key, m in module.m : key => m.size } }
        output "x"     { value = module.m["x"].size }
    "#;
    let module = r#"
        variable "size" { type = number }
        resource "memory_thing" "t" {
          name = "t"
          size = var.size
        }
        output "size" { value = memory_thing.t.size }
    "#;
    let modules = [("m", module)];
    let (applied, _) = fixture.apply_with(root, &modules, &PlanOptions::default());
    assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
    let expected = ["module.m[\"x\"].memory_thing.t", "module.m[\"y\"].memory_thing.t"];
    assert_eq!(addresses(&fixture.state), expected);
    assert_eq!(fixture.state.outputs["x"].value, Value::number(1_i64));

    // A module instance is removed with all its objects.
    let fewer = root.replace("{ x = 1, y = 2 }", "{ x = 1 }");
    let (plan, _) = fixture.plan_with(&fewer, &modules, &PlanOptions::default());
    let plan = plan.unwrap();
    let gone = plan.changes.iter().find(|c| c.action == Action::Delete).unwrap();
    assert_eq!(gone.address.to_string(), expected[1]);
    assert_eq!(gone.reason, Some(ActionReason::DeleteBecauseNoModule));
}

#[test]
fn validation_needs_neither_variables_nor_state() {
    let fixture = Fixture::new();
    let diagnostics = fixture.validate(
        r#"
        variable "n" { type = number }
        resource "memory_thing" "a" {
          count = var.n
          name  = "a${count.index}"
        }
        output "first" { value = memory_thing.a[0].id }
        "#,
    );
    assert!(diagnostics.is_empty(), "{diagnostics}");
    let diagnostics = fixture.validate(
        r#"
        resource "memory_thing" "a" { name = "" }
        resource "memory_thing" "b" { nam = "b" }
        resource "memory_thing" "c" { name = local.nothing }
        resource "memory_thin" "d" { name = "d" }
        "#,
    );
    let text = diagnostics.to_string();
    for expected in ["Invalid name", "nam", "undeclared local value", "Did you mean \"memory_thing\"?"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert_eq!(text.matches("undeclared local value").count(), 1, "{text}");
}

#[test]
fn undeclared_names_are_reported_before_evaluation() {
    let configuration = r#"
        resource "memory_thing" "a" { name = var.nothing }
        output "chosen" { value = true ? "a" : local.absent.b }
        output "tried" { value = try(memory_thing.b.id, "") }
    "#;
    let fixture = Fixture::new();
    let validated = fixture.validate(configuration).to_string();
    let planned = fixture.plan_errors(configuration);
    for text in [&validated, &planned] {
        for expected in ["no variable \"nothing\"", "local value \"absent\"", "\"memory_thing\" \"b\""] {
            assert_eq!(text.matches(expected).count(), 1, "{expected}: {text}");
        }
    }
}

#[test]
fn cycle_error_names_its_members() {
    let errors = Fixture::new().plan_errors(
        r#"
        resource "memory_thing" "a" { name = memory_thing.b.id }
        resource "memory_thing" "b" { name = local.x }
        locals { x = memory_thing.a.id }
        "#,
    );
    for expected in [
        "Cycle: ",
        "memory_thing.a needs memory_thing.b",
        "memory_thing.b needs local.x\n",
        "local.x needs memory_thing.a",
    ] {
        assert!(errors.contains(expected), "{errors}");
    }
}

#[test]
fn plan_reports_all_cycles() {
    let configuration = r#"
        locals {
          a = local.b
          b = local.a
        }
        resource "memory_thing" "c" { name = memory_thing.d.id }
        resource "memory_thing" "d" { name = local.e }
        locals { e = memory_thing.c.id }
        resource "memory_thing" "f" { name = local.a }
        "#;
    let (_, found) = Fixture::new().plan_with(configuration, &[], &PlanOptions::default());
    let summaries: Vec<&str> = found.iter().map(|problem| &*problem.summary).collect();
    assert_eq!(
        summaries,
        [
            "Cycle: local.b (expand), local.a (expand)",
            "Cycle: memory_thing.d, memory_thing.c, local.e (expand)"
        ]
    );
}

#[test]
fn invalid_count_and_for_each_are_errors() {
    let fixture = Fixture::new();
    let cases = [
        ("count = memory_thing.x.id == \"\" ? 1 : 2", "Invalid count argument"),
        ("count = -1", "Invalid count argument"),
        ("for_each = [1]", "Invalid for_each argument"),
        ("for_each = toset([memory_thing.x.id])", "Invalid for_each argument"),
        ("for_each = sensitive({ a = 1 })", "Invalid for_each argument"),
    ];
    for (repetition, expected) in cases {
        let errors = fixture.plan_errors(&format!(
            "resource \"memory_thing\" \"x\" {{ name = \"x\" }}\n\
             resource \"memory_thing\" \"a\" {{\n name = \"a\"\n {repetition}\n}}"
        ));
        assert!(errors.contains(expected), "{repetition}: {errors}");
    }
}

#[test]
fn rejected_provider_configuration_has_position() {
    let errors = Fixture::new().plan_errors(
        r#"
        provider "memory" { region = "nowhere" }
        resource "memory_thing" "a" { name = "a" }
        "#,
    );
    assert!(errors.starts_with("main.tf:2") && errors.contains("No such region"), "{errors}");
}

#[test]
fn references_by_index_take_linear_time() {
    let fixture = Fixture::new();
    let configuration = r#"
        resource "memory_thing" "a" {
          count = 1000
          name  = "a${count.index}"
        }
        resource "memory_thing" "b" {
          count = 1000
          name  = memory_thing.a[count.index].id
        }
    "#;
    let started = std::time::Instant::now();
    assert_eq!(fixture.plan(configuration).changes.len(), 2000);
    // The limit is much greater than the actual time, and much less than the time that it would
    // take if each reference built all instances.
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}

#[test]
fn references_to_removed_instances_are_errors() {
    let mut fixture = Fixture::new();
    let with = |count: usize| {
        format!(
            "resource \"memory_thing\" \"a\" {{\n count = {count}\n name = \"a\"\n}}\n\
             resource \"memory_thing\" \"b\" {{ name = try(memory_thing.a[1].id, \"none\") }}\n\
             output \"x\" {{ value = try(memory_thing.a[1].id, \"none\") }}"
        )
    };
    fixture.apply(&with(2));
    fixture.apply(&with(1));
    assert_eq!(fixture.state.outputs["x"].value, Value::string("none"));
}

#[test]
fn replace_triggered_by_instance_ignores_other_instances() {
    let mut fixture = Fixture::new();
    let with = |size: &str| {
        format!(
            "resource \"memory_thing\" \"a\" {{\n count = 3\n name = \"a\"\n size = {size}\n}}\n\
             resource \"memory_thing\" \"b\" {{\n count = 3\n name = \"b\"\n lifecycle {{\n \
             replace_triggered_by = [memory_thing.a[count.index].size]\n }}\n}}"
        )
    };
    fixture.apply(&with("1"));
    let plan = fixture.plan(&with("count.index == 1 ? 2 : 1"));
    let replaced: Vec<String> =
        plan.changes.iter().filter(|c| c.action.is_replace()).map(|c| c.address.to_string()).collect();
    assert_eq!(replaced, ["memory_thing.b[1]"]);
}

#[test]
fn conditions_of_unchanged_objects_are_checked_in_apply() {
    let mut fixture = Fixture::new();
    fixture.apply("resource \"memory_thing\" \"b\" { name = \"b\" }");
    let errors = fixture.apply_errors(
        r#"
        resource "memory_thing" "n" { name = "n" }
        resource "memory_thing" "b" {
          name = "b"
          lifecycle {
            precondition {
              condition     = memory_thing.n.id == "never"
              error_message = "It is another."
            }
          }
        }
        "#,
    );
    assert!(errors.contains("It is another."), "{errors}");
}

#[test]
fn refresh_only_plan_accepts_missing_objects() {
    let mut fixture = Fixture::new();
    let configuration = r#"
        resource "memory_thing" "a" { name = "a" }
        output "name" { value = memory_thing.a.name }
    "#;
    fixture.apply(configuration);
    fixture.world.gone.lock().unwrap().push("a".into());
    let options = PlanOptions { mode: Mode::RefreshOnly, ..PlanOptions::default() };
    let (applied, _) = fixture.apply_with(configuration, &[], &options);
    assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
    assert_eq!(addresses(&fixture.state), [] as [String; 0]);
    assert!(fixture.state.outputs.contains_key("name"));
}

#[test]
fn object_is_destroyed_with_remaining_provider_configuration() {
    let mut fixture = Fixture::new();
    fixture.apply(
        r#"
        provider "memory" { alias = "x" }
        resource "memory_thing" "a" {
          count    = 2
          provider = memory.x
          name     = "a"
        }
        "#,
    );
    let plan = fixture.plan("resource \"memory_thing\" \"a\" {\n count = 1\n name = \"a\"\n}");
    assert_eq!(actions(&plan), [("memory_thing.a[1]".to_owned(), Action::Delete)]);
}

#[test]
fn object_without_its_provider_configuration_is_an_error() {
    let mut fixture = Fixture::new();
    let provider = "provider \"memory\" {\n  alias = \"x\"\n}\n";
    fixture.apply(&format!(
        "{provider}resource \"memory_thing\" \"a\" {{\n  provider = memory.x\n  name = \"a\"\n}}\n"
    ));
    let forgotten = "removed {\n  from = memory_thing.a\n  lifecycle {\n    destroy = false\n  }\n}\n";
    for gone in ["", "provider \"memory\" {}\n", forgotten] {
        fixture.world.forget_calls();
        let errors = fixture.plan_errors(gone);
        assert!(errors.contains("Provider configuration not present"), "{errors}");
        assert!(errors.contains("memory_thing.a belongs to provider["), "{errors}");
        assert_eq!(fixture.world.calls(), [] as [String; 0]);
    }
    assert_eq!(actions(&fixture.plan(provider)), [("memory_thing.a".to_owned(), Action::Delete)]);
}

#[test]
fn ephemeral_values_are_not_stored() {
    let fixture = Fixture::new();
    let variable = "variable \"e\" {\n ephemeral = true\n default = \"hunter2\"\n}\n";
    let cases = [
        ("output \"x\" { value = var.e }", "Ephemeral value not allowed"),
        ("resource \"memory_thing\" \"a\" { name = var.e }", "Invalid use of ephemeral value"),
        (
            "resource \"memory_thing\" \"a\" {\n count = length(var.e)\n name = \"a\"\n}",
            "Invalid count argument",
        ),
    ];
    for (text, expected) in cases {
        let errors = fixture.plan_errors(&format!("{variable}{text}"));
        assert!(errors.contains(expected), "{text}: {errors}");
    }
}
