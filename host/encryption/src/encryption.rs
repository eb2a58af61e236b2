//! The encryption that a configuration and the environment determine.

use std::fmt;
use std::sync::{Arc, OnceLock};

use wardian_config::{EncryptionConfig, EncryptionTarget};
use wardian_diagnostic::{Diagnostic, Diagnostics};

use crate::host::EncryptionHost;
use crate::method::UNENCRYPTED;
use crate::scope::{StaticScope, StaticValues};
use crate::target::TargetEncryption;

type Evaluated = Result<Option<Arc<TargetEncryption>>, Diagnostics>;

/// The encryption of states and plans. A target is evaluated when it is first used.
pub struct Encryption {
    config: EncryptionConfig,
    values: StaticValues,
    host: EncryptionHost,
    state: OnceLock<Evaluated>,
    plan: OnceLock<Evaluated>,
    remote_default: OnceLock<Evaluated>,
}

/// Shows no values.
impl fmt::Debug for Encryption {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Encryption").finish_non_exhaustive()
    }
}

impl Encryption {
    pub fn new(config: EncryptionConfig, values: StaticValues, host: EncryptionHost) -> Self {
        Self {
            config,
            values,
            host,
            state: OnceLock::new(),
            plan: OnceLock::new(),
            remote_default: OnceLock::new(),
        }
    }

    /// Returns the encryption of states; [`None`] if there is none.
    ///
    /// # Errors
    /// Returns an error if the configuration is not valid.
    pub fn state(&self) -> Evaluated {
        self.state.get_or_init(|| self.evaluate("the state", self.config.state.as_ref())).clone()
    }

    /// Returns the encryption of plans; [`None`] if there is none.
    ///
    /// # Errors
    /// Returns an error if the configuration is not valid.
    pub fn plan(&self) -> Evaluated {
        self.plan.get_or_init(|| self.evaluate("the plan", self.config.plan.as_ref())).clone()
    }

    /// Returns the encryption of the states that an instance of the data source `terraform_remote_state`
    /// reads; [`None`] if there is none.
    ///
    /// # Errors
    /// Returns an error if the configuration is not valid.
    pub fn remote_state(&self, address: &str) -> Evaluated {
        let name = data_source_name(address);
        match self.config.remote_states.iter().find(|(known, _)| **known == *name) {
            Some((_, target)) => self.evaluate("the state", Some(target)),
            None => {
                let target = self.config.remote_state_default.as_ref();
                self.remote_default.get_or_init(|| self.evaluate("the state", target)).clone()
            }
        }
    }

    /// Returns the warnings about the configuration.
    pub fn warnings(&self) -> Diagnostics {
        let unencrypted = self.config.methods.iter().find(|method| &*method.type_name == UNENCRYPTED);
        let warning = unencrypted.map(|method| {
            let detail = "The method \"unencrypted\" stores or accepts content without encryption. Remove it when \
                 the states and plans have been written with their new method.";
            Diagnostic::warning("Unencrypted method configured", detail).at(method.span.clone())
        });
        warning.into_iter().collect()
    }

    fn evaluate(&self, content: &'static str, target: Option<&EncryptionTarget>) -> Evaluated {
        let Some(target) = target else { return Ok(None) };
        let scope = StaticScope::new(&self.values, &self.config);
        TargetEncryption::new(content, target, &self.config, &scope, &self.host).map(Arc::new).map(Some)
    }
}

/// Returns the name of a data source in the configuration: `network[0]` for
/// `data.terraform_remote_state.network[0]`, and `a.network` for `module.a.data...`.
fn data_source_name(address: &str) -> String {
    let name = address.replacen("data.terraform_remote_state.", "", 1);
    name.strip_prefix("module.").map(str::to_owned).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::data_source_name;

    #[test]
    fn data_sources_are_named_as_in_opentofu() {
        for (address, name) in [
            ("data.terraform_remote_state.a", "a"),
            ("data.terraform_remote_state.a[4]", "a[4]"),
            ("module.m[1].data.terraform_remote_state.a", "m[1].a"),
            ("module.m.module.n.data.terraform_remote_state.a[\"k\"]", "m.module.n.a[\"k\"]"),
        ] {
            assert_eq!(data_source_name(address), name);
        }
    }
}
