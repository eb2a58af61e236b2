//! Service discovery: the services that a host offers, and their URLs.
//!
//! A host lists its services in the JSON document `https://HOST/.well-known/terraform.json`. The
//! CLI configuration can replace the list. For each host, the document is requested at most once,
//! even if several callers need it at the same time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use http::{HeaderValue, StatusCode, header};
use serde_json::Value;
use tokio::sync::OnceCell;
use url::Url;
use wardian_download::{Downloader, Fetch, printable_url};

use crate::credentials::Credentials;
use crate::error_kind::RegistryErrorKind;
use crate::request::{self, RequestError, shorten};
use crate::service_host::ServiceHost;

/// The provider registry service.
pub(crate) const PROVIDERS: &str = "providers.v1";
/// The module registry service.
pub(crate) const MODULES: &str = "modules.v1";
/// The service that issues tokens.
pub(crate) const LOGIN: &str = "login.v1";
/// The API of HCP Terraform and Terraform Enterprise.
pub(crate) const ENTERPRISE: &str = "tfe.v2";

const MAX_DOCUMENT_BYTES: u64 = 1 << 20;
const MAX_REDIRECTS: usize = 3;

/// Services by identifier, such as `providers.v1`. The value is a URL or an object.
pub type ServiceTable = BTreeMap<String, Value>;

#[derive(Debug)]
pub struct HostServices {
    host: ServiceHost,
    /// The URL that relative URLs are resolved against.
    base: Url,
    services: ServiceTable,
    is_override: bool,
}

/// A host whose services cannot be determined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoveryError {
    #[error("could not connect to {host}: failed to request its discovery document: {error}")]
    Request { host: ServiceHost, error: RequestError },
}

/// A service that a host does not offer in a usable form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    #[error("host {host} does not provide a {} service ({service})", family(service))]
    NotOffered { host: ServiceHost, service: &'static str },
    #[error(
        "host {host} does not support {service}, but only other versions of this service: {}",
        found.join(", ")
    )]
    OtherVersions { host: ServiceHost, service: &'static str, found: Vec<String> },
    #[error("host {host} has an invalid definition of the service {service}: {problem}")]
    Invalid { host: ServiceHost, service: &'static str, problem: String },
}

impl DiscoveryError {
    pub fn kind(&self) -> RegistryErrorKind {
        match self {
            Self::Request { error, .. } => error.kind(),
        }
    }
}

impl ServiceError {
    pub fn kind(&self) -> RegistryErrorKind {
        match self {
            Self::NotOffered { .. } | Self::OtherVersions { .. } => RegistryErrorKind::NotFound,
            Self::Invalid { .. } => RegistryErrorKind::Rejected,
        }
    }
}

fn family(service: &str) -> &str {
    service.split_once('.').map_or(service, |(family, _)| family)
}

impl HostServices {
    /// Returns the services of the CLI configuration for a host.
    pub(crate) fn from_override(host: ServiceHost, services: ServiceTable) -> Self {
        Self { base: host.base_url().clone(), host, services, is_override: true }
    }

    pub fn host(&self) -> &ServiceHost {
        &self.host
    }

    /// Returns the URL of a service.
    ///
    /// # Errors
    /// Returns an error if the host does not offer the service, or its URL is not acceptable.
    pub fn url(&self, service: &'static str) -> Result<Url, ServiceError> {
        let value = self.value(service)?;
        let text = value.as_str().ok_or_else(|| self.invalid(service, "it must be a URL"))?;
        self.resolve(service, text)
    }

    /// Returns the definition of a service.
    pub(crate) fn value(&self, service: &'static str) -> Result<&Value, ServiceError> {
        if let Some(value) = self.services.get(service) {
            return Ok(value);
        }
        let is_other_version =
            |id: &&String| id.split_once(".v").is_some_and(|(name, _)| name == family(service));
        let found: Vec<String> =
            self.services.keys().filter(is_other_version).take(8).map(|id| shorten(id)).collect();
        let host = self.host.clone();
        if found.is_empty() {
            Err(ServiceError::NotOffered { host, service })
        } else {
            Err(ServiceError::OtherVersions { host, service, found })
        }
    }

    /// Resolves a URL of a service. A discovery document that was received over https cannot
    /// contain http URLs; the CLI configuration can.
    pub(crate) fn resolve(&self, service: &'static str, text: &str) -> Result<Url, ServiceError> {
        let invalid = |problem: &str| self.invalid(service, problem);
        let mut url = self.base.join(text).map_err(|error| invalid(&format!("it is not a URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(invalid("it must be an http or https URL"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid("its URL must not contain a user name or a password"));
        }
        if !self.is_override && self.base.scheme() == "https" && url.scheme() == "http" {
            return Err(invalid(
                "its URL is not encrypted (http); if you trust the network, set the URL in a host block of the \
                 CLI configuration",
            ));
        }
        url.set_fragment(None);
        Ok(url)
    }

    pub(crate) fn invalid(&self, service: &'static str, problem: &str) -> ServiceError {
        ServiceError::Invalid { host: self.host.clone(), service, problem: problem.to_owned() }
    }
}

/// The result of the discovery for a host, shared by all callers.
type Discovered = Arc<OnceCell<Result<Arc<HostServices>, Arc<DiscoveryError>>>>;

/// Finds the services of hosts.
pub(crate) struct Discovery {
    overrides: BTreeMap<ServiceHost, Arc<HostServices>>,
    discovered: Mutex<BTreeMap<ServiceHost, Discovered>>,
}

impl Discovery {
    pub(crate) fn new(overrides: BTreeMap<ServiceHost, ServiceTable>) -> Self {
        let overrides = overrides
            .into_iter()
            .map(|(host, services)| (host.clone(), Arc::new(HostServices::from_override(host, services))))
            .collect();
        Self { overrides, discovered: Mutex::default() }
    }

    /// Returns the services of a host.
    pub(crate) async fn services(
        &self,
        host: &ServiceHost,
        downloader: &Downloader,
        credentials: &Credentials,
    ) -> Result<Arc<HostServices>, Arc<DiscoveryError>> {
        if let Some(services) = self.overrides.get(host) {
            return Ok(Arc::clone(services));
        }
        let cell = {
            let mut discovered = self.discovered.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(discovered.entry(host.clone()).or_default())
        };
        // If the caller that sends the request is cancelled, the next one sends it again.
        let found = cell.get_or_init(|| async {
            let failed = |error| Arc::new(DiscoveryError::Request { host: host.clone(), error });
            discover(host, downloader, credentials).await.map(Arc::new).map_err(failed)
        });
        found.await.clone()
    }
}

async fn discover(
    host: &ServiceHost,
    downloader: &Downloader,
    credentials: &Credentials,
) -> Result<HostServices, RequestError> {
    let mut url = host.base_url().clone();
    url.set_path("/.well-known/terraform.json");
    let fetch = Fetch::get(url)
        .header(header::ACCEPT, HeaderValue::from_static("application/json"))
        .redirects(MAX_REDIRECTS);
    let response = request::send(downloader, credentials, host, fetch, MAX_DOCUMENT_BYTES).await?;
    let services = match response.status {
        StatusCode::OK => {
            request::require_json_type(&response)?;
            request::parse_json(&response)?
        }
        StatusCode::NOT_FOUND => ServiceTable::new(),
        _ => return Err(request::status_error(&response)),
    };
    tracing::debug!(%host, url = printable_url(&response.url), "discovered services");
    Ok(HostServices { host: host.clone(), base: response.url, services, is_override: false })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn services(value: Value, is_override: bool) -> HostServices {
        let host = ServiceHost::parse("a.example").unwrap();
        let base = Url::parse("https://b.example/x/services.json").unwrap();
        HostServices { host, base, services: serde_json::from_value(value).unwrap(), is_override }
    }

    #[track_caller]
    fn url(value: Value) -> String {
        match services(json!({ PROVIDERS: value }), false).url(PROVIDERS) {
            Ok(url) => url.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn urls_are_resolved_against_the_document() {
        assert_eq!(url(json!("/v1/")), "https://b.example/v1/");
        assert_eq!(url(json!("../v1/")), "https://b.example/v1/");
        assert_eq!(url(json!("p/#part")), "https://b.example/x/p/");
        assert_eq!(url(json!("https://c.example/p/")), "https://c.example/p/");
    }

    #[test]
    fn unacceptable_urls_are_rejected() {
        for bad in [
            json!("http://c.example/"),
            json!("ftp://c.example/"),
            json!("file:///etc/passwd"),
            json!("https://u:p@c.example/"),
            json!("https://"),
            json!(1),
            json!({}),
            json!(null),
        ] {
            let error = url(bad.clone());
            assert!(error.contains("host a.example has an invalid definition"), "{bad}: {error}");
            assert!(!error.contains("u:p"), "{error}");
        }
        let overridden = services(json!({ PROVIDERS: "http://127.0.0.1:1/p/" }), true);
        assert_eq!(overridden.url(PROVIDERS).unwrap().as_str(), "http://127.0.0.1:1/p/");
    }

    #[test]
    fn missing_service_is_distinguished_from_other_version() {
        let found = services(json!({ "modules.v1": "/", "providers.v2": "/", "providersx.v1": "/" }), false);
        assert_eq!(
            found.url(PROVIDERS).unwrap_err().to_string(),
            "host a.example does not support providers.v1, but only other versions of this service: providers.v2"
        );
        let error = found.url(LOGIN).unwrap_err();
        assert_eq!(error.to_string(), "host a.example does not provide a login service (login.v1)");
        assert_eq!(error.kind(), RegistryErrorKind::NotFound);
    }
}
