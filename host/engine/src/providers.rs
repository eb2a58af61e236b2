//! The providers of a run: their schemas, and one instance per configuration.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use futures::future::join_all;
use wardian_address::{ProviderAddress, ProviderConfigAddress, ResourceMode};
use wardian_config::Resource;
use wardian_diagnostic::{Diagnostic, Diagnostics};

use wardian_plugin::{
    ClientCapabilities, ConfigureRequest, MaskedProvider, PluginDiagnostic, PluginDiagnostics, Provider,
    ProviderSchema, ProviderSource, Schema, Secrets, Severity, hand_over,
};
use wardian_value::{Str, Value};

use crate::evaluator::Evaluator;
use crate::provisioners::Provisioners;

/// The version of Terraform whose behaviour the engine has.
pub const TERRAFORM_VERSION: &str = "1.11.4";

/// Schemas of all providers and provisioners that a run needs, and providers that are not
/// configured: for all that needs no configuration.
#[derive(Clone)]
pub struct Schemas {
    providers: Arc<BTreeMap<ProviderAddress, Known>>,
    provisioners: Arc<Provisioners>,
    secrets: Secrets,
}

#[derive(Clone)]
struct Known {
    schema: Arc<ProviderSchema>,
    unconfigured: Arc<dyn Provider>,
}

impl Schemas {
    /// Asks all providers for their schemas, at the same time.
    pub async fn load(
        source: &dyn ProviderSource,
        addresses: impl IntoIterator<Item = ProviderAddress>,
        secrets: Secrets,
    ) -> Result<Self, Diagnostics> {
        let common = &secrets;
        let loads = addresses.into_iter().map(|address| async move {
            let loaded = match provider(source, &address, common).await {
                Ok(provider) => provider.schema().await.map(|schema| (schema, provider)),
                Err(diagnostics) => Err(diagnostics),
            };
            (address, loaded)
        });
        let mut providers = BTreeMap::new();
        let mut diagnostics = Diagnostics::new();
        for (address, loaded) in join_all(loads).await {
            match loaded {
                Ok((schema, unconfigured)) => {
                    providers.insert(address, Known { schema, unconfigured });
                }
                Err(found) => diagnostics.extend(found.iter().map(plain)),
            }
        }
        diagnostics.into_result(Self {
            providers: Arc::new(providers),
            provisioners: Arc::default(),
            secrets,
        })
    }

    /// With the provisioners of the run.
    #[must_use]
    pub fn with_provisioners(mut self, provisioners: Provisioners) -> Self {
        self.provisioners = Arc::new(provisioners);
        self
    }

    /// What no plugin must say, whatever it was told.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// The provisioners that the configuration names.
    pub fn provisioners(&self) -> &Provisioners {
        &self.provisioners
    }

    /// A provider's schema.
    pub fn provider(&self, address: &ProviderAddress) -> Option<&Arc<ProviderSchema>> {
        self.providers.get(address).map(|known| &known.schema)
    }

    /// The schemas of all providers, sorted by address.
    pub fn iter(&self) -> impl Iterator<Item = (&ProviderAddress, &Arc<ProviderSchema>)> {
        self.providers.iter().map(|(address, known)| (address, &known.schema))
    }

    /// A provider that is not configured.
    pub fn unconfigured(&self, address: &ProviderAddress) -> Option<&Arc<dyn Provider>> {
        self.providers.get(address).map(|known| &known.unconfigured)
    }

    /// The schema of a resource type or data source.
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

    /// The resource types or data sources of a provider, for suggestions.
    pub fn type_names(&self, address: &ProviderAddress, mode: ResourceMode) -> Vec<Str> {
        let Some(provider) = self.provider(address) else { return Vec::new() };
        match mode {
            ResourceMode::Managed => provider.resources.keys().cloned().collect(),
            ResourceMode::Data => provider.data_sources.keys().cloned().collect(),
            ResourceMode::Ephemeral => provider.ephemeral_resources.keys().cloned().collect(),
        }
    }

    /// Ends all of them.
    pub async fn close(&self) {
        join_all(self.providers.values().map(|known| known.unconfigured.close())).await;
    }
}

/// A provider of which nothing secret is heard.
async fn provider(
    source: &dyn ProviderSource,
    address: &ProviderAddress,
    common: &Secrets,
) -> Result<Arc<dyn Provider>, PluginDiagnostics> {
    Ok(Arc::new(MaskedProvider::new(source.provider(address).await?, common.clone())))
}

/// Providers by configuration, as they are configured in the course of a run.
#[derive(Default)]
pub struct Configured {
    providers: BTreeMap<ProviderConfigAddress, Arc<dyn Provider>>,
}

impl Configured {
    /// A provider was configured.
    pub fn insert(&mut self, address: ProviderConfigAddress, provider: Arc<dyn Provider>) {
        self.providers.insert(address, provider);
    }

    /// The provider of a configuration.
    pub fn get(&self, address: &ProviderConfigAddress) -> Option<&Arc<dyn Provider>> {
        self.providers.get(address)
    }

    /// Asks all of them for an orderly end of what is in flight.
    pub fn stop_all(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let providers: Vec<Arc<dyn Provider>> = self.providers.values().cloned().collect();
        Box::pin(async move {
            // One that cannot be asked is waited for like the others.
            let _ = join_all(providers.iter().map(|provider| provider.stop())).await;
        })
    }

    /// Ends all of them.
    pub async fn close(&self) {
        join_all(self.providers.values().map(|provider| provider.close())).await;
    }
}

/// A plugin's diagnostic where no configuration is concerned.
pub fn plain(diagnostic: &PluginDiagnostic) -> Diagnostic {
    let mut plain = match diagnostic.severity {
        Severity::Error => Diagnostic::error(&diagnostic.summary, &diagnostic.detail),
        Severity::Warning => Diagnostic::warning(&diagnostic.summary, &diagnostic.detail),
    };
    plain.attribute.clone_from(&diagnostic.attribute);
    plain
}

/// A plugin's diagnostics about an object.
pub fn about(diagnostics: &PluginDiagnostics, address: &str) -> Diagnostics {
    diagnostics.iter().map(|d| plain(d).for_address(address)).collect()
}

/// An error for a resource type that the provider does not have.
pub fn unknown_type(
    evaluator: &Evaluator,
    resource: &Resource,
    provider: &ProviderConfigAddress,
) -> Diagnostic {
    let (summary, word) = match resource.mode {
        ResourceMode::Data => ("Invalid data source", "data source"),
        ResourceMode::Ephemeral => ("Invalid ephemeral resource", "ephemeral resource"),
        ResourceMode::Managed => ("Invalid resource type", "resource type"),
    };
    let has = |mode| evaluator.schemas.resource(&provider.provider, mode, &resource.type_name).is_some();
    let other = match resource.mode {
        ResourceMode::Managed if has(ResourceMode::Data) => Some("data source"),
        ResourceMode::Data if has(ResourceMode::Managed) => Some("managed resource type"),
        _ => None,
    };
    let names = evaluator.schemas.type_names(&provider.provider, resource.mode);
    let suggestion = wardian_diagnostic::closest(&resource.type_name, names.iter().map(|name| &**name))
        .map(|name| format!(" Did you mean \"{name}\"?"))
        .or(other.map(|other| format!(" Did you mean the {other} of that name?")))
        .unwrap_or_default();
    Diagnostic::error(
        summary,
        format!(
            "The provider {} does not support {word} \"{}\".{suggestion}",
            provider.provider.for_display(),
            resource.type_name
        ),
    )
    .at(resource.span.clone())
    .in_block(resource.context())
}

/// Makes a provider and configures it. The configuration may bear marks.
pub async fn configure(
    source: &dyn ProviderSource,
    address: &ProviderConfigAddress,
    config: Value,
    common: &Secrets,
) -> Result<(Arc<dyn Provider>, Diagnostics), Diagnostics> {
    let name = address.to_string();
    let provider = provider(source, &address.provider, common).await.map_err(|found| about(&found, &name))?;
    let config = hand_over(&config);
    let mut diagnostics = about(&provider.validate_provider_config(config.clone()).await, &name);
    if !diagnostics.has_errors() {
        let request = ConfigureRequest {
            terraform_version: Str::new(TERRAFORM_VERSION),
            config,
            capabilities: ClientCapabilities::default(),
        };
        diagnostics.extend(about(&provider.configure(request).await, &name));
    }
    diagnostics.clone().into_result(provider).map(|provider| (provider, diagnostics))
}
