use serde::{Deserialize, Serialize};
use wardian_value::Type;

use crate::testing::{PlannedAction, ProviderHarness, config, json};
use crate::{Attr, Attribute, Context, Plan, Provider, Resource, Result, Schema, Update};

struct Thing;

#[derive(Serialize, Deserialize)]
struct State {
    name: Option<String>,
    size: Option<i64>,
    kind: Option<String>,
    zone: Option<String>,
    region: Option<String>,
    id: Option<String>,
    version: Option<i64>,
    token: Option<String>,
    doubled: Option<i64>,
    tags: Option<std::collections::BTreeSet<String>>,
}

impl Resource for Thing {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::new()
            .attribute(Attribute::string("name").force_new())
            .attribute(Attribute::integer("size").default(3))
            .attribute(
                Attribute::string("kind").force_new_if(|change| change.planned().as_str() == Some("rare")),
            )
            .attribute(Attribute::string("zone").optional().computed().force_new_if_configured())
            .attribute(Attribute::string("region").modify_plan(|change| {
                if change.config().as_str() == Some("here") {
                    change.set_value(change.prior().clone());
                }
                Ok(())
            }))
            .attribute(Attribute::string("id").computed().use_state_for_unknown())
            .attribute(Attribute::number("version").computed())
            .attribute(Attribute::string("token").write_only())
            .attribute(Attribute::number("doubled").computed())
            .attribute(Attribute::set("tags", Type::String))
    }

    fn modify_plan(&self, plan: &mut Plan, _: &mut Context<'_>) -> Result<()> {
        if plan.is_changed("tags") && plan.is_update() {
            plan.require_replace("tags");
        }
        let Some(planned) = plan.planned_mut() else { return Ok(()) };
        if let Attr::Known(size) = planned.get::<Attr<i64>>("size")? {
            planned.set("doubled", &(size * 2))?;
        }
        Ok(())
    }

    fn create(&self, plan: State, _: &mut Context<'_>) -> Result<State> {
        let zone = plan.zone.or(Some("a".into()));
        Ok(State { id: Some("1".into()), version: Some(1), zone, token: None, ..plan })
    }
}

impl Update for Thing {
    fn update(&self, prior: State, plan: State, _: &mut Context<'_>) -> Result<State> {
        let version = prior.version.map(|version| version + 1);
        Ok(State { version, zone: plan.zone.or(prior.zone), token: None, ..plan })
    }
}

fn harness() -> ProviderHarness {
    ProviderHarness::new(Provider::new("test").updatable_resource("test_thing", Thing))
}

#[test]
fn create_plan_has_defaults_and_unknowns() {
    let plan = harness().plan("test_thing", None, json!({ "token": "secret" })).unwrap();
    let planned = plan.object.unwrap();
    assert_eq!(planned.get::<i64>("size").unwrap(), 3);
    assert_eq!(planned.get::<i64>("doubled").unwrap(), 6);
    assert!(planned.is_unknown("id") && planned.is_unknown("version") && planned.is_unknown("zone"));
    assert!(planned.is_null("token"));
}

#[test]
fn plan_without_changes_has_no_unknowns() {
    let harness = harness();
    let state = harness.create("test_thing", json!({ "token": "secret" })).unwrap();
    assert_eq!(
        harness.plan("test_thing", Some(&state), json!({ "token": "x" })).unwrap().action,
        PlannedAction::NoOp
    );
}

#[test]
fn change_makes_computed_values_unknown() {
    let harness = harness();
    let state = harness.create("test_thing", json!({})).unwrap();
    let plan = harness.plan("test_thing", Some(&state), json!({ "size": 4 })).unwrap();
    assert_eq!(plan.action, PlannedAction::Update);
    let planned = plan.object.as_ref().unwrap();
    assert_eq!(planned.get::<String>("id").unwrap(), "1");
    assert!(planned.is_unknown("version"));
    assert_eq!(harness.apply(&plan).unwrap().unwrap().get::<i64>("version"), 2);
}

#[test]
fn force_new_applies_if_its_condition_is_true() {
    let harness = harness();
    let state = harness.create("test_thing", json!({ "kind": "common" })).unwrap();
    for (config, action) in [
        (json!({ "kind": "usual" }), PlannedAction::Update),
        (json!({ "kind": "rare" }), PlannedAction::Replace),
        (json!({ "kind": "common", "name": "a" }), PlannedAction::Replace),
        (json!({ "kind": "common", "zone": "b" }), PlannedAction::Replace),
        (json!({ "kind": "common", "zone": "a" }), PlannedAction::NoOp),
        (json!({ "kind": "common", "size": 9 }), PlannedAction::Update),
        (json!({ "kind": "common", "tags": ["x"] }), PlannedAction::Replace),
    ] {
        let plan = harness.plan("test_thing", Some(&state), config.clone()).unwrap();
        assert_eq!(plan.action, action, "{config}");
    }
}

#[test]
fn plan_modifier_keeps_prior_value() {
    let harness = harness();
    let state = harness.create("test_thing", json!({ "region": "north" })).unwrap();
    let plan = harness.plan("test_thing", Some(&state), json!({ "region": "here" })).unwrap();
    assert_eq!(plan.object.unwrap().get::<String>("region").unwrap(), "north");
}

#[test]
fn unknown_configuration_is_planned_as_unknown() {
    let harness = harness();
    let state = harness.create("test_thing", json!({ "name": "a" })).unwrap();
    let plan = harness.plan("test_thing", Some(&state), config(json!({})).unknown("name")).unwrap();
    assert_eq!(plan.action, PlannedAction::Replace);
    assert!(plan.object.unwrap().is_unknown("name"));
}
