//! Conditions and checks: their diagnostics and stored results.

use wardian_engine::{Action, ActionReason, Mode, PlanOptions};
use wardian_state::{CheckResult, State};

use crate::fixture::{Fixture, actions};

/// Returns one line for each block and object.
fn lines(results: &[CheckResult]) -> Vec<String> {
    let mut lines = Vec::new();
    for result in results {
        let status = result.status.as_str();
        match &result.objects {
            None => lines.push(format!(
                "{} {}: {status}, no objects",
                result.kind.as_str(),
                result.config_address
            )),
            Some(objects) => {
                lines.push(format!("{} {}: {status}", result.kind.as_str(), result.config_address));
                for object in objects {
                    let messages = object.failure_messages.join("; ");
                    lines.push(
                        format!("  {} {} {messages}", object.address, object.status.as_str())
                            .trim_end()
                            .into(),
                    );
                }
            }
        }
    }
    lines
}

fn stored(state: &State) -> Vec<String> {
    lines(state.check_results.as_deref().unwrap_or_default())
}

const EVERY_KIND: &str = r#"
variable "v" {
  default = "x"
  validation {
    condition     = length(var.v) > 0
    error_message = "v is empty"
  }
}
resource "memory_thing" "a" {
  count = 2
  name  = "a${count.index}"
  lifecycle {
    precondition {
      condition     = var.v != "y"
      error_message = "v is y"
    }
    postcondition {
      condition     = self.label != ""
      error_message = "no label"
    }
  }
}
resource "memory_thing" "none" {
  count = 0
  name  = "none"
  lifecycle {
    precondition {
      condition     = var.v != "y"
      error_message = "v is y"
    }
  }
}
module "m" {
  source   = "./m"
  for_each = toset(["k1", "k2"])
  v        = each.key
}
module "none" {
  source = "./m"
  count  = 0
  v      = "none"
}
output "o" {
  value = memory_thing.a[0].name
  precondition {
    condition     = memory_thing.a[0].name == "a0"
    error_message = "not a0"
  }
}
check "c" {
  assert {
    condition     = memory_thing.a[1].id == "somewhere else"
    error_message = "it is ${memory_thing.a[1].name}"
  }
  assert {
    condition     = var.v == "x"
    error_message = "v is ${var.v}"
  }
}
"#;

const MODULE: &str = r#"
variable "v" {
  validation {
    condition     = length(var.v) > 0
    error_message = "v is empty"
  }
}
resource "memory_thing" "inner" {
  name = var.v
  lifecycle {
    precondition {
      condition     = var.v != ""
      error_message = "no v"
    }
  }
}
check "inner" {
  assert {
    condition     = var.v == "k1"
    error_message = "v is ${var.v}"
  }
}
"#;

#[test]
fn check_results_are_in_plan_and_state() {
    let mut fixture = Fixture::new();
    let modules = [("m", MODULE)];
    let (plan, diagnostics) = fixture.plan_with(EVERY_KIND, &modules, &PlanOptions::default());
    assert!(!diagnostics.has_errors(), "{diagnostics}");
    let summaries: Vec<&str> = diagnostics.iter().map(|d| d.summary.as_str()).collect();
    assert_eq!(summaries, ["Check block assertion failed", "Check block assertion known after apply"]);
    let planned = lines(&plan.unwrap().checks);
    assert_eq!(
        planned,
        [
            "check check.c: unknown",
            "  check.c unknown",
            "resource memory_thing.a: unknown",
            "  memory_thing.a[0] unknown",
            "  memory_thing.a[1] unknown",
            "resource memory_thing.none: pass, no objects",
            "check module.m.check.inner: fail",
            "  module.m[\"k1\"].check.inner pass",
            "  module.m[\"k2\"].check.inner fail v is k2",
            "resource module.m.memory_thing.inner: pass",
            "  module.m[\"k1\"].memory_thing.inner pass",
            "  module.m[\"k2\"].memory_thing.inner pass",
            "var module.m.var.v: pass",
            "  module.m[\"k1\"].var.v pass",
            "  module.m[\"k2\"].var.v pass",
            "check module.none.check.inner: pass, no objects",
            "resource module.none.memory_thing.inner: pass, no objects",
            "var module.none.var.v: pass, no objects",
            "output output.o: pass",
            "  output.o pass",
            "var var.v: pass",
            "  var.v pass",
        ]
    );

    let (applied, _) = fixture.apply_with(EVERY_KIND, &modules, &PlanOptions::default());
    assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
    let lines = stored(&fixture.state);
    assert_eq!(
        lines[..5],
        [
            "check check.c: fail",
            "  check.c fail it is a1",
            "resource memory_thing.a: pass",
            "  memory_thing.a[0] pass",
            "  memory_thing.a[1] pass",
        ]
    );
    assert_eq!(lines[5..], planned[5..]);
}

#[test]
fn destroy_plan_has_unknown_check_results() {
    let mut fixture = Fixture::new();
    let modules = [("m", MODULE)];
    fixture.apply_with(EVERY_KIND, &modules, &PlanOptions::default());
    let options = PlanOptions { mode: Mode::Destroy, ..PlanOptions::default() };
    fixture.apply_with(EVERY_KIND, &modules, &options);
    let lines = stored(&fixture.state);
    assert_eq!(lines[0], "check check.c: unknown, no objects");
    let of_root: Vec<_> = lines.iter().filter(|line| !line.contains("module.")).skip(3).collect();
    assert_eq!(of_root, ["output output.o: unknown", "  output.o unknown", "var var.v: unknown, no objects"]);
}

#[test]
fn failed_precondition_stops_dependents_and_is_stored() {
    let fixture = Fixture::new();
    let configuration = r#"
        variable "size" { default = 1 }
        resource "memory_thing" "a" {
          name = "a"
          lifecycle {
            precondition {
              condition     = var.size > 1
              error_message = "too small"
            }
          }
        }
        check "about_a" {
          assert {
            condition     = memory_thing.a.name == "a"
            error_message = "another name"
          }
        }
        check "broken" {
          assert {
            condition     = tolist([])[var.size] == "x"
            error_message = "never"
          }
          assert {
            condition     = var.size == 2
            error_message = "it is not two"
          }
        }
    "#;
    let (plan, diagnostics) = fixture.plan_with(configuration, &[], &PlanOptions::default());
    assert!(diagnostics.has_errors());
    let plan = plan.unwrap();
    assert!(plan.errored);
    assert_eq!(
        lines(&plan.checks),
        [
            "check check.about_a: unknown",
            "  check.about_a unknown",
            "check check.broken: error",
            "  check.broken error it is not two",
            "resource memory_thing.a: fail",
            "  memory_thing.a fail too small",
        ]
    );
}

#[test]
fn rejected_variable_does_not_prevent_planning_of_other_objects() {
    let mut fixture = Fixture::new();
    let configuration = r#"
        variable "v" {
          default = "bad"
          validation {
            condition     = var.v != "bad"
            error_message = "v is bad"
          }
        }
        resource "memory_thing" "free" { name = "free" }
        resource "memory_thing" "bound" { name = var.v }
    "#;
    for mode in [Mode::Normal, Mode::Destroy] {
        let options = PlanOptions { mode, ..PlanOptions::default() };
        let (plan, diagnostics) = fixture.plan_with(configuration, &[], &options);
        assert!(diagnostics.has_errors(), "{mode:?}");
        assert!(plan.unwrap().errored);
    }
    let (plan, _) = fixture.plan_with(configuration, &[], &PlanOptions::default());
    assert_eq!(actions(&plan.unwrap()), [("memory_thing.free".to_owned(), Action::Create)]);
    // A destroy plan reads existing objects first.
    fixture.apply("resource \"memory_thing\" \"free\" {\n  name = \"free\"\n}\n");
    let options = PlanOptions { mode: Mode::Destroy, ..PlanOptions::default() };
    let (plan, diagnostics) = fixture.plan_with(configuration, &[], &options);
    assert!(diagnostics.has_errors() && plan.is_none());
}

const NESTED: &str = r#"
resource "memory_thing" "a" { name = "a" }
check "c" {
  data "memory_lookup" "n" { name = "n" }
  assert {
    condition     = data.memory_lookup.n.found == "found n"
    error_message = "it is ${data.memory_lookup.n.found}"
  }
}
"#;

#[test]
fn check_data_is_read_in_plan_and_apply() {
    let mut fixture = Fixture::new();
    let plan = fixture.plan(NESTED);
    let read = plan.changes.iter().find(|change| change.action == Action::Read).unwrap();
    assert_eq!(read.reason, Some(ActionReason::ReadBecauseCheckNested));
    assert_eq!(read.after.get("found").and_then(|found| found.as_str()), Some("found n"));
    assert_eq!(lines(&plan.checks), ["check check.c: pass", "  check.c pass"]);
    fixture.world.forget_calls();
    fixture.apply(NESTED);
    assert_eq!(fixture.world.calls(), ["look up n", "create a", "look up n"]);
    assert_eq!(stored(&fixture.state), ["check check.c: pass", "  check.c pass"]);
}

#[test]
fn unreadable_check_data_is_a_warning() {
    let mut fixture = Fixture::new();
    fixture.world.gone.lock().unwrap().push("n".into());
    let (plan, diagnostics) = fixture.plan_with(NESTED, &[], &PlanOptions::default());
    assert!(!diagnostics.has_errors(), "{diagnostics}");
    let warnings: Vec<_> = diagnostics.iter().map(|d| (d.summary.as_str(), d.context.as_deref())).collect();
    assert_eq!(warnings, [("Not found", Some("check \"c\""))]);
    let plan = plan.unwrap();
    let failed = ["check check.c: fail", "  check.c fail Not found: There is no n."];
    assert_eq!(lines(&plan.checks), failed);
    let read = plan.changes.iter().find(|change| change.action == Action::Read).unwrap();
    assert!(!read.after.get("found").unwrap().is_known());

    let (applied, _) = fixture.apply_with(NESTED, &[], &PlanOptions::default());
    assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
    assert_eq!(stored(&fixture.state), failed);
    assert_eq!(fixture.state.resources().count(), 2);
}

#[test]
fn failed_postcondition_in_apply_is_stored() {
    let mut fixture = Fixture::new();
    let configuration = r#"
        resource "memory_thing" "a" {
          name = "a"
          lifecycle {
            postcondition {
              condition     = self.id == "none"
              error_message = "it is ${self.id}"
            }
          }
        }
        resource "memory_thing" "b" {
          name = memory_thing.a.id
          lifecycle {
            precondition {
              condition     = memory_thing.a.id != ""
              error_message = "no id"
            }
          }
        }
    "#;
    fixture.apply_errors(configuration);
    assert_eq!(
        stored(&fixture.state),
        [
            "resource memory_thing.a: fail",
            "  memory_thing.a fail it is thing-1",
            "resource memory_thing.b: unknown",
            "  memory_thing.b unknown",
        ]
    );
}

#[test]
fn targeted_run_has_check_results_for_targets_only() {
    let fixture = Fixture::new();
    let options =
        PlanOptions { targets: vec!["memory_thing.none".parse().unwrap()], ..PlanOptions::default() };
    let (plan, _) = fixture.plan_with(EVERY_KIND, &[("m", MODULE)], &options);
    let lines = lines(&plan.unwrap().checks);
    assert_eq!(
        lines[..3],
        [
            "check check.c: unknown, no objects",
            "resource memory_thing.a: unknown, no objects",
            "resource memory_thing.none: pass, no objects",
        ]
    );
}
