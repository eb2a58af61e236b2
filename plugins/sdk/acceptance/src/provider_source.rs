//! The providers of a test, by their addresses.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use wardian_address::ProviderAddress;
use wardian_plugin::{PluginDiagnostic, PluginDiagnostics, Provider, ProviderSource};

use crate::environment::Environment;
use crate::in_process::{InProcessWire, ProviderFactory};

/// The providers under test. A provider serves each address whose last part is its name, so that a
/// configuration may name the provider with or without `required_providers`.
pub(crate) struct TestedProviders {
    pub(crate) providers: Vec<(String, ProviderFactory)>,
    pub(crate) environment: Environment,
    pub(crate) call_limit: Duration,
}

#[async_trait]
impl ProviderSource for TestedProviders {
    async fn provider(&self, address: &ProviderAddress) -> Result<Arc<dyn Provider>, PluginDiagnostics> {
        let failed = |summary: &str, detail: String| vec![PluginDiagnostic::error(summary, detail)];
        let found = self.providers.iter().find(|(name, _)| name == address.type_name());
        let Some((name, factory)) = found else {
            let names: Vec<&str> = self.providers.iter().map(|(name, _)| name.as_str()).collect();
            return Err(failed(
                "Provider not in the test",
                format!(
                    "The configuration needs the provider {}, but the test has only {}. Add the provider \
                     with AcceptanceTest::provider.",
                    address.for_display(),
                    names.join(", ")
                ),
            ));
        };
        InProcessWire::start(name, Arc::clone(factory), self.environment.clone(), self.call_limit)
            .map_err(|error| failed("Provider could not be started", format!("{name}: {error}.")))
    }
}
