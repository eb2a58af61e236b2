//! Makes every provider call for `fake_thing.a`, and collects the errors that the calls return.

use wardian_plugin::{
    ActionRequest, ApplyRequest, CallContext, ClientCapabilities, ConfigKind, ConfigureRequest, Continue,
    ImportRequest, ImportTarget, ListRequest, MoveRequest, OpenEphemeralRequest, PlanRequest,
    PluginDiagnostics, PrivateBytes, Provider, RawState, ReadDataSourceRequest, ReadResourceRequest,
    UpgradeStateRequest, ValidateConfigRequest, ValidateListRequest,
};
use wardian_value::{Type, Value};

use crate::{thing, thing_type};

/// The time at which a call is possible, relative to the configuration of the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// Before the provider is configured, or while it is configured.
    Unconfigured,
    Configured,
}

/// A call, with its names in protocol 6 and protocol 5.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EachCall {
    pub(crate) name: &'static str,
    pub(crate) name_in_five: &'static str,
    pub(crate) when: When,
    /// Whether its response contains a value, which could have the wrong type.
    pub(crate) answers_value: bool,
}

const fn call(name: &'static str, when: When, answers_value: bool) -> EachCall {
    EachCall { name, name_in_five: name, when, answers_value }
}

const fn named_otherwise(call: EachCall, name_in_five: &'static str) -> EachCall {
    EachCall { name_in_five, ..call }
}

pub(crate) const CALLS: [EachCall; 26] = [
    named_otherwise(call("GetProviderSchema", When::Unconfigured, false), "GetSchema"),
    call("GetResourceIdentitySchemas", When::Unconfigured, false),
    named_otherwise(call("ValidateProviderConfig", When::Unconfigured, false), "PrepareProviderConfig"),
    named_otherwise(call("ConfigureProvider", When::Unconfigured, false), "Configure"),
    named_otherwise(call("ValidateResourceConfig", When::Configured, false), "ValidateResourceTypeConfig"),
    named_otherwise(call("ValidateDataResourceConfig", When::Configured, false), "ValidateDataSourceConfig"),
    call("UpgradeResourceState", When::Configured, true),
    call("UpgradeResourceIdentity", When::Configured, true),
    call("ReadResource", When::Configured, true),
    call("PlanResourceChange", When::Configured, true),
    call("ApplyResourceChange", When::Configured, true),
    call("ImportResourceState", When::Configured, true),
    call("MoveResourceState", When::Configured, true),
    call("GenerateResourceConfig", When::Configured, true),
    call("ReadDataSource", When::Configured, true),
    call("ValidateEphemeralResourceConfig", When::Configured, false),
    call("OpenEphemeralResource", When::Configured, true),
    call("RenewEphemeralResource", When::Configured, false),
    call("CloseEphemeralResource", When::Configured, false),
    call("CallFunction", When::Configured, true),
    call("ValidateListResourceConfig", When::Configured, false),
    call("ListResource", When::Configured, true),
    call("ValidateActionConfig", When::Configured, false),
    call("PlanAction", When::Configured, false),
    call("InvokeAction", When::Configured, false),
    named_otherwise(call("StopProvider", When::Configured, false), "Stop"),
];

/// Makes a call and returns its only error; an empty string if it succeeds.
pub(crate) async fn call_error(provider: &dyn Provider, name: &str) -> String {
    make(provider, name).await
}

fn context() -> CallContext {
    CallContext::new("fake_thing.a")
}

fn shown(message: &PluginDiagnostics) -> String {
    message.iter().map(|one| format!("{}: {}", one.summary, one.detail)).collect::<Vec<_>>().join("\n---\n")
}

async fn make(provider: &dyn Provider, name: &str) -> String {
    let thing_name = || "fake_thing".into();
    let private = PrivateBytes::default;
    let capabilities = ClientCapabilities::default();
    let greeting = Value::object([("greeting", Value::null(Type::String))]);
    let stored = |text: &str| RawState::Json(text.into());
    match name {
        "GetProviderSchema" | "GetResourceIdentitySchemas" => {
            provider.schema(&context()).await.err().map(|message| shown(&message)).unwrap_or_default()
        }
        "ValidateProviderConfig" => shown(&provider.validate_provider_config(&context(), greeting).await),
        "ConfigureProvider" => {
            let request =
                ConfigureRequest { terraform_version: "1.11.4".into(), config: greeting, capabilities };
            shown(&provider.configure(&context(), request).await)
        }
        "ValidateResourceConfig"
        | "ValidateDataResourceConfig"
        | "ValidateEphemeralResourceConfig"
        | "ValidateActionConfig" => validate(provider, name).await,
        "UpgradeResourceState" => {
            let raw = stored(r#"{"name":"old"}"#);
            let request = UpgradeStateRequest { type_name: thing_name(), version: 0, raw };
            shown(&provider.upgrade_resource_state(&context(), request).await.diagnostics)
        }
        "UpgradeResourceIdentity" => {
            let request =
                UpgradeStateRequest { type_name: thing_name(), version: 0, raw: stored(r#"{"id":"x"}"#) };
            shown(&provider.upgrade_resource_identity(&context(), request).await.diagnostics)
        }
        "ReadResource" => {
            let request = ReadResourceRequest {
                type_name: thing_name(),
                current_state: thing("a", 1),
                private: private(),
                provider_meta: None,
                current_identity: None,
                capabilities,
            };
            shown(&provider.read_resource(&context(), request).await.diagnostics)
        }
        "PlanResourceChange" => shown(&provider.plan_resource_change(&context(), plan()).await.diagnostics),
        "ApplyResourceChange" => {
            let applied = provider.apply_resource_change(&context(), apply()).await;
            assert!(applied.diagnostics.is_empty() || applied.new_state.is_none(), "what was before stays");
            shown(&applied.diagnostics)
        }
        "ImportResourceState" => {
            let target = ImportTarget::Id("id-of-found".into());
            let request = ImportRequest { type_name: thing_name(), target, capabilities };
            shown(&provider.import_resource_state(&context(), request).await.diagnostics)
        }
        "MoveResourceState" => {
            let request = MoveRequest {
                source_provider_address: "registry.terraform.io/acme/other".into(),
                source_type_name: "other_thing".into(),
                source_schema_version: 0,
                source_state: stored(r#"{"name":"old"}"#),
                target_type_name: thing_name(),
                source_private: private(),
                source_identity: None,
            };
            shown(&provider.move_resource_state(&context(), request).await.diagnostics)
        }
        "GenerateResourceConfig" => shown(
            &provider.generate_resource_config(&context(), thing_name(), thing("a", 1)).await.diagnostics,
        ),
        "ReadDataSource" => {
            let config =
                Value::object([("input", Value::string("hm")), ("output", Value::null(Type::String))]);
            let type_name = "fake_echo".into();
            let request = ReadDataSourceRequest { type_name, config, provider_meta: None, capabilities };
            shown(&provider.read_data_source(&context(), request).await.diagnostics)
        }
        "OpenEphemeralResource" => {
            let config = Value::object([("token", Value::null(Type::String))]);
            let request = OpenEphemeralRequest { type_name: "fake_token".into(), config, capabilities };
            shown(&provider.open_ephemeral_resource(&context(), request).await.diagnostics)
        }
        "RenewEphemeralResource" => shown(
            &provider.renew_ephemeral_resource(&context(), "fake_token".into(), private()).await.diagnostics,
        ),
        "CloseEphemeralResource" => {
            shown(&provider.close_ephemeral_resource(&context(), "fake_token".into(), private()).await)
        }
        "CallFunction" => {
            let result = provider.call_function(&context(), "shout".into(), vec![Value::string("hm")]).await;
            result.err().map(|error| error.text).unwrap_or_default()
        }
        "ValidateListResourceConfig" | "ListResource" => list(provider, name).await,
        "PlanAction" => shown(&provider.plan_action(&context(), action()).await.diagnostics),
        "InvokeAction" => shown(&provider.invoke_action(&context(), action(), &mut |_| {}).await),
        "StopProvider" => provider.stop().await.err().unwrap_or_default(),
        other => panic!("there is no call {other}"),
    }
}

async fn validate(provider: &dyn Provider, name: &str) -> String {
    let (kind, type_name, config) = match name {
        "ValidateResourceConfig" => (ConfigKind::Resource, "fake_thing", thing("a", 1)),
        "ValidateDataResourceConfig" => {
            let config =
                Value::object([("input", Value::string("hm")), ("output", Value::null(Type::String))]);
            (ConfigKind::DataSource, "fake_echo", config)
        }
        "ValidateEphemeralResourceConfig" => {
            let config = Value::object([("token", Value::null(Type::String))]);
            (ConfigKind::EphemeralResource, "fake_token", config)
        }
        _ => (ConfigKind::Action, "fake_bell", Value::empty_object()),
    };
    let request = ValidateConfigRequest {
        type_name: type_name.into(),
        config,
        capabilities: ClientCapabilities::default(),
    };
    shown(&provider.validate_config(&context(), kind, request).await)
}

async fn list(provider: &dyn Provider, name: &str) -> String {
    if name == "ListResource" {
        let request = ListRequest {
            type_name: "fake_thing".into(),
            config: Value::empty_object(),
            include_resource_object: false,
            limit: Some(3),
        };
        let mut found = Vec::new();
        let mut message = provider
            .list_resource(&context(), request, &mut |event| {
                found.extend(event.diagnostics);
                Continue::Yes
            })
            .await;
        message.extend(found);
        message.truncate(1);
        return shown(&message);
    }
    let request = ValidateListRequest {
        type_name: "fake_thing".into(),
        config: Value::empty_object(),
        include_resource_object: Value::bool(false),
        limit: Value::unknown(Type::Number),
    };
    shown(&provider.validate_list_resource_config(&context(), request).await)
}

fn action() -> ActionRequest {
    ActionRequest {
        action_type: "fake_bell".into(),
        config: Value::empty_object(),
        capabilities: ClientCapabilities::default(),
    }
}

/// Returns a plan request that creates a thing.
pub(crate) fn plan() -> PlanRequest {
    PlanRequest {
        type_name: "fake_thing".into(),
        prior_state: Value::null(thing_type()),
        config: thing("a", 1),
        proposed_new_state: thing("a", 1),
        prior_private: PrivateBytes::default(),
        provider_meta: None,
        prior_identity: None,
        capabilities: ClientCapabilities::default(),
    }
}

/// Returns an apply request that creates a thing.
pub(crate) fn apply() -> ApplyRequest {
    ApplyRequest {
        type_name: "fake_thing".into(),
        prior_state: Value::null(thing_type()),
        planned_state: thing("a", 1),
        config: thing("a", 1),
        planned_private: PrivateBytes::default(),
        provider_meta: None,
        planned_identity: None,
    }
}

/// Calls that served plugins support, but that the host does not make to native plugins.
const ANSWERED: [&str; 2] = ["GetMetadata", "GetFunctions"];

/// The calls of state stores, which only protocol 6 has. The tests in `state_store.rs` make them.
const OF_STATE_STORES: [&str; 8] = [
    "ValidateStateStoreConfig",
    "ConfigureStateStore",
    "ReadStateBytes",
    "WriteStateBytes",
    "LockState",
    "UnlockState",
    "GetStates",
    "DeleteState",
];

/// Verifies that the page lists each call of the protocol with both of its names.
#[test]
fn documentation_lists_every_call() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
    let read = |path: &str| std::fs::read_to_string(format!("{root}{path}")).unwrap();
    let page = read("docs/native-plugins.md");
    let described = |protocol: &str| -> Vec<String> {
        let text = read(&format!("legacy-grpc-bridge/proto/tfplugin{protocol}.proto"));
        let service = text.split_once("service Provider {").unwrap().1.split_once('}').unwrap().0;
        let calls = service.lines().filter_map(|line| line.trim().strip_prefix("rpc ")?.split_once('('));
        calls.map(|(name, _)| name.to_owned()).collect()
    };
    let (five, six) = (described("5"), described("6"));
    let count = CALLS.len() + ANSWERED.len();
    assert_eq!((five.len(), six.len()), (count, count + OF_STATE_STORES.len()));
    let row = OF_STATE_STORES.map(|name| format!("`{name}`")).join(", ");
    assert!(page.contains(&format!("| - | {row} | 6.10 |")), "{row}");
    for name in OF_STATE_STORES {
        assert!(six.iter().any(|described| described == name), "{name}");
    }
    for name in ANSWERED {
        assert!(five.iter().chain(&six).filter(|described| *described == name).count() == 2, "{name}");
        assert!(page.contains(&format!("| `{name}` | the same |")), "{name}");
    }
    for call in CALLS {
        assert!(six.iter().any(|name| name == call.name), "{}", call.name);
        assert!(five.iter().any(|name| name == call.name_in_five), "{}", call.name_in_five);
        let in_five = if call.name == call.name_in_five {
            "the same".to_owned()
        } else {
            format!("`{}`", call.name_in_five)
        };
        let row = format!("| `{}` | {in_five} |", call.name);
        assert!(page.contains(&row), "{row}");
    }
}
