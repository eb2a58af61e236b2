//! The traits that supply the engine with providers and provisioners.

use std::sync::Arc;

use async_trait::async_trait;
use wardian_address::ProviderAddress;
use wardian_value::Str;

use crate::diagnostic::PluginDiagnostics;
use crate::provider::Provider;
use crate::provisioner::Provisioner;

/// A source of providers. The engine requests one provider for each provider configuration,
/// regardless of how the provider is implemented.
#[async_trait]
pub trait ProviderSource: Send + Sync {
    /// Returns an unconfigured provider for one provider configuration.
    async fn provider(&self, address: &ProviderAddress) -> Result<Arc<dyn Provider>, PluginDiagnostics>;
}

/// A source of provisioners. The engine requests each type once per run, regardless of how the
/// provisioner is implemented.
#[async_trait]
pub trait ProvisionerSource: Send + Sync {
    /// Returns the available provisioner types.
    fn provisioner_types(&self) -> Vec<Str>;

    /// Returns the provisioner of the given type; `None` if the type does not exist.
    async fn provisioner(&self, type_name: &str) -> Result<Option<Arc<dyn Provisioner>>, PluginDiagnostics>;
}

/// A source without provisioners.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProvisioners;

#[async_trait]
impl ProvisionerSource for NoProvisioners {
    fn provisioner_types(&self) -> Vec<Str> {
        Vec::new()
    }

    async fn provisioner(&self, _type_name: &str) -> Result<Option<Arc<dyn Provisioner>>, PluginDiagnostics> {
        Ok(None)
    }
}
