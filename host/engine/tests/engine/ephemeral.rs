//! Ephemeral resources and variables, write-only attributes, and provider functions: values that
//! are stored in neither the state nor the plan, and results that must not change between plan and
//! apply.

use std::collections::BTreeMap;

use wardian_engine::{Mode, PlanOptions, plan_file};
use wardian_value::{Str, Value};

use crate::fixture::{Fixture, addresses};

const CONSUMED: &str = r#"
ephemeral "memory_token" "t" { name = "t" }
locals { token = ephemeral.memory_token.t.token }
resource "memory_thing" "a" {
  name     = "a"
  password = local.token
}
"#;

#[test]
fn ephemeral_resource_opens_per_phase_and_is_not_stored() {
    let mut fixture = Fixture::new();
    let plan = fixture.plan(CONSUMED);
    assert_eq!(plan.changes.len(), 1);
    assert!(plan.changes[0].after.get("password").unwrap().is_null());
    assert!(plan.changes[0].after.mark_paths().iter().all(|(_, marks)| !marks.is_ephemeral()));
    fixture.world.forget_calls();
    fixture.apply(CONSUMED);
    let expected = ["open t", "close t", "open t", "create a", "with token-t", "close t"];
    assert_eq!(fixture.world.calls(), expected);
    assert_eq!(addresses(&fixture.state), ["memory_thing.a"]);
    // The state contains the address of the ephemeral resource as a dependency, but not its value.
    assert!(!format!("{:?}", fixture.state).contains("token-t"));

    // No configuration changed, so objects are only read.
    fixture.world.forget_calls();
    assert!(!fixture.plan(CONSUMED).has_changes());
    assert_eq!(fixture.world.calls(), ["open t", "read a", "close t"]);
}

#[test]
fn ephemeral_resource_is_closed_after_dependent_fails() {
    let mut fixture = Fixture::new();
    let configuration = CONSUMED.replace("= local.token", "= local.token\n  mischief = \"fail\"");
    fixture.apply_errors(&configuration);
    assert_eq!(fixture.world.calls()[2..], ["open t", "create a", "with token-t", "close t"]);
}

#[test]
fn ephemeral_value_is_rejected_in_stored_places() {
    let fixture = Fixture::new();
    let of_thing = r#"
        ephemeral "memory_token" "t" { name = "t" }
        resource "memory_thing" "a" { name = ephemeral.memory_token.t.token }
    "#;
    assert!(fixture.plan_errors(of_thing).contains("Invalid use of ephemeral value"));
    assert!(fixture.world.calls().is_empty(), "nothing is opened for what is not valid");
    let of_count = r#"
        ephemeral "memory_token" "t" { name = "t" }
        resource "memory_thing" "a" {
          count = length(ephemeral.memory_token.t.token)
          name  = "a"
        }
    "#;
    assert!(fixture.plan_errors(of_count).contains("Invalid count argument"));
    let of_output = r#"
        ephemeral "memory_token" "t" { name = "t" }
        output "o" { value = ephemeral.memory_token.t.token }
    "#;
    assert!(fixture.plan_errors(of_output).contains("Ephemeral value not allowed"));
}

#[test]
fn ephemeral_resource_with_unknown_configuration_opens_in_apply() {
    let mut fixture = Fixture::new();
    let configuration = r#"
        resource "memory_thing" "first" { name = "first" }
        ephemeral "memory_token" "t" { name = memory_thing.first.id }
        ephemeral "memory_token" "after" {
          name       = "after"
          depends_on = [memory_thing.first]
        }
        resource "memory_thing" "second" {
          name     = "second"
          password = ephemeral.memory_token.t.token
        }
    "#;
    fixture.plan(configuration);
    assert_eq!(fixture.world.calls(), Vec::<String>::new());
    fixture.apply(configuration);
    let mut calls = fixture.world.calls();
    calls.retain(|call| !call.contains("after"));
    let expected = ["create first", "open thing-1", "create second", "with token-thing-1", "close thing-1"];
    assert_eq!(calls, expected);
}

#[test]
fn ephemeral_resource_supports_instances_and_outputs() {
    let mut fixture = Fixture::new();
    let module = r#"
        variable "names" { type = set(string) }
        ephemeral "memory_token" "t" {
          for_each = var.names
          name     = each.key
        }
        output "tokens" {
          value     = { for key, token in ephemeral.memory_token.t : key => token.token }
          ephemeral = true
        }
    "#;
    let configuration = r#"
        module "m" {
          source = "./m"
          names  = ["x", "y"]
        }
        resource "memory_thing" "a" {
          name     = "a"
          password = module.m.tokens["y"]
        }
        output "none" { value = ephemeralasnull(module.m.tokens) }
    "#;
    let (applied, _) = fixture.apply_with(configuration, &[("m", module)], &PlanOptions::default());
    assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
    let calls = fixture.world.calls();
    let mut opened: Vec<&str> = calls[4..6].iter().map(String::as_str).collect();
    opened.sort_unstable();
    assert_eq!(opened, ["open x", "open y"]);
    assert_eq!(calls[6..8], ["create a", "with token-y"]);
    assert!(calls[8..].iter().all(|call| call.starts_with("close ")) && calls.len() == 10, "{calls:?}");
    assert!(!fixture.state.outputs.contains_key("none"));
}

#[test]
fn ephemeral_resource_is_renewed_while_in_use() {
    let mut fixture = Fixture::new();
    let configuration = r#"
        ephemeral "memory_token" "t" {
          name = "t"
          life = "short"
        }
        resource "memory_thing" "a" {
          name     = "a"
          mischief = "take a while"
          password = ephemeral.memory_token.t.token
        }
    "#;
    fixture.apply(configuration);
    let calls = fixture.world.calls();
    assert!(calls.contains(&"renew short t".to_owned()), "{calls:?}");
    assert!(calls.contains(&"renew renewed short t".to_owned()), "{calls:?}");
    assert_eq!(calls.last().map(String::as_str), Some("close short t"));
}

#[test]
fn expired_ephemeral_resource_is_not_used() {
    let mut fixture = Fixture::new();
    let configuration = r#"
        ephemeral "memory_token" "t" {
          name = "t"
          life = "bad"
        }
        resource "memory_thing" "a" {
          name     = "a"
          mischief = "take a while"
        }
        resource "memory_thing" "b" {
          name     = memory_thing.a.name
          password = ephemeral.memory_token.t.token
          depends_on = [memory_thing.a]
        }
    "#;
    let reported = fixture.apply_errors(configuration);
    assert!(reported.contains("Ephemeral resource instance has expired"), "{reported}");
    assert!(reported.contains("Not renewed"), "{reported}");
    assert_eq!(addresses(&fixture.state), ["memory_thing.a"]);
    assert_eq!(fixture.world.calls().last().map(String::as_str), Some("close bad t"));
}

#[test]
fn null_ephemeral_result_is_provider_error() {
    let fixture = Fixture::new();
    let reported =
        fixture.plan_errors("ephemeral \"memory_token\" \"t\" {\n  name = \"t\"\n  life = \"none\"\n}");
    assert!(
        reported.contains("Provider produced null object") && reported.contains("example.com/test/memory"),
        "{reported}"
    );
    assert_eq!(fixture.world.calls(), ["open t", "close none t"]);
}

#[test]
fn ephemeral_value_configures_provider_for_destruction() {
    let mut fixture = Fixture::new();
    let configuration = r#"
        provider "memory" { alias = "plain" }
        provider "memory" { region = ephemeral.memory_token.t.token }
        ephemeral "memory_token" "t" {
          provider = memory.plain
          name     = "t"
        }
        ephemeral "memory_token" "unused" {
          provider = memory.plain
          name     = "unused"
        }
        resource "memory_thing" "a" { name = "a" }
    "#;
    fixture.apply(configuration);
    let calls_about_t = |fixture: &Fixture| -> Vec<String> {
        fixture.world.calls().into_iter().filter(|call| !call.ends_with("unused")).collect()
    };
    let expected =
        ["open t", "configure token-t", "close t", "open t", "configure token-t", "create a", "close t"];
    assert_eq!(calls_about_t(&fixture), expected);
    fixture.world.forget_calls();
    let applied = fixture.destroy(configuration);
    assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
    let calls = fixture.world.calls();
    assert_eq!(calls[..2], ["open t", "configure token-t"]);
    let after = calls.iter().position(|call| call == "destroy a").unwrap();
    assert_eq!(calls[after + 1..], ["close t"]);
    assert!(calls.iter().all(|call| !call.ends_with("unused")), "{calls:?}");
}

#[test]
fn returned_write_only_value_is_provider_error() {
    for (mischief, is_planned) in [("plan a password", true), ("apply a password", false)] {
        let mut fixture = Fixture::new();
        let configuration =
            format!("resource \"memory_thing\" \"a\" {{\n  name = \"a\"\n  mischief = \"{mischief}\"\n}}");
        let reported = if is_planned {
            fixture.plan_errors(&configuration)
        } else {
            fixture.apply_errors(&configuration)
        };
        assert!(reported.contains("Write-only attribute set") && reported.contains("password"), "{reported}");
        assert!(reported.contains("example.com/test/memory"), "{reported}");
        assert!(!format!("{:?}", fixture.state).contains("known"), "{mischief}");
    }
}

#[test]
fn provider_function_must_return_same_result() {
    let mut fixture = Fixture::new();
    let pure = r#"
        resource "memory_thing" "a" { name = provider::memory::same("a") }
        output "o" { value = provider::memory::same(memory_thing.a.id) }
    "#;
    assert_eq!(fixture.plan(pure).function_results.len(), 1);
    fixture.apply(pure);

    let mut fixture = Fixture::new();
    let impure = r#"
        resource "memory_thing" "a" { name = "a" }
        output "o" {
          value      = provider::memory::tally("calls")
          depends_on = [memory_thing.a]
        }
    "#;
    let reported = fixture.apply_errors(impure);
    assert!(reported.contains("Provider function returned an inconsistent result"), "{reported}");
    assert!(reported.contains("example.com/test/memory"), "{reported}");
}

const VARIABLES: &str = r#"
variable "given" { ephemeral = true }
variable "default" {
  ephemeral = true
  default   = "d"
}
variable "kept" { default = "k" }
resource "memory_thing" "a" {
  name     = var.kept
  password = "${var.given}${var.default}"
}
"#;

#[test]
fn saved_plan_requires_its_ephemeral_variables() {
    let fixture = Fixture::new();
    let given = |pairs: &[(&str, &str)]| -> BTreeMap<Str, Value> {
        pairs.iter().map(|(name, value)| (Str::new(name), Value::string(*value))).collect()
    };
    let (plan, diagnostics) =
        fixture.plan_given(VARIABLES, &[], given(&[("given", "secret")]), &PlanOptions::default());
    assert!(!diagnostics.has_errors(), "{diagnostics}");
    let plan = plan.unwrap();
    let bytes = plan_file::encode(&plan, &plan_file::PlanOrigin::default()).unwrap();
    let schema = std::sync::Arc::new(wardian_plugin::ProviderSchema {
        resources: [("memory_thing".into(), plan.changes[0].schema.clone())].into(),
        ..Default::default()
    });
    let saved = plan_file::decode(&bytes).unwrap().into_plan(|_| Some(&schema)).unwrap();
    assert_eq!(saved.variables.keys().map(|name| &**name).collect::<Vec<_>>(), ["kept"]);
    assert_eq!(saved.function_results, plan.function_results);

    let configuration = fixture.configuration(VARIABLES);
    let attempt = |pairs: &[(&str, &str)]| {
        let mut plan = saved.clone();
        plan.give_ephemeral_variables(&configuration, given(pairs)).map(|()| plan)
    };
    let names = |result: Result<wardian_engine::Plan, wardian_diagnostic::Diagnostics>| match result {
        Ok(plan) => plan.variables.keys().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        Err(problems) => problems.iter().map(|p| p.summary.clone()).collect::<Vec<_>>().join(" "),
    };
    assert_eq!(names(attempt(&[])), "No value for required variable");
    assert_eq!(
        names(attempt(&[("given", "x"), ("default", "y")])),
        "Ephemeral variable was not set during planning"
    );
    assert_eq!(names(attempt(&[("given", "x")])), "default given kept");
    let plan = attempt(&[("given", "x")]).unwrap();
    assert!(plan.variables["given"].marks().is_ephemeral());
}

#[test]
fn destruction_opens_only_required_ephemeral_resources() {
    let mut fixture = Fixture::new();
    fixture.apply(CONSUMED);
    fixture.world.forget_calls();
    let options = PlanOptions { mode: Mode::Destroy, ..PlanOptions::default() };
    let (applied, _) = fixture.apply_with(CONSUMED, &[], &options);
    assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
    assert!(fixture.world.calls().iter().all(|call| !call.starts_with("open")));
}
