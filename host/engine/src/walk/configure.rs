//! Configures providers.

use std::sync::Arc;

use wardian_address::ProviderConfigAddress;
use wardian_diagnostic::Diagnosed;
use wardian_plugin::Provider;
use wardian_value::Value;

use super::{SharedOutcome, WalkParts};
use crate::diagnostic_spans::in_provider;
use crate::providers::configure;
use crate::scheduler::StartResult;

impl WalkParts<'_> {
    /// Evaluates a provider configuration; `None` after an error.
    pub fn provider_config(&mut self, address: &ProviderConfigAddress) -> Option<Value> {
        let evaluated = self.evaluator.provider_config(address);
        self.diagnostics.collect(evaluated)
    }

    /// Starts to configure a provider.
    pub fn start_configure<O>(&mut self, address: ProviderConfigAddress, config: Value) -> StartResult<O>
    where
        O: From<SharedOutcome> + Send + 'static,
    {
        if let Some(test) = &self.context.test
            && let Some(real) = self.evaluator.schemas.unconfigured(&address.provider)
            && let Some(mock) = test.overrides.mocked(&address, real)
        {
            let result = Diagnosed::new(mock);
            return StartResult::running(async move { SharedOutcome::Configured { address, result }.into() });
        }
        let source = Arc::clone(&self.context.providers);
        let secrets = self.evaluator.schemas.secrets().clone();
        StartResult::running(async move {
            let result = configure(&*source, &address, config, &secrets).await;
            SharedOutcome::Configured { address, result }.into()
        })
    }

    pub(super) fn configured(
        &mut self,
        address: ProviderConfigAddress,
        result: Diagnosed<Arc<dyn Provider>>,
    ) -> bool {
        let Diagnosed { value, diagnostics } = result;
        self.diagnostics.extend(in_provider(&self.context.configuration, &address, diagnostics));
        value.map(|provider| self.configured.insert(address, provider)).is_some()
    }
}
