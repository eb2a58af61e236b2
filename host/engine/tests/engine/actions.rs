//! Actions: their plans, their order, and their failures.

use std::collections::BTreeMap;
use std::sync::Arc;

use wardian_engine::plan_file::{self, PlanOrigin};
use wardian_engine::{InvocationTrigger, InvokeAddress, Mode, ObjectSecrets, Plan, PlanOptions};

use crate::fixture::{Fixture, addresses};

const RING: &str = r#"
    action "memory_ring" "before" {
      config { text = "before" }
    }
    action "memory_ring" "after" {
      config { text = memory_thing.a.id }
    }
"#;

fn with_triggers(size: u32) -> String {
    format!(
        r#"{RING}
        resource "memory_thing" "a" {{
          name = "a"
          size = {size}
          lifecycle {{
            action_trigger {{
              events  = [before_create, before_update]
              actions = [action.memory_ring.before]
            }}
            action_trigger {{
              events  = [after_create]
              actions = [action.memory_ring.after, action.memory_ring.before]
            }}
          }}
        }}"#
    )
}

fn invocations(plan: &Plan) -> Vec<String> {
    plan.invocations
        .iter()
        .map(|invocation| match &invocation.trigger {
            InvocationTrigger::Command => format!("{} by command", invocation.address),
            InvocationTrigger::Lifecycle { resource, event, block, position } => {
                format!("{} {} {resource} {block}.{position}", invocation.address, event.keyword())
            }
        })
        .collect()
}

#[test]
fn actions_run_before_and_after_changes() {
    let mut fixture = Fixture::new();
    let plan = fixture.plan(&with_triggers(1));
    assert_eq!(
        invocations(&plan),
        [
            "action.memory_ring.before before_create memory_thing.a 0.0",
            "action.memory_ring.after after_create memory_thing.a 1.0",
            "action.memory_ring.before after_create memory_thing.a 1.1",
        ]
    );
    assert_eq!(plan.counts().invoke, 3);
    assert!(!plan.invocations[1].config.is_wholly_known());
    assert!(fixture.world.calls().contains(&"plan ring unknown".to_owned()));
    fixture.world.forget_calls();
    let applied = fixture.apply_plan(&with_triggers(1), &plan);
    assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
    assert_eq!(applied.counts.invoke, 3);
    let calls = fixture.world.calls();
    let order: Vec<&str> = calls
        .iter()
        .map(String::as_str)
        .filter(|call| call.starts_with("ring") || call.starts_with("create"))
        .collect();
    assert_eq!(order, ["ring before", "create a", "ring thing-1", "ring before"]);

    // Nothing changes, so nothing is invoked; an update triggers only its own events.
    assert!(fixture.plan(&with_triggers(1)).invocations.is_empty());
    let plan = fixture.plan(&with_triggers(2));
    assert_eq!(invocations(&plan), ["action.memory_ring.before before_update memory_thing.a 0.0"]);
}

#[test]
fn failed_action_before_a_change_prevents_it() {
    let mut fixture = Fixture::new();
    let configuration = r#"
        action "memory_ring" "x" {
          config {
            text = "x"
            fail = true
          }
        }
        resource "memory_thing" "a" {
          name = "a"
          lifecycle {
            action_trigger {
              events  = [before_create]
              actions = [action.memory_ring.x]
            }
          }
        }
        resource "memory_thing" "b" { name = "b" }"#;
    let errors = fixture.apply_errors(configuration);
    assert!(errors.contains("Bell is broken") && errors.contains("main.tf:"), "{errors}");
    assert_eq!(addresses(&fixture.state), ["memory_thing.b"]);
}

#[test]
fn failed_action_after_a_change_keeps_the_object() {
    let mut fixture = Fixture::new();
    let configuration = r#"
        action "memory_ring" "x" {
          for_each = toset(["one", "two"])
          config {
            text = each.key
            fail = each.key == "one"
          }
        }
        resource "memory_thing" "a" {
          count = 2
          name  = "a${count.index}"
          lifecycle {
            action_trigger {
              events    = [after_create]
              condition = count.index == 0
              actions   = [action.memory_ring.x]
            }
          }
        }
        resource "memory_thing" "b" { name = memory_thing.a[0].id }"#;
    let plan = fixture.plan(configuration);
    assert_eq!(
        invocations(&plan),
        [
            "action.memory_ring.x[\"one\"] after_create memory_thing.a[0] 0.0",
            "action.memory_ring.x[\"two\"] after_create memory_thing.a[0] 0.0",
        ]
    );
    let errors = fixture.apply_errors(configuration);
    assert!(errors.contains("Bell is broken"), "{errors}");
    // Dependents do not wait for the action, and the rest of the group does not run.
    assert_eq!(addresses(&fixture.state), ["memory_thing.a[0]", "memory_thing.a[1]", "memory_thing.b"]);
    assert!(!fixture.world.calls().contains(&"ring two".to_owned()));
}

#[test]
fn action_of_a_replaced_object_runs_between_destruction_and_creation() {
    let configuration = |fixed: &str| {
        format!(
            r#"
            action "memory_ring" "x" {{
              config {{ text = "x" }}
            }}
            resource "memory_thing" "a" {{
              name  = "a"
              fixed = "{fixed}"
              lifecycle {{
                action_trigger {{
                  events  = [before_create]
                  actions = [action.memory_ring.x]
                }}
              }}
            }}"#
        )
    };
    let mut fixture = Fixture::new();
    fixture.apply(&configuration("one"));
    fixture.world.forget_calls();
    fixture.apply(&configuration("two"));
    let calls = fixture.world.calls();
    let changes: Vec<&String> =
        calls.iter().filter(|call| !call.starts_with("read") && !call.starts_with("plan")).collect();
    assert_eq!(changes, ["destroy a", "ring x", "create a"]);
}

#[test]
fn requested_action_runs_alone() {
    let mut fixture = Fixture::new();
    let configuration = format!("{RING}\nresource \"memory_thing\" \"a\" {{ name = \"a\" }}");
    let options = |address: &str| PlanOptions {
        invoke: vec![address.parse::<InvokeAddress>().unwrap()],
        ..PlanOptions::default()
    };
    let (_, errors) = fixture.plan_with(&configuration, &[], &options("action.memory_ring.after"));
    assert!(errors.to_string().contains("Action configuration contains unknown values"), "{errors}");
    fixture.apply(&configuration);
    fixture.world.forget_calls();
    let (plan, found) = fixture.plan_with(&configuration, &[], &options("action.memory_ring.after"));
    assert!(!found.has_errors(), "{found}");
    let plan = plan.unwrap();
    assert_eq!((plan.mode, plan.changes.len()), (Mode::Normal, 0));
    assert_eq!(invocations(&plan), ["action.memory_ring.after by command"]);
    let applied = fixture.apply_plan(&configuration, &plan);
    assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
    assert_eq!(fixture.world.calls(), ["read a", "plan ring thing-1", "ring thing-1"]);
    assert_eq!(addresses(&fixture.state), ["memory_thing.a"]);
    let (_, errors) = fixture.plan_with(&configuration, &[], &options("action.memory_ring.befor"));
    assert!(errors.to_string().contains("Did you mean \"action.memory_ring.before\"?"), "{errors}");
    let (_, errors) = fixture.plan_with(&configuration, &[], &options("action.memory_ring.before[0]"));
    assert!(errors.to_string().contains("There is no action instance"), "{errors}");
}

#[test]
fn destroying_invokes_nothing() {
    let mut fixture = Fixture::new();
    fixture.apply(&with_triggers(1));
    fixture.world.forget_calls();
    let applied = fixture.destroy(&with_triggers(1));
    assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
    assert!(!fixture.world.calls().iter().any(|call| call.contains("ring")));
}

#[test]
fn sensitive_values_are_redacted_in_progress() {
    let mut fixture = Fixture::new();
    fixture.apply(
        r#"
        action "memory_ring" "x" {
          config {
            text   = "x"
            secret = "hunter2-hunter2"
          }
        }
        resource "memory_thing" "a" {
          name = "a"
          lifecycle {
            action_trigger {
              events  = [after_create]
              actions = [action.memory_ring.x]
            }
          }
        }"#,
    );
    let events = fixture.event_log.0.lock().unwrap().join("\n");
    assert!(events.contains("action.memory_ring.x shows: ringing x (sensitive"), "{events}");
    assert!(!events.contains("hunter2"), "{events}");
}

#[test]
fn invocations_round_trip_through_plan_file() {
    let mut fixture = Fixture::new();
    let plan = fixture.plan(&with_triggers(1));
    let bytes =
        plan_file::encode(&plan, &PlanOrigin { configuration: BTreeMap::new(), ..PlanOrigin::default() })
            .unwrap();
    let schema = Arc::new(wardian_plugin::ProviderSchema {
        resources: [("memory_thing".into(), plan.changes[0].schema.clone())].into(),
        actions: [("memory_ring".into(), plan.invocations[0].schema.clone())].into(),
        ..Default::default()
    });
    let back = plan_file::decode(&bytes).unwrap().into_plan(|_| Some(&schema)).unwrap();
    assert_eq!(invocations(&back), invocations(&plan));
    for (one, other) in back.invocations.iter().zip(&plan.invocations) {
        assert_eq!((&one.config, &one.provider), (&other.config, &other.provider));
    }
    let applied = fixture.apply_plan(&with_triggers(1), &back);
    assert_eq!(applied.counts.invoke, 3);
}

#[test]
fn untrusted_configuration_invokes_nothing() {
    let mut fixture = Fixture::new();
    fixture.secrets = ObjectSecrets::Withheld;
    let errors = fixture.plan_errors(&with_triggers(1));
    assert!(errors.contains("Actions not allowed for untrusted configuration"), "{errors}");
    assert!(!fixture.world.calls().iter().any(|call| call.contains("ring")));
}

#[test]
fn mistakes_are_reported_at_their_position() {
    let fixture = Fixture::new();
    let trigger = |events: &str, condition: &str, actions: &str| {
        format!(
            r#"{RING}
            resource "memory_thing" "a" {{
              name = "a"
              lifecycle {{
                action_trigger {{
                  events = {events}
                  {condition}
                  actions = {actions}
                }}
              }}
            }}"#
        )
    };
    let one = "[action.memory_ring.before]";
    for (configuration, expected) in [
        (trigger("[before_creat]", "", one), "There is no event before_creat; the events are"),
        (trigger("[before_creat]", "", one), "Did you mean \"before_create\"?"),
        (trigger("[after_create, after_create]", "", one), "is already in the list"),
        (trigger("[]", "", one), "A list with at least one event is required here."),
        (trigger("[after_create]", "", "[]"), "at least one reference to an action"),
        (trigger("[after_create]", "", "[action.memory_ring.befor]"), "Did you mean \"before\"?"),
        (trigger("[after_create]", "", "[action.memory_rin.before]"), "Did you mean \"memory_ring\"?"),
        (trigger("[after_create]", "", "[action.memory_ring.before[0]]"), "Remove the brackets."),
        (trigger("[after_create]", "", "[action.memory_ring.before.text]"), "An action has no attributes"),
        (trigger("[after_create]", "", "[memory_thing.a]"), "Only an action can be invoked"),
        (trigger("[after_create]", "condition = \"x\"", one), "The condition must be true or false"),
        (trigger("[before_create]", "", "[action.memory_ring.after]"), "Cycle: "),
        (format!("{RING} output \"x\" {{ value = action.memory_ring.before }}"), "Invalid action reference"),
        (r#"action "memory_rin" "x" {}"#.to_owned(), "Did you mean \"memory_ring\"?"),
        (r#"action "memory_ring" "x" {}"#.to_owned(), "The argument \"text\" must be set here."),
        ("action \"memory_ring\" \"x\" {\n config { txt = 1 }\n}".to_owned(), "Did you mean \"text\"?"),
        (
            r#"action "memory_ring" "x" { text = 1 }"#.to_owned(),
            "An action block has no argument named \"text\"",
        ),
        (r#"list "memory_thing" "x" { provider = memory }"#.to_owned(), "belongs in a query file"),
    ] {
        let found = fixture.validate(&configuration).to_string();
        assert!(found.contains(expected), "{expected}\nin\n{found}\nfor\n{configuration}");
        assert!(found.contains("main.tf:") || expected.starts_with("Cycle"), "{found}");
    }
    let unknown = trigger("[after_create]", "condition = memory_thing.b.id == \"x\"", one)
        + "\nresource \"memory_thing\" \"b\" { name = \"b\" }";
    let found = fixture.plan_errors(&unknown);
    assert!(found.contains("depends on values that are known only after apply"), "{found}");
    let missing = trigger("[after_create]", "", "[action.memory_ring.many[7]]")
        + r#"
        action "memory_ring" "many" {
          count = 2
          config { text = count.index }
        }"#;
    let found = fixture.plan_errors(&missing);
    assert!(found.contains("action.memory_ring.many has no instance with the key [7]."), "{found}");
}
