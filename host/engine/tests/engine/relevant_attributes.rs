//! Attributes on which a plan depends, and changes made outside of Wardian.

use wardian_engine::{Action, Mode, Plan, PlanOptions};

use crate::fixture::Fixture;

fn relevant(plan: &Plan) -> Vec<String> {
    let reported = plan.relevant_attributes.iter();
    reported.map(|attribute| format!("{}{}", attribute.resource, attribute.path)).collect()
}

#[test]
fn references_are_followed_to_resources() {
    let fixture = Fixture::new();
    let modules = [(
        "m",
        r#"
        variable "in" {}
        variable "unused" { default = null }
        locals { in = var.in }
        resource "memory_thing" "inner" { name = local.in }
        output "out" { value = memory_thing.inner.id }
        output "nothing" { value = null }
        "#,
    )];
    let (plan, diagnostics) = fixture.plan_with(
        r#"
        resource "memory_thing" "a" { name = "a" }
        resource "memory_thing" "idle" { name = "idle" }
        resource "memory_thing" "many" {
          count = memory_thing.a.name == "a" ? 2 : 1
          name  = "n${count.index}"
        }
        locals { id = memory_thing.a.id }
        module "m" {
          source = "./m"
          in     = "${local.id}-${memory_thing.many[1].name}"
        }
        output "o" { value = module.m.out }
        "#,
        &modules,
        &PlanOptions::default(),
    );
    assert!(!diagnostics.has_errors(), "{diagnostics}");
    assert_eq!(
        relevant(&plan.unwrap()),
        [
            "memory_thing.a.id",
            "memory_thing.a.name",
            "memory_thing.many[1].name",
            "module.m.memory_thing.inner.id"
        ]
    );
}

#[test]
fn only_references_of_the_used_argument_are_followed() {
    let mut fixture = Fixture::new();
    let configuration = |output: &str| {
        format!(
            r#"
            resource "memory_thing" "a" {{ name = "a" }}
            resource "memory_thing" "b" {{
              name  = memory_thing.a.name
              label = memory_thing.a.id
            }}
            output "o" {{ value = memory_thing.b.{output} }}
            "#
        )
    };
    fixture.apply(&configuration("name"));
    assert_eq!(relevant(&fixture.plan(&configuration("name"))), Vec::<String>::new());
    let plan = fixture.plan(&configuration("label"));
    assert_eq!(relevant(&plan), ["memory_thing.a.id", "memory_thing.b.label"]);
}

#[test]
fn move_alone_is_drift_in_refresh_only_plan() {
    let mut fixture = Fixture::new();
    fixture.apply(r#"resource "memory_thing" "a" { name = "a" }"#);
    let moved = r#"
        resource "memory_thing" "a" {
          count = 1
          name  = "a"
        }
    "#;
    // Only a refresh-only plan reports the move as drift; in other plans it is a change.
    let reported = [
        (Mode::Normal, vec![]),
        (Mode::RefreshOnly, vec![("memory_thing.a[0]".to_owned(), Action::NoOp, true)]),
    ];
    for (mode, expected) in reported {
        let options = PlanOptions { mode, ..PlanOptions::default() };
        let (plan, diagnostics) = fixture.plan_with(moved, &[], &options);
        assert!(!diagnostics.has_errors(), "{diagnostics}");
        let plan = plan.unwrap();
        let drift: Vec<_> =
            plan.drift.iter().map(|c| (c.address.to_string(), c.action, c.is_moved())).collect();
        assert_eq!(drift, expected);
        // The move makes the plan applyable only if the plan reports it as a change.
        assert_eq!(plan.is_applyable(), mode == Mode::Normal);
    }
}
