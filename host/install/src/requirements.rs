//! The plugin requirements of a configuration.

use std::collections::BTreeMap;

use wardian_address::{Constraints, ProviderAddress};

/// The providers that a configuration requires.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requirements {
    /// The requirements of each provider. A provider without constraints also has an entry.
    pub providers: BTreeMap<ProviderAddress, Vec<RequiredBy>>,
}

/// The constraints of one module on one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredBy {
    /// The constraints; empty if any version is accepted.
    pub constraints: Constraints,
    /// The origin of the requirement for messages: "main.tf:3" or "module.network".
    pub origin: String,
}

impl Requirements {
    /// Adds a requirement of a module.
    pub fn add(&mut self, address: ProviderAddress, constraints: Constraints, origin: impl Into<String>) {
        let required = RequiredBy { constraints, origin: origin.into() };
        self.providers.entry(address).or_default().push(required);
    }

    /// Combines all constraints on a provider.
    pub fn constraints_on(&self, address: &ProviderAddress) -> Constraints {
        let all = self.providers.get(address).into_iter().flatten();
        all.fold(Constraints::default(), |merged, required| merged.and(&required.constraints))
    }

    pub(crate) fn required_by(&self, address: &ProviderAddress) -> Vec<RequiredBy> {
        self.providers.get(address).cloned().unwrap_or_default()
    }
}
