//! Module registries: the protocol `modules.v1`.
//!
//! | request | response |
//! |---|---|
//! | `GET NAMESPACE/NAME/SYSTEM/versions` | `{"modules":[{"versions":[{"version":"1.0.0"}]}]}` |
//! | `GET NAMESPACE/NAME/SYSTEM/VERSION/download` | the location of the package |
//!
//! The location is a module source in the `X-Terraform-Get` header or, as in OpenTofu's registry,
//! in the body's `location` property. If the body also has the `use_registry_credentials` property,
//! the location is the URL of an archive. A location that begins with `/`, `./` or `../` is
//! relative to the URL of the request.

mod error;

use std::collections::BTreeSet;
use std::fmt;

use http::{HeaderName, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;
use wardian_address::{DEFAULT_HOST, Version};
use wardian_download::{Fetch, Fetched, printable_url};

pub use error::{ModuleProblem, ModuleRegistryError};

use crate::bounded_json::{self, BoundedList, MAX_JSON_BYTES};
use crate::client::RegistryClient;
use crate::providers::{parse_version, resolve_link};
use crate::request::{self, shorten};
use crate::service_host::ServiceHost;
use crate::services::MODULES;

const LOCATION: HeaderName = HeaderName::from_static("x-terraform-get");

const MAX_VERSIONS: usize = 20_000;
const MAX_MODULES: usize = 16;
/// Maximum number of invalid versions that are reported.
const MAX_IGNORED: usize = 20;
const MAX_LOCATION_BYTES: usize = 8 << 10;
const MAX_NAME_BYTES: usize = 64;

/// A module in a registry. `Display` shows `HOST/NAMESPACE/NAME/SYSTEM` without the default host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegistryModule {
    host: ServiceHost,
    namespace: String,
    name: String,
    system: String,
}

/// A name that cannot be part of the address of a module in a registry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not the name of {what} in a module registry")]
pub struct RegistryModuleError {
    pub text: String,
    pub what: &'static str,
}

/// The versions of a module in its registry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleVersions {
    pub versions: BTreeSet<Version>,
    /// Strings from the registry that are not versions, for a warning. At most 20 are retained.
    pub ignored: Vec<String>,
}

/// The location of a package that a registry returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModuleLocation {
    /// A module source, such as `git::https://example.com/x.git`, or a URL. Relative locations are
    /// already resolved.
    Source(String),
    /// The URL of an archive, which the registry or another server serves.
    Archive {
        url: Url,
        /// Whether the request for the archive needs the token of the registry's host.
        uses_registry_credentials: bool,
    },
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct VersionsResponse {
    modules: BoundedList<ModuleEntry, MAX_MODULES>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ModuleEntry {
    versions: BoundedList<VersionEntry, MAX_VERSIONS>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct VersionEntry {
    version: String,
}

impl RegistryModule {
    /// Creates the address of a module from its components.
    ///
    /// # Errors
    /// Returns an error if a name is invalid.
    pub fn new(
        host: ServiceHost,
        namespace: &str,
        name: &str,
        system: &str,
    ) -> Result<Self, RegistryModuleError> {
        let is_letter_or_digit = |byte: u8| byte.is_ascii_alphanumeric();
        let is_name = |text: &str| {
            let inner = |byte: u8| is_letter_or_digit(byte) || matches!(byte, b'-' | b'_');
            let (first, last) = (text.bytes().next(), text.bytes().next_back());
            text.len() <= MAX_NAME_BYTES
                && text.bytes().all(inner)
                && first.is_some_and(is_letter_or_digit)
                && last.is_some_and(is_letter_or_digit)
        };
        let is_system = |text: &str| {
            let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            !text.is_empty() && text.len() <= MAX_NAME_BYTES && text.bytes().all(allowed)
        };
        let wrong = |text: &str, what| RegistryModuleError { text: shorten(text), what };
        if !is_name(namespace) {
            return Err(wrong(namespace, "a namespace"));
        }
        if !is_name(name) {
            return Err(wrong(name, "a module"));
        }
        if !is_system(system) {
            return Err(wrong(system, "a target system"));
        }
        Ok(Self { host, namespace: namespace.to_owned(), name: name.to_owned(), system: system.to_owned() })
    }

    pub fn host(&self) -> &ServiceHost {
        &self.host
    }
}

impl fmt::Display for RegistryModule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.as_ascii() != DEFAULT_HOST {
            write!(formatter, "{}/", self.host)?;
        }
        write!(formatter, "{}/{}/{}", self.namespace, self.name, self.system)
    }
}

impl RegistryClient {
    /// Returns the versions of a module. Only the versions of the first module in the response are used.
    ///
    /// # Errors
    /// Returns an error if the registry cannot be used or does not have the module.
    pub async fn module_versions(
        &self,
        module: &RegistryModule,
    ) -> Result<ModuleVersions, ModuleRegistryError> {
        let failed = |problem| ModuleRegistryError::new(module, None, problem);
        let url = self.module_url(module, "versions").await.map_err(failed)?;
        let request_failed = |error| failed(ModuleProblem::Request(error));
        let response = self.get(&module.host, url, MAX_JSON_BYTES).await.map_err(request_failed)?;
        match response.status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => {
                return Err(failed(ModuleProblem::NotFound { url: printable_url(&response.url) }));
            }
            _ => return Err(request_failed(request::status_error(&response))),
        }
        let parsed: VersionsResponse = request::parse_json(&response).map_err(request_failed)?;
        let url = printable_url(&response.url);
        let Some(entry) = parsed.modules.0.into_iter().next() else {
            return Err(failed(ModuleProblem::NoModule { url }));
        };
        let mut found = ModuleVersions::default();
        for VersionEntry { version: text } in entry.versions.0 {
            // Terraform accepts a leading `v` here, unlike for providers.
            match parse_version(text.strip_prefix(['v', 'V']).unwrap_or(&text)) {
                Ok(version) => drop(found.versions.insert(version)),
                Err(_) if found.ignored.len() < MAX_IGNORED => found.ignored.push(shorten(&text)),
                Err(_) => {}
            }
        }
        if found.versions.is_empty() {
            return Err(failed(ModuleProblem::NoVersions { url }));
        }
        Ok(found)
    }

    /// Returns the location of the package of a version.
    ///
    /// # Errors
    /// Returns an error if the registry cannot be used, or returns no location.
    pub async fn module_location(
        &self,
        module: &RegistryModule,
        version: &Version,
    ) -> Result<ModuleLocation, ModuleRegistryError> {
        let failed = |problem| ModuleRegistryError::new(module, Some(version), problem);
        let request_url = self.module_url(module, &format!("{version}/download")).await.map_err(failed)?;
        let request_failed = |error| failed(ModuleProblem::Request(error));
        let response =
            self.get(&module.host, request_url.clone(), MAX_JSON_BYTES).await.map_err(request_failed)?;
        match response.status {
            StatusCode::OK | StatusCode::NO_CONTENT => location(&response, &request_url).map_err(failed),
            StatusCode::NOT_FOUND => {
                Err(failed(ModuleProblem::NotFound { url: printable_url(&response.url) }))
            }
            _ => Err(request_failed(request::status_error(&response))),
        }
    }

    /// Returns the request for an archive of a module.
    ///
    /// # Errors
    /// Returns an error if the archive needs the token of the registry's host, and the token cannot
    /// be obtained.
    pub async fn module_archive_request(
        &self,
        module: &RegistryModule,
        url: Url,
        uses_registry_credentials: bool,
    ) -> Result<Fetch, crate::credentials::CredentialsError> {
        let fetch = Fetch::get(url);
        if !uses_registry_credentials {
            return Ok(fetch);
        }
        let credential = self.credentials().credential(&module.host).await?;
        Ok(match credential {
            Some(credential) => fetch.authorization(credential.token.to_authorization()),
            None => fetch,
        })
    }

    async fn module_url(&self, module: &RegistryModule, rest: &str) -> Result<Url, ModuleProblem> {
        let services = self.services(&module.host).await?;
        let base = services.url(MODULES)?;
        let path = format!("{}/{}/{}/{rest}", module.namespace, module.name, module.system);
        base.join(&path).map_err(|_| ModuleProblem::BaseUrl)
    }
}

fn location(response: &Fetched, request_url: &Url) -> Result<ModuleLocation, ModuleProblem> {
    let url = || printable_url(&response.url);
    let body = match response.status {
        StatusCode::OK => bounded_json::parse::<Map<String, Value>>(&response.body).ok(),
        _ => None,
    };
    let in_body = body.as_ref().and_then(|body| body.get("location"));
    let text = match in_body {
        Some(Value::String(text)) => Some(text.as_str()),
        Some(_) => return Err(ModuleProblem::LocationType { url: url() }),
        None => match response.headers.get(&LOCATION).map(http::HeaderValue::to_str) {
            Some(Ok(text)) => Some(text),
            Some(Err(_)) => return Err(ModuleProblem::LocationType { url: url() }),
            None => None,
        },
    };
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Err(ModuleProblem::NoLocation { url: url(), status: response.status });
    };
    if text.len() > MAX_LOCATION_BYTES || text.chars().any(char::is_control) {
        return Err(ModuleProblem::Location {
            url: url(),
            location: shorten(text),
            problem: "it is malformed",
        });
    }
    let invalid = |problem| ModuleProblem::Location { url: url(), location: shorten(text), problem };
    let resolve = |text: &str| resolve_link(request_url, text).map_err(invalid);
    // A null value is an error, as in OpenTofu.
    let uses_registry_credentials = body.as_ref().filter(|_| in_body.is_some());
    match uses_registry_credentials.and_then(|body| body.get("use_registry_credentials")) {
        Some(Value::Bool(uses_registry_credentials)) => {
            let uses_registry_credentials = *uses_registry_credentials;
            Ok(ModuleLocation::Archive { url: resolve(text)?, uses_registry_credentials })
        }
        Some(_) => Err(ModuleProblem::LocationType { url: url() }),
        None if ["/", "./", "../"].iter().any(|prefix| text.starts_with(prefix)) => {
            resolve_source(request_url, text)
                .map(ModuleLocation::Source)
                .ok_or_else(|| invalid("it is not a valid URL"))
        }
        None => Ok(ModuleLocation::Source(text.to_owned())),
    }
}

/// Resolves a relative source. `//` in its path, which separates a subdirectory, is preserved.
fn resolve_source(request_url: &Url, text: &str) -> Option<String> {
    // A location that begins with `//` would name another host.
    let text = if text.starts_with("//") { format!(".{text}") } else { text.to_owned() };
    request_url.join(&text).ok().map(String::from)
}

#[cfg(test)]
mod tests;
