//! The trait for provider calls.
//!
//! Every call returns diagnostics with its result, even if the plugin itself failed (a trap, a
//! timeout, a lost process): the implementation converts such a failure into an error diagnostic
//! that names the plugin and the call. Thus all failures have the same form.

mod failed;

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use wardian_value::{Path, Str, Value};

use crate::call_context::CallContext;
use crate::diagnostic::PluginDiagnostics;
use crate::raw_state::RawState;
use crate::schema::ProviderSchema;

/// Bytes that a provider stores with an object; empty if there are none.
pub type PrivateBytes = Arc<[u8]>;

/// A provider, configured or not yet configured.
///
/// Values have the schema's implied types and no marks. All calls can be made concurrently. Before
/// [`Provider::configure`], the host can request only schemas, validation, state upgrades and
/// function calls.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Returns all schemas. They are requested from the plugin once and then shared.
    async fn schema(&self, context: &CallContext) -> Result<Arc<ProviderSchema>, PluginDiagnostics>;

    /// Validates the provider's configuration, which may contain unknown values.
    async fn validate_provider_config(&self, context: &CallContext, config: Value) -> PluginDiagnostics;

    /// Configures the provider.
    async fn configure(&self, context: &CallContext, request: ConfigureRequest) -> PluginDiagnostics;

    /// Validates the configuration of a resource, data source, ephemeral resource or action,
    /// according to `kind`.
    async fn validate_config(
        &self,
        context: &CallContext,
        kind: ConfigKind,
        request: ValidateConfigRequest,
    ) -> PluginDiagnostics;

    /// Upgrades a stored object to the current schema.
    async fn upgrade_resource_state(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> UpgradeStateResponse;

    /// Upgrades a stored identity to the current identity schema.
    async fn upgrade_resource_identity(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> UpgradeStateResponse;

    /// Reads the current state of an object.
    async fn read_resource(
        &self,
        context: &CallContext,
        request: ReadResourceRequest,
    ) -> ReadResourceResponse;

    /// Plans a change to an object.
    async fn plan_resource_change(&self, context: &CallContext, request: PlanRequest) -> PlanResponse;

    /// Applies a planned change.
    async fn apply_resource_change(&self, context: &CallContext, request: ApplyRequest) -> ApplyResponse;

    /// Finds an existing object by its ID or identity.
    async fn import_resource_state(&self, context: &CallContext, request: ImportRequest) -> ImportResponse;

    /// Converts an object of another resource type into an object of a resource type of this
    /// provider.
    async fn move_resource_state(&self, context: &CallContext, request: MoveRequest) -> MoveResponse;

    /// Generates a configuration from a state.
    async fn generate_resource_config(
        &self,
        context: &CallContext,
        type_name: Str,
        state: Value,
    ) -> GenerateConfigResponse;

    /// Reads the current attributes of a data source from the service.
    async fn read_data_source(
        &self,
        context: &CallContext,
        request: ReadDataSourceRequest,
    ) -> ReadDataSourceResponse;

    /// Returns the value of an ephemeral resource, and the time at which it must be renewed.
    async fn open_ephemeral_resource(
        &self,
        context: &CallContext,
        request: OpenEphemeralRequest,
    ) -> OpenEphemeralResponse;

    /// Extends the validity of an open ephemeral resource.
    async fn renew_ephemeral_resource(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> RenewEphemeralResponse;

    /// Releases an open ephemeral resource, which is no longer used.
    async fn close_ephemeral_resource(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> PluginDiagnostics;

    /// Calls a function with arguments that have the types of its parameters. The provider does not
    /// have to be configured.
    async fn call_function(
        &self,
        context: &CallContext,
        name: Str,
        arguments: Vec<Value>,
    ) -> Result<Value, FunctionError>;

    /// Validates a list block's configuration.
    async fn validate_list_resource_config(
        &self,
        context: &CallContext,
        request: ValidateListRequest,
    ) -> PluginDiagnostics;

    /// Lists objects, and passes each of them to `found` until it returns [`Continue::Stop`].
    async fn list_resource(
        &self,
        context: &CallContext,
        request: ListRequest,
        found: &mut (dyn FnMut(ListEvent) -> Continue + Send),
    ) -> PluginDiagnostics;

    /// Plans an action.
    async fn plan_action(&self, context: &CallContext, request: ActionRequest) -> PlanActionResponse;

    /// Executes an action, and passes its progress messages to `progress`.
    async fn invoke_action(
        &self,
        context: &CallContext,
        request: ActionRequest,
        progress: &mut (dyn FnMut(String) + Send),
    ) -> PluginDiagnostics;

    /// Requests that the calls in progress end gracefully; they still return responses. The error
    /// is the reason why the request failed.
    async fn stop(&self) -> Result<(), String>;

    /// Closes the provider and releases its resources. Later calls fail.
    async fn close(&self);
}

/// Whether the caller requests more results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continue {
    /// More results are requested.
    Yes,
    /// No more results are needed.
    Stop,
}

/// The kind of the object that a configuration describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConfigKind {
    /// A managed resource.
    Resource,
    /// A data source.
    DataSource,
    /// An ephemeral resource.
    EphemeralResource,
    /// An action.
    Action,
}

/// Capabilities of the host that are not part of the first version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientCapabilities {
    /// The host supports deferred responses.
    pub deferral_allowed: bool,
    /// The host supports write-only attributes.
    pub write_only_attributes_allowed: bool,
}

impl Default for ClientCapabilities {
    fn default() -> Self {
        Self { deferral_allowed: false, write_only_attributes_allowed: true }
    }
}

/// The reason why a change is deferred to a later run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeferredReason {
    /// The reason is not specified.
    Unknown,
    /// The resource's configuration contains unknown values that the provider requires.
    ResourceConfigUnknown,
    /// The provider's configuration contains unknown values that the provider requires.
    ProviderConfigUnknown,
    /// A prerequisite of the object does not exist yet.
    AbsentPrerequisite,
}

/// The request of [`Provider::configure`].
#[derive(Clone, Debug)]
pub struct ConfigureRequest {
    /// The Terraform version with which the host is compatible.
    pub terraform_version: Str,
    /// The configuration; if there is none, an object of nulls.
    pub config: Value,
    /// The host's capabilities.
    pub capabilities: ClientCapabilities,
}

/// The request of [`Provider::validate_config`].
#[derive(Clone, Debug)]
pub struct ValidateConfigRequest {
    /// The resource type, data source or action.
    pub type_name: Str,
    /// The configuration, which may contain unknown values.
    pub config: Value,
    /// The host's capabilities.
    pub capabilities: ClientCapabilities,
}

/// The request of [`Provider::upgrade_resource_state`].
#[derive(Clone, Debug)]
pub struct UpgradeStateRequest {
    /// The resource type.
    pub type_name: Str,
    /// The schema version with which the object was stored.
    pub version: i64,
    /// The object as stored.
    pub raw: RawState,
}

/// The response of [`Provider::upgrade_resource_state`].
#[derive(Clone, Debug)]
pub struct UpgradeStateResponse {
    /// The object as a value of the current schema; absent if there are errors.
    pub upgraded: Option<Value>,
    /// The provider's diagnostics.
    pub diagnostics: PluginDiagnostics,
}

/// The request of [`Provider::read_resource`].
#[derive(Clone, Debug)]
pub struct ReadResourceRequest {
    /// The resource type.
    pub type_name: Str,
    /// The object's last known state.
    pub current_state: Value,
    /// The private data stored with the object.
    pub private: PrivateBytes,
    /// The module's metadata for the provider.
    pub provider_meta: Option<Value>,
    /// The object's last known identity.
    pub current_identity: Option<Value>,
    /// The host's capabilities.
    pub capabilities: ClientCapabilities,
}

/// The response of [`Provider::read_resource`].
#[derive(Clone, Debug)]
pub struct ReadResourceResponse {
    /// The object's current state; null if it no longer exists; absent if there are errors.
    pub new_state: Option<Value>,
    /// The private data to store with the object.
    pub private: PrivateBytes,
    /// The object's identity.
    pub new_identity: Option<Value>,
    /// Set if reading is deferred to a later run.
    pub deferred: Option<DeferredReason>,
    /// The provider's diagnostics.
    pub diagnostics: PluginDiagnostics,
}

impl ReadResourceResponse {
    /// Returns the response for an object that has not changed.
    pub fn unchanged(request: ReadResourceRequest) -> Self {
        Self {
            new_state: Some(request.current_state),
            private: request.private,
            new_identity: request.current_identity,
            deferred: None,
            diagnostics: Vec::new(),
        }
    }
}

/// The request of [`Provider::plan_resource_change`].
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// The resource type.
    pub type_name: Str,
    /// The prior state; null to create an object.
    pub prior_state: Value,
    /// The prior state merged with the configuration; null to destroy the object.
    pub proposed_new_state: Value,
    /// The configuration; null to destroy the object.
    pub config: Value,
    /// The private data stored with the object.
    pub prior_private: PrivateBytes,
    /// The module's metadata for the provider.
    pub provider_meta: Option<Value>,
    /// The identity of the prior object.
    pub prior_identity: Option<Value>,
    /// The host's capabilities.
    pub capabilities: ClientCapabilities,
}

/// The response of [`Provider::plan_resource_change`].
#[derive(Clone, Debug)]
pub struct PlanResponse {
    /// The planned state; absent if there are errors.
    pub planned_state: Option<Value>,
    /// The paths whose changes force a replacement.
    pub requires_replace: Vec<Path>,
    /// The private data for the apply.
    pub planned_private: PrivateBytes,
    /// Whether the host relaxes its checks, as for providers with the legacy SDK.
    pub legacy_type_system: bool,
    /// Set if the change is deferred to a later run.
    pub deferred: Option<DeferredReason>,
    /// The planned identity.
    pub planned_identity: Option<Value>,
    /// The provider's diagnostics.
    pub diagnostics: PluginDiagnostics,
}

/// The request of [`Provider::apply_resource_change`].
#[derive(Clone, Debug)]
pub struct ApplyRequest {
    /// The resource type.
    pub type_name: Str,
    /// The prior state; null to create an object.
    pub prior_state: Value,
    /// The planned state; null to destroy the object.
    pub planned_state: Value,
    /// The configuration; null to destroy the object.
    pub config: Value,
    /// The private data from the plan.
    pub planned_private: PrivateBytes,
    /// The module's metadata for the provider.
    pub provider_meta: Option<Value>,
    /// The identity from the plan.
    pub planned_identity: Option<Value>,
}

/// The response of [`Provider::apply_resource_change`].
#[derive(Clone, Debug)]
pub struct ApplyResponse {
    /// The new state; null if the object was destroyed. If it is absent, the prior state remains.
    pub new_state: Option<Value>,
    /// The private data to store with the object.
    pub private: PrivateBytes,
    /// Whether the host relaxes its checks, as for providers with the legacy SDK.
    pub legacy_type_system: bool,
    /// The object's identity.
    pub new_identity: Option<Value>,
    /// The provider's diagnostics.
    pub diagnostics: PluginDiagnostics,
}

/// The identification of an object to import.
#[derive(Clone, Debug)]
pub enum ImportTarget {
    /// An ID in a format that the provider defines.
    Id(String),
    /// An identity.
    Identity(Value),
}

/// The request of [`Provider::import_resource_state`].
#[derive(Clone, Debug)]
pub struct ImportRequest {
    /// The resource type.
    pub type_name: Str,
    /// The object to import.
    pub target: ImportTarget,
    /// The host's capabilities.
    pub capabilities: ClientCapabilities,
}

/// An object that an import found.
#[derive(Clone, Debug)]
pub struct ImportedResource {
    /// The resource type of the object.
    pub type_name: Str,
    /// The object, which may be incomplete.
    pub state: Value,
    /// The private data to store with the object.
    pub private: PrivateBytes,
    /// The object's identity.
    pub identity: Option<Value>,
}

/// The response of [`Provider::import_resource_state`].
#[derive(Clone, Debug)]
pub struct ImportResponse {
    /// The objects that were found.
    pub imported: Vec<ImportedResource>,
    /// Set if the import is deferred to a later run.
    pub deferred: Option<DeferredReason>,
    /// The provider's diagnostics.
    pub diagnostics: PluginDiagnostics,
}

/// The request of [`Provider::move_resource_state`].
#[derive(Clone, Debug)]
pub struct MoveRequest {
    /// The full address of the source provider.
    pub source_provider_address: String,
    /// The source resource type.
    pub source_type_name: Str,
    /// The schema version with which the object was stored.
    pub source_schema_version: i64,
    /// The object as stored.
    pub source_state: RawState,
    /// The target resource type.
    pub target_type_name: Str,
    /// The private data of the source provider.
    pub source_private: PrivateBytes,
    /// The identity as stored, with its version.
    pub source_identity: Option<(i64, RawState)>,
}

/// The response of [`Provider::move_resource_state`].
#[derive(Clone, Debug)]
pub struct MoveResponse {
    /// The object as a value of the target's schema; absent if there are errors.
    pub target_state: Option<Value>,
    /// The private data to store with the object.
    pub target_private: PrivateBytes,
    /// The object's identity.
    pub target_identity: Option<Value>,
    /// The provider's diagnostics.
    pub diagnostics: PluginDiagnostics,
}

/// The response of [`Provider::generate_resource_config`].
#[derive(Clone, Debug)]
pub struct GenerateConfigResponse {
    /// The configuration; absent if there are errors.
    pub config: Option<Value>,
    /// The provider's diagnostics.
    pub diagnostics: PluginDiagnostics,
}

/// The request of [`Provider::read_data_source`].
#[derive(Clone, Debug)]
pub struct ReadDataSourceRequest {
    /// The data source.
    pub type_name: Str,
    /// The configuration, without unknown values.
    pub config: Value,
    /// The module's metadata for the provider.
    pub provider_meta: Option<Value>,
    /// The host's capabilities.
    pub capabilities: ClientCapabilities,
}

/// The response of [`Provider::read_data_source`].
#[derive(Clone, Debug)]
pub struct ReadDataSourceResponse {
    /// The data that was read; absent if there are errors.
    pub state: Option<Value>,
    /// Set if reading is deferred to a later run.
    pub deferred: Option<DeferredReason>,
    /// The provider's diagnostics.
    pub diagnostics: PluginDiagnostics,
}

/// The request of [`Provider::open_ephemeral_resource`].
#[derive(Clone, Debug)]
pub struct OpenEphemeralRequest {
    /// The ephemeral resource type.
    pub type_name: Str,
    /// The configuration, without unknown values.
    pub config: Value,
    /// The host's capabilities.
    pub capabilities: ClientCapabilities,
}

/// The response of [`Provider::open_ephemeral_resource`].
#[derive(Clone, Debug)]
pub struct OpenEphemeralResponse {
    /// The ephemeral resource's value; absent if there are errors.
    pub result: Option<Value>,
    /// The time at which to renew the ephemeral resource.
    pub renew_at: Option<SystemTime>,
    /// The private data for renewing and closing the ephemeral resource.
    pub private: PrivateBytes,
    /// Set if opening is deferred to a later run.
    pub deferred: Option<DeferredReason>,
    /// The provider's diagnostics.
    pub diagnostics: PluginDiagnostics,
}

/// The response of [`Provider::renew_ephemeral_resource`].
#[derive(Clone, Debug)]
pub struct RenewEphemeralResponse {
    /// The time of the next renewal.
    pub renew_at: Option<SystemTime>,
    /// The private data for the next renewal.
    pub private: PrivateBytes,
    /// The provider's diagnostics.
    pub diagnostics: PluginDiagnostics,
}

/// The error that a function call returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionError {
    /// The error message.
    pub text: String,
    /// The index of the argument that caused the error.
    pub argument: Option<usize>,
}

/// The request of [`Provider::validate_list_resource_config`].
#[derive(Clone, Debug)]
pub struct ValidateListRequest {
    /// The resource type.
    pub type_name: Str,
    /// The configuration, which may contain unknown values.
    pub config: Value,
    /// Whether to include complete objects: a bool that may be unknown.
    pub include_resource_object: Value,
    /// The maximum number of results: a number that may be unknown.
    pub limit: Value,
}

/// The request of [`Provider::list_resource`].
#[derive(Clone, Debug)]
pub struct ListRequest {
    /// The resource type.
    pub type_name: Str,
    /// The configuration, without unknown values.
    pub config: Value,
    /// Whether to include complete objects.
    pub include_resource_object: bool,
    /// The maximum number of results.
    pub limit: Option<u64>,
}

/// A result of [`Provider::list_resource`].
#[derive(Clone, Debug)]
pub struct ListEvent {
    /// The object's identity.
    pub identity: Option<Value>,
    /// The object's name, for display to users.
    pub display_name: String,
    /// The object, if it was requested.
    pub resource_object: Option<Value>,
    /// The provider's diagnostics about the object.
    pub diagnostics: PluginDiagnostics,
}

/// The request of [`Provider::plan_action`] and [`Provider::invoke_action`].
#[derive(Clone, Debug)]
pub struct ActionRequest {
    /// The name of the action type, as in the provider's schema.
    pub action_type: Str,
    /// The configuration of the action.
    pub config: Value,
    /// The host's capabilities.
    pub capabilities: ClientCapabilities,
}

/// The response of [`Provider::plan_action`].
#[derive(Clone, Debug)]
pub struct PlanActionResponse {
    /// Set if the action is deferred to a later run.
    pub deferred: Option<DeferredReason>,
    /// The provider's diagnostics.
    pub diagnostics: PluginDiagnostics,
}
