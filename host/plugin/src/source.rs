//! Where the engine gets providers and provisioners from.

use std::sync::Arc;

use async_trait::async_trait;
use wardian_address::ProviderAddress;
use wardian_value::Str;

use crate::diagnostic::PluginDiagnostics;
use crate::provider::Provider;
use crate::provisioner::Provisioner;

/// Hands out providers. The engine asks for one per provider configuration, and
/// never learns what stands behind it.
#[async_trait]
pub trait ProviderSource: Send + Sync {
    /// A provider that is not configured yet, for one configuration of its own.
    async fn provider(&self, address: &ProviderAddress) -> Result<Arc<dyn Provider>, PluginDiagnostics>;
}

/// Hands out provisioners. The engine asks for each type once in a run, and never learns
/// what stands behind it.
#[async_trait]
pub trait ProvisionerSource: Send + Sync {
    /// The types that there are.
    fn provisioner_types(&self) -> Vec<Str>;

    /// The provisioner of a type; `None` where there is no such type.
    async fn provisioner(&self, type_name: &str) -> Result<Option<Arc<dyn Provisioner>>, PluginDiagnostics>;
}

/// A source that has no provisioners.
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
