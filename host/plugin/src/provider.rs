//! The provider's calls.
//!
//! Every call answers with diagnostics beside its result, also where the plugin
//! itself broke (a trap, a time-out, a lost process): the implementer turns that
//! into an error diagnostic that names plugin and call. So there is one way in
//! which a call fails.

mod failed;

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use wardian_value::{Path, Str, Value};

use crate::call_context::CallContext;
use crate::diagnostic::PluginDiagnostics;
use crate::schema::ProviderSchema;

/// Bytes that a provider stores with an object; empty where there are none.
pub type PrivateBytes = Arc<[u8]>;

/// One configured, or not yet configured, provider.
///
/// Values are against the schema's implied types and bear no marks. All calls may
/// be made concurrently. Before [`Provider::configure`] only schemas, validation,
/// state upgrades and functions may be asked for.
#[async_trait]
pub trait Provider: Send + Sync {
    /// All schemas; asked of the plugin once and shared from then on.
    async fn schema(&self, context: &CallContext) -> Result<Arc<ProviderSchema>, PluginDiagnostics>;

    /// Checks the provider's configuration, which may hold unknown values.
    async fn validate_provider_config(&self, context: &CallContext, config: Value) -> PluginDiagnostics;

    /// Configures the provider.
    async fn configure(&self, context: &CallContext, request: ConfigureRequest) -> PluginDiagnostics;

    /// Checks the configuration of a resource, data source, ephemeral resource or
    /// action; which is said by `kind`.
    async fn validate_config(
        &self,
        context: &CallContext,
        kind: ConfigKind,
        request: ValidateConfigRequest,
    ) -> PluginDiagnostics;

    /// Brings a stored object to the current schema.
    async fn upgrade_resource_state(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> UpgradeStateResponse;

    /// Brings a stored identity to the current identity schema.
    async fn upgrade_resource_identity(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> UpgradeStateResponse;

    /// Reads an object as it is now.
    async fn read_resource(
        &self,
        context: &CallContext,
        request: ReadResourceRequest,
    ) -> ReadResourceResponse;

    /// Plans a change.
    async fn plan_resource_change(&self, context: &CallContext, request: PlanRequest) -> PlanResponse;

    /// Carries out a planned change.
    async fn apply_resource_change(&self, context: &CallContext, request: ApplyRequest) -> ApplyResponse;

    /// Finds an existing object.
    async fn import_resource_state(&self, context: &CallContext, request: ImportRequest) -> ImportResponse;

    /// Takes over an object of another resource type.
    async fn move_resource_state(&self, context: &CallContext, request: MoveRequest) -> MoveResponse;

    /// Makes a configuration from a state.
    async fn generate_resource_config(
        &self,
        context: &CallContext,
        type_name: Str,
        state: Value,
    ) -> GenerateConfigResponse;

    /// Reads a data source.
    async fn read_data_source(
        &self,
        context: &CallContext,
        request: ReadDataSourceRequest,
    ) -> ReadDataSourceResponse;

    /// Opens an ephemeral resource.
    async fn open_ephemeral_resource(
        &self,
        context: &CallContext,
        request: OpenEphemeralRequest,
    ) -> OpenEphemeralResponse;

    /// Keeps an ephemeral resource alive.
    async fn renew_ephemeral_resource(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> RenewEphemeralResponse;

    /// Ends an ephemeral resource.
    async fn close_ephemeral_resource(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> PluginDiagnostics;

    /// Calls a function; arguments are of the parameters' types. May be called on
    /// a provider that is not configured.
    async fn call_function(
        &self,
        context: &CallContext,
        name: Str,
        arguments: Vec<Value>,
    ) -> Result<Value, FunctionError>;

    /// Checks a list block's configuration.
    async fn validate_list_resource_config(
        &self,
        context: &CallContext,
        request: ValidateListRequest,
    ) -> PluginDiagnostics;

    /// Lists objects, handing each to `found` until it says stop.
    async fn list_resource(
        &self,
        context: &CallContext,
        request: ListRequest,
        found: &mut (dyn FnMut(ListEvent) -> Continue + Send),
    ) -> PluginDiagnostics;

    /// Plans an action.
    async fn plan_action(&self, context: &CallContext, request: ActionRequest) -> PlanActionResponse;

    /// Carries out an action, telling `progress` what it says meanwhile.
    async fn invoke_action(
        &self,
        context: &CallContext,
        request: ActionRequest,
        progress: &mut (dyn FnMut(String) + Send),
    ) -> PluginDiagnostics;

    /// Asks for an orderly end of what is in flight; calls still answer. The error
    /// says why it could not be asked for.
    async fn stop(&self) -> Result<(), String>;

    /// Ends the provider and frees what it holds. Later calls fail.
    async fn close(&self);
}

/// Whether a caller wants more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continue {
    /// More, please.
    Yes,
    /// Enough.
    Stop,
}

/// What a configuration is of.
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

/// What the host can do beyond the first version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientCapabilities {
    /// It understands deferred answers.
    pub deferral_allowed: bool,
    /// It understands write-only attributes.
    pub write_only_attributes_allowed: bool,
}

impl Default for ClientCapabilities {
    fn default() -> Self {
        Self { deferral_allowed: false, write_only_attributes_allowed: true }
    }
}

/// Why a change is put off to a later run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeferredReason {
    /// No particular reason.
    Unknown,
    /// The resource's configuration is not known enough.
    ResourceConfigUnknown,
    /// The provider's configuration is not known enough.
    ProviderConfigUnknown,
    /// Something that must exist first does not.
    AbsentPrerequisite,
}

/// A stored object as it is in a state file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawState {
    /// The attributes as JSON, exactly as stored.
    Json(Arc<str>),
    /// The flat map of versions before 0.12.
    Flatmap(Arc<std::collections::BTreeMap<String, String>>),
}

/// See [`Provider::configure`].
#[derive(Clone, Debug)]
pub struct ConfigureRequest {
    /// The version of Terraform whose behaviour the host has.
    pub terraform_version: Str,
    /// An object of nulls where there is no configuration.
    pub config: Value,
    /// What the host can do.
    pub capabilities: ClientCapabilities,
}

/// See [`Provider::validate_config`].
#[derive(Clone, Debug)]
pub struct ValidateConfigRequest {
    /// The resource type, data source or action.
    pub type_name: Str,
    /// May hold unknown values.
    pub config: Value,
    /// What the host can do.
    pub capabilities: ClientCapabilities,
}

/// See [`Provider::upgrade_resource_state`].
#[derive(Clone, Debug)]
pub struct UpgradeStateRequest {
    /// The resource type.
    pub type_name: Str,
    /// The schema version it was stored with.
    pub version: i64,
    /// The object as stored.
    pub raw: RawState,
}

/// See [`Provider::upgrade_resource_state`].
#[derive(Clone, Debug)]
pub struct UpgradeStateResponse {
    /// The object of the current schema; absent with errors.
    pub upgraded: Option<Value>,
    /// What the provider has to say.
    pub diagnostics: PluginDiagnostics,
}

/// See [`Provider::read_resource`].
#[derive(Clone, Debug)]
pub struct ReadResourceRequest {
    /// The resource type.
    pub type_name: Str,
    /// The object as last known.
    pub current_state: Value,
    /// Stored with the object.
    pub private: PrivateBytes,
    /// What the module tells the provider.
    pub provider_meta: Option<Value>,
    /// The identity as last known.
    pub current_identity: Option<Value>,
    /// What the host can do.
    pub capabilities: ClientCapabilities,
}

/// See [`Provider::read_resource`].
#[derive(Clone, Debug)]
pub struct ReadResourceResponse {
    /// The object; null where it is gone; absent with errors.
    pub new_state: Option<Value>,
    /// To be stored with the object.
    pub private: PrivateBytes,
    /// The identity.
    pub new_identity: Option<Value>,
    /// Put off to a later run.
    pub deferred: Option<DeferredReason>,
    /// What the provider has to say.
    pub diagnostics: PluginDiagnostics,
}

/// See [`Provider::plan_resource_change`].
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// The resource type.
    pub type_name: Str,
    /// Null for a create.
    pub prior_state: Value,
    /// The merge of prior state and configuration; null for a destroy.
    pub proposed_new_state: Value,
    /// Null for a destroy.
    pub config: Value,
    /// Stored with the object.
    pub prior_private: PrivateBytes,
    /// What the module tells the provider.
    pub provider_meta: Option<Value>,
    /// The identity of the prior object.
    pub prior_identity: Option<Value>,
    /// What the host can do.
    pub capabilities: ClientCapabilities,
}

/// See [`Provider::plan_resource_change`].
#[derive(Clone, Debug)]
pub struct PlanResponse {
    /// The planned object; absent with errors.
    pub planned_state: Option<Value>,
    /// Paths whose change forces a replacement.
    pub requires_replace: Vec<Path>,
    /// For the apply.
    pub planned_private: PrivateBytes,
    /// Relaxes the host's checks for old providers.
    pub legacy_type_system: bool,
    /// Put off to a later run.
    pub deferred: Option<DeferredReason>,
    /// The planned identity.
    pub planned_identity: Option<Value>,
    /// What the provider has to say.
    pub diagnostics: PluginDiagnostics,
}

/// See [`Provider::apply_resource_change`].
#[derive(Clone, Debug)]
pub struct ApplyRequest {
    /// The resource type.
    pub type_name: Str,
    /// Null for a create.
    pub prior_state: Value,
    /// Null for a delete.
    pub planned_state: Value,
    /// Null for a delete.
    pub config: Value,
    /// From the plan.
    pub planned_private: PrivateBytes,
    /// What the module tells the provider.
    pub provider_meta: Option<Value>,
    /// From the plan.
    pub planned_identity: Option<Value>,
}

/// See [`Provider::apply_resource_change`].
#[derive(Clone, Debug)]
pub struct ApplyResponse {
    /// What there is now; null where deleted; absent where the call gave nothing,
    /// which leaves what was before.
    pub new_state: Option<Value>,
    /// To be stored with the object.
    pub private: PrivateBytes,
    /// Relaxes the host's checks for old providers.
    pub legacy_type_system: bool,
    /// The identity.
    pub new_identity: Option<Value>,
    /// What the provider has to say.
    pub diagnostics: PluginDiagnostics,
}

/// What an import names an object by.
#[derive(Clone, Debug)]
pub enum ImportTarget {
    /// The provider's own notation.
    Id(String),
    /// An identity.
    Identity(Value),
}

/// See [`Provider::import_resource_state`].
#[derive(Clone, Debug)]
pub struct ImportRequest {
    /// The resource type.
    pub type_name: Str,
    /// Which object.
    pub target: ImportTarget,
    /// What the host can do.
    pub capabilities: ClientCapabilities,
}

/// An object that an import found.
#[derive(Clone, Debug)]
pub struct ImportedResource {
    /// Its resource type.
    pub type_name: Str,
    /// The object, maybe partial.
    pub state: Value,
    /// To be stored with it.
    pub private: PrivateBytes,
    /// Its identity.
    pub identity: Option<Value>,
}

/// See [`Provider::import_resource_state`].
#[derive(Clone, Debug)]
pub struct ImportResponse {
    /// What was found.
    pub imported: Vec<ImportedResource>,
    /// Put off to a later run.
    pub deferred: Option<DeferredReason>,
    /// What the provider has to say.
    pub diagnostics: PluginDiagnostics,
}

/// See [`Provider::move_resource_state`].
#[derive(Clone, Debug)]
pub struct MoveRequest {
    /// The full address of the provider it was of.
    pub source_provider_address: String,
    /// The resource type it was of.
    pub source_type_name: Str,
    /// The schema version it was stored with.
    pub source_schema_version: i64,
    /// The object as stored.
    pub source_state: RawState,
    /// The resource type it becomes.
    pub target_type_name: Str,
    /// Stored by the old provider.
    pub source_private: PrivateBytes,
    /// The identity as stored, with its version.
    pub source_identity: Option<(i64, RawState)>,
}

/// See [`Provider::move_resource_state`].
#[derive(Clone, Debug)]
pub struct MoveResponse {
    /// The object of the target's schema; absent with errors.
    pub target_state: Option<Value>,
    /// To be stored with it.
    pub target_private: PrivateBytes,
    /// Its identity.
    pub target_identity: Option<Value>,
    /// What the provider has to say.
    pub diagnostics: PluginDiagnostics,
}

/// See [`Provider::generate_resource_config`].
#[derive(Clone, Debug)]
pub struct GenerateConfigResponse {
    /// The configuration; absent with errors.
    pub config: Option<Value>,
    /// What the provider has to say.
    pub diagnostics: PluginDiagnostics,
}

/// See [`Provider::read_data_source`].
#[derive(Clone, Debug)]
pub struct ReadDataSourceRequest {
    /// The data source.
    pub type_name: Str,
    /// Wholly known.
    pub config: Value,
    /// What the module tells the provider.
    pub provider_meta: Option<Value>,
    /// What the host can do.
    pub capabilities: ClientCapabilities,
}

/// See [`Provider::read_data_source`].
#[derive(Clone, Debug)]
pub struct ReadDataSourceResponse {
    /// What was read; absent with errors.
    pub state: Option<Value>,
    /// Put off to a later run.
    pub deferred: Option<DeferredReason>,
    /// What the provider has to say.
    pub diagnostics: PluginDiagnostics,
}

/// See [`Provider::open_ephemeral_resource`].
#[derive(Clone, Debug)]
pub struct OpenEphemeralRequest {
    /// The ephemeral resource type.
    pub type_name: Str,
    /// Wholly known.
    pub config: Value,
    /// What the host can do.
    pub capabilities: ClientCapabilities,
}

/// See [`Provider::open_ephemeral_resource`].
#[derive(Clone, Debug)]
pub struct OpenEphemeralResponse {
    /// What was opened; absent with errors.
    pub result: Option<Value>,
    /// When to renew it.
    pub renew_at: Option<SystemTime>,
    /// For renew and close.
    pub private: PrivateBytes,
    /// Put off to a later run.
    pub deferred: Option<DeferredReason>,
    /// What the provider has to say.
    pub diagnostics: PluginDiagnostics,
}

/// See [`Provider::renew_ephemeral_resource`].
#[derive(Clone, Debug)]
pub struct RenewEphemeralResponse {
    /// When to renew it again.
    pub renew_at: Option<SystemTime>,
    /// For the next renewal.
    pub private: PrivateBytes,
    /// What the provider has to say.
    pub diagnostics: PluginDiagnostics,
}

/// Why a function has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionError {
    /// What is wrong.
    pub text: String,
    /// The argument at fault.
    pub argument: Option<usize>,
}

/// See [`Provider::validate_list_resource_config`].
#[derive(Clone, Debug)]
pub struct ValidateListRequest {
    /// The resource type.
    pub type_name: Str,
    /// May hold unknown values.
    pub config: Value,
    /// A bool, maybe unknown.
    pub include_resource_object: Value,
    /// A number, maybe unknown.
    pub limit: Value,
}

/// See [`Provider::list_resource`].
#[derive(Clone, Debug)]
pub struct ListRequest {
    /// The resource type.
    pub type_name: Str,
    /// Wholly known.
    pub config: Value,
    /// Whether whole objects are wanted.
    pub include_resource_object: bool,
    /// The most results wanted.
    pub limit: Option<u64>,
}

/// See [`Provider::list_resource`].
#[derive(Clone, Debug)]
pub struct ListEvent {
    /// Who it is.
    pub identity: Option<Value>,
    /// For people.
    pub display_name: String,
    /// The object where asked for.
    pub resource_object: Option<Value>,
    /// What the provider has to say about it.
    pub diagnostics: PluginDiagnostics,
}

/// See [`Provider::plan_action`] and [`Provider::invoke_action`].
#[derive(Clone, Debug)]
pub struct ActionRequest {
    /// The action.
    pub action_type: Str,
    /// Its configuration.
    pub config: Value,
    /// What the host can do.
    pub capabilities: ClientCapabilities,
}

/// See [`Provider::plan_action`].
#[derive(Clone, Debug)]
pub struct PlanActionResponse {
    /// Put off to a later run.
    pub deferred: Option<DeferredReason>,
    /// What the provider has to say.
    pub diagnostics: PluginDiagnostics,
}
