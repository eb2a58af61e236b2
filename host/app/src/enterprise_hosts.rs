//! Finds HCP Terraform and Terraform Enterprise for backends: service discovery and the user's tokens
//! are those of registries.

use std::fmt;

use async_trait::async_trait;
use wardian_backend::{EnterpriseService, ServiceHosts};
use wardian_registry::{RegistryClient, ServiceHost};

/// The identifiers of the API in service discovery. Both have the same URL on all known hosts.
const ENTERPRISE: &str = "tfe.v2";
const ENTERPRISE_WITH_REMOTE: &str = "tfe.v2.1";

/// The clients for hosts, or the reason why they cannot be configured.
pub(crate) struct EnterpriseHosts {
    registry: Result<RegistryClient, String>,
}

impl EnterpriseHosts {
    pub(crate) fn new(registry: Result<RegistryClient, String>) -> Self {
        Self { registry }
    }
}

impl fmt::Debug for EnterpriseHosts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EnterpriseHosts").finish_non_exhaustive()
    }
}

#[async_trait]
impl ServiceHosts for EnterpriseHosts {
    async fn enterprise(&self, host: &str) -> Result<EnterpriseService, String> {
        let registry = self.registry.as_ref().map_err(Clone::clone)?;
        let host = ServiceHost::parse(host).map_err(|error| error.to_string())?;
        let services = registry.services(&host).await.map_err(|error| error.to_string())?;
        let url = services
            .url(ENTERPRISE)
            .or_else(|error| services.url(ENTERPRISE_WITH_REMOTE).map_err(|_| error.to_string()))?;
        let credential = registry.credentials().credential(&host).await.map_err(|error| error.to_string())?;
        let token = credential.map(|credential| credential.token.reveal().to_owned());
        Ok(EnterpriseService { url, token })
    }
}
