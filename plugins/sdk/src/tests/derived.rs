use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use wardian_value::Type;

use crate::testing::{PlannedAction, ProviderHarness, json, schema_text};
use crate::{
    Attr, Attribute, Block, Context, Dynamic, JsonText, Object, Provider, Resource, Result, Schema, Timeouts,
    Update, validate,
};

/// A server with
/// several disks.
///
/// - It has rules.
#[derive(Serialize, Deserialize, Schema)]
#[schema(version = 0, deprecated = "Use machines.", conflicting("token", "disk.label"))]
struct Server {
    /// The name.
    #[attr(force_new, validate(length(1..=63), regex("^[a-z]", "must start with a letter")))]
    name: String,
    #[attr(default = 300, validate(range(30..)))]
    timeout: i64,
    #[attr(default = 0.5, validate(range(0..=1)))]
    ratio: f64,
    #[attr(default = "a", validate(one_of("a", "b")))]
    kind: String,
    #[attr(default_with = label_from_name)]
    label: Option<String>,
    #[attr(computed, use_state_for_unknown)]
    id: Option<String>,
    #[attr(optional, computed, sensitive)]
    token: Option<String>,
    #[attr(write_only)]
    password: Option<String>,
    #[serde(rename = "type")]
    #[attr(deprecated = "Use kind.")]
    old_type: Option<bool>,
    tags: Option<BTreeMap<String, String>>,
    zones: Option<BTreeSet<String>>,
    #[attr(set, validate(size(1..), elements(range(1..=10))))]
    ports: Option<Vec<u16>>,
    anything: Option<Dynamic>,
    policy: Option<JsonText>,
    unknown: Attr<String>,
    /// The owner.
    owner: Option<Owner>,
    owners: Option<BTreeMap<String, Owner>>,
    #[serde(flatten)]
    shared: Shared,
    #[attr(block, min_items = 1, max_items = 4)]
    disk: Vec<Disk>,
    #[attr(block, set)]
    rule: Vec<Disk>,
    #[attr(block)]
    options: Option<Disk>,
    #[attr(block)]
    named: BTreeMap<String, Disk>,
    #[attr(block, timeouts(create, delete))]
    timeouts: Option<Timeouts>,
}

fn label_from_name(config: &Object) -> Result<Attr<String>> {
    Ok(config.get::<Attr<String>>("name")?.map(|name| name.to_uppercase()))
}

#[derive(Clone, Serialize, Deserialize, Schema)]
#[schema(nested)]
struct Owner {
    #[attr(required, validate(custom(no_space)))]
    name: String,
    #[attr(computed)]
    count: Option<i64>,
}

fn no_space(text: &str) -> std::result::Result<(), &'static str> {
    if text.contains(' ') { Err("must not contain spaces") } else { Ok(()) }
}

#[derive(Serialize, Deserialize, Schema)]
#[schema(shared)]
struct Shared {
    /// Shared text.
    note: Option<String>,
    #[attr(computed)]
    revision: Option<i64>,
}

/// A disk.
#[derive(Serialize, Deserialize, Schema)]
#[schema(nested)]
struct Disk {
    size: i64,
    label: Option<String>,
}

/// Returns the same schema, written with the builder.
fn built() -> Schema {
    let owner = || [Attribute::string("name").required(), Attribute::integer("count").computed()];
    let disk = |block: Block| {
        block
            .description("A disk.")
            .attribute(Attribute::integer("size").required())
            .attribute(Attribute::string("label"))
    };
    Schema::new()
        .description("A server with several disks.\n\n- It has rules.")
        .deprecated("Use machines.")
        .attribute(Attribute::string("name").required().description("The name."))
        .attribute(Attribute::integer("timeout").default(300_i64))
        .attribute(Attribute::number("ratio").default("0.5"))
        .attribute(Attribute::string("kind").default("a"))
        .attribute(Attribute::string("label").optional().computed())
        .attribute(Attribute::string("id").computed())
        .attribute(Attribute::string("token").optional().computed().sensitive())
        .attribute(Attribute::string("password").write_only())
        .attribute(Attribute::bool("type").deprecated("Use kind."))
        .attribute(Attribute::map("tags", Type::String))
        .attribute(Attribute::set("zones", Type::String))
        .attribute(Attribute::set("ports", Type::Number))
        .attribute(Attribute::dynamic("anything"))
        .attribute(Attribute::string("policy"))
        .attribute(Attribute::string("unknown"))
        .attribute(Attribute::nested("owner", owner()).description("The owner."))
        .attribute(Attribute::nested_map("owners", owner()))
        .attribute(Attribute::string("note").description("Shared text."))
        .attribute(Attribute::integer("revision").computed())
        .block(disk(Block::list("disk")).min(1).max(4))
        .block(disk(Block::set("rule")))
        .block(disk(Block::single("options")))
        .block(disk(Block::map("named")))
        .block(Timeouts::block(&["create", "delete"]))
}

struct Built;

impl Resource for Built {
    type State = Object;

    fn schema(&self) -> Schema {
        built()
    }

    fn create(&self, plan: Object, _: &mut Context<'_>) -> Result<Object> {
        Ok(plan)
    }
}

struct Derived;

impl Resource for Derived {
    type State = Server;

    fn schema(&self) -> Schema {
        Schema::for_type::<Server>()
    }

    fn create(&self, plan: Server, _: &mut Context<'_>) -> Result<Server> {
        Ok(plan)
    }
}

#[test]
fn derived_schema_equals_built_schema() {
    let derived = schema_text(Provider::new("test").resource("test_server", Derived));
    let built = schema_text(Provider::new("test").resource("test_server", Built));
    for (derived, built) in derived.lines().zip(built.lines()) {
        assert_eq!(derived, built);
    }
    assert_eq!(derived.lines().count(), built.lines().count());
}

struct Servers;

impl Resource for Servers {
    type State = Server;

    fn schema(&self) -> Schema {
        Schema::for_type::<Server>().change_attribute("unknown", Attribute::sensitive)
    }

    fn create(&self, mut plan: Server, context: &mut Context<'_>) -> Result<Server> {
        let password = context.config_as::<Server>()?.password;
        plan.id = Some(format!("{}:{}", plan.name, password.unwrap_or_default()));
        plan.token.get_or_insert_with(|| "t".to_owned());
        plan.shared.revision = Some(1);
        // The server normalizes JSON.
        plan.policy = plan.policy.map(|policy| JsonText::from(policy.as_str().replace(' ', "")));
        for owner in plan.owner.iter_mut().chain(plan.owners.iter_mut().flat_map(|all| all.values_mut())) {
            owner.count = Some(1);
        }
        Ok(plan)
    }

    fn read(&self, mut state: Server, _: &mut Context<'_>) -> Result<Option<Server>> {
        state.policy = state.policy.map(|policy| JsonText::from(policy.as_str().replace(' ', "")));
        Ok(Some(state))
    }
}

impl Update for Servers {
    fn update(&self, _: Server, plan: Server, context: &mut Context<'_>) -> Result<Server> {
        self.create(plan, context)
    }
}

fn provider() -> Provider {
    Provider::new("test").updatable_resource("test_server", Servers)
}

#[test]
fn provider_with_derived_schema_is_valid() {
    crate::assert_valid_provider(provider());
}

fn config(policy: &str) -> serde_json::Value {
    json!({
        "name": "web", "password": "p", "policy": policy, "ports": [1, 2], "unknown": "x",
        "owner": { "name": "a" }, "note": "n", "disk": [{ "size": 1 }], "named": { "x": { "size": 2 } },
        "anything": [1, "a"], "tags": { "a": "b" }, "options": { "size": 3 }
    })
}

#[test]
fn derived_state_is_created_with_defaults() {
    let harness = ProviderHarness::new(provider());
    let state = harness.create("test_server", config("{}")).unwrap();
    assert_eq!(state.get::<i64>("timeout"), 300);
    assert_eq!(state.get::<String>("kind"), "a");
    assert_eq!(state.get::<String>("label"), "WEB");
    assert_eq!(state.get::<String>("id"), "web:p");
    assert_eq!(state.get::<String>("note"), "n");
    assert_eq!(state.get::<i64>("revision"), 1);
    assert!(state.object().is_null("password"));
    let plan = harness.plan("test_server", Some(&state), config("{}")).unwrap();
    assert_eq!(plan.action, PlannedAction::NoOp);
}

#[test]
fn spelling_of_equal_values_is_kept() {
    let harness = ProviderHarness::new(provider());
    let spelled = r#"{ "a": 1 }"#;
    let state = harness.create("test_server", config(spelled)).unwrap();
    assert_eq!(state.get::<String>("policy"), spelled);
    let state = harness.read("test_server", &state).unwrap().unwrap();
    assert_eq!(state.get::<String>("policy"), spelled);
    let plan = harness.plan("test_server", Some(&state), config(r#"{"a":1}"#)).unwrap();
    assert_eq!(plan.action, PlannedAction::NoOp);
    let plan = harness.plan("test_server", Some(&state), config(r#"{"a":2}"#)).unwrap();
    assert_eq!(plan.action, PlannedAction::Update);
}

#[test]
fn derived_validators_report_attributes() {
    let harness = ProviderHarness::new(provider());
    let found = harness.validate(
        "test_server",
        json!({
            "name": "1", "timeout": 1, "ratio": 2, "kind": "c", "ports": [11, 70000], "policy": "{",
            "owner": { "name": "a b" }, "token": "t", "disk": [{ "size": 1, "label": "x" }]
        }),
    );
    let mut found: Vec<String> = found.iter().map(|one| one.detail.clone()).collect();
    found.sort();
    assert_eq!(
        found,
        [
            "Attribute kind value must be one of: [\"a\", \"b\"], got: \"c\"",
            "Attribute name must start with a letter, got: \"1\"",
            "Attribute owner.name must not contain spaces, got: \"a b\"",
            "Attribute policy must be JSON, got: \"{\"",
            "Attribute ports value must be between 0 and 65535, got: 70000",
            "Attribute ports value must be between 1 and 10, got: 11",
            "Attribute ports value must be between 1 and 10, got: 70000",
            "Attribute ratio value must be between 0 and 1, got: 2",
            "Attribute timeout value must be at least 30, got: 1",
            "These attributes cannot be configured together: [token,disk.label]",
        ]
    );
}

#[derive(Serialize, Deserialize, Schema)]
struct Wrong {
    name: Option<String>,
}

struct Wrongs;

impl Resource for Wrongs {
    type State = Wrong;

    fn schema(&self) -> Schema {
        Schema::for_type::<Wrong>()
            .change_attribute("nmae", Attribute::sensitive)
            .change_attribute("name", |name| {
                name.force_new()
                    .validate(validate::range(1..))
                    .validate(validate::conflicts_with(["missing"]))
                    .validate(validate::regex("("))
            })
            .validate(validate::paths::conflicting(["name", "rule.port"]))
    }

    fn create(&self, plan: Wrong, _: &mut Context<'_>) -> Result<Wrong> {
        Ok(plan)
    }
}

#[test]
fn validators_without_effect_are_mistakes() {
    let mistakes = crate::definition_errors(Provider::new("test").resource("test_wrong", Wrongs));
    let expected = [
        "test_wrong: change_attribute: there is no attribute \"nmae\"",
        "test_wrong.name: the validator is for numbers, so it accepts every value of type string",
        "test_wrong.name: the regular expression \"(\" is not valid",
        "test_wrong: a validator refers to \"rule.port\"",
        "test_wrong.name: a validator refers to \"missing\"",
    ];
    for expected in expected {
        assert!(mistakes.iter().any(|mistake| mistake.starts_with(expected)), "{expected}\n{mistakes:#?}");
    }
    assert_eq!(mistakes.len(), expected.len(), "{mistakes:#?}");
}
