//! Repeats a recorded call.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value as Json;
use wardian_plugin::{
    ActionRequest, ApplyRequest, CallContext, ClientCapabilities, ConfigKind, ConfigureRequest, Continue,
    ImportRequest, ImportTarget, ListEvent, ListRequest, MoveRequest, OpenEphemeralRequest, PlanRequest,
    PluginDiagnostic, PrivateBytes, Provider, RawState, ReadDataSourceRequest, ReadResourceRequest,
    UpgradeStateRequest, ValidateConfigRequest, ValidateListRequest,
};
use wardian_value::{Str, Value};

use super::entry::{CallRecord, RecordedCall, RecordedValue};
use super::{CallWriter, RecordingProvider};
use crate::compatibility::TERRAFORM_VERSION;

/// The reason why a call cannot be repeated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    #[error("the call {0} cannot be replayed")]
    Unsupported(String),
    #[error("the call that opened the ephemeral resource is not recorded")]
    NotOpened,
    #[error("the ephemeral resource could not be opened again: {0}")]
    NotReopened(String),
    #[error("the recorded call has no valid argument \"{0}\"; record it again")]
    Argument(String),
}

/// Repeats the last of these calls, and returns its response. The earlier ones contain what it depends on:
/// the private data of an ephemeral resource are not recorded, so a call that renews or closes the resource
/// opens it again.
///
/// # Errors
/// Returns an error if the call cannot be repeated, or its record is damaged.
pub async fn replay(
    provider: &Arc<dyn Provider>,
    calls: &[RecordedCall],
) -> Result<BTreeMap<String, RecordedValue>, ReplayError> {
    let Some((call, earlier)) = calls.split_last() else { return Ok(BTreeMap::new()) };
    let context = match &call.resource {
        Some(resource) => CallContext::new(resource.as_str()),
        None => CallContext::default(),
    };
    let arguments = Arguments(call);
    let type_name = Str::new(call.type_name.as_deref().unwrap_or_default());
    let capabilities = ClientCapabilities::default();
    let repeated = Arc::new(LastResponse::default());
    let recorder =
        RecordingProvider::new(call.plugin.clone(), Arc::clone(provider), Arc::clone(&repeated) as _);
    let kind = match call.call.as_str() {
        "validate-resource-config" => Some(ConfigKind::Resource),
        "validate-data-resource-config" => Some(ConfigKind::DataSource),
        "validate-ephemeral-resource-config" => Some(ConfigKind::EphemeralResource),
        "validate-action-config" => Some(ConfigKind::Action),
        _ => None,
    };
    if let Some(kind) = kind {
        let request = ValidateConfigRequest { type_name, config: arguments.value("config")?, capabilities };
        recorder.validate_config(&context, kind, request).await;
        return Ok(repeated.take());
    }
    match call.call.as_str() {
        "validate-provider-config" => {
            let config = arguments.value("config")?;
            recorder.validate_provider_config(&context, config).await;
        }
        "configure-provider" => {
            let request = ConfigureRequest {
                terraform_version: Str::new(TERRAFORM_VERSION),
                config: arguments.value("config")?,
                capabilities,
            };
            recorder.configure(&context, request).await;
        }
        "upgrade-resource-state" => {
            let request = UpgradeStateRequest {
                type_name,
                version: arguments.number("version")?,
                raw: arguments.raw("raw_state")?,
            };
            recorder.upgrade_resource_state(&context, request).await;
        }
        "read-resource" => {
            let request = ReadResourceRequest {
                type_name,
                current_state: arguments.value("current_state")?,
                private: arguments.private("private"),
                provider_meta: arguments.optional("provider_meta"),
                current_identity: arguments.optional("current_identity"),
                capabilities,
            };
            recorder.read_resource(&context, request).await;
        }
        "plan-resource-change" => {
            let request = PlanRequest {
                type_name,
                prior_state: arguments.value("prior_state")?,
                proposed_new_state: arguments.value("proposed_new_state")?,
                config: arguments.value("config")?,
                prior_private: arguments.private("prior_private"),
                provider_meta: arguments.optional("provider_meta"),
                prior_identity: arguments.optional("prior_identity"),
                capabilities,
            };
            recorder.plan_resource_change(&context, request).await;
        }
        "apply-resource-change" => {
            let request = ApplyRequest {
                type_name,
                prior_state: arguments.value("prior_state")?,
                planned_state: arguments.value("planned_state")?,
                config: arguments.value("config")?,
                planned_private: arguments.private("planned_private"),
                provider_meta: arguments.optional("provider_meta"),
                planned_identity: arguments.optional("planned_identity"),
            };
            recorder.apply_resource_change(&context, request).await;
        }
        "import-resource-state" => {
            let target = match arguments.optional("identity") {
                Some(identity) => ImportTarget::Identity(identity),
                None => ImportTarget::Id(arguments.text("id")?),
            };
            let request = ImportRequest { type_name, target, capabilities };
            recorder.import_resource_state(&context, request).await;
        }
        "read-data-source" => {
            let config = arguments.value("config")?;
            let request = ReadDataSourceRequest {
                type_name,
                config,
                provider_meta: arguments.optional("provider_meta"),
                capabilities,
            };
            recorder.read_data_source(&context, request).await;
        }
        "open-ephemeral-resource" => {
            let request =
                OpenEphemeralRequest { type_name, config: arguments.value("config")?, capabilities };
            recorder.open_ephemeral_resource(&context, request).await;
        }
        "renew-ephemeral-resource" => {
            let private = reopen(&**provider, &context, call, earlier).await?;
            recorder.renew_ephemeral_resource(&context, type_name, private).await;
        }
        "close-ephemeral-resource" => {
            let private = reopen(&**provider, &context, call, earlier).await?;
            recorder.close_ephemeral_resource(&context, type_name, private).await;
        }
        "upgrade-resource-identity" => {
            let request = UpgradeStateRequest {
                type_name,
                version: arguments.number("version")?,
                raw: arguments.raw("raw_identity")?,
            };
            recorder.upgrade_resource_identity(&context, request).await;
        }
        "move-resource-state" => {
            let source_identity = match arguments.number("source_identity_version") {
                Ok(version) => Some((version, arguments.raw("source_identity")?)),
                Err(_) => None,
            };
            let request = MoveRequest {
                source_provider_address: arguments.text("source_provider")?,
                source_type_name: Str::new(&arguments.text("source_type")?),
                source_schema_version: arguments.number("source_version")?,
                source_state: arguments.raw("source_state")?,
                target_type_name: type_name,
                source_private: arguments.private("source_private"),
                source_identity,
            };
            recorder.move_resource_state(&context, request).await;
        }
        "generate-resource-config" => {
            let state = arguments.value("state")?;
            recorder.generate_resource_config(&context, type_name, state).await;
        }
        "validate-list-resource-config" => {
            let request = ValidateListRequest {
                type_name,
                config: arguments.value("config")?,
                include_resource_object: arguments.value("include_resource_object")?,
                limit: arguments.value("limit")?,
            };
            recorder.validate_list_resource_config(&context, request).await;
        }
        "list-resource" => {
            let limit = arguments.number("limit").ok().and_then(|limit| u64::try_from(limit).ok());
            let request = ListRequest {
                type_name,
                config: arguments.value("config")?,
                include_resource_object: arguments.flag("include_resource_object")?,
                limit,
            };
            let mut count = 0;
            let mut found = |_: ListEvent| {
                count += 1;
                // A provider may return more results than the limit, which the engine ignores.
                if limit.is_some_and(|limit| count >= limit) { Continue::Stop } else { Continue::Yes }
            };
            recorder.list_resource(&context, request, &mut found).await;
        }
        "plan-action" => {
            let request =
                ActionRequest { action_type: type_name, config: arguments.value("config")?, capabilities };
            recorder.plan_action(&context, request).await;
        }
        "invoke-action" => {
            let request =
                ActionRequest { action_type: type_name, config: arguments.value("config")?, capabilities };
            recorder.invoke_action(&context, request, &mut |_| ()).await;
        }
        "call-function" => {
            // A function's error is part of the recorded response.
            let _ = recorder.call_function(&context, type_name, arguments.all("argument")?).await;
        }
        other => return Err(ReplayError::Unsupported(other.to_owned())),
    }
    Ok(repeated.take())
}

/// Opens the ephemeral resource of a call again, and returns its private data.
async fn reopen(
    provider: &dyn Provider,
    context: &CallContext,
    call: &RecordedCall,
    earlier: &[RecordedCall],
) -> Result<PrivateBytes, ReplayError> {
    let is_open = |one: &&RecordedCall| {
        one.call == "open-ephemeral-resource"
            && (&one.plugin, &one.type_name, &one.resource) == (&call.plugin, &call.type_name, &call.resource)
    };
    let open = earlier.iter().rev().find(is_open).ok_or(ReplayError::NotOpened)?;
    let request = OpenEphemeralRequest {
        type_name: Str::new(open.type_name.as_deref().unwrap_or_default()),
        config: Arguments(open).value("config")?,
        capabilities: ClientCapabilities::default(),
    };
    let answer = provider.open_ephemeral_resource(context, request).await;
    match answer.diagnostics.into_iter().find(PluginDiagnostic::is_error) {
        Some(error) => Err(ReplayError::NotReopened(format!("{}: {}", error.summary, error.detail))),
        None => Ok(answer.private),
    }
}

/// The response of the last call.
#[derive(Debug, Default)]
struct LastResponse(Mutex<BTreeMap<String, RecordedValue>>);

impl LastResponse {
    fn take(&self) -> BTreeMap<String, RecordedValue> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl CallWriter for LastResponse {
    fn write(&self, record: CallRecord<'_>) {
        let response = record.response.into_iter();
        let response = response.filter_map(|(name, json)| Some((name, serde_json::from_value(json).ok()?)));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = response.collect();
    }
}

/// The recorded arguments of a call.
struct Arguments<'a>(&'a RecordedCall);

impl Arguments<'_> {
    fn optional(&self, name: &str) -> Option<Value> {
        self.0.request.get(name)?.decode()
    }

    fn value(&self, name: &str) -> Result<Value, ReplayError> {
        self.optional(name).ok_or_else(|| ReplayError::Argument(name.to_owned()))
    }

    fn text(&self, name: &str) -> Result<String, ReplayError> {
        let text = self.0.request.get(name).and_then(|value| value.json().as_str());
        text.map(str::to_owned).ok_or_else(|| ReplayError::Argument(name.to_owned()))
    }

    fn number(&self, name: &str) -> Result<i64, ReplayError> {
        let number = self.0.request.get(name).and_then(|value| value.json().as_i64());
        number.ok_or_else(|| ReplayError::Argument(name.to_owned()))
    }

    fn flag(&self, name: &str) -> Result<bool, ReplayError> {
        let flag = self.0.request.get(name).and_then(|value| value.json().as_bool());
        flag.ok_or_else(|| ReplayError::Argument(name.to_owned()))
    }

    /// Returns a stored object: JSON text, or the attributes of an old format.
    fn raw(&self, name: &str) -> Result<RawState, ReplayError> {
        let argument = || ReplayError::Argument(name.to_owned());
        match self.0.request.get(name).ok_or_else(argument)?.json() {
            Json::String(text) => Ok(RawState::Json(text.as_str().into())),
            Json::Object(entries) => {
                let entries =
                    entries.iter().map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
                let entries: Option<_> = entries.collect();
                entries.map(|entries| RawState::Flatmap(Arc::new(entries))).ok_or_else(argument)
            }
            _ => Err(argument()),
        }
    }

    /// Returns private data; empty if it was not recorded because it contains a secret.
    fn private(&self, name: &str) -> PrivateBytes {
        let bytes = self.0.request.get(name).and_then(RecordedValue::bytes).unwrap_or_default();
        bytes.into()
    }

    /// Returns the arguments `name`, `name_2`, `name_3` and so on.
    fn all(&self, name: &str) -> Result<Vec<Value>, ReplayError> {
        let mut values = Vec::new();
        while let Some(value) = self.0.request.get(&match values.len() {
            0 => name.to_owned(),
            count => format!("{name}_{}", count + 1),
        }) {
            values.push(value.decode().ok_or_else(|| ReplayError::Argument(name.to_owned()))?);
        }
        Ok(values)
    }
}
