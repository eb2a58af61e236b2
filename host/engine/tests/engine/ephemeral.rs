//! Ephemeral resources and variables, write-only attributes, and functions of
//! providers: what is in no state and no plan, and what must not change in between.

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
fn it_is_open_for_each_phase_and_in_nothing_that_is_stored() {
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
    assert!(!format!("{:?}", fixture.state).contains("token"));

    // Nothing changed, so that nothing is to be done but to look.
    fixture.world.forget_calls();
    assert!(!fixture.plan(CONSUMED).has_changes());
    assert_eq!(fixture.world.calls(), ["open t", "read a", "close t"]);
}

#[test]
fn it_is_closed_where_what_uses_it_fails() {
    let mut fixture = Fixture::new();
    let configuration = CONSUMED.replace("= local.token", "= local.token\n  mischief = \"fail\"");
    fixture.apply_errors(&configuration);
    assert_eq!(fixture.world.calls()[2..], ["open t", "create a", "with token-t", "close t"]);
}

#[test]
fn it_may_go_nowhere_where_it_would_be_stored() {
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
fn it_is_opened_during_the_apply_where_it_depends_on_what_is_made_then() {
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
fn there_may_be_several_instances_and_outputs_between() {
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
fn it_is_renewed_while_it_is_used_and_closed_with_what_it_was_opened_with() {
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
fn one_that_cannot_be_renewed_is_used_no_more() {
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
    let told = fixture.apply_errors(configuration);
    assert!(told.contains("Ephemeral resource instance has expired"), "{told}");
    assert!(told.contains("Not renewed"), "{told}");
    assert_eq!(addresses(&fixture.state), ["memory_thing.a"]);
    assert_eq!(fixture.world.calls().last().map(String::as_str), Some("close bad t"));
}

#[test]
fn a_null_answer_is_the_providers_mistake_and_closed_at_once() {
    let fixture = Fixture::new();
    let told =
        fixture.plan_errors("ephemeral \"memory_token\" \"t\" {\n  name = \"t\"\n  life = \"none\"\n}");
    assert!(
        told.contains("Provider produced null object") && told.contains("example.com/test/memory"),
        "{told}"
    );
    assert_eq!(fixture.world.calls(), ["open t", "close none t"]);
}

#[test]
fn a_provider_may_be_configured_with_it_also_where_all_is_destroyed() {
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
fn a_value_that_comes_back_for_a_write_only_attribute_is_the_providers_mistake() {
    for (mischief, is_planned) in [("plan a password", true), ("apply a password", false)] {
        let mut fixture = Fixture::new();
        let configuration =
            format!("resource \"memory_thing\" \"a\" {{\n  name = \"a\"\n  mischief = \"{mischief}\"\n}}");
        let told = if is_planned {
            fixture.plan_errors(&configuration)
        } else {
            fixture.apply_errors(&configuration)
        };
        assert!(told.contains("Write-only attribute set") && told.contains("password"), "{told}");
        assert!(told.contains("example.com/test/memory"), "{told}");
        assert!(!format!("{:?}", fixture.state).contains("known"), "{mischief}");
    }
}

#[test]
fn a_function_must_give_what_it_gave() {
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
    let told = fixture.apply_errors(impure);
    assert!(told.contains("Provider function returned an inconsistent result"), "{told}");
    assert!(told.contains("example.com/test/memory"), "{told}");
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
fn a_saved_plan_asks_again_for_the_ephemeral_variables_that_it_was_made_with() {
    let fixture = Fixture::new();
    let given = |pairs: &[(&str, &str)]| -> BTreeMap<Str, Value> {
        pairs.iter().map(|(name, value)| (Str::new(name), Value::string(*value))).collect()
    };
    let (plan, diagnostics) =
        fixture.plan_given(VARIABLES, &[], given(&[("given", "secret")]), &PlanOptions::default());
    assert!(!diagnostics.has_errors(), "{diagnostics}");
    let plan = plan.unwrap();
    let bytes = plan_file::encode(&plan, &plan_file::Surroundings::default()).unwrap();
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
fn a_destruction_opens_nothing_that_it_does_not_need() {
    let mut fixture = Fixture::new();
    fixture.apply(CONSUMED);
    fixture.world.forget_calls();
    let options = PlanOptions { mode: Mode::Destroy, ..PlanOptions::default() };
    let (applied, _) = fixture.apply_with(CONSUMED, &[], &options);
    assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
    assert!(fixture.world.calls().iter().all(|call| !call.starts_with("open")));
}
