use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wardian_value::{Type, Value};

use crate::testing::{PlannedAction, ProviderHarness, json};
use crate::{Attribute, Block, Context, Provider, Resource, Result, Schema, Timeouts, Update, validate};

struct Network;

#[derive(Clone, Serialize, Deserialize)]
struct Rule {
    port: i64,
    action: Option<String>,
    id: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Disk {
    size: i64,
    serial: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct State {
    owner: Option<Rule>,
    rules: Option<Vec<Rule>>,
    hosts: Option<BTreeMap<String, Rule>>,
    members: Option<Vec<Rule>>,
    disk: Vec<Disk>,
    options: Option<Disk>,
    timeouts: Option<Timeouts>,
}

fn rule() -> Vec<Attribute> {
    vec![
        Attribute::integer("port").required().validate(validate::range(1..=65535)),
        Attribute::string("action").default("allow"),
        Attribute::string("id").computed().use_state_for_unknown(),
    ]
}

fn member() -> Vec<Attribute> {
    vec![
        Attribute::integer("port").required(),
        Attribute::string("action").force_new(),
        Attribute::string("id").computed().use_state_for_unknown(),
    ]
}

impl Resource for Network {
    type State = State;

    fn schema(&self) -> Schema {
        let disk = vec![
            Attribute::integer("size").required().force_new(),
            Attribute::string("serial").optional().computed(),
        ];
        Schema::new()
            .attribute(Attribute::nested("owner", rule()))
            .attribute(Attribute::nested_list("rules", rule()))
            .attribute(Attribute::nested_map("hosts", rule()))
            .attribute(Attribute::nested_set("members", member()))
            .block(Block::list("disk").min(1).max(2).attributes(disk))
            .block(Block::single("options").attributes([
                Attribute::integer("size").required(),
                Attribute::string("serial").default("none"),
            ]))
            .block(Timeouts::block(&["create", "delete"]))
    }

    fn create(&self, mut plan: State, _: &mut Context<'_>) -> Result<State> {
        fill(&mut plan);
        Ok(plan)
    }
}

impl Update for Network {
    fn update(&self, _: State, mut plan: State, _: &mut Context<'_>) -> Result<State> {
        fill(&mut plan);
        Ok(plan)
    }
}

fn fill(state: &mut State) {
    let rules = state.owner.iter_mut().chain(state.rules.iter_mut().flatten());
    let rules = rules.chain(state.hosts.iter_mut().flat_map(|hosts| hosts.values_mut()));
    for rule in rules.chain(state.members.iter_mut().flatten()) {
        rule.id.get_or_insert_with(|| format!("id-{}", rule.port));
    }
    for disk in &mut state.disk {
        disk.serial.get_or_insert_with(|| format!("serial-{}", disk.size));
    }
}

fn provider() -> Provider {
    Provider::new("test").updatable_resource("test_network", Network)
}

fn harness() -> ProviderHarness {
    ProviderHarness::new(provider())
}

#[test]
fn provider_with_all_features_is_valid() {
    crate::assert_valid_provider(provider());
}

#[test]
fn defaults_and_unknowns_apply_at_every_nesting() {
    let harness = harness();
    let config = json!({
        "owner": { "port": 1 },
        "rules": [{ "port": 2 }, { "port": 3, "action": "deny" }],
        "hosts": { "a": { "port": 4 } },
        "members": [{ "port": 5 }, { "port": 6, "action": "deny" }],
        "disk": [{ "size": 10 }],
        "options": { "size": 1 },
        "timeouts": { "create": "5m" }
    });
    let plan = harness.plan("test_network", None, config.clone()).unwrap();
    let planned = plan.object.as_ref().unwrap();
    let rules = planned.value("rules");
    let rules = rules.as_elements().unwrap();
    assert_eq!(rules[0].get("action").unwrap(), &Value::string("allow"));
    assert_eq!(rules[1].get("action").unwrap(), &Value::string("deny"));
    assert_eq!(rules[1].get("id").unwrap(), &Value::unknown(Type::String));
    assert!(!planned.value("hosts").get("a").unwrap().get("id").unwrap().is_known());
    assert!(!planned.value("disk").as_elements().unwrap()[0].get("serial").unwrap().is_known());
    assert_eq!(planned.value("options").get("serial").unwrap(), &Value::string("none"));

    let state = harness.apply(&plan).unwrap().unwrap();
    assert_eq!(harness.plan("test_network", Some(&state), config).unwrap().action, PlannedAction::NoOp);
}

#[test]
fn elements_keep_computed_values() {
    let harness = harness();
    let before = json!({
        "rules": [{ "port": 1 }],
        "hosts": { "a": { "port": 1 } },
        "members": [{ "port": 1 }],
        "disk": [{ "size": 1 }]
    });
    let state = harness.create("test_network", before).unwrap();
    let after = json!({
        "rules": [{ "port": 1 }, { "port": 2 }],
        "hosts": { "a": { "port": 9 }, "b": { "port": 2 } },
        "members": [{ "port": 2 }, { "port": 1 }],
        "disk": [{ "size": 1 }]
    });
    let plan = harness.plan("test_network", Some(&state), after).unwrap();
    assert_eq!(plan.action, PlannedAction::Update);
    let planned = plan.object.as_ref().unwrap();
    assert_eq!(planned.value("hosts").get("a").unwrap().get("id").unwrap(), &Value::string("id-1"));
    let members = planned.value("members");
    let ids: Vec<_> =
        members.as_elements().unwrap().iter().map(|member| member.get("id").unwrap().is_known()).collect();
    assert_eq!(ids.iter().filter(|is_known| **is_known).count(), 1);
    harness.apply(&plan).unwrap();
}

#[test]
fn requires_replace_paths_stop_at_sets() {
    let harness = harness();
    let state = harness
        .create("test_network", json!({ "disk": [{ "size": 1 }, { "size": 2 }], "members": [{ "port": 1 }] }))
        .unwrap();
    let paths = |config| -> Vec<String> {
        let plan = harness.plan("test_network", Some(&state), config).unwrap();
        plan.requires_replace.iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        paths(json!({ "disk": [{ "size": 1 }, { "size": 3 }], "members": [{ "port": 1 }] })),
        [".disk[1].size"]
    );
    assert_eq!(
        paths(
            json!({ "disk": [{ "size": 1 }, { "size": 2 }], "members": [{ "port": 1, "action": "deny" }] })
        ),
        [".members"]
    );
}

#[test]
fn errors_have_paths_of_nested_attributes() {
    let found = harness().validate(
        "test_network",
        json!({ "rules": [{ "port": 1 }, { "port": 0 }], "hosts": { "a": {} }, "timeouts": { "create": "soon" } }),
    );
    let found: Vec<String> = found
        .iter()
        .map(|found| {
            format!("{}{}", found.summary, found.path.as_ref().map(ToString::to_string).unwrap_or_default())
        })
        .collect();
    assert_eq!(
        found,
        [
            "Invalid Attribute Value.rules[1].port",
            "Missing Configuration for Required Attribute.hosts[\"a\"].port",
            "Insufficient Blocks.disk",
            "Invalid Attribute Value.timeouts.create",
        ]
    );
}
