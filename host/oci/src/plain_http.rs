//! The registries on this machine that are accessed without TLS.

use std::collections::BTreeSet;

use crate::error::OciError;
use crate::reference::RegistryHost;

/// Registries that are accessed over plain HTTP. Only registries on this machine can be added. The
/// set is empty by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlainHttpRegistries(BTreeSet<RegistryHost>);

impl PlainHttpRegistries {
    /// Adds a registry.
    ///
    /// # Errors
    /// Returns an error if the registry is not on this machine, that is, if its host is not
    /// `localhost` or a loopback address.
    pub fn add(&mut self, registry: RegistryHost) -> Result<(), OciError> {
        if !registry.is_loopback() {
            return Err(OciError::PlainHttp { registry });
        }
        self.0.insert(registry);
        Ok(())
    }

    pub fn contains(&self, registry: &RegistryHost) -> bool {
        self.0.contains(registry)
    }

    /// Returns the URL of a registry's API, without a trailing slash.
    pub(crate) fn base_url(&self, registry: &RegistryHost) -> String {
        let scheme = if self.contains(registry) { "http" } else { "https" };
        format!("{scheme}://{}/v2", registry.server())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_registries_use_plain_http() {
        let host = |text| RegistryHost::parse(text).unwrap();
        let mut registries = PlainHttpRegistries::default();
        registries.add(host("127.0.0.1:5000")).unwrap();
        assert!(registries.add(host("example.com")).is_err());
        assert_eq!(registries.base_url(&host("127.0.0.1:5000")), "http://127.0.0.1:5000/v2");
        assert_eq!(registries.base_url(&host("127.0.0.1:5001")), "https://127.0.0.1:5001/v2");
        assert_eq!(registries.base_url(&host("docker.io")), "https://registry-1.docker.io/v2");
    }
}
