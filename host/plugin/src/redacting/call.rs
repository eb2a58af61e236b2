//! Registers the sensitive values of a call, and redacts its response.

use std::future::Future;
use std::sync::Arc;

use wardian_value::Value;

use crate::call_context::CallContext;
use crate::diagnostic::{PluginDiagnostic, PluginDiagnostics};
use crate::provider::{
    ApplyResponse, ConfigKind, FunctionError, GenerateConfigResponse, ImportResponse, MoveResponse,
    OpenEphemeralResponse, PlanActionResponse, PlanResponse, ReadDataSourceResponse, ReadResourceResponse,
    RenewEphemeralResponse, UpgradeStateResponse,
};
use crate::raw_state::RawState;
use crate::redaction::{LifetimeSensitiveValues, SensitiveValues};
use crate::schema::{ProviderSchema, Schema};

/// A call before it is made.
pub(super) struct RedactedCall {
    /// The context with all sensitive values that are redacted during this call.
    pub(super) context: CallContext,
    pub(super) schema: Option<Arc<ProviderSchema>>,
    /// Receives the call's sensitive values when the call ends, if the plugin can receive later
    /// calls.
    pub(super) earlier: Option<EarlierCalls>,
}

impl Drop for RedactedCall {
    fn drop(&mut self) {
        if let Some(earlier) = &self.earlier {
            earlier.values.add_call(self.context.sensitive_values(), &earlier.caller);
        }
    }
}

/// The sensitive values of a plugin's previous calls.
pub(super) struct EarlierCalls {
    pub(super) values: LifetimeSensitiveValues,
    /// The values that the caller of this call registered.
    pub(super) caller: SensitiveValues,
}

impl RedactedCall {
    /// Registers the sensitive values of an object that is sent or received.
    pub(super) fn resource(&self, type_name: &str, object: &Value) {
        self.object(self.resource_schema(type_name), object);
    }

    /// Registers the sensitive values of a stored object.
    pub(super) fn stored(&self, type_name: &str, stored: &RawState) {
        if let Some(schema) = self.resource_schema(type_name) {
            self.sensitive_values().add_stored(stored, schema);
        }
    }

    /// Registers the sensitive values of a configuration.
    pub(super) fn config(&self, kind: ConfigKind, type_name: &str, config: &Value) {
        let schema = self.schema.as_ref().and_then(|schema| match kind {
            ConfigKind::Resource => schema.resources.get(type_name),
            ConfigKind::DataSource => schema.data_sources.get(type_name),
            ConfigKind::EphemeralResource => schema.ephemeral_resources.get(type_name),
            ConfigKind::Action => schema.actions.get(type_name),
        });
        self.object(schema, config);
    }

    /// Registers the sensitive values of a list block's configuration.
    pub(super) fn list_config(&self, type_name: &str, config: &Value) {
        self.object(self.schema.as_ref().and_then(|schema| schema.list_resources.get(type_name)), config);
    }

    /// Registers the sensitive values of a module's metadata for the provider.
    pub(super) fn provider_meta(&self, meta: Option<&Value>) {
        let schema = self.schema.as_ref().and_then(|schema| schema.provider_meta.as_ref());
        // Metadata is rare and small, so copying it is cheap.
        if let (Some(meta), Some(schema)) = (meta, schema) {
            self.sensitive_values().add_by_schema(meta, &Arc::new(schema.clone()));
        }
    }

    /// Awaits a call whose response is the only output that must be redacted.
    pub(super) async fn make<T: Redact>(&self, call: impl Future<Output = T>) -> T {
        let mut answer = call.await;
        answer.redact(self.sensitive_values());
        answer
    }

    pub(super) fn sensitive_values(&self) -> &SensitiveValues {
        self.context.sensitive_values()
    }

    fn resource_schema(&self, type_name: &str) -> Option<&Arc<Schema>> {
        self.schema.as_ref()?.resources.get(type_name)
    }

    fn object(&self, schema: Option<&Arc<Schema>>, object: &Value) {
        if let Some(schema) = schema {
            self.sensitive_values().add_by_schema(object, schema);
        }
    }
}

/// A response that contains text for users.
pub(super) trait Redact {
    fn redact(&mut self, secrets: &SensitiveValues);
}

impl Redact for PluginDiagnostic {
    fn redact(&mut self, secrets: &SensitiveValues) {
        secrets.redact_in_place(&mut self.summary);
        secrets.redact_in_place(&mut self.detail);
    }
}

impl Redact for PluginDiagnostics {
    fn redact(&mut self, secrets: &SensitiveValues) {
        for diagnostic in self {
            diagnostic.redact(secrets);
        }
    }
}

impl Redact for String {
    fn redact(&mut self, secrets: &SensitiveValues) {
        secrets.redact_in_place(self);
    }
}

impl Redact for FunctionError {
    fn redact(&mut self, secrets: &SensitiveValues) {
        self.text.redact(secrets);
    }
}

impl<T, E: Redact> Redact for Result<T, E> {
    fn redact(&mut self, secrets: &SensitiveValues) {
        if let Err(error) = self {
            error.redact(secrets);
        }
    }
}

macro_rules! redact_diagnostics_of {
    ($($answer:ty),+ $(,)?) => {
        $(impl Redact for $answer {
            fn redact(&mut self, secrets: &SensitiveValues) {
                self.diagnostics.redact(secrets);
            }
        })+
    };
}

redact_diagnostics_of!(
    ApplyResponse,
    GenerateConfigResponse,
    ImportResponse,
    MoveResponse,
    OpenEphemeralResponse,
    PlanActionResponse,
    PlanResponse,
    ReadDataSourceResponse,
    ReadResourceResponse,
    RenewEphemeralResponse,
    UpgradeStateResponse,
);
