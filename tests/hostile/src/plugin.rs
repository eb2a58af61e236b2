//! The provider's calls, which behave correctly unless a test requires misbehaviour.

use std::cell::Cell;
use std::sync::Mutex;

use wardian_value::{Type, Value, View, msgpack};

use crate::bindings::exports::wardian::plugin::provider as wit;
use crate::bindings::wardian::plugin::types::{Diagnostic, RawState, Severity};
use crate::{behaviour, named, probe, schema};

pub(crate) struct Hostile;

/// The configuration of this instance.
pub(crate) static CONFIGURED: Mutex<Option<String>> = Mutex::new(None);

pub(crate) fn object_type() -> Type {
    Type::object([("input", Type::String), ("result", Type::String)])
}

/// Returns the attribute `input` of an object; empty if it is not set.
pub(crate) fn input(bytes: &[u8]) -> String {
    let value = msgpack::decode(bytes, &object_type()).ok();
    let input = value.as_ref().and_then(|value| match value.view() {
        View::Object(attributes) => attributes.get("input"),
        _ => None,
    });
    match input.map(Value::view) {
        Some(View::String(text)) => text.as_str().to_owned(),
        _ => String::new(),
    }
}

pub(crate) fn object(input: &str, result: &str) -> Vec<u8> {
    let value = Value::object([("input", Value::from(input)), ("result", Value::from(result))]);
    msgpack::encode(&value, &object_type()).unwrap_or_default()
}

pub(crate) fn error(summary: &str) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        summary: summary.to_owned(),
        detail: String::new(),
        attribute: None,
    }
}

fn error_and_detail(text: &str) -> Diagnostic {
    Diagnostic { detail: format!("in detail, {text}"), ..error(text) }
}

fn raw(state: RawState) -> Vec<u8> {
    let text = match state {
        RawState::Json(text) => String::from_utf8_lossy(&text).into_owned(),
        RawState::Flatmap(entries) => format!("{entries:?}"),
    };
    object("upgraded", &text)
}

impl wit::Guest for Hostile {
    type ListEvents = Events;
    type ActionEvents = Progress;

    fn get_metadata() -> wit::Metadata {
        wit::Metadata {
            server_capabilities: schema::capabilities(),
            diagnostics: Vec::new(),
            resources: behaviour::NAMES.iter().chain(named::NAMES).map(|name| (*name).to_owned()).collect(),
            data_sources: vec![probe::NAME.to_owned()],
            ephemeral_resources: Vec::new(),
            list_resources: Vec::new(),
            actions: Vec::new(),
            functions: Vec::new(),
        }
    }

    fn get_provider_schema() -> wit::ProviderSchema {
        schema::provider()
    }

    fn get_resource_identity_schemas() -> wit::IdentitySchemas {
        schema::identities()
    }

    fn validate_provider_config(config: Vec<u8>) -> Vec<Diagnostic> {
        match &*input(&config) {
            "invalid" => vec![error("not valid")],
            "panic" => panic!("a configuration that it panics at"),
            _ => Vec::new(),
        }
    }

    fn configure_provider(request: wit::ConfigureProviderRequest) -> Vec<Diagnostic> {
        let input = input(&request.config);
        match &*input {
            "refuse" => return vec![error("refused")],
            "panic" => panic!("a configuration that it panics at"),
            _ => {}
        }
        *CONFIGURED.lock().unwrap() = Some(input);
        Vec::new()
    }

    fn stop_provider() -> Result<(), String> {
        Err("it will not stop".into())
    }

    fn validate_resource_config(request: wit::ValidateConfigRequest) -> Vec<Diagnostic> {
        behaviour::behave(&request.type_name, &input(&request.config));
        Vec::new()
    }

    fn upgrade_resource_state(
        request: wit::UpgradeResourceStateRequest,
    ) -> wit::UpgradeResourceStateResponse {
        if named::is_named(&request.type_name) {
            let upgraded_state = named::upgrade(&request.type_name, request.raw_state);
            return wit::UpgradeResourceStateResponse { upgraded_state, diagnostics: Vec::new() };
        }
        behaviour::behave(&request.type_name, "");
        wit::UpgradeResourceStateResponse { upgraded_state: raw(request.raw_state), diagnostics: Vec::new() }
    }

    fn upgrade_resource_identity(
        request: wit::UpgradeResourceIdentityRequest,
    ) -> wit::UpgradeResourceIdentityResponse {
        wit::UpgradeResourceIdentityResponse {
            upgraded_identity: raw(request.raw_identity),
            diagnostics: Vec::new(),
        }
    }

    fn read_resource(request: wit::ReadResourceRequest) -> wit::ReadResourceResponse {
        behaviour::behave(&request.type_name, &input(&request.current_state));
        wit::ReadResourceResponse {
            new_state: request.current_state,
            diagnostics: Vec::new(),
            private: request.private,
            deferred: None,
            new_identity: request.current_identity,
        }
    }

    fn plan_resource_change(request: wit::PlanResourceChangeRequest) -> wit::PlanResourceChangeResponse {
        if named::is_named(&request.type_name) { named::plan(request) } else { behaviour::plan(request) }
    }

    fn apply_resource_change(request: wit::ApplyResourceChangeRequest) -> wit::ApplyResourceChangeResponse {
        if named::is_named(&request.type_name) { named::apply(request) } else { behaviour::apply(request) }
    }

    fn import_resource_state(request: wit::ImportResourceStateRequest) -> wit::ImportResourceStateResponse {
        if named::is_named(&request.type_name) {
            return named::import(request);
        }
        behaviour::behave(&request.type_name, "");
        let found = |type_name: &str, state| wit::ImportedResource {
            type_name: type_name.to_owned(),
            state,
            private: Vec::new(),
            identity: None,
        };
        wit::ImportResourceStateResponse {
            imported_resources: vec![
                found(&request.type_name, object("imported", "whole")),
                found("hostile_unheard_of", object("imported", "of no type")),
                found(&request.type_name, vec![0xc1]),
            ],
            diagnostics: Vec::new(),
            deferred: None,
        }
    }

    fn move_resource_state(request: wit::MoveResourceStateRequest) -> wit::MoveResourceStateResponse {
        if named::is_named(&request.target_type_name) {
            return wit::MoveResourceStateResponse {
                target_state: named::steal(request.source_state),
                diagnostics: Vec::new(),
                target_private: request.source_private,
                target_identity: None,
            };
        }
        wit::MoveResourceStateResponse {
            target_state: raw(request.source_state),
            diagnostics: Vec::new(),
            target_private: request.source_private,
            target_identity: None,
        }
    }

    fn generate_resource_config(_name: String, state: Vec<u8>) -> wit::GenerateResourceConfigResponse {
        wit::GenerateResourceConfigResponse { config: state, diagnostics: Vec::new() }
    }

    fn validate_data_resource_config(_request: wit::ValidateConfigRequest) -> Vec<Diagnostic> {
        Vec::new()
    }

    fn read_data_source(request: wit::ReadDataSourceRequest) -> wit::ReadDataSourceResponse {
        let input = input(&request.config);
        wit::ReadDataSourceResponse {
            state: object(&input, &probe::probe(&input)),
            diagnostics: input.strip_prefix("tell:error|").map(error_and_detail).into_iter().collect(),
            deferred: None,
        }
    }

    fn validate_ephemeral_resource_config(_request: wit::ValidateConfigRequest) -> Vec<Diagnostic> {
        Vec::new()
    }

    fn open_ephemeral_resource(
        request: wit::OpenEphemeralResourceRequest,
    ) -> wit::OpenEphemeralResourceResponse {
        wit::OpenEphemeralResourceResponse {
            result: request.config,
            diagnostics: Vec::new(),
            // The point in time is invalid.
            renew_at: Some(wit::Timestamp { seconds: i64::MIN, nanoseconds: u32::MAX }),
            private: Vec::new(),
            deferred: None,
        }
    }

    fn renew_ephemeral_resource(_name: String, private: Vec<u8>) -> wit::RenewEphemeralResourceResponse {
        wit::RenewEphemeralResourceResponse {
            diagnostics: Vec::new(),
            renew_at: Some(wit::Timestamp { seconds: 60, nanoseconds: 0 }),
            private,
        }
    }

    fn close_ephemeral_resource(_name: String, _private: Vec<u8>) -> Vec<Diagnostic> {
        Vec::new()
    }

    fn get_functions() -> Vec<(String, wit::Function)> {
        Vec::new()
    }

    fn call_function(name: String, arguments: Vec<Vec<u8>>) -> Result<Vec<u8>, wit::FunctionError> {
        match name.as_str() {
            "first" => Ok(arguments.into_iter().next().unwrap_or_default()),
            "garbage" => Ok(vec![0xc1, 0xff]),
            "panic" => panic!("a function that panics"),
            _ => Err(wit::FunctionError { text: "no".into(), function_argument: Some(u64::MAX) }),
        }
    }

    fn validate_list_resource_config(_request: wit::ValidateListResourceConfigRequest) -> Vec<Diagnostic> {
        Vec::new()
    }

    fn list_resource(request: wit::ListResourceRequest) -> wit::ListEvents {
        wit::ListEvents::new(Events { left: Cell::new(request.limit) })
    }

    fn validate_action_config(_request: wit::ValidateConfigRequest) -> Vec<Diagnostic> {
        Vec::new()
    }

    fn plan_action(_request: wit::ActionRequest) -> wit::PlanActionResponse {
        wit::PlanActionResponse { diagnostics: Vec::new(), deferred: None }
    }

    fn invoke_action(request: wit::ActionRequest) -> wit::ActionEvents {
        let input = input(&request.config);
        let completes = input != "vanish";
        wit::ActionEvents::new(Progress { left: Cell::new(3), completes, input })
    }
}

/// A stream of events: endless, or of limited length.
pub(crate) struct Events {
    left: Cell<Option<u64>>,
}

impl Events {
    pub(crate) fn none() -> Self {
        Self { left: Cell::new(Some(0)) }
    }
}

impl wit::GuestListEvents for Events {
    fn next(&self, most: u32) -> Vec<wit::ListEvent> {
        let count = self.left.get().map_or(u64::from(most), |left| left.min(u64::from(most)));
        self.left.set(self.left.get().map(|left| left - count));
        (0..count)
            .map(|index| wit::ListEvent {
                identity: None,
                display_name: format!("object {index}"),
                resource_object: Some(object("listed", &index.to_string())),
                diagnostics: Vec::new(),
            })
            .collect()
    }
}

pub(crate) struct Progress {
    left: Cell<u32>,
    completes: bool,
    input: String,
}

impl wit::GuestActionEvents for Progress {
    fn next(&self) -> Option<wit::ActionEvent> {
        match self.left.get() {
            0 if self.completes => Some(wit::ActionEvent::Completed(Vec::new())),
            0 => None,
            left => {
                self.left.set(left - 1);
                Some(wit::ActionEvent::Progress(format!("{left} to go \u{1b}[2J {}", self.input)))
            }
        }
    }
}
