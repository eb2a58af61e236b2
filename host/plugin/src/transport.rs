//! A provider whose calls are executed by another program, over any transport.
//!
//! A transport implements [`Wire`], which has a method for each call of the protocol; a call that
//! fails returns only diagnostics. [`Transport`] turns a `Wire` into a [`Provider`]. The encoding
//! of values, the lookup of schemas and the error messages are implemented once, in this module;
//! each transport defines its own request and response types.

mod decoded_schema;
mod encoding;
mod failure;
mod wit_conversion;

use std::sync::Arc;

use async_trait::async_trait;
use wardian_value::{Str, Value};

use crate::call_context::CallContext;
use crate::diagnostic::PluginDiagnostics;
#[allow(clippy::wildcard_imports, reason = "the traits use every request and response type")]
use crate::provider::*;
use crate::schema::ProviderSchema;

pub use decoded_schema::DecodedSchema;
pub use encoding::{
    decode_optional, decode_result, decode_timestamp, decode_value, encode_function_arguments,
    encode_optional, encode_value, schema_mismatch,
};
pub use failure::{PluginFailure, decode_field, format_seconds, or_diagnostics};

/// The response to a call, or the diagnostics of a failed call.
pub type WireResult<T> = Result<T, PluginDiagnostics>;

/// All provider calls.
pub trait Wire: ConfigurationCalls + ResourceCalls + ReadingCalls + StreamingCalls + 'static {}

impl<W: ConfigurationCalls + ResourceCalls + ReadingCalls + StreamingCalls + 'static> Wire for W {}

/// Calls for the provider itself, its configuration, and configurations of all kinds.
pub trait ConfigurationCalls: Send + Sync {
    /// Returns the schemas. They are requested once and cached.
    fn schema(&self, context: &CallContext) -> impl Future<Output = WireResult<&Arc<DecodedSchema>>> + Send;

    /// See [`Provider::validate_provider_config`].
    fn validate_provider_config(
        &self,
        context: &CallContext,
        config: Value,
    ) -> impl Future<Output = WireResult<PluginDiagnostics>> + Send;

    /// See [`Provider::configure`].
    fn configure(
        &self,
        context: &CallContext,
        request: ConfigureRequest,
    ) -> impl Future<Output = WireResult<PluginDiagnostics>> + Send;

    /// See [`Provider::validate_config`].
    fn validate_config(
        &self,
        context: &CallContext,
        kind: ConfigKind,
        request: ValidateConfigRequest,
    ) -> impl Future<Output = WireResult<PluginDiagnostics>> + Send;

    /// See [`Provider::call_function`].
    fn call_function(
        &self,
        context: &CallContext,
        name: Str,
        arguments: Vec<Value>,
    ) -> impl Future<Output = Result<Value, FunctionError>> + Send;

    /// See [`Provider::stop`].
    fn stop(&self) -> impl Future<Output = Result<(), String>> + Send;

    /// See [`Provider::close`].
    fn close(&self) -> impl Future<Output = ()> + Send;
}

/// Calls for managed resources.
pub trait ResourceCalls: Send + Sync {
    /// See [`Provider::upgrade_resource_state`].
    fn upgrade_state(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> impl Future<Output = WireResult<UpgradeStateResponse>> + Send;

    /// See [`Provider::upgrade_resource_identity`].
    fn upgrade_identity(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> impl Future<Output = WireResult<UpgradeStateResponse>> + Send;

    /// See [`Provider::read_resource`].
    fn read(
        &self,
        context: &CallContext,
        request: ReadResourceRequest,
    ) -> impl Future<Output = WireResult<ReadResourceResponse>> + Send;

    /// See [`Provider::plan_resource_change`].
    fn plan(
        &self,
        context: &CallContext,
        request: PlanRequest,
    ) -> impl Future<Output = WireResult<PlanResponse>> + Send;

    /// See [`Provider::apply_resource_change`].
    fn apply(
        &self,
        context: &CallContext,
        request: ApplyRequest,
    ) -> impl Future<Output = WireResult<ApplyResponse>> + Send;

    /// See [`Provider::import_resource_state`].
    fn import(
        &self,
        context: &CallContext,
        request: ImportRequest,
    ) -> impl Future<Output = WireResult<ImportResponse>> + Send;

    /// See [`Provider::move_resource_state`].
    fn move_state(
        &self,
        context: &CallContext,
        request: MoveRequest,
    ) -> impl Future<Output = WireResult<MoveResponse>> + Send;

    /// See [`Provider::generate_resource_config`].
    fn generate_config(
        &self,
        context: &CallContext,
        type_name: Str,
        state: Value,
    ) -> impl Future<Output = WireResult<GenerateConfigResponse>> + Send;
}

/// Calls for data sources and ephemeral resources.
pub trait ReadingCalls: Send + Sync {
    /// See [`Provider::read_data_source`].
    fn read_data_source(
        &self,
        context: &CallContext,
        request: ReadDataSourceRequest,
    ) -> impl Future<Output = WireResult<ReadDataSourceResponse>> + Send;

    /// See [`Provider::open_ephemeral_resource`].
    fn open(
        &self,
        context: &CallContext,
        request: OpenEphemeralRequest,
    ) -> impl Future<Output = WireResult<OpenEphemeralResponse>> + Send;

    /// See [`Provider::renew_ephemeral_resource`].
    fn renew(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> impl Future<Output = WireResult<RenewEphemeralResponse>> + Send;

    /// See [`Provider::close_ephemeral_resource`].
    fn close_ephemeral(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> impl Future<Output = WireResult<PluginDiagnostics>> + Send;
}

/// Calls for lists and actions, some of which are streaming calls.
pub trait StreamingCalls: Send + Sync {
    /// See [`Provider::validate_list_resource_config`].
    fn validate_list(
        &self,
        context: &CallContext,
        request: ValidateListRequest,
    ) -> impl Future<Output = WireResult<PluginDiagnostics>> + Send;

    /// See [`Provider::list_resource`].
    fn list(
        &self,
        context: &CallContext,
        request: ListRequest,
        found: &mut (dyn FnMut(ListEvent) -> Continue + Send),
    ) -> impl Future<Output = WireResult<PluginDiagnostics>> + Send;

    /// See [`Provider::plan_action`].
    fn plan_action(
        &self,
        context: &CallContext,
        request: ActionRequest,
    ) -> impl Future<Output = WireResult<PlanActionResponse>> + Send;

    /// See [`Provider::invoke_action`].
    fn invoke_action(
        &self,
        context: &CallContext,
        request: ActionRequest,
        progress: &mut (dyn FnMut(String) + Send),
    ) -> impl Future<Output = WireResult<PluginDiagnostics>> + Send;
}

/// A [`Provider`] over a wire. If a call fails, the response contains only diagnostics.
#[derive(Debug)]
pub struct Transport<W>(W);

impl<W: Wire> Transport<W> {
    /// Creates a provider over this wire.
    pub fn new(wire: W) -> Self {
        Self(wire)
    }
}

#[async_trait]
impl<W: Wire> Provider for Transport<W> {
    async fn schema(&self, context: &CallContext) -> Result<Arc<ProviderSchema>, PluginDiagnostics> {
        Ok(Arc::clone(&self.0.schema(context).await?.schema))
    }

    async fn validate_provider_config(&self, context: &CallContext, config: Value) -> PluginDiagnostics {
        self.0.validate_provider_config(context, config).await.unwrap_or_else(|failure| failure)
    }

    async fn configure(&self, context: &CallContext, request: ConfigureRequest) -> PluginDiagnostics {
        self.0.configure(context, request).await.unwrap_or_else(|failure| failure)
    }

    async fn validate_config(
        &self,
        context: &CallContext,
        kind: ConfigKind,
        request: ValidateConfigRequest,
    ) -> PluginDiagnostics {
        self.0.validate_config(context, kind, request).await.unwrap_or_else(|failure| failure)
    }

    async fn upgrade_resource_state(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> UpgradeStateResponse {
        self.0.upgrade_state(context, request).await.unwrap_or_else(Into::into)
    }

    async fn upgrade_resource_identity(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> UpgradeStateResponse {
        self.0.upgrade_identity(context, request).await.unwrap_or_else(Into::into)
    }

    async fn read_resource(
        &self,
        context: &CallContext,
        request: ReadResourceRequest,
    ) -> ReadResourceResponse {
        self.0.read(context, request).await.unwrap_or_else(Into::into)
    }

    async fn plan_resource_change(&self, context: &CallContext, request: PlanRequest) -> PlanResponse {
        self.0.plan(context, request).await.unwrap_or_else(Into::into)
    }

    async fn apply_resource_change(&self, context: &CallContext, request: ApplyRequest) -> ApplyResponse {
        self.0.apply(context, request).await.unwrap_or_else(Into::into)
    }

    async fn import_resource_state(&self, context: &CallContext, request: ImportRequest) -> ImportResponse {
        self.0.import(context, request).await.unwrap_or_else(Into::into)
    }

    async fn move_resource_state(&self, context: &CallContext, request: MoveRequest) -> MoveResponse {
        self.0.move_state(context, request).await.unwrap_or_else(Into::into)
    }

    async fn generate_resource_config(
        &self,
        context: &CallContext,
        type_name: Str,
        state: Value,
    ) -> GenerateConfigResponse {
        self.0.generate_config(context, type_name, state).await.unwrap_or_else(Into::into)
    }

    async fn read_data_source(
        &self,
        context: &CallContext,
        request: ReadDataSourceRequest,
    ) -> ReadDataSourceResponse {
        self.0.read_data_source(context, request).await.unwrap_or_else(Into::into)
    }

    async fn open_ephemeral_resource(
        &self,
        context: &CallContext,
        request: OpenEphemeralRequest,
    ) -> OpenEphemeralResponse {
        self.0.open(context, request).await.unwrap_or_else(Into::into)
    }

    async fn renew_ephemeral_resource(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> RenewEphemeralResponse {
        self.0.renew(context, type_name, private).await.unwrap_or_else(Into::into)
    }

    async fn close_ephemeral_resource(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> PluginDiagnostics {
        self.0.close_ephemeral(context, type_name, private).await.unwrap_or_else(|failure| failure)
    }

    async fn call_function(
        &self,
        context: &CallContext,
        name: Str,
        arguments: Vec<Value>,
    ) -> Result<Value, FunctionError> {
        self.0.call_function(context, name, arguments).await
    }

    async fn validate_list_resource_config(
        &self,
        context: &CallContext,
        request: ValidateListRequest,
    ) -> PluginDiagnostics {
        self.0.validate_list(context, request).await.unwrap_or_else(|failure| failure)
    }

    async fn list_resource(
        &self,
        context: &CallContext,
        request: ListRequest,
        found: &mut (dyn FnMut(ListEvent) -> Continue + Send),
    ) -> PluginDiagnostics {
        self.0.list(context, request, found).await.unwrap_or_else(|failure| failure)
    }

    async fn plan_action(&self, context: &CallContext, request: ActionRequest) -> PlanActionResponse {
        self.0.plan_action(context, request).await.unwrap_or_else(Into::into)
    }

    async fn invoke_action(
        &self,
        context: &CallContext,
        request: ActionRequest,
        progress: &mut (dyn FnMut(String) + Send),
    ) -> PluginDiagnostics {
        self.0.invoke_action(context, request, progress).await.unwrap_or_else(|failure| failure)
    }

    async fn stop(&self) -> Result<(), String> {
        self.0.stop().await
    }

    async fn close(&self) {
        self.0.close().await;
    }
}
