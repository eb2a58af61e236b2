//! Providers whose schemas are built at run time.

use wardian_value::{Type, Value};

use crate::bindings::wardian::plugin::types::Severity;
use crate::service::Service;
use crate::testing::{PlannedAction, ProviderHarness, json};
use crate::{
    Attribute, Block, Context, DataSource, Diagnostics, Object, Provider, Resource, Result, Schema, Update,
    assert_valid_provider, definition_errors,
};

/// A resource type with a list of attributes.
struct Listed {
    names: Vec<String>,
}

impl Listed {
    fn found(object: &Object) -> Result<Object> {
        let unknown = object.as_value().as_mapping().into_iter().flatten();
        let unknown: Vec<String> =
            unknown.filter(|(_, value)| !value.is_known()).map(|(name, _)| name.to_string()).collect();
        let mut object = object.clone();
        for name in unknown {
            object.set(&name, "found")?;
        }
        Ok(object)
    }
}

impl Resource for Listed {
    type State = Object;

    fn schema(&self) -> Schema {
        let disk = Block::list("disk").attribute(Attribute::string("size").required());
        let names = self.names.iter().map(|name| Attribute::string(name).optional().computed());
        Schema::new().attributes(names).block(disk)
    }

    fn create(&self, plan: Object, context: &mut Context<'_>) -> Result<Object> {
        let object = Self::found(&plan)?;
        context.save_partial(&object)?;
        if object.get::<String>("a")? == "fails" {
            return Err(Diagnostics::error("Failed", "after all was done"));
        }
        Ok(object)
    }

    fn read(&self, state: Object, _: &mut Context<'_>) -> Result<Option<Object>> {
        Ok((state.get::<String>("a")? != "gone").then_some(state))
    }
}

impl Update for Listed {
    fn update(&self, prior: Object, plan: Object, _: &mut Context<'_>) -> Result<Object> {
        assert_eq!(prior.ty(), plan.ty());
        Self::found(&plan)
    }
}

impl DataSource for Listed {
    type State = Object;

    fn schema(&self) -> Schema {
        Resource::schema(self)
    }

    fn read(&self, config: Object, _: &mut Context<'_>) -> Result<Object> {
        let other = config.as_value().with_attribute("b", Value::bool(true));
        if config.is_null("a") { Object::from_value(other, config.ty().clone()) } else { Ok(config) }
    }
}

fn provider() -> Provider {
    let listed = || Listed { names: vec!["a".into(), "b".into()] };
    Provider::new("run").updatable_resource("run_time", listed()).data_source("run_time", listed())
}

#[test]
fn object_value_can_be_used_as_state() {
    assert_valid_provider(provider());
    let harness = ProviderHarness::new(provider());
    let disks = json!([{ "size": "1" }, { "size": "2" }]);
    let state = harness.create("run_time", json!({ "a": "given", "disk": disks })).unwrap();
    assert_eq!((state.get::<String>("a"), state.get::<String>("b")), ("given".into(), "found".into()));
    assert_eq!(state.object().value("disk").as_elements().unwrap().len(), 2);
    let plan = harness.plan("run_time", Some(&state), json!({ "a": "other" })).unwrap();
    assert_eq!(plan.action, PlannedAction::Update);
    let state = harness.apply(&plan).unwrap().unwrap();
    assert_eq!(state.get::<String>("a"), "other");
    assert!(harness.read("run_time", &state).unwrap().is_some());
    let gone = harness.update("run_time", &state, json!({ "a": "gone" })).unwrap();
    assert!(harness.read("run_time", &gone).unwrap().is_none());
}

#[test]
fn partial_state_can_be_an_object() {
    let harness = ProviderHarness::new(provider());
    let failed = harness.create("run_time", json!({ "a": "fails" })).unwrap_err();
    assert_eq!(failed.state.unwrap().get::<String>("b"), "found");
}

#[test]
fn object_of_another_type_is_rejected() {
    let harness = ProviderHarness::new(provider());
    assert!(harness.read_data_source("run_time", json!({ "a": "x" })).is_ok());
    let failed = harness.read_data_source("run_time", json!({})).unwrap_err();
    assert!(failed.diagnostics.to_string().contains("Value does not match its type"), "{failed:?}");
    let ty = Type::object([("a", Type::String)]);
    assert!(Object::from_value(Value::null(ty.clone()), ty.clone()).is_err());
    assert!(Object::from_value(Value::unknown(ty.clone()), ty.clone()).is_err());
    let open = Type::object([("a", Type::Dynamic)]);
    assert!(Object::from_value(Value::object([("a", Value::bool(true))]), open).is_ok());
}

#[test]
fn schema_response_has_definition_diagnostics() {
    let broken = || provider().definition_diagnostics(Diagnostics::error("Bad file", "line 1"));
    let service = Service::from(broken());
    for diagnostics in [service.provider_schema().diagnostics, service.metadata().diagnostics] {
        assert_eq!(diagnostics.len(), 1);
        assert_eq!(diagnostics[0].severity, Severity::Error);
        assert_eq!(diagnostics[0].summary, "Bad file");
    }
    assert_eq!(definition_errors(broken()), ["provider: Bad file: line 1"]);
}

/// A resource type that does not set what it has to compute.
struct Forgetful;

impl Resource for Forgetful {
    type State = Object;

    fn schema(&self) -> Schema {
        Schema::new()
            .attribute(Attribute::string("name").force_new())
            .attribute(Attribute::string("id").computed().use_state_for_unknown())
    }

    fn create(&self, mut plan: Object, _: &mut Context<'_>) -> Result<Object> {
        if !plan.is_null("name") {
            plan.set("id", &None::<String>)?;
        }
        Ok(plan)
    }
}

#[test]
fn values_that_are_not_computed_are_named() {
    let harness = ProviderHarness::new(Provider::new("run").resource("run_time", Forgetful));
    let error = |config| harness.create("run_time", config).unwrap_err().diagnostics.to_string();
    let unknown = error(json!({}));
    assert!(unknown.contains("run_time.id is still unknown"), "{unknown}");
    let null = error(json!({ "name": "a" }));
    assert!(null.contains("Provider returned no ID after apply") && null.contains("Set it when"), "{null}");
}
