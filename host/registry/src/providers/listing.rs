//! The versions of a provider in its registry.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use http::StatusCode;
use serde::Deserialize;
use tokio::sync::OnceCell;
use url::Url;
use wardian_address::{ProviderAddress, Version};
use wardian_download::printable_url;

use super::error::{ProviderProblem, ProviderRegistryError};
use super::platform::PackagePlatform;
use super::protocol::{ProtocolList, protocols};
use super::version::{VersionTextError, parse_version};
use crate::bounded_json::{BoundedList, MAX_JSON_BYTES};
use crate::client::RegistryClient;
use crate::request::{self, shorten, shorten_to};
use crate::service_host::ServiceHost;
use crate::services::PROVIDERS;

const MAX_VERSIONS: usize = 20_000;
const MAX_PLATFORMS: usize = 256;
const MAX_WARNINGS: usize = 20;
const MAX_WARNING_CHARACTERS: usize = 2_000;

/// The versions of a provider in its registry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderListing {
    pub versions: BTreeMap<Version, ListedProviderVersion>,
    /// Warnings that the registry publishes for the provider.
    pub warnings: Vec<String>,
}

/// The properties of one version in a list of versions. Registries may omit both properties.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedProviderVersion {
    /// The versions of the plugin protocol, such as `5.0`.
    pub protocols: Vec<String>,
    pub platforms: Vec<PackagePlatform>,
}

/// A list of versions, shared by all callers.
pub(crate) type CachedListing = Arc<OnceCell<Arc<ProviderListing>>>;

#[derive(Default, Deserialize)]
#[serde(default)]
struct VersionsResponse {
    versions: BoundedList<VersionEntry, MAX_VERSIONS>,
    warnings: BoundedList<String, MAX_WARNINGS>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct VersionEntry {
    version: String,
    protocols: ProtocolList,
    platforms: BoundedList<PlatformEntry, MAX_PLATFORMS>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PlatformEntry {
    os: String,
    arch: String,
}

impl RegistryClient {
    /// Returns the versions of a provider in its registry. They are requested once for each
    /// provider, unless the request fails.
    ///
    /// # Errors
    /// Returns an error if the registry cannot be used, does not have the provider, or lists an
    /// invalid version.
    pub async fn provider_versions(
        &self,
        address: &ProviderAddress,
    ) -> Result<Arc<ProviderListing>, ProviderRegistryError> {
        let cell = {
            let mut listings = self.inner.listings.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(listings.entry(address.clone()).or_default())
        };
        let listing =
            cell.get_or_try_init(|| async { self.request_versions(address).await.map(Arc::new) }).await;
        let failed = |problem| ProviderRegistryError {
            address: address.clone(),
            version: None,
            problem: Box::new(problem),
        };
        listing.cloned().map_err(failed)
    }

    /// Returns the versions of a provider if they were requested before.
    pub(super) fn known_versions(&self, address: &ProviderAddress) -> Option<Arc<ProviderListing>> {
        let listings = self.inner.listings.lock().unwrap_or_else(PoisonError::into_inner);
        listings.get(address)?.get().cloned()
    }

    /// Returns the host of a provider and the URL of its registry.
    pub(super) async fn provider_service(
        &self,
        address: &ProviderAddress,
    ) -> Result<(ServiceHost, Url), ProviderProblem> {
        let host = ServiceHost::for_provider(address)?;
        let services = self.services(&host).await?;
        let url = services.url(PROVIDERS)?;
        Ok((host, url))
    }

    async fn request_versions(&self, address: &ProviderAddress) -> Result<ProviderListing, ProviderProblem> {
        let (host, base) = self.provider_service(address).await?;
        let path = format!("{}/{}/versions", address.namespace(), address.type_name());
        let url = base.join(&path).map_err(|_| ProviderProblem::BaseUrl { host: host.clone() })?;
        let failed = |error| ProviderProblem::Request { host: host.clone(), error };
        let response = self.get(&host, url, MAX_JSON_BYTES).await.map_err(failed)?;
        match response.status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => {
                return Err(ProviderProblem::NotFound { host, url: printable_url(&response.url) });
            }
            _ => return Err(failed(request::status_error(&response))),
        }
        let response_url = printable_url(&response.url);
        let parsed: VersionsResponse = request::parse_json(&response).map_err(failed)?;
        drop(response);
        ProviderListing::from_response(parsed).map_err(|(text, error)| ProviderProblem::Version {
            url: response_url,
            text: shorten(&text),
            error,
        })
    }
}

impl ProviderListing {
    /// Like Terraform, returns an error for an invalid version. A version that Terraform accepts
    /// but that is not a semantic version is omitted.
    fn from_response(response: VersionsResponse) -> Result<Self, (String, VersionTextError)> {
        let mut versions = BTreeMap::new();
        for entry in response.versions.0 {
            let version = match parse_version(&entry.version) {
                Ok(version) => version,
                Err(VersionTextError::Suffix) => {
                    tracing::warn!(
                        version = entry.version,
                        "omitted a version that is not a semantic version"
                    );
                    continue;
                }
                Err(error) => return Err((entry.version, error)),
            };
            let platforms = entry.platforms.0.iter();
            let listed = ListedProviderVersion {
                protocols: protocols(entry.protocols),
                platforms: platforms
                    .filter_map(|entry| PackagePlatform::new(&entry.os, &entry.arch))
                    .collect(),
            };
            versions.insert(version, listed);
        }
        let warnings = response.warnings.0.iter().map(|warning| shorten_to(warning, MAX_WARNING_CHARACTERS));
        Ok(Self { versions, warnings: warnings.collect() })
    }
}
