//! Combines several providers into one.
//!
//! Each resource type, data source, ephemeral resource, list, action and function belongs to one of
//! the providers, which receives its calls. If two providers define the same name, an error is
//! returned before any call is served. All providers are configured with the single configuration
//! from the host: its type must be the same for all providers, or empty for providers that need no
//! configuration.
//!
//! The combined provider declares every capability that any of the providers has, and responds on
//! behalf of providers without that capability, since a host checks capabilities by provider, not
//! by resource type.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use wardian_plugin::{
    ActionRequest, ApplyRequest, ApplyResponse, CallContext, ConfigKind, ConfigureRequest, Continue,
    FunctionError, GenerateConfigResponse, ImportRequest, ImportResponse, ListEvent, ListRequest,
    MoveRequest, MoveResponse, OpenEphemeralRequest, OpenEphemeralResponse, PlanActionResponse, PlanRequest,
    PlanResponse, PluginDiagnostic, PluginDiagnostics, PrivateBytes, Provider, ProviderSchema,
    ReadDataSourceRequest, ReadDataSourceResponse, ReadResourceRequest, ReadResourceResponse,
    RenewEphemeralResponse, Schema, SchemaTable, ServerCapabilities, UpgradeStateRequest,
    UpgradeStateResponse, ValidateConfigRequest, ValidateListRequest,
};
use wardian_value::{Str, Value};

/// The reason why providers cannot be combined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MultiplexError {
    /// A provider does not return its schema.
    #[error("cannot get the schema of {name}: {}", .reported.iter().map(|d| format!("{}: {}", d.summary, d.detail)).collect::<Vec<_>>().join("; "))]
    Schema { name: Arc<str>, reported: PluginDiagnostics },
    /// Two providers define the same name.
    #[error("{one} and {other} both have the {kind} {thing}")]
    Conflict {
        /// The kind: `resource`, `function`, ...
        kind: &'static str,
        thing: Str,
        one: Arc<str>,
        other: Arc<str>,
    },
    /// Two providers have different provider configurations.
    #[error(
        "{one} and {other} have different provider configurations, but plugins that are served as one \
         provider must share a configuration"
    )]
    Configuration { one: Arc<str>, other: Arc<str> },
    /// Two providers have different schemas for a module's metadata.
    #[error("{one} and {other} have different schemas for provider_meta")]
    Meta { one: Arc<str>, other: Arc<str> },
}

/// One of the providers.
struct Part {
    name: Arc<str>,
    provider: Arc<dyn Provider>,
    schema: Arc<ProviderSchema>,
}

impl Part {
    fn is_configured(&self) -> bool {
        !is_empty(&self.schema.provider)
    }
}

fn is_empty(schema: &Schema) -> bool {
    schema.block.attributes.is_empty() && schema.block.block_types.is_empty()
}

/// The names of one kind, each with the provider that defines it.
type Owners = BTreeMap<Str, usize>;

/// Several providers that are served as one plugin.
pub struct Multiplexed {
    parts: Vec<Part>,
    schema: Arc<ProviderSchema>,
    resources: Owners,
    data_sources: Owners,
    ephemeral_resources: Owners,
    list_resources: Owners,
    actions: Owners,
    functions: Owners,
}

impl Multiplexed {
    /// Combines these providers, each with its name in messages.
    ///
    /// # Errors
    /// Returns an error if the providers cannot be combined.
    pub async fn new(providers: Vec<(Arc<str>, Arc<dyn Provider>)>) -> Result<Self, MultiplexError> {
        let mut parts = Vec::with_capacity(providers.len());
        for (name, provider) in providers {
            match provider.schema(&CallContext::default()).await {
                Ok(schema) => parts.push(Part { name, provider, schema }),
                Err(reported) => return Err(MultiplexError::Schema { name, reported }),
            }
        }
        let table = |kind, of: fn(&ProviderSchema) -> &SchemaTable| {
            owners(&parts, kind, |schema| of(schema).keys().cloned().collect())
        };
        let resources = table("resource", |schema| &schema.resources)?;
        let data_sources = table("data source", |schema| &schema.data_sources)?;
        let ephemeral_resources = table("ephemeral resource", |schema| &schema.ephemeral_resources)?;
        let list_resources = table("list", |schema| &schema.list_resources)?;
        let actions = table("action", |schema| &schema.actions)?;
        let functions = owners(&parts, "function", |schema| schema.functions.keys().cloned().collect())?;
        let schema = Arc::new(ProviderSchema {
            capabilities: capabilities(&parts),
            provider: configuration(&parts)?,
            provider_meta: meta(&parts)?,
            resources: tables(&parts, |schema| &schema.resources),
            data_sources: tables(&parts, |schema| &schema.data_sources),
            ephemeral_resources: tables(&parts, |schema| &schema.ephemeral_resources),
            list_resources: tables(&parts, |schema| &schema.list_resources),
            actions: tables(&parts, |schema| &schema.actions),
            functions: parts.iter().flat_map(|part| part.schema.functions.clone()).collect(),
            identities: parts.iter().flat_map(|part| part.schema.identities.clone()).collect(),
        });
        Ok(Self {
            parts,
            schema,
            resources,
            data_sources,
            ephemeral_resources,
            list_resources,
            actions,
            functions,
        })
    }

    fn part(&self, owners: &Owners, kind: &str, name: &Str) -> Result<&Part, PluginDiagnostics> {
        owners.get(name).and_then(|index| self.parts.get(*index)).ok_or_else(|| {
            let detail = format!("None of the served plugins has the {kind} {name}.");
            vec![PluginDiagnostic::error("Unknown name", detail)]
        })
    }

    fn resource(&self, name: &Str) -> Result<&Part, PluginDiagnostics> {
        self.part(&self.resources, "resource", name)
    }

    fn ephemeral_resource(&self, name: &Str) -> Result<&Part, PluginDiagnostics> {
        self.part(&self.ephemeral_resources, "ephemeral resource", name)
    }

    /// Returns the configuration of a provider.
    fn configuration(part: &Part, config: &Value) -> Value {
        if part.is_configured() { config.clone() } else { Value::empty_object() }
    }
}

fn owners(
    parts: &[Part],
    kind: &'static str,
    names: impl Fn(&ProviderSchema) -> Vec<Str>,
) -> Result<Owners, MultiplexError> {
    let mut owners = Owners::new();
    for (index, part) in parts.iter().enumerate() {
        for thing in names(&part.schema) {
            let before = owners.insert(thing.clone(), index).and_then(|index| parts.get(index));
            if let Some(one) = before {
                let (one, other) = (Arc::clone(&one.name), Arc::clone(&part.name));
                return Err(MultiplexError::Conflict { kind, thing, one, other });
            }
        }
    }
    Ok(owners)
}

/// Combines the tables of all providers. Each schema is decoded on request.
fn tables(parts: &[Part], of: fn(&ProviderSchema) -> &SchemaTable) -> SchemaTable {
    let names = parts.iter().flat_map(|part| of(&part.schema).keys().cloned());
    let schemas = parts.iter().map(|part| Arc::clone(&part.schema)).collect();
    SchemaTable::new(names, Arc::new(Tables { schemas, of }))
}

struct Tables {
    schemas: Vec<Arc<ProviderSchema>>,
    of: fn(&ProviderSchema) -> &SchemaTable,
}

impl wardian_plugin::SchemaSource for Tables {
    fn schema(&self, name: &str) -> Option<Arc<Schema>> {
        self.schemas.iter().find_map(|schema| (self.of)(schema).get(name).map(Arc::clone))
    }
}

fn capabilities(parts: &[Part]) -> ServerCapabilities {
    let any = |has: fn(&ServerCapabilities) -> bool| parts.iter().any(|part| has(&part.schema.capabilities));
    ServerCapabilities {
        plan_destroy: any(|one| one.plan_destroy),
        // All schemas are requested before serving begins.
        get_provider_schema_optional: true,
        move_resource_state: any(|one| one.move_resource_state),
        generate_resource_config: any(|one| one.generate_resource_config),
    }
}

fn configuration(parts: &[Part]) -> Result<Schema, MultiplexError> {
    let mut configured = parts.iter().filter(|part| part.is_configured());
    let Some(first) = configured.next() else {
        return Ok(parts.first().map_or_else(Schema::default, |part| part.schema.provider.clone()));
    };
    let is_other = |part: &&Part| part.schema.provider.implied_type() != first.schema.provider.implied_type();
    match configured.find(is_other) {
        None => Ok(first.schema.provider.clone()),
        Some(other) => {
            let (one, other) = (Arc::clone(&first.name), Arc::clone(&other.name));
            Err(MultiplexError::Configuration { one, other })
        }
    }
}

fn meta(parts: &[Part]) -> Result<Option<Schema>, MultiplexError> {
    let mut with = parts.iter().filter(|part| part.schema.provider_meta.is_some());
    let Some(first) = with.next() else { return Ok(None) };
    let ty = |part: &Part| part.schema.provider_meta.as_ref().map(|meta| meta.implied_type().clone());
    match with.find(|part| ty(part) != ty(first)) {
        None => Ok(first.schema.provider_meta.clone()),
        Some(other) => {
            let (one, other) = (Arc::clone(&first.name), Arc::clone(&other.name));
            Err(MultiplexError::Meta { one, other })
        }
    }
}

/// Returns the metadata, unless the provider has no schema for it.
fn meta_for(part: &Part, meta: Option<Value>) -> Option<Value> {
    meta.filter(|_| part.schema.provider_meta.is_some())
}

/// Returns the error for a call that a plugin does not support.
fn lacking(part: &Part, what: &str) -> PluginDiagnostics {
    let detail = format!("{} cannot {what}.", part.name);
    vec![PluginDiagnostic::error("Unsupported plugin call", detail)]
}

#[async_trait]
impl Provider for Multiplexed {
    async fn schema(&self, _context: &CallContext) -> Result<Arc<ProviderSchema>, PluginDiagnostics> {
        Ok(Arc::clone(&self.schema))
    }

    async fn validate_provider_config(&self, context: &CallContext, config: Value) -> PluginDiagnostics {
        let mut reported = PluginDiagnostics::new();
        for part in &self.parts {
            let config = Self::configuration(part, &config);
            let more = part.provider.validate_provider_config(context, config).await;
            // Equal configurations often have equal diagnostics.
            reported.extend(more.into_iter().filter(|one| !reported.contains(one)).collect::<Vec<_>>());
        }
        reported
    }

    async fn configure(&self, context: &CallContext, request: ConfigureRequest) -> PluginDiagnostics {
        let mut reported = PluginDiagnostics::new();
        for part in &self.parts {
            let request = ConfigureRequest {
                terraform_version: request.terraform_version.clone(),
                config: Self::configuration(part, &request.config),
                capabilities: request.capabilities,
            };
            let more = part.provider.configure(context, request).await;
            reported.extend(more.into_iter().filter(|one| !reported.contains(one)).collect::<Vec<_>>());
        }
        reported
    }

    async fn validate_config(
        &self,
        context: &CallContext,
        kind: ConfigKind,
        request: ValidateConfigRequest,
    ) -> PluginDiagnostics {
        let (owners, of) = match kind {
            ConfigKind::Resource => (&self.resources, "resource"),
            ConfigKind::DataSource => (&self.data_sources, "data source"),
            ConfigKind::EphemeralResource => (&self.ephemeral_resources, "ephemeral resource"),
            ConfigKind::Action => (&self.actions, "action"),
        };
        match self.part(owners, of, &request.type_name) {
            Ok(part) => part.provider.validate_config(context, kind, request).await,
            Err(reported) => reported,
        }
    }

    async fn upgrade_resource_state(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> UpgradeStateResponse {
        match self.resource(&request.type_name) {
            Ok(part) => part.provider.upgrade_resource_state(context, request).await,
            Err(reported) => reported.into(),
        }
    }

    async fn upgrade_resource_identity(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> UpgradeStateResponse {
        match self.resource(&request.type_name) {
            Ok(part) => part.provider.upgrade_resource_identity(context, request).await,
            Err(reported) => reported.into(),
        }
    }

    async fn read_resource(
        &self,
        context: &CallContext,
        mut request: ReadResourceRequest,
    ) -> ReadResourceResponse {
        match self.resource(&request.type_name) {
            Ok(part) => {
                request.provider_meta = meta_for(part, request.provider_meta);
                part.provider.read_resource(context, request).await
            }
            Err(reported) => reported.into(),
        }
    }

    async fn plan_resource_change(&self, context: &CallContext, mut request: PlanRequest) -> PlanResponse {
        let part = match self.resource(&request.type_name) {
            Ok(part) => part,
            Err(reported) => return reported.into(),
        };
        if request.proposed_new_state.is_null() && !part.schema.capabilities.plan_destroy {
            // If this provider were served separately, it would not receive the call.
            let mut answer = PlanResponse::from(PluginDiagnostics::new());
            answer.planned_state = Some(request.proposed_new_state);
            answer.planned_private = request.prior_private;
            answer.planned_identity = request.prior_identity;
            return answer;
        }
        request.provider_meta = meta_for(part, request.provider_meta);
        part.provider.plan_resource_change(context, request).await
    }

    async fn apply_resource_change(&self, context: &CallContext, mut request: ApplyRequest) -> ApplyResponse {
        match self.resource(&request.type_name) {
            Ok(part) => {
                request.provider_meta = meta_for(part, request.provider_meta);
                part.provider.apply_resource_change(context, request).await
            }
            Err(reported) => reported.into(),
        }
    }

    async fn import_resource_state(&self, context: &CallContext, request: ImportRequest) -> ImportResponse {
        match self.resource(&request.type_name) {
            Ok(part) => part.provider.import_resource_state(context, request).await,
            Err(reported) => reported.into(),
        }
    }

    async fn move_resource_state(&self, context: &CallContext, request: MoveRequest) -> MoveResponse {
        match self.resource(&request.target_type_name) {
            Ok(part) if part.schema.capabilities.move_resource_state => {
                part.provider.move_resource_state(context, request).await
            }
            Ok(part) => lacking(part, "move objects of other resource types").into(),
            Err(reported) => reported.into(),
        }
    }

    async fn generate_resource_config(
        &self,
        context: &CallContext,
        type_name: Str,
        state: Value,
    ) -> GenerateConfigResponse {
        match self.resource(&type_name) {
            Ok(part) if part.schema.capabilities.generate_resource_config => {
                part.provider.generate_resource_config(context, type_name, state).await
            }
            Ok(part) => lacking(part, "generate a configuration from a state").into(),
            Err(reported) => reported.into(),
        }
    }

    async fn read_data_source(
        &self,
        context: &CallContext,
        mut request: ReadDataSourceRequest,
    ) -> ReadDataSourceResponse {
        match self.part(&self.data_sources, "data source", &request.type_name) {
            Ok(part) => {
                request.provider_meta = meta_for(part, request.provider_meta);
                part.provider.read_data_source(context, request).await
            }
            Err(reported) => reported.into(),
        }
    }

    async fn open_ephemeral_resource(
        &self,
        context: &CallContext,
        request: OpenEphemeralRequest,
    ) -> OpenEphemeralResponse {
        match self.ephemeral_resource(&request.type_name) {
            Ok(part) => part.provider.open_ephemeral_resource(context, request).await,
            Err(reported) => reported.into(),
        }
    }

    async fn renew_ephemeral_resource(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> RenewEphemeralResponse {
        match self.ephemeral_resource(&type_name) {
            Ok(part) => part.provider.renew_ephemeral_resource(context, type_name, private).await,
            Err(reported) => reported.into(),
        }
    }

    async fn close_ephemeral_resource(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> PluginDiagnostics {
        match self.ephemeral_resource(&type_name) {
            Ok(part) => part.provider.close_ephemeral_resource(context, type_name, private).await,
            Err(reported) => reported,
        }
    }

    async fn call_function(
        &self,
        context: &CallContext,
        name: Str,
        arguments: Vec<Value>,
    ) -> Result<Value, FunctionError> {
        match self.part(&self.functions, "function", &name) {
            Ok(part) => part.provider.call_function(context, name, arguments).await,
            Err(reported) => {
                let text = reported.into_iter().map(|one| one.detail).collect();
                Err(FunctionError { text, argument: None })
            }
        }
    }

    async fn validate_list_resource_config(
        &self,
        context: &CallContext,
        request: ValidateListRequest,
    ) -> PluginDiagnostics {
        match self.part(&self.list_resources, "list", &request.type_name) {
            Ok(part) => part.provider.validate_list_resource_config(context, request).await,
            Err(reported) => reported,
        }
    }

    async fn list_resource(
        &self,
        context: &CallContext,
        request: ListRequest,
        found: &mut (dyn FnMut(ListEvent) -> Continue + Send),
    ) -> PluginDiagnostics {
        match self.part(&self.list_resources, "list", &request.type_name) {
            Ok(part) => part.provider.list_resource(context, request, found).await,
            Err(reported) => reported,
        }
    }

    async fn plan_action(&self, context: &CallContext, request: ActionRequest) -> PlanActionResponse {
        match self.part(&self.actions, "action", &request.action_type) {
            Ok(part) => part.provider.plan_action(context, request).await,
            Err(reported) => reported.into(),
        }
    }

    async fn invoke_action(
        &self,
        context: &CallContext,
        request: ActionRequest,
        progress: &mut (dyn FnMut(String) + Send),
    ) -> PluginDiagnostics {
        match self.part(&self.actions, "action", &request.action_type) {
            Ok(part) => part.provider.invoke_action(context, request, progress).await,
            Err(reported) => reported,
        }
    }

    async fn stop(&self) -> Result<(), String> {
        let mut problems = Vec::new();
        for part in &self.parts {
            problems.extend(part.provider.stop().await.err());
        }
        if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
    }

    async fn close(&self) {
        for part in &self.parts {
            part.provider.close().await;
        }
    }
}
