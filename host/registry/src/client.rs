//! The client for registries and mirrors.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use http::{HeaderName, HeaderValue};
use url::Url;
use wardian_address::ProviderAddress;
use wardian_download::{Downloader, Fetch, Fetched};

use crate::credentials::Credentials;
use crate::providers::CachedListing;
use crate::request::{self, RequestError};
use crate::service_host::ServiceHost;
use crate::services::{Discovery, DiscoveryError, HostServices, ServiceTable};

/// The header with the version of Terraform that the client is compatible with.
const TERRAFORM_VERSION: HeaderName = HeaderName::from_static("x-terraform-version");

/// The configuration of a client.
pub struct RegistryClientOptions {
    pub downloader: Downloader,
    pub credentials: Arc<Credentials>,
    /// The services of `host` blocks in the CLI configuration, which replace service discovery.
    pub services: BTreeMap<ServiceHost, ServiceTable>,
    /// The version of Terraform that is sent to registries. Registries use it to select compatible
    /// versions.
    pub terraform_version: String,
}

/// Sends requests to registries and mirrors. Clones share connections and all responses. All
/// methods can be called concurrently.
#[derive(Clone)]
pub struct RegistryClient {
    pub(crate) inner: Arc<ClientState>,
}

pub(crate) struct ClientState {
    pub(crate) downloader: Downloader,
    pub(crate) credentials: Arc<Credentials>,
    pub(crate) listings: Mutex<BTreeMap<ProviderAddress, CachedListing>>,
    discovery: Discovery,
    terraform_version: Option<HeaderValue>,
}

impl RegistryClient {
    pub fn new(options: RegistryClientOptions) -> Self {
        let inner = ClientState {
            downloader: options.downloader,
            credentials: options.credentials,
            listings: Mutex::default(),
            discovery: Discovery::new(options.services),
            terraform_version: HeaderValue::from_str(&options.terraform_version).ok(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the services of a host. Its discovery document is requested at most once.
    ///
    /// # Errors
    /// Returns an error if the document cannot be requested or is invalid.
    pub async fn services(&self, host: &ServiceHost) -> Result<Arc<HostServices>, Arc<DiscoveryError>> {
        self.inner.discovery.services(host, &self.inner.downloader, &self.inner.credentials).await
    }

    pub fn credentials(&self) -> &Arc<Credentials> {
        &self.inner.credentials
    }

    /// Requests a URL of a service with the credentials of its host.
    pub(crate) async fn get(
        &self,
        host: &ServiceHost,
        url: Url,
        max_bytes: u64,
    ) -> Result<Fetched, RequestError> {
        self.send(host, Fetch::get(url), max_bytes).await
    }

    /// Sends a request to a service with the credentials of its host.
    pub(crate) async fn send(
        &self,
        host: &ServiceHost,
        fetch: Fetch,
        max_bytes: u64,
    ) -> Result<Fetched, RequestError> {
        let fetch = match &self.inner.terraform_version {
            Some(version) => fetch.header(TERRAFORM_VERSION, version.clone()),
            None => fetch,
        };
        request::send(&self.inner.downloader, &self.inner.credentials, host, fetch, max_bytes).await
    }

    /// Requests a file of a release, which needs no credentials.
    pub(crate) async fn get_public(&self, url: Url, max_bytes: u64) -> Result<Fetched, RequestError> {
        Ok(Box::pin(self.inner.downloader.fetch(Fetch::get(url), max_bytes)).await?)
    }
}
