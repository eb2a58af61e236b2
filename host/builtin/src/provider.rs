//! The built-in provider's implementation of the plugin protocol.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use wardian_plugin::{
    ActionRequest, ApplyRequest, ApplyResponse, CallContext, ConfigKind, ConfigureRequest, Continue,
    FileGate, FunctionError, GenerateConfigResponse, ImportRequest, ImportResponse, ListEvent, ListRequest,
    MoveRequest, MoveResponse, OpenEphemeralRequest, OpenEphemeralResponse, PlanActionResponse, PlanRequest,
    PlanResponse, PluginDiagnostic, PluginDiagnostics, PrivateBytes, Provider, ProviderSchema,
    ReadDataSourceRequest, ReadDataSourceResponse, ReadResourceRequest, ReadResourceResponse,
    RenewEphemeralResponse, UpgradeStateRequest, UpgradeStateResponse, ValidateConfigRequest,
    ValidateListRequest,
};
use wardian_value::{Str, Value};

use crate::state_sources::{OtherBackends, RemoteStateEncryption, StateSources};
use crate::{data_resource, functions, remote_state, schemas};

/// The built-in provider. It does not need a configuration, and ignores it.
#[derive(Clone, Debug)]
pub struct BuiltInProvider {
    sources: StateSources,
}

impl BuiltInProvider {
    /// Creates a provider for the root module in this directory. The directory must be absolute.
    /// Relative paths of state files are resolved against it.
    pub fn new(root_directory: impl Into<PathBuf>) -> Self {
        let sources = StateSources {
            root_directory: root_directory.into(),
            gate: FileGate::default(),
            backends: OtherBackends::None,
            encryption: None,
        };
        Self { sources }
    }

    /// Adds a gate that checks which state files may be read.
    #[must_use]
    pub fn with_gate(mut self, gate: FileGate) -> Self {
        self.sources.gate = gate;
        self
    }

    /// Sets the backends whose states can be read. Without them, only states in local files are read.
    #[must_use]
    pub fn with_backends(mut self, backends: OtherBackends) -> Self {
        self.sources.backends = backends;
        self
    }

    /// Sets the encryption of other states.
    #[must_use]
    pub fn with_encryption(mut self, encryption: Arc<dyn RemoteStateEncryption>) -> Self {
        self.sources.encryption = Some(encryption);
        self
    }
}

/// Returns the error for a call that the schema does not declare. The engine never makes such
/// calls.
fn unsupported(what: &str) -> PluginDiagnostics {
    let detail = format!("The provider terraform.io/builtin/terraform has no {what}.");
    vec![PluginDiagnostic::error("Not supported", detail)]
}

fn no_such_type(type_name: &str) -> PluginDiagnostics {
    unsupported(&format!("\"{type_name}\""))
}

#[async_trait]
impl Provider for BuiltInProvider {
    async fn schema(&self, _context: &CallContext) -> Result<Arc<ProviderSchema>, PluginDiagnostics> {
        Ok(schemas::provider_schema())
    }

    async fn validate_provider_config(&self, _context: &CallContext, _config: Value) -> PluginDiagnostics {
        Vec::new()
    }

    async fn configure(&self, _context: &CallContext, _request: ConfigureRequest) -> PluginDiagnostics {
        Vec::new()
    }

    async fn validate_config(
        &self,
        _context: &CallContext,
        kind: ConfigKind,
        request: ValidateConfigRequest,
    ) -> PluginDiagnostics {
        match (kind, &*request.type_name) {
            (ConfigKind::Resource, data_resource::TYPE_NAME) => data_resource::validate(&request.config),
            (ConfigKind::DataSource, remote_state::TYPE_NAME) => {
                remote_state::validate(&request.config, &self.sources)
            }
            _ => no_such_type(&request.type_name),
        }
    }

    async fn upgrade_resource_state(
        &self,
        _context: &CallContext,
        request: UpgradeStateRequest,
    ) -> UpgradeStateResponse {
        if &*request.type_name != data_resource::TYPE_NAME {
            return UpgradeStateResponse { upgraded: None, diagnostics: no_such_type(&request.type_name) };
        }
        data_resource::upgrade(&request)
    }

    async fn upgrade_resource_identity(
        &self,
        _context: &CallContext,
        _request: UpgradeStateRequest,
    ) -> UpgradeStateResponse {
        UpgradeStateResponse { upgraded: None, diagnostics: unsupported("identities") }
    }

    async fn read_resource(
        &self,
        _context: &CallContext,
        request: ReadResourceRequest,
    ) -> ReadResourceResponse {
        ReadResourceResponse::unchanged(request)
    }

    async fn plan_resource_change(&self, _context: &CallContext, request: PlanRequest) -> PlanResponse {
        data_resource::plan(request)
    }

    async fn apply_resource_change(&self, _context: &CallContext, request: ApplyRequest) -> ApplyResponse {
        data_resource::apply(request)
    }

    async fn import_resource_state(&self, _context: &CallContext, request: ImportRequest) -> ImportResponse {
        if &*request.type_name != data_resource::TYPE_NAME {
            let diagnostics = no_such_type(&request.type_name);
            return ImportResponse { imported: Vec::new(), deferred: None, diagnostics };
        }
        data_resource::import(request)
    }

    async fn move_resource_state(&self, _context: &CallContext, request: MoveRequest) -> MoveResponse {
        data_resource::move_state(&request)
    }

    async fn generate_resource_config(
        &self,
        _context: &CallContext,
        _type_name: Str,
        _state: Value,
    ) -> GenerateConfigResponse {
        GenerateConfigResponse { config: None, diagnostics: unsupported("generated configurations") }
    }

    async fn read_data_source(
        &self,
        context: &CallContext,
        request: ReadDataSourceRequest,
    ) -> ReadDataSourceResponse {
        let read = match &*request.type_name {
            remote_state::TYPE_NAME => remote_state::read(context, &request.config, &self.sources).await,
            other => Err(no_such_type(other)),
        };
        let (state, diagnostics) = match read {
            Ok(state) => (Some(state), Vec::new()),
            Err(diagnostics) => (None, diagnostics),
        };
        ReadDataSourceResponse { state, deferred: None, diagnostics }
    }

    async fn open_ephemeral_resource(
        &self,
        _context: &CallContext,
        request: OpenEphemeralRequest,
    ) -> OpenEphemeralResponse {
        OpenEphemeralResponse {
            result: None,
            renew_at: None,
            private: PrivateBytes::default(),
            deferred: None,
            diagnostics: no_such_type(&request.type_name),
        }
    }

    async fn renew_ephemeral_resource(
        &self,
        _context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> RenewEphemeralResponse {
        RenewEphemeralResponse { renew_at: None, private, diagnostics: no_such_type(&type_name) }
    }

    async fn close_ephemeral_resource(
        &self,
        _context: &CallContext,
        type_name: Str,
        _private: PrivateBytes,
    ) -> PluginDiagnostics {
        no_such_type(&type_name)
    }

    async fn call_function(
        &self,
        _context: &CallContext,
        name: Str,
        arguments: Vec<Value>,
    ) -> Result<Value, FunctionError> {
        functions::call(&name, &arguments)
    }

    async fn validate_list_resource_config(
        &self,
        _context: &CallContext,
        request: ValidateListRequest,
    ) -> PluginDiagnostics {
        no_such_type(&request.type_name)
    }

    async fn list_resource(
        &self,
        _context: &CallContext,
        request: ListRequest,
        _found: &mut (dyn FnMut(ListEvent) -> Continue + Send),
    ) -> PluginDiagnostics {
        no_such_type(&request.type_name)
    }

    async fn plan_action(&self, _context: &CallContext, request: ActionRequest) -> PlanActionResponse {
        PlanActionResponse { deferred: None, diagnostics: no_such_type(&request.action_type) }
    }

    async fn invoke_action(
        &self,
        _context: &CallContext,
        request: ActionRequest,
        _progress: &mut (dyn FnMut(String) + Send),
    ) -> PluginDiagnostics {
        no_such_type(&request.action_type)
    }

    async fn stop(&self) -> Result<(), String> {
        Ok(())
    }

    async fn close(&self) {}
}
