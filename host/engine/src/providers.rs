//! The providers of a run: their schemas, and one configured provider for each provider
//! configuration.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use futures::future::join_all;
use wardian_address::{ProviderAddress, ProviderConfigAddress, ResourceMode};
use wardian_config::{ActionBlock, ListBlock, Resource};
use wardian_diagnostic::{Diagnosed, Diagnostic, Diagnostics, did_you_mean};
use wardian_plugin::{
    CallContext, ClientCapabilities, ConfigureRequest, PluginDiagnostics, Provider, ProviderSchema,
    ProviderSource, RedactingProvider, Schema, SensitiveValues,
};

use wardian_value::{Str, Value};

use crate::plugin_diagnostics::{from_plugin, from_plugin_about};
use crate::provisioners::Provisioners;

/// The version of Terraform with which the engine is compatible.
pub const TERRAFORM_VERSION: &str = "1.11.4";

/// The schemas of all providers and provisioners of a run, and unconfigured providers for calls
/// that require no configuration.
#[derive(Clone)]
pub struct Schemas {
    providers: Arc<BTreeMap<ProviderAddress, KnownProvider>>,
    provisioners: Arc<Provisioners>,
    secrets: SensitiveValues,
}

#[derive(Clone)]
struct KnownProvider {
    schema: Arc<ProviderSchema>,
    unconfigured: Arc<dyn Provider>,
}

impl Schemas {
    /// Loads the schemas of all providers concurrently.
    pub async fn load(
        source: &dyn ProviderSource,
        addresses: impl IntoIterator<Item = ProviderAddress>,
        secrets: SensitiveValues,
    ) -> Result<Self, Diagnostics> {
        let common = &secrets;
        let loads = addresses.into_iter().map(|address| async move {
            let loaded = match provider(source, &address, common).await {
                Ok(provider) => {
                    provider.schema(&CallContext::default()).await.map(|schema| (schema, provider))
                }
                Err(diagnostics) => Err(diagnostics),
            };
            (address, loaded)
        });
        let mut providers = BTreeMap::new();
        let mut diagnostics = Diagnostics::new();
        for (address, loaded) in join_all(loads).await {
            match loaded {
                Ok((schema, unconfigured)) => {
                    providers.insert(address, KnownProvider { schema, unconfigured });
                }
                Err(found) => diagnostics.extend(found.iter().map(from_plugin)),
            }
        }
        diagnostics.into_result(Self {
            providers: Arc::new(providers),
            provisioners: Arc::default(),
            secrets,
        })
    }

    #[must_use]
    pub fn with_provisioners(mut self, provisioners: Provisioners) -> Self {
        self.provisioners = Arc::new(provisioners);
        self
    }

    /// Returns the sensitive values that are redacted in plugin output.
    pub fn secrets(&self) -> &SensitiveValues {
        &self.secrets
    }

    /// Returns the provisioners that the configuration uses.
    pub fn provisioners(&self) -> &Provisioners {
        &self.provisioners
    }

    pub fn provider(&self, address: &ProviderAddress) -> Option<&Arc<ProviderSchema>> {
        self.providers.get(address).map(|known| &known.schema)
    }

    /// Returns the schemas of all providers, sorted by address.
    pub fn iter(&self) -> impl Iterator<Item = (&ProviderAddress, &Arc<ProviderSchema>)> {
        self.providers.iter().map(|(address, known)| (address, &known.schema))
    }

    pub fn unconfigured(&self, address: &ProviderAddress) -> Option<&Arc<dyn Provider>> {
        self.providers.get(address).map(|known| &known.unconfigured)
    }

    /// Returns the schema of a resource type or data source.
    pub fn resource(
        &self,
        address: &ProviderAddress,
        mode: ResourceMode,
        type_name: &str,
    ) -> Option<&Arc<Schema>> {
        let provider = self.provider(address)?;
        match mode {
            ResourceMode::Managed => provider.resources.get(type_name),
            ResourceMode::Data => provider.data_sources.get(type_name),
            ResourceMode::Ephemeral => provider.ephemeral_resources.get(type_name),
        }
    }

    /// Returns the schema of an action type.
    pub fn action(&self, address: &ProviderAddress, type_name: &str) -> Option<&Arc<Schema>> {
        self.provider(address)?.actions.get(type_name)
    }

    /// Returns the resource types or data sources of a provider, for suggestions.
    pub fn type_names(&self, address: &ProviderAddress, mode: ResourceMode) -> Vec<Str> {
        let Some(provider) = self.provider(address) else { return Vec::new() };
        match mode {
            ResourceMode::Managed => provider.resources.keys().cloned().collect(),
            ResourceMode::Data => provider.data_sources.keys().cloned().collect(),
            ResourceMode::Ephemeral => provider.ephemeral_resources.keys().cloned().collect(),
        }
    }

    pub async fn close(&self) {
        join_all(self.providers.values().map(|known| known.unconfigured.close())).await;
    }
}

/// Returns a provider whose output is redacted.
async fn provider(
    source: &dyn ProviderSource,
    address: &ProviderAddress,
    common: &SensitiveValues,
) -> Result<Arc<dyn Provider>, PluginDiagnostics> {
    Ok(Arc::new(RedactingProvider::new(source.provider(address).await?, common.clone())))
}

/// The providers that a run has configured, by configuration.
#[derive(Default)]
pub struct Configured {
    providers: BTreeMap<ProviderConfigAddress, Arc<dyn Provider>>,
}

impl Configured {
    pub fn insert(&mut self, address: ProviderConfigAddress, provider: Arc<dyn Provider>) {
        self.providers.insert(address, provider);
    }

    /// Returns the provider of a provider configuration.
    pub fn get(&self, address: &ProviderConfigAddress) -> Option<&Arc<dyn Provider>> {
        self.providers.get(address)
    }

    /// Requests that all providers stop their running operations gracefully.
    pub fn stop_all(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let providers: Vec<Arc<dyn Provider>> = self.providers.values().cloned().collect();
        Box::pin(async move {
            // Errors are ignored: if a provider fails to stop, the walk still waits for its
            // operations.
            let _ = join_all(providers.iter().map(|provider| provider.stop())).await;
        })
    }

    pub async fn close(&self) {
        join_all(self.providers.values().map(|provider| provider.close())).await;
    }
}

/// Returns the error for a resource type that the provider does not have.
pub fn unknown_type(schemas: &Schemas, resource: &Resource, provider: &ProviderConfigAddress) -> Diagnostic {
    let (summary, word) = match resource.mode {
        ResourceMode::Data => ("Invalid data source", "data source"),
        ResourceMode::Ephemeral => ("Invalid ephemeral resource", "ephemeral resource"),
        ResourceMode::Managed => ("Invalid resource type", "resource type"),
    };
    let has = |mode| schemas.resource(&provider.provider, mode, &resource.type_name).is_some();
    let other = match resource.mode {
        ResourceMode::Managed if has(ResourceMode::Data) => Some("data source"),
        ResourceMode::Data if has(ResourceMode::Managed) => Some("managed resource type"),
        _ => None,
    };
    let names = schemas.type_names(&provider.provider, resource.mode);
    let suggestion = wardian_diagnostic::closest(&resource.type_name, names.iter().map(|name| &**name))
        .map(|name| format!(" Did you mean \"{name}\"?"))
        .or(other.map(|other| format!(" Did you mean the {other} of the same name?")))
        .unwrap_or_default();
    Diagnostic::error(
        summary,
        format!(
            "The provider {} does not support {word} \"{}\".{suggestion}",
            provider.provider.for_display(),
            resource.type_name
        ),
    )
    .at(resource.type_span.clone())
    .in_block(resource.context())
}

/// Returns the error for an action type that the provider does not have.
pub fn unknown_action_type(
    schemas: &Schemas,
    action: &ActionBlock,
    provider: &ProviderConfigAddress,
) -> Diagnostic {
    let known = schemas.provider(&provider.provider).into_iter().flat_map(|schema| schema.actions.keys());
    let advice = did_you_mean(&action.type_name, known.map(|name| &**name));
    let detail = format!(
        "The provider {} does not support the action type \"{}\".{advice}",
        provider.provider.for_display(),
        action.type_name
    );
    Diagnostic::error("Invalid action type", detail).at(action.type_span.clone()).in_block(action.context())
}

/// Returns the error for a resource type whose objects the provider cannot list.
pub fn unknown_list_type(
    schemas: &Schemas,
    list: &ListBlock,
    provider: &ProviderConfigAddress,
) -> Diagnostic {
    let known =
        schemas.provider(&provider.provider).into_iter().flat_map(|schema| schema.list_resources.keys());
    let known: Vec<&str> = known.map(|name| &**name).collect();
    let advice = did_you_mean(&list.type_name, known.iter().copied());
    let advice = match known.as_slice() {
        [] => " It cannot list any objects.".to_owned(),
        _ if advice.is_empty() => format!(" It can list objects of these types: {}.", known.join(", ")),
        _ => advice,
    };
    let detail = format!(
        "The provider {} cannot list objects of the type \"{}\".{advice}",
        provider.provider.for_display(),
        list.type_name
    );
    Diagnostic::error("Invalid list resource", detail).at(list.type_span.clone()).in_block(list.context())
}

/// Starts a provider and configures it. The configuration may have marks.
pub async fn configure(
    source: &dyn ProviderSource,
    address: &ProviderConfigAddress,
    config: Value,
    common: &SensitiveValues,
) -> Diagnosed<Arc<dyn Provider>> {
    let name = address.to_string();
    let provider = match provider(source, &address.provider, common).await {
        Ok(provider) => provider,
        Err(found) => return Diagnosed::failed(from_plugin_about(&found, &name)),
    };
    let context = CallContext::new(name.as_str());
    let config = context.unmark_and_register(&config);
    let mut diagnostics =
        from_plugin_about(&provider.validate_provider_config(&context, config.clone()).await, &name);
    if !diagnostics.has_errors() {
        let request = ConfigureRequest {
            terraform_version: Str::new(TERRAFORM_VERSION),
            config,
            capabilities: ClientCapabilities::default(),
        };
        diagnostics.extend(from_plugin_about(&provider.configure(&context, request).await, &name));
    }
    Diagnosed::unless_errors(provider, diagnostics)
}
