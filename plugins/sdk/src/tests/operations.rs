use serde::{Deserialize, Serialize};

use crate::testing::{PlannedAction, ProviderHarness, json};
use crate::{
    Attribute, Context, Diagnostic, Diagnostics, Explain, IdentityAttribute, IdentitySchema, Import,
    MoveSource, Provider, Resource, Result, Schema, StateUpgrader, Type, Update,
};

/// A resource type whose operations fail or succeed depending on the object's name.
struct Fragile;

#[derive(Serialize, Deserialize)]
struct State {
    name: String,
    secret: Option<String>,
    id: Option<String>,
    size: Option<i64>,
}

struct Client {
    prefix: String,
}

#[derive(Deserialize)]
struct Config {
    prefix: Option<String>,
}

impl Resource<Client> for Fragile {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::new()
            .version(2)
            .attribute(Attribute::string("name").required())
            .attribute(Attribute::string("secret").write_only())
            .attribute(Attribute::string("id").computed().use_state_for_unknown())
            .attribute(Attribute::integer("size").default(1))
    }

    fn create(&self, plan: State, context: &mut Context<'_, Client>) -> Result<State> {
        let name = plan.name.clone();
        let mut state = State { id: None, ..plan };
        if name == "early" {
            return Err(Diagnostic::error("Too early", "nothing was done").at_attribute("name").into());
        }
        context.save_partial(&state)?;
        if name == "half" {
            "x".parse::<i64>().explain("Half way")?;
        }
        let secret =
            context.config().map(|config| config.get::<Option<String>>("secret")).transpose()?.flatten();
        state.id = Some(format!("{}{}", context.client().prefix, secret.unwrap_or_default()));
        context.set_private(b"seen".to_vec());
        context.set_identity("id", &state.id)?;
        context.warn("Created", "with a warning");
        Ok(state)
    }

    fn read(&self, state: State, context: &mut Context<'_, Client>) -> Result<Option<State>> {
        Ok((state.name != "gone")
            .then_some(State { size: i64::try_from(context.private().len()).ok(), ..state }))
    }

    fn delete(&self, state: State, context: &mut Context<'_, Client>) -> Result<()> {
        match state.name.as_str() {
            "deleted" => {
                context.save_deleted();
                Err(Diagnostics::error("Deleted, but", "something else failed"))
            }
            "stuck" => Err(Diagnostics::error("Stuck", "")),
            _ => Ok(()),
        }
    }

    fn import(&self, import: &mut Import, context: &mut Context<'_, Client>) -> Result<()> {
        import.passthrough("id")?;
        import.set("name", "imported")?;
        context.set_private(vec![0; 3]);
        Ok(())
    }

    fn state_upgraders(&self) -> Vec<StateUpgrader> {
        #[derive(Deserialize)]
        struct Oldest {
            title: String,
        }
        vec![
            StateUpgrader::new(0, |old: Oldest| {
                Ok(State { name: old.title, secret: None, id: None, size: Some(0) })
            }),
            StateUpgrader::json(1, |state| {
                state["name"] = state["title"].take();
                Ok(())
            }),
        ]
    }

    fn move_state(&self, source: &MoveSource) -> Result<Option<State>> {
        Ok((source.type_name() == "other").then(|| State {
            name: "moved".into(),
            secret: None,
            id: None,
            size: None,
        }))
    }

    fn identity(&self) -> Option<IdentitySchema> {
        Some(IdentitySchema::new().attribute(IdentityAttribute::required_for_import("id", Type::String)))
    }
}

impl Update<Client> for Fragile {
    fn update(&self, prior: State, plan: State, context: &mut Context<'_, Client>) -> Result<State> {
        if plan.size == Some(13) {
            context.save_partial(&State { size: Some(12), ..prior })?;
            return Err(Diagnostics::error("Only so far", ""));
        }
        Ok(plan)
    }
}

fn provider() -> Provider<Client> {
    let schema = Schema::new().attribute(Attribute::string("prefix"));
    Provider::with_config("test", schema, |config: Config| {
        Ok(Client { prefix: config.prefix.ok_or_else(|| Diagnostics::error("No prefix", ""))? })
    })
    .updatable_resource("test_fragile", Fragile)
}

fn harness() -> ProviderHarness {
    let harness = ProviderHarness::new(provider());
    harness.configure(json!({ "prefix": "p-" })).unwrap();
    harness
}

#[test]
fn provider_with_all_features_is_valid() {
    crate::assert_valid_provider(provider());
}

#[test]
fn create_has_client_config_private_data_and_warnings() {
    let state = harness().create("test_fragile", json!({ "name": "a", "secret": "s" })).unwrap();
    assert_eq!(state.get::<String>("id"), "p-s");
    assert_eq!(state.get::<Option<String>>("secret"), None);
    assert_eq!(state.private(), b"seen");
    assert_eq!(state.warnings.iter().next().unwrap().summary, "Created");
}

#[test]
fn failed_operation_stores_partial_state() {
    let harness = harness();
    let early = harness.create("test_fragile", json!({ "name": "early" })).unwrap_err();
    assert_eq!(early.state, None);
    assert_eq!(early.diagnostics.iter().next().unwrap().path.as_ref().unwrap().to_string(), ".name");

    let half = harness.create("test_fragile", json!({ "name": "half" })).unwrap_err();
    assert_eq!(half.diagnostics.to_string(), "Half way: invalid digit found in string");
    let stored = half.state.unwrap();
    assert_eq!(stored.get::<String>("name"), "half");
    assert_eq!(stored.get::<Option<String>>("id"), None);

    let state = harness.create("test_fragile", json!({ "name": "a" })).unwrap();
    let partial = harness.update("test_fragile", &state, json!({ "name": "a", "size": 13 })).unwrap_err();
    assert_eq!(partial.state.unwrap().get::<i64>("size"), 12);

    let state = harness.create("test_fragile", json!({ "name": "stuck" })).unwrap();
    let stuck = harness.delete("test_fragile", &state).unwrap_err();
    assert_eq!(stuck.state.unwrap().object(), state.object());

    let state = harness.create("test_fragile", json!({ "name": "deleted" })).unwrap();
    assert_eq!(harness.delete("test_fragile", &state).unwrap_err().state, None);
}

#[test]
fn unconfigured_provider_is_an_error() {
    let harness = ProviderHarness::new(provider());
    let failed = harness.create("test_fragile", json!({ "name": "a" })).unwrap_err();
    assert_eq!(failed.diagnostics.iter().next().unwrap().summary, "Provider not configured");
    assert!(harness.configure(json!({})).is_err());
    assert!(!harness.validate("test_fragile", json!({ "name": "a" })).has_errors());
}

#[test]
fn objects_are_upgraded_imported_and_read() {
    let harness = harness();
    let state = harness.load_state("test_fragile", 0, &json!({ "title": "old" })).unwrap();
    assert_eq!(state.get::<String>("name"), "old");
    let state = harness.load_state("test_fragile", 1, &json!({ "title": "newer", "dropped": 1 })).unwrap();
    assert_eq!(state.get::<String>("name"), "newer");
    assert!(harness.load_state("test_fragile", 7, &json!({})).is_err());

    let imported = harness.import("test_fragile", "some-id").unwrap();
    assert_eq!(imported.get::<String>("id"), "some-id");
    assert_eq!(imported.get::<i64>("size"), 3);

    let state = harness.load_state("test_fragile", 2, &json!({ "name": "gone" })).unwrap();
    assert_eq!(harness.read("test_fragile", &state).unwrap(), None);
    let plan = harness.plan("test_fragile", None, json!({ "name": "gone" })).unwrap();
    assert_eq!(plan.action, PlannedAction::Create);
}
