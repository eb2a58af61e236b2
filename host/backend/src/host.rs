//! The environment in which backends work.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use url::Url;
use wardian_access::{HostConnections, HttpAuthority};
use wardian_download::{Downloader, DownloaderOptions, NetworkAccess};
use wardian_network::proxy::ProxySettings;
use wardian_network::{OperatorAuthority, TlsRoots};

use crate::backend::BackendError;

/// Time limit for the beginning of a response, unless the host sets another limit.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(1);

/// Whether a backend may change its service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendAccess {
    #[default]
    ReadWrite,
    /// States are read, and nothing is created, locked or written.
    ReadOnly,
}

/// The environment of backends, which the caller provides.
#[derive(Clone)]
pub struct BackendHost {
    /// The environment variables.
    pub variables: Arc<BTreeMap<String, String>>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The directory against which relative paths are resolved.
    pub directory: PathBuf,
    /// The program version that is written to new states.
    pub terraform_version: String,
    pub http: HttpClients,
    /// Finds services of hosts.
    pub services: Arc<dyn ServiceHosts>,
    /// Records connections that are not HTTP requests.
    pub connections: Option<Arc<dyn HostConnections>>,
    pub access: BackendAccess,
}

impl fmt::Debug for BackendHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("BackendHost")
            .field("directory", &self.directory)
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}

/// Finds the services of hosts and the user's tokens for them.
#[async_trait]
pub trait ServiceHosts: fmt::Debug + Send + Sync {
    /// Returns the API of HCP Terraform or Terraform Enterprise on a host.
    ///
    /// # Errors
    /// Returns a description of the problem if the host does not offer the service.
    async fn enterprise(&self, host: &str) -> Result<EnterpriseService, String>;
}

/// The API of HCP Terraform or Terraform Enterprise on a host.
#[derive(Clone)]
pub struct EnterpriseService {
    pub url: Url,
    /// The user's token.
    pub token: Option<String>,
}

impl fmt::Debug for EnterpriseService {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EnterpriseService").field("url", &self.url.as_str()).finish_non_exhaustive()
    }
}

/// Finds no services.
#[derive(Debug)]
struct NoServiceHosts;

#[async_trait]
impl ServiceHosts for NoServiceHosts {
    async fn enterprise(&self, host: &str) -> Result<EnterpriseService, String> {
        Err(format!("the services of the host {host} cannot be determined here"))
    }
}

impl Default for BackendHost {
    fn default() -> Self {
        Self {
            variables: Arc::default(),
            home: None,
            directory: PathBuf::new(),
            terraform_version: String::new(),
            http: HttpClients::default(),
            services: Arc::new(NoServiceHosts),
            connections: None,
            access: BackendAccess::default(),
        }
    }
}

impl BackendHost {
    /// Returns the value of an environment variable that is set and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).filter(|value| !value.is_empty()).cloned()
    }
}

/// The settings of the HTTP clients of backends.
#[derive(Clone)]
pub struct HttpClients {
    /// The proxies, or the reason why the settings in the environment are invalid.
    pub proxies: Result<ProxySettings, String>,
    pub user_agent: String,
    /// The trusted root certificates, unless the arguments of a backend determine others.
    pub roots: TlsRoots,
    pub network: NetworkAccess,
    /// Authorizes and records the requests.
    pub authority: Arc<dyn HttpAuthority>,
    /// Time limit for the beginning of a response, and between two chunks of its body.
    pub response_timeout: Duration,
}

impl Default for HttpClients {
    fn default() -> Self {
        Self {
            proxies: Ok(ProxySettings::default()),
            user_agent: DownloaderOptions::default().user_agent,
            roots: TlsRoots::from_system(),
            network: NetworkAccess::Online,
            authority: Arc::new(OperatorAuthority),
            response_timeout: RESPONSE_TIMEOUT,
        }
    }
}

impl fmt::Debug for HttpClients {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpClients").finish_non_exhaustive()
    }
}

impl HttpClients {
    /// Returns a client that trusts these root certificates.
    ///
    /// # Errors
    /// Returns an error if the proxy settings are invalid.
    pub(crate) fn client(&self, roots: TlsRoots) -> Result<Downloader, BackendError> {
        let proxies = self.proxies.clone().map_err(|reason| {
            BackendError::new("Invalid proxy", format!("The proxy settings cannot be used: {reason}."))
        })?;
        Ok(Downloader::new(DownloaderOptions {
            proxies,
            roots,
            user_agent: self.user_agent.clone(),
            network: self.network,
            authority: Arc::clone(&self.authority),
            ..DownloaderOptions::default()
        })
        .with_idle_timeout(self.response_timeout))
    }
}
