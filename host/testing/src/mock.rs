//! A provider that does not make requests: it plans and applies every change as configured, and sets
//! computed attributes to values from the test file or to generated values.
//!
//! The real provider answers for schemas, validations and functions. Everything else stays in the
//! test.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use wardian_address::{ProviderAddress, ResourceMode};
use wardian_diagnostic::Span;
use wardian_engine::AcceptedConfigurations;
use wardian_plugin::{
    ActionRequest, ApplyRequest, ApplyResponse, CallContext, ConfigKind, ConfigureRequest, Continue,
    FunctionError, GenerateConfigResponse, ImportRequest, ImportResponse, ImportedResource, ListEvent,
    ListRequest, MoveRequest, MoveResponse, OpenEphemeralRequest, OpenEphemeralResponse, PlanActionResponse,
    PlanRequest, PlanResponse, PluginDiagnostic, PluginDiagnostics, PrivateBytes, Provider, ProviderSchema,
    RawState, ReadDataSourceRequest, ReadDataSourceResponse, ReadResourceRequest, ReadResourceResponse,
    RenewEphemeralResponse, Schema, UpgradeStateRequest, UpgradeStateResponse, ValidateConfigRequest,
    ValidateListRequest,
};
use wardian_value::{Str, Value, json};

use crate::computed::{Computed, Mismatch, complete};
use crate::generated::Creations;

/// Values of computed attributes from a test file.
#[derive(Clone, Debug)]
pub(crate) struct MockValues {
    /// An object with values by attribute; [`None`] if all values are generated.
    pub(crate) values: Option<Value>,
    /// Whether the values are known in the plan.
    pub(crate) in_plan: bool,
    /// The span of the block in the test file.
    pub(crate) span: Span,
}

/// The values of the objects of each type.
pub(crate) type ValuesByType = BTreeMap<(ResourceMode, Str), MockValues>;

/// The values that a mocked provider uses.
pub(crate) enum MockSource {
    /// The values of one object.
    Object(Arc<MockValues>),
    Types(Arc<ValuesByType>),
}

impl MockSource {
    fn values(&self, mode: ResourceMode, type_name: &Str) -> Option<&MockValues> {
        match self {
            Self::Object(values) => Some(values),
            Self::Types(by_type) => by_type.get(&(mode, type_name.clone())),
        }
    }

    fn is_in_plan(&self, type_name: &Str) -> bool {
        self.values(ResourceMode::Managed, type_name).is_some_and(|values| values.in_plan)
    }
}

/// A provider without requests; see the [module](self).
pub(crate) struct MockProvider {
    real: Arc<dyn Provider>,
    source: MockSource,
    address: ProviderAddress,
    shared: MockShared,
}

/// The data that all mocks of a test file share.
#[derive(Clone)]
pub(crate) struct MockShared {
    pub(crate) creations: Arc<Creations>,
    /// Configurations that real providers need not validate.
    pub(crate) accepted: Option<Arc<dyn AcceptedConfigurations>>,
}

impl MockProvider {
    pub(crate) fn new(
        real: Arc<dyn Provider>,
        source: MockSource,
        address: &ProviderAddress,
        shared: MockShared,
    ) -> Self {
        Self { real, source, address: address.clone(), shared }
    }

    async fn resource_schema(
        &self,
        context: &CallContext,
        type_name: &Str,
    ) -> Result<Arc<Schema>, PluginDiagnostics> {
        let schema = self.real.schema(context).await?;
        schema.resources.get(type_name).cloned().ok_or_else(|| unknown_type(type_name))
    }

    /// Completes an object of a resource type.
    async fn complete_resource(
        &self,
        context: &CallContext,
        type_name: &Str,
        object: &Value,
        computed: Computed,
    ) -> Result<Value, PluginDiagnostics> {
        let schema = self.resource_schema(context, type_name).await?;
        self.complete(context, ResourceMode::Managed, type_name, &schema, object, computed)
    }

    fn complete(
        &self,
        context: &CallContext,
        mode: ResourceMode,
        type_name: &Str,
        schema: &Schema,
        object: &Value,
        computed: Computed,
    ) -> Result<Value, PluginDiagnostics> {
        let given = self.source.values(mode, type_name);
        let values = given.and_then(|given| given.values.as_ref());
        let seed = self.shared.creations.seed(context.address().map_or("", |address| &**address));
        complete(object, &schema.block, values, computed, seed)
            .map_err(|mismatches| mismatches.into_iter().map(|mismatch| explain(&mismatch, given)).collect())
    }
}

fn explain(mismatch: &Mismatch, given: Option<&MockValues>) -> PluginDiagnostic {
    let Mismatch { attribute, ty, reason } = mismatch;
    let place = given.map(|given| format!(" at {}", given.span)).unwrap_or_default();
    let detail = format!(
        "The value{place} for the attribute \"{attribute}\" cannot be converted to {}: {reason}.",
        ty.friendly_name()
    );
    PluginDiagnostic::error("Failed to compute attribute", detail)
}

fn unknown_type(type_name: &str) -> PluginDiagnostics {
    let detail = format!("The mocked provider has no resource type \"{type_name}\".");
    vec![PluginDiagnostic::error("Unknown resource type", detail)]
}

#[async_trait]
impl Provider for MockProvider {
    async fn schema(&self, context: &CallContext) -> Result<Arc<ProviderSchema>, PluginDiagnostics> {
        self.real.schema(context).await
    }

    async fn validate_provider_config(&self, _context: &CallContext, _config: Value) -> PluginDiagnostics {
        Vec::new()
    }

    async fn configure(&self, _context: &CallContext, _request: ConfigureRequest) -> PluginDiagnostics {
        Vec::new()
    }

    async fn validate_config(
        &self,
        context: &CallContext,
        kind: ConfigKind,
        request: ValidateConfigRequest,
    ) -> PluginDiagnostics {
        let accepted = self.shared.accepted.as_ref();
        if accepted.is_some_and(|accepted| accepted.contains(&self.address, kind, &request)) {
            return Vec::new();
        }
        let found = self.real.validate_config(context, kind, request.clone()).await;
        if found.is_empty()
            && let Some(accepted) = accepted
        {
            accepted.add(&self.address, kind, &request);
        }
        found
    }

    async fn upgrade_resource_state(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> UpgradeStateResponse {
        // The object was written by a mock of the same version.
        let schema = match self.resource_schema(context, &request.type_name).await {
            Ok(schema) => schema,
            Err(diagnostics) => return diagnostics.into(),
        };
        let RawState::Json(text) = &request.raw else {
            return self.real.upgrade_resource_state(context, request).await;
        };
        match json::decode(text.as_bytes(), schema.implied_type()) {
            Ok(value) => UpgradeStateResponse { upgraded: Some(value), diagnostics: Vec::new() },
            Err(error) => {
                let detail = format!("The stored object of a mocked provider is invalid: {error}.");
                let problem = PluginDiagnostic::error("Stored object cannot be read", detail);
                vec![problem].into()
            }
        }
    }

    async fn upgrade_resource_identity(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> UpgradeStateResponse {
        self.real.upgrade_resource_identity(context, request).await
    }

    async fn read_resource(
        &self,
        _context: &CallContext,
        request: ReadResourceRequest,
    ) -> ReadResourceResponse {
        ReadResourceResponse::unchanged(request)
    }

    async fn plan_resource_change(&self, context: &CallContext, request: PlanRequest) -> PlanResponse {
        let PlanRequest { type_name, prior_state, proposed_new_state, prior_private, .. } = request;
        let planned = if proposed_new_state.is_null() || !prior_state.is_null() {
            Ok(proposed_new_state)
        } else {
            let computed =
                if self.source.is_in_plan(&type_name) { Computed::Null } else { Computed::NullAsUnknown };
            self.complete_resource(context, &type_name, &proposed_new_state, computed).await
        };
        let (planned_state, diagnostics) = split(planned);
        PlanResponse {
            planned_state,
            requires_replace: Vec::new(),
            planned_private: prior_private,
            legacy_type_system: false,
            deferred: None,
            planned_identity: request.prior_identity,
            diagnostics,
        }
    }

    async fn apply_resource_change(&self, context: &CallContext, request: ApplyRequest) -> ApplyResponse {
        let ApplyRequest { type_name, prior_state, planned_state, planned_private, .. } = request;
        let applied = if planned_state.is_null() || !prior_state.is_null() {
            Ok(planned_state)
        } else {
            self.complete_resource(context, &type_name, &planned_state, Computed::Unknown).await
        };
        let (new_state, diagnostics) = split(applied);
        ApplyResponse {
            new_state,
            private: planned_private,
            legacy_type_system: false,
            new_identity: request.planned_identity,
            diagnostics,
        }
    }

    async fn import_resource_state(&self, context: &CallContext, request: ImportRequest) -> ImportResponse {
        let imported = match &self.source {
            MockSource::Types(_) => {
                let detail = "Objects of a mocked provider cannot be imported. Use an override_resource \
                    block for the resource that is imported.";
                Err(vec![PluginDiagnostic::error("Invalid import request", detail)])
            }
            MockSource::Object(_) => match self.resource_schema(context, &request.type_name).await {
                Ok(schema) => {
                    let object = schema.block.empty_value();
                    let type_name = &request.type_name;
                    self.complete(context, ResourceMode::Managed, type_name, &schema, &object, Computed::Null)
                }
                Err(diagnostics) => Err(diagnostics),
            },
        };
        let (state, diagnostics) = split(imported);
        let resource = |state| ImportedResource {
            type_name: request.type_name,
            state,
            private: Arc::default(),
            identity: None,
        };
        ImportResponse { imported: state.map(resource).into_iter().collect(), deferred: None, diagnostics }
    }

    async fn move_resource_state(&self, context: &CallContext, request: MoveRequest) -> MoveResponse {
        self.real.move_resource_state(context, request).await
    }

    async fn generate_resource_config(
        &self,
        context: &CallContext,
        type_name: Str,
        state: Value,
    ) -> GenerateConfigResponse {
        self.real.generate_resource_config(context, type_name, state).await
    }

    async fn read_data_source(
        &self,
        context: &CallContext,
        request: ReadDataSourceRequest,
    ) -> ReadDataSourceResponse {
        let ReadDataSourceRequest { type_name, config, .. } = request;
        let read = match self.real.schema(context).await {
            Ok(schema) => match schema.data_sources.get(&type_name) {
                Some(schema) => {
                    self.complete(context, ResourceMode::Data, &type_name, schema, &config, Computed::Null)
                }
                None => Err(unknown_type(&type_name)),
            },
            Err(diagnostics) => Err(diagnostics),
        };
        let (state, diagnostics) = split(read);
        ReadDataSourceResponse { state, deferred: None, diagnostics }
    }

    async fn open_ephemeral_resource(
        &self,
        _context: &CallContext,
        _request: OpenEphemeralRequest,
    ) -> OpenEphemeralResponse {
        let detail = "Ephemeral resources cannot be mocked. Use a real provider in this run.";
        vec![PluginDiagnostic::error("No ephemeral resource types in mock providers", detail)].into()
    }

    async fn renew_ephemeral_resource(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> RenewEphemeralResponse {
        self.real.renew_ephemeral_resource(context, type_name, private).await
    }

    async fn close_ephemeral_resource(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> PluginDiagnostics {
        self.real.close_ephemeral_resource(context, type_name, private).await
    }

    async fn call_function(
        &self,
        context: &CallContext,
        name: Str,
        arguments: Vec<Value>,
    ) -> Result<Value, FunctionError> {
        self.real.call_function(context, name, arguments).await
    }

    async fn validate_list_resource_config(
        &self,
        context: &CallContext,
        request: ValidateListRequest,
    ) -> PluginDiagnostics {
        self.real.validate_list_resource_config(context, request).await
    }

    async fn list_resource(
        &self,
        _context: &CallContext,
        _request: ListRequest,
        _found: &mut (dyn FnMut(ListEvent) -> Continue + Send),
    ) -> PluginDiagnostics {
        // A mocked service contains only the objects of the test.
        Vec::new()
    }

    async fn plan_action(&self, _context: &CallContext, _request: ActionRequest) -> PlanActionResponse {
        PlanActionResponse { deferred: None, diagnostics: Vec::new() }
    }

    async fn invoke_action(
        &self,
        _context: &CallContext,
        _request: ActionRequest,
        _progress: &mut (dyn FnMut(String) + Send),
    ) -> PluginDiagnostics {
        Vec::new()
    }

    async fn stop(&self) -> Result<(), String> {
        Ok(())
    }

    async fn close(&self) {
        // The owner of the real provider closes it.
    }
}

fn split(result: Result<Value, PluginDiagnostics>) -> (Option<Value>, PluginDiagnostics) {
    match result {
        Ok(value) => (Some(value), Vec::new()),
        Err(diagnostics) => (None, diagnostics),
    }
}
