use serde::{Deserialize, Serialize};
use wardian_value::{Type, Value};

use crate::bindings::exports::wardian::plugin::provider as protocol;
use crate::bindings::wardian::plugin::types;
use crate::service::Service;
use crate::testing::{ProviderHarness, json};
use crate::{
    Action, ActionSteps, Attribute, Context, DataSource, Diagnostics, Dynamic, EphemeralResource, Function,
    FunctionError, IdentityAttribute, IdentitySchema, ListRequest, ListResource, ListResult, ListResults,
    Opened, Parameter, Provider, Resource, Result, Schema, codec, validate,
};

#[derive(Serialize, Deserialize)]
struct Echo {
    given: Dynamic,
    back: Dynamic,
}

struct EchoSource;

impl DataSource for EchoSource {
    type State = Echo;

    fn schema(&self) -> Schema {
        Schema::new().attribute(Attribute::dynamic("given")).attribute(Attribute::dynamic("back").computed())
    }

    fn read(&self, config: Echo, _: &mut Context<'_>) -> Result<Echo> {
        Ok(Echo { back: config.given.clone(), given: config.given })
    }
}

#[derive(Serialize, Deserialize)]
struct Token {
    name: String,
    value: Option<String>,
}

struct TokenResource;

impl EphemeralResource for TokenResource {
    type State = Token;

    fn schema(&self) -> Schema {
        Schema::new()
            .attribute(Attribute::string("name").required())
            .attribute(Attribute::string("value").computed().sensitive())
    }

    fn open(&self, config: Token, context: &mut Context<'_>) -> Result<Opened<Token>> {
        context.set_private(b"open".to_vec());
        Ok(Opened::new(Token { value: Some("secret".into()), ..config }))
    }

    fn close(&self, context: &mut Context<'_>) -> Result<()> {
        if context.private() == b"open" { Ok(()) } else { Err(Diagnostics::error("Never opened", "")) }
    }
}

#[derive(Serialize, Deserialize)]
struct Named {
    name: String,
}

struct NamedResource;

impl Resource for NamedResource {
    type State = Named;

    fn schema(&self) -> Schema {
        Schema::new().attribute(
            Attribute::string("name").required().force_new().validate(validate::one_of(["a", "b"])),
        )
    }

    fn create(&self, plan: Named, _: &mut Context<'_>) -> Result<Named> {
        Ok(plan)
    }

    fn identity(&self) -> Option<IdentitySchema> {
        Some(IdentitySchema::new().attribute(IdentityAttribute::required_for_import("name", Type::String)))
    }
}

#[derive(Deserialize)]
struct Nothing {}

struct NamedList;

impl ListResource for NamedList {
    type Config = Nothing;
    type Identity = Named;
    type State = Named;

    fn schema(&self) -> Schema {
        Schema::new()
    }

    fn list(&self, request: ListRequest<Nothing>, _: &mut Context<'_>) -> Result<ListResults<Named, Named>> {
        Ok(Box::new((0..).map(move |number| {
            let name = format!("name-{number}");
            let object = request.include_objects.then(|| Named { name: name.clone() });
            Ok(ListResult { identity: Named { name: name.clone() }, display_name: name, object })
        })))
    }
}

struct Restart;

impl Action for Restart {
    type Config = Named;

    fn schema(&self) -> Schema {
        Schema::new().attribute(Attribute::string("name").required())
    }

    fn invoke(&self, config: Named, _: &mut Context<'_>) -> Result<ActionSteps> {
        Ok(Box::new(
            [Ok(format!("stopping {}", config.name)), Err(Diagnostics::error("Stuck", ""))].into_iter(),
        ))
    }
}

fn provider() -> Provider {
    Provider::new("test")
        .data_source("test_echo", EchoSource)
        .ephemeral_resource("test_token", TokenResource)
        .resource("test_named", NamedResource)
        .list_resource("test_named", NamedList)
        .action("test_restart", Restart)
        .function(
            Function::new("join", Type::String)
                .parameter(Parameter::string("separator"))
                .variadic(Parameter::string("parts").allow_null())
                .run(|(separator, parts): (String, Vec<Option<String>>)| {
                    if separator.is_empty() {
                        return Err(FunctionError::argument(0, "must not be empty"));
                    }
                    Ok(parts.into_iter().flatten().collect::<Vec<_>>().join(&separator))
                }),
        )
}

const CLIENT: types::ClientCapabilities =
    types::ClientCapabilities { deferral_allowed: false, write_only_attributes_allowed: false };

#[test]
fn provider_with_all_features_is_valid() {
    crate::assert_valid_provider(provider());
}

#[test]
fn data_source_accepts_dynamic_attribute() {
    let harness = ProviderHarness::new(provider());
    for given in [json!("text"), json!([1, "a", null]), json!({ "a": [true] }), json!(null)] {
        let read = harness.read_data_source("test_echo", json!({ "given": given })).unwrap();
        assert_eq!(read.value("given"), read.value("back"), "{given}");
    }
}

#[test]
fn ephemeral_resource_is_opened_and_closed() {
    let harness = ProviderHarness::new(provider());
    let opened = harness.open_ephemeral("test_token", json!({ "name": "a" })).unwrap();
    assert_eq!(opened.get::<String>("value").unwrap(), "secret");
    assert!(harness.open_ephemeral("test_token", json!({})).is_err());
}

#[test]
fn function_accepts_variadic_and_null_arguments() {
    let harness = ProviderHarness::new(provider());
    let call = |arguments: &[Value]| harness.call_function("join", arguments);
    let text = Value::string;
    assert_eq!(call(&[text("-"), text("a"), Value::null(Type::String), text("b")]).unwrap(), text("a-b"));
    assert_eq!(call(&[text("-")]).unwrap(), text(""));
    assert_eq!(call(&[text("")]).unwrap_err().argument, Some(0));
    assert!(call(&[]).is_err());
}

#[test]
fn list_continues_up_to_its_limit() {
    let service: Service = provider().into();
    let config = codec::encode(&Value::empty_object(), &Schema::new().ty()).unwrap();
    let mut request = protocol::ListResourceRequest {
        type_name: "test_named".into(),
        config,
        include_resource_object: true,
        limit: Some(3),
    };
    let mut cursor = service.list(&request);
    let first = cursor.next(2);
    assert_eq!(first.len(), 2);
    assert!(first[1].resource_object.is_some());
    assert_eq!(first[1].display_name, "name-1");
    assert_eq!(cursor.next(2).len(), 1);
    assert!(cursor.next(2).is_empty());

    request.type_name = "test_unknown".into();
    assert!(!service.list(&request).next(1)[0].diagnostics.is_empty());
}

#[test]
fn action_reports_steps_until_first_error() {
    let service: Service = provider().into();
    let ty = Type::object([("name", Type::String)]);
    let config = codec::encode(&Value::object([("name", Value::string("a"))]), &ty).unwrap();
    let request =
        protocol::ActionRequest { action_type: "test_restart".into(), config, client_capabilities: CLIENT };
    assert!(service.plan_action(&request).diagnostics.is_empty());
    let steps: Vec<_> = service.invoke_action(&request).collect();
    assert_eq!(steps[0].as_ref().unwrap(), "stopping a");
    assert!(steps[1].is_err());
}

#[test]
fn unknown_names_are_errors() {
    let service: Service = provider().into();
    let request = protocol::ReadDataSourceRequest {
        type_name: "test_unknown".into(),
        config: vec![0xc1],
        provider_meta: Vec::new(),
        client_capabilities: CLIENT,
    };
    assert_eq!(service.read_data_source(&request).diagnostics[0].summary, "Unknown data source");
    let request = protocol::ReadDataSourceRequest { type_name: "test_echo".into(), ..request };
    assert_eq!(service.read_data_source(&request).diagnostics[0].summary, "Unable to read the configuration");
    assert_eq!(service.identity_schemas().schemas.len(), 1);
    assert_eq!(service.metadata().actions, ["test_restart"]);
    assert_eq!(service.provider_schema().data_sources.len(), 1);
}

#[test]
fn import_without_support_is_an_error() {
    let failed = ProviderHarness::new(provider()).import("test_named", "a").unwrap_err();
    assert_eq!(failed.diagnostics.iter().next().unwrap().summary, "Resource Import Not Implemented");
}
