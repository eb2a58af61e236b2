//! Repeats a recorded call.

use std::collections::BTreeMap;

use wardian_plugin::{
    ApplyRequest, CallContext, ClientCapabilities, ConfigKind, ConfigureRequest, ImportRequest, ImportTarget,
    OpenEphemeralRequest, PlanRequest, PrivateBytes, Provider, RawState, ReadDataSourceRequest,
    ReadResourceRequest, UpgradeStateRequest, ValidateConfigRequest,
};
use wardian_value::{Str, Value};

use super::entry::{Fields, RecordedCall, RecordedValue};
use crate::compatibility::TERRAFORM_VERSION;

/// The reason why a call cannot be repeated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    #[error("the call {0} cannot be replayed")]
    Unsupported(String),
    #[error("the recorded call has no valid argument \"{0}\"; record it again")]
    Argument(String),
}

/// Repeats a call, and returns its response.
///
/// # Errors
/// Returns an error if the call cannot be repeated, or its record is damaged.
pub async fn replay(
    provider: &dyn Provider,
    call: &RecordedCall,
) -> Result<BTreeMap<String, RecordedValue>, ReplayError> {
    let context = match &call.resource {
        Some(resource) => CallContext::new(resource.as_str()),
        None => CallContext::default(),
    };
    let arguments = Arguments(call);
    let type_name = Str::new(call.type_name.as_deref().unwrap_or_default());
    let capabilities = ClientCapabilities::default();
    let mut response = Fields::new(context.sensitive_values());
    let kind = match call.call.as_str() {
        "validate-resource-config" => Some(ConfigKind::Resource),
        "validate-data-resource-config" => Some(ConfigKind::DataSource),
        "validate-ephemeral-resource-config" => Some(ConfigKind::EphemeralResource),
        "validate-action-config" => Some(ConfigKind::Action),
        _ => None,
    };
    if let Some(kind) = kind {
        let request = ValidateConfigRequest { type_name, config: arguments.value("config")?, capabilities };
        response.diagnostics(&provider.validate_config(&context, kind, request).await);
        return Ok(fields(response));
    }
    match call.call.as_str() {
        "validate-provider-config" => {
            let config = arguments.value("config")?;
            response.diagnostics(&provider.validate_provider_config(&context, config).await);
        }
        "configure-provider" => {
            let request = ConfigureRequest {
                terraform_version: Str::new(TERRAFORM_VERSION),
                config: arguments.value("config")?,
                capabilities,
            };
            response.diagnostics(&provider.configure(&context, request).await);
        }
        "upgrade-resource-state" => {
            let request = UpgradeStateRequest {
                type_name,
                version: arguments.number("version")?,
                raw: RawState::Json(arguments.text("raw_state")?.into()),
            };
            let answer = provider.upgrade_resource_state(&context, request).await;
            response.optional("upgraded_state", answer.upgraded.as_ref());
            response.diagnostics(&answer.diagnostics);
        }
        "read-resource" => {
            let request = ReadResourceRequest {
                type_name,
                current_state: arguments.value("current_state")?,
                private: arguments.private("private"),
                provider_meta: None,
                current_identity: arguments.optional("current_identity"),
                capabilities,
            };
            let answer = provider.read_resource(&context, request).await;
            response.optional("new_state", answer.new_state.as_ref());
            response.optional("new_identity", answer.new_identity.as_ref());
            response.diagnostics(&answer.diagnostics);
        }
        "plan-resource-change" => {
            let request = PlanRequest {
                type_name,
                prior_state: arguments.value("prior_state")?,
                proposed_new_state: arguments.value("proposed_new_state")?,
                config: arguments.value("config")?,
                prior_private: arguments.private("prior_private"),
                provider_meta: None,
                prior_identity: arguments.optional("prior_identity"),
                capabilities,
            };
            let answer = provider.plan_resource_change(&context, request).await;
            response.optional("planned_state", answer.planned_state.as_ref());
            response.paths("requires_replace", &answer.requires_replace);
            response.diagnostics(&answer.diagnostics);
        }
        "apply-resource-change" => {
            let request = ApplyRequest {
                type_name,
                prior_state: arguments.value("prior_state")?,
                planned_state: arguments.value("planned_state")?,
                config: arguments.value("config")?,
                planned_private: arguments.private("planned_private"),
                provider_meta: None,
                planned_identity: arguments.optional("planned_identity"),
            };
            let answer = provider.apply_resource_change(&context, request).await;
            response.optional("new_state", answer.new_state.as_ref());
            response.optional("new_identity", answer.new_identity.as_ref());
            response.diagnostics(&answer.diagnostics);
        }
        "import-resource-state" => {
            let target = match arguments.optional("identity") {
                Some(identity) => ImportTarget::Identity(identity),
                None => ImportTarget::Id(arguments.text("id")?),
            };
            let request = ImportRequest { type_name, target, capabilities };
            let answer = provider.import_resource_state(&context, request).await;
            for imported in &answer.imported {
                response.value("imported", &imported.state);
            }
            response.diagnostics(&answer.diagnostics);
        }
        "read-data-source" => {
            let config = arguments.value("config")?;
            let request = ReadDataSourceRequest { type_name, config, provider_meta: None, capabilities };
            let answer = provider.read_data_source(&context, request).await;
            response.optional("state", answer.state.as_ref());
            response.diagnostics(&answer.diagnostics);
        }
        "open-ephemeral-resource" => {
            let request =
                OpenEphemeralRequest { type_name, config: arguments.value("config")?, capabilities };
            let answer = provider.open_ephemeral_resource(&context, request).await;
            response.diagnostics(&answer.diagnostics);
        }
        "call-function" => {
            match provider.call_function(&context, type_name, arguments.all("argument")?).await {
                Ok(value) => response.value("result", &value),
                Err(error) => response.text("error", &error.text),
            }
        }
        other => return Err(ReplayError::Unsupported(other.to_owned())),
    }
    Ok(fields(response))
}

fn fields(response: Fields) -> BTreeMap<String, RecordedValue> {
    response
        .finish()
        .into_iter()
        .filter_map(|(name, json)| Some((name, serde_json::from_value(json).ok()?)))
        .collect()
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

    /// Returns private data, which is recorded only if it is text.
    fn private(&self, name: &str) -> PrivateBytes {
        let text = self.0.request.get(name).and_then(|value| value.json().as_str()).unwrap_or_default();
        text.as_bytes().into()
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
