//! One call, and what is said in answer to it.

use std::future::Future;
use std::sync::Arc;

use wardian_value::Value;

use crate::call_context::CallContext;
use crate::diagnostic::{PluginDiagnostic, PluginDiagnostics};
use crate::provider::{
    ApplyResponse, ConfigKind, FunctionError, GenerateConfigResponse, ImportResponse, MoveResponse,
    OpenEphemeralResponse, PlanActionResponse, PlanResponse, RawState, ReadDataSourceResponse,
    ReadResourceResponse, RenewEphemeralResponse, UpgradeStateResponse,
};
use crate::schema::{ProviderSchema, Schema};
use crate::secrets::Secrets;

/// A call that is about to be made.
pub(super) struct MaskedCall {
    /// With all sensitive values that the plugin must not repeat in this call.
    pub(super) context: CallContext,
    pub(super) schema: Option<Arc<ProviderSchema>>,
}

impl MaskedCall {
    /// An object that is sent or answered.
    pub(super) fn resource(&self, type_name: &str, object: &Value) {
        self.object(self.resource_schema(type_name), object);
    }

    /// An object as it is stored.
    pub(super) fn stored(&self, type_name: &str, stored: &RawState) {
        if let Some(schema) = self.resource_schema(type_name) {
            self.sensitive_values().add_stored(stored, schema);
        }
    }

    /// A configuration.
    pub(super) fn config(&self, kind: ConfigKind, type_name: &str, config: &Value) {
        let schema = self.schema.as_ref().and_then(|schema| match kind {
            ConfigKind::Resource => schema.resources.get(type_name),
            ConfigKind::DataSource => schema.data_sources.get(type_name),
            ConfigKind::EphemeralResource => schema.ephemeral_resources.get(type_name),
            ConfigKind::Action => schema.actions.get(type_name),
        });
        self.object(schema, config);
    }

    /// The configuration of a list of resources.
    pub(super) fn list_config(&self, type_name: &str, config: &Value) {
        self.object(self.schema.as_ref().and_then(|schema| schema.list_resources.get(type_name)), config);
    }

    /// What a module tells the provider.
    pub(super) fn provider_meta(&self, meta: Option<&Value>) {
        let schema = self.schema.as_ref().and_then(|schema| schema.provider_meta.as_ref());
        // Rarely there, and small.
        if let (Some(meta), Some(schema)) = (meta, schema) {
            self.sensitive_values().add_by_schema(meta, &Arc::new(schema.clone()));
        }
    }

    /// Awaits a call that has only diagnostics to redact.
    pub(super) async fn make<T: Said>(&self, call: impl Future<Output = T>) -> T {
        let mut answer = call.await;
        answer.mask(self.sensitive_values());
        answer
    }

    pub(super) fn sensitive_values(&self) -> &Secrets {
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

/// An answer in which something may be said to people.
pub(super) trait Said {
    fn mask(&mut self, secrets: &Secrets);
}

impl Said for PluginDiagnostic {
    fn mask(&mut self, secrets: &Secrets) {
        secrets.mask_in_place(&mut self.summary);
        secrets.mask_in_place(&mut self.detail);
    }
}

impl Said for PluginDiagnostics {
    fn mask(&mut self, secrets: &Secrets) {
        for diagnostic in self {
            diagnostic.mask(secrets);
        }
    }
}

impl Said for String {
    fn mask(&mut self, secrets: &Secrets) {
        secrets.mask_in_place(self);
    }
}

impl Said for FunctionError {
    fn mask(&mut self, secrets: &Secrets) {
        self.text.mask(secrets);
    }
}

impl<T, E: Said> Said for Result<T, E> {
    fn mask(&mut self, secrets: &Secrets) {
        if let Err(error) = self {
            error.mask(secrets);
        }
    }
}

macro_rules! said_in_diagnostics {
    ($($answer:ty),+ $(,)?) => {
        $(impl Said for $answer {
            fn mask(&mut self, secrets: &Secrets) {
                self.diagnostics.mask(secrets);
            }
        })+
    };
}

said_in_diagnostics!(
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
