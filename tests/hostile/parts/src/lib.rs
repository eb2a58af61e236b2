//! A provider that exports only some parts: data sources, functions and its configured form. If a
//! granted file `variant` contains `lists`, its schema has a list resource, but no export for it.
#![cfg(target_family = "wasm")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test plugin may panic")]

use std::sync::Mutex;

use wardian_value::{Type, Value, msgpack};

use bindings::exports::wardian::plugin::{configured_form, provider_base, provider_functions};
use bindings::wardian::plugin::provider_types as wit;
use bindings::wardian::plugin::shared::{self, Expectation};
use bindings::wardian::plugin::types::{
    Attribute, AttributeType, Block, Deprecation, Description, Diagnostic, Schema, Severity, StringKind,
};

#[allow(missing_docs, unsafe_code, unreachable_pub, clippy::pedantic, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({
        inline: "
            package test:parts;

            world parts {
                include wardian:plugin/provider-base-plugin@0.1.1;
                include wardian:plugin/provider-functions-exports@0.1.1;
                include wardian:plugin/configured-form-exports@0.1.1;
            }
        ",
        path: "../../../wit",
        world: "test:parts/parts",
        generate_all,
    });

    export!(Parts with_types_in self);

    use crate::Parts;
}

struct Parts;

/// How this instance was configured.
static CONFIGURED: Mutex<&str> = Mutex::new("not at all");

fn object_type() -> Type {
    Type::object([("input", Type::String), ("result", Type::String)])
}

fn input(bytes: &[u8]) -> String {
    let value = msgpack::decode(bytes, &object_type()).ok();
    value.as_ref().and_then(|value| value.get("input")?.as_str().map(str::to_owned)).unwrap_or_default()
}

fn unsupported() -> Vec<Diagnostic> {
    vec![Diagnostic {
        severity: Severity::Error,
        summary: "There are no resources".to_owned(),
        detail: String::new(),
        attribute: None,
    }]
}

fn text() -> Description {
    Description { text: String::new(), kind: StringKind::Plain }
}

fn schema() -> Schema {
    let attribute = |name: &str| Attribute {
        name: name.to_owned(),
        type_: AttributeType::Value("\"string\"".to_owned()),
        description: text(),
        required: false,
        optional: name == "input",
        computed: name == "result",
        sensitive: false,
        write_only: false,
        deprecation: Deprecation::None,
    };
    let root = Block {
        attributes: vec![attribute("input"), attribute("result")],
        block_types: Vec::new(),
        description: text(),
        deprecation: Deprecation::None,
    };
    Schema { version: 0, blocks: vec![root], objects: Vec::new() }
}

fn capabilities() -> wit::ServerCapabilities {
    wit::ServerCapabilities {
        plan_destroy: false,
        get_provider_schema_optional: true,
        move_resource_state: false,
        generate_resource_config: false,
    }
}

fn functions() -> Vec<(String, wit::Function)> {
    let parameter = wit::Parameter {
        name: "value".to_owned(),
        type_: "\"string\"".to_owned(),
        allow_null_value: false,
        allow_unknown_values: false,
        description: text(),
    };
    let function = wit::Function {
        parameters: vec![parameter],
        variadic_parameter: None,
        return_type: "\"string\"".to_owned(),
        summary: String::new(),
        description: text(),
        deprecation: Deprecation::None,
    };
    vec![("echo".to_owned(), function)]
}

/// Counts an event of all instances.
fn count(key: &str) {
    loop {
        let found = shared::get(key);
        let number = found.as_ref().map_or(0, |found| number(&found.value));
        let expected = found.map_or(Expectation::Absent, |found| Expectation::Version(found.version));
        if shared::put(key, (number + 1).to_string().as_bytes(), expected).is_ok() {
            return;
        }
    }
}

fn number(bytes: &[u8]) -> u64 {
    String::from_utf8_lossy(bytes).parse().unwrap_or(0)
}

impl provider_base::Guest for Parts {
    fn get_metadata() -> wit::Metadata {
        wit::Metadata {
            server_capabilities: capabilities(),
            diagnostics: Vec::new(),
            resources: Vec::new(),
            data_sources: vec!["parts_probe".to_owned()],
            ephemeral_resources: Vec::new(),
            list_resources: Vec::new(),
            actions: Vec::new(),
            functions: vec!["echo".to_owned()],
        }
    }

    fn get_provider_schema() -> wit::ProviderSchema {
        let has_lists = std::fs::read_to_string("variant").is_ok_and(|variant| variant == "lists");
        wit::ProviderSchema {
            server_capabilities: capabilities(),
            diagnostics: Vec::new(),
            provider: schema(),
            provider_meta: None,
            resources: if has_lists { vec![("parts_x".to_owned(), schema())] } else { Vec::new() },
            data_sources: vec![("parts_probe".to_owned(), schema())],
            ephemeral_resources: Vec::new(),
            list_resources: if has_lists { vec![("parts_x".to_owned(), schema())] } else { Vec::new() },
            actions: Vec::new(),
            functions: functions(),
        }
    }

    fn get_resource_identity_schemas() -> wit::IdentitySchemas {
        wit::IdentitySchemas { schemas: Vec::new(), diagnostics: Vec::new() }
    }

    fn validate_provider_config(_config: Vec<u8>) -> Vec<Diagnostic> {
        Vec::new()
    }

    fn configure_provider(_request: wit::ConfigureProviderRequest) -> Vec<Diagnostic> {
        count("configured");
        *CONFIGURED.lock().unwrap() = "configured";
        Vec::new()
    }

    fn stop_provider() -> Result<(), String> {
        Ok(())
    }

    fn validate_resource_config(_request: wit::ValidateConfigRequest) -> Vec<Diagnostic> {
        unsupported()
    }

    fn upgrade_resource_state(
        _request: wit::UpgradeResourceStateRequest,
    ) -> wit::UpgradeResourceStateResponse {
        wit::UpgradeResourceStateResponse { upgraded_state: Vec::new(), diagnostics: unsupported() }
    }

    fn upgrade_resource_identity(
        _request: wit::UpgradeResourceIdentityRequest,
    ) -> wit::UpgradeResourceIdentityResponse {
        wit::UpgradeResourceIdentityResponse { upgraded_identity: Vec::new(), diagnostics: unsupported() }
    }

    fn read_resource(request: wit::ReadResourceRequest) -> wit::ReadResourceResponse {
        wit::ReadResourceResponse {
            new_state: request.current_state,
            diagnostics: unsupported(),
            private: Vec::new(),
            deferred: None,
            new_identity: None,
        }
    }

    fn plan_resource_change(request: wit::PlanResourceChangeRequest) -> wit::PlanResourceChangeResponse {
        wit::PlanResourceChangeResponse {
            planned_state: request.proposed_new_state,
            requires_replace: Vec::new(),
            planned_private: Vec::new(),
            diagnostics: unsupported(),
            legacy_type_system: false,
            deferred: None,
            planned_identity: None,
        }
    }

    fn apply_resource_change(request: wit::ApplyResourceChangeRequest) -> wit::ApplyResourceChangeResponse {
        wit::ApplyResourceChangeResponse {
            new_state: request.prior_state,
            private: Vec::new(),
            diagnostics: unsupported(),
            legacy_type_system: false,
            new_identity: None,
        }
    }

    fn import_resource_state(_request: wit::ImportResourceStateRequest) -> wit::ImportResourceStateResponse {
        wit::ImportResourceStateResponse {
            imported_resources: Vec::new(),
            diagnostics: unsupported(),
            deferred: None,
        }
    }

    fn validate_data_resource_config(_request: wit::ValidateConfigRequest) -> Vec<Diagnostic> {
        Vec::new()
    }

    fn read_data_source(request: wit::ReadDataSourceRequest) -> wit::ReadDataSourceResponse {
        let input = input(&request.config);
        let result = match &*input {
            "times" => shared::get("configured").map_or(0, |found| number(&found.value)).to_string(),
            _ => {
                // Other instances are needed meanwhile.
                bindings::wardian::plugin::run::sleep(50);
                (*CONFIGURED.lock().unwrap()).to_owned()
            }
        };
        let state = Value::object([("input", Value::from(&*input)), ("result", Value::from(&*result))]);
        wit::ReadDataSourceResponse {
            state: msgpack::encode(&state, &object_type()).unwrap_or_default(),
            diagnostics: Vec::new(),
            deferred: None,
        }
    }
}

impl provider_functions::Guest for Parts {
    fn get_functions() -> Vec<(String, wit::Function)> {
        functions()
    }

    fn call_function(_name: String, arguments: Vec<Vec<u8>>) -> Result<Vec<u8>, wit::FunctionError> {
        Ok(arguments.into_iter().next().unwrap_or_default())
    }
}

impl configured_form::Guest for Parts {
    fn get_configured_form() -> Option<Vec<u8>> {
        Some(b"the session".to_vec())
    }

    fn restore_configured_form(form: Vec<u8>) -> Vec<Diagnostic> {
        if form != b"the session" {
            return unsupported();
        }
        *CONFIGURED.lock().unwrap() = "restored";
        Vec::new()
    }
}
