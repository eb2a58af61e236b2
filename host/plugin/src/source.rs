//! Where the engine gets providers from.

use std::sync::Arc;

use async_trait::async_trait;

use crate::address::ProviderAddress;
use crate::diagnostic::PluginDiagnostics;
use crate::provider::Provider;

/// Hands out providers. The engine asks for one per provider configuration, and
/// never learns what stands behind it.
#[async_trait]
pub trait ProviderSource: Send + Sync {
    /// A provider that is not configured yet, for one configuration of its own.
    async fn provider(&self, address: &ProviderAddress) -> Result<Arc<dyn Provider>, PluginDiagnostics>;
}
