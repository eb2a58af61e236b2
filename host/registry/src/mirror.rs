//! Network mirrors: web servers with provider packages.
//!
//! | request | response |
//! |---|---|
//! | `GET HOST/NAMESPACE/TYPE/index.json` | `{"versions":{"1.0.0":{}}}` |
//! | `GET HOST/NAMESPACE/TYPE/VERSION.json` | `{"archives":{"linux_amd64":{"url":"...","hashes":["h1:...","zh:..."]}}}` |
//!
//! The token of the mirror's host is sent with these requests, and not with the requests for
//! packages. A component is the archive for the platform `wasip2_wasm`, or for `wasm32_wasip2`, its
//! name in earlier versions. Responses are not signed: the caller trusts the mirror, or compares
//! the hashes with a lock file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use http::StatusCode;
use serde::Deserialize;
use url::Url;
use wardian_address::{ProviderAddress, Version};
use wardian_digest::Sha256Digest;
use wardian_download::{Fetch, Fetched, printable_url};

use crate::bounded_json::{BoundedList, BoundedObject, MAX_JSON_BYTES};
use crate::client::RegistryClient;
use crate::error_kind::RegistryErrorKind;
use crate::providers::{PackagePlatform, parse_version, resolve_link};
use crate::request::{self, RequestError, shorten};
use crate::service_host::{ServiceHost, ServiceHostError};

const MAX_VERSIONS: usize = 20_000;
const MAX_ARCHIVES: usize = 256;
const MAX_HASHES: usize = 64;
const MAX_HASH_BYTES: usize = 512;
/// Maximum number of other platforms that an error lists.
const MAX_OFFERED: usize = 32;

/// The names of a component's archive; the first name that exists is used.
const COMPONENT_NAMES: [&str; 2] = ["wasip2_wasm", "wasm32_wasip2"];

/// The schemes of hashes that can be verified.
const KNOWN_SCHEMES: [&str; 2] = ["h1:", "zh:"];

/// A network mirror. `Display` shows its URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkMirror {
    host: ServiceHost,
    base: Url,
}

/// A URL that cannot be the URL of a network mirror.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MirrorUrlError {
    #[error("cannot use \"{text}\" as the URL of a network mirror: it is not a valid URL")]
    Invalid { text: String },
    #[error("cannot use \"{text}\" as the URL of a network mirror: the mirror must be at an https: URL")]
    NotEncrypted { text: String },
    #[error(
        "cannot use \"{text}\" as the URL of a network mirror: it must contain no user name, password, query or \
         fragment"
    )]
    Extra { text: String },
    #[error("cannot use \"{text}\" as the URL of a network mirror: {error}")]
    Host { text: String, error: ServiceHostError },
}

/// A package in a mirror.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirrorArchive {
    pub url: Url,
    /// The hashes in the format of the lock file, of which at least one must match. Empty if the
    /// mirror publishes none.
    pub hashes: Vec<String>,
}

/// The packages of one version in a mirror that are usable on a platform.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MirrorArchives {
    pub component: Option<MirrorArchive>,
    pub native: Option<MirrorArchive>,
}

/// A provider whose versions or packages cannot be obtained from a mirror.
#[derive(Debug, thiserror::Error)]
#[error("failed to query the provider mirror {mirror} for {}: {problem}", address.for_display())]
pub struct NetworkMirrorError {
    pub mirror: NetworkMirror,
    pub address: ProviderAddress,
    /// The version whose package was requested; `None` if the versions were requested.
    pub version: Option<Version>,
    pub problem: Box<MirrorProblem>,
}

/// The reason why a mirror cannot be used for a provider.
const OPERATOR_ADVICE: &str = "ask the operator of the mirror to correct it";

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MirrorProblem {
    #[error("its URL cannot be extended by a path")]
    BaseUrl,
    #[error(transparent)]
    Host(ServiceHostError),
    #[error("{0}")]
    Request(#[from] RequestError),
    /// The mirror does not have the provider.
    #[error(
        "it does not have this provider ({url} does not exist); check the source address in required_providers"
    )]
    NotFound { url: String },
    /// The mirror lists a version that it does not have.
    #[error(
        "{url} does not exist, although the mirror lists this version; ask the operator of the mirror to \
         recreate it"
    )]
    VersionNotFound { url: String },
    #[error(
        "{url} has no package for the platform {platform}, and no component; the mirror has packages for {}",
        shown_platforms(offered)
    )]
    NoPackage { url: String, platform: PackagePlatform, offered: Vec<String> },
    #[error("{url} has an invalid URL for the package \"{name}\": {problem}; {OPERATOR_ADVICE}")]
    Link { url: String, name: String, problem: &'static str },
    #[error("{url} contains the invalid hash {text:?} for the package \"{name}\"; {OPERATOR_ADVICE}")]
    Hash { url: String, name: String, text: String },
    #[error(
        "{url} contains no hash for the package \"{name}\" whose scheme is supported (h1 or zh); \
         {OPERATOR_ADVICE}"
    )]
    HashSchemes { url: String, name: String },
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct IndexResponse {
    versions: BoundedObject<serde::de::IgnoredAny, MAX_VERSIONS>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct VersionResponse {
    archives: BoundedObject<ArchiveEntry, MAX_ARCHIVES>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ArchiveEntry {
    #[serde(alias = "URL", alias = "Url")]
    url: String,
    #[serde(alias = "Hashes")]
    hashes: BoundedList<String, MAX_HASHES>,
}

impl NetworkMirror {
    /// Creates a mirror from its URL. A trailing slash is added if it is missing.
    ///
    /// # Errors
    /// Returns an error if the URL cannot be the URL of a mirror.
    pub fn new(text: &str) -> Result<Self, MirrorUrlError> {
        // A URL that cannot be parsed may contain a password.
        let invalid =
            || MirrorUrlError::Invalid { text: shorten(text.split('@').next_back().unwrap_or_default()) };
        let mut base = Url::parse(text).map_err(|_| invalid())?;
        let text = printable_url(&base);
        match base.scheme() {
            "https" => {}
            _ => return Err(MirrorUrlError::NotEncrypted { text }),
        }
        let has_user = !base.username().is_empty() || base.password().is_some();
        if has_user || base.query().is_some() || base.fragment().is_some() {
            return Err(MirrorUrlError::Extra { text });
        }
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        match ServiceHost::for_url(&base) {
            Ok(host) => Ok(Self { host, base }),
            Err(error) => Err(MirrorUrlError::Host { text, error }),
        }
    }

    /// Returns the URL, which ends with a slash.
    pub fn url(&self) -> &Url {
        &self.base
    }
}

impl fmt::Display for NetworkMirror {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&printable_url(&self.base))
    }
}

impl MirrorUrlError {
    /// Returns the summary of the diagnostic, which is Terraform's.
    pub fn summary(&self) -> &'static str {
        "Invalid URL for provider installation source"
    }
}

impl NetworkMirrorError {
    /// Returns the summary of the diagnostic, which is Terraform's.
    pub fn summary(&self) -> &'static str {
        match (&*self.problem, &self.version) {
            (MirrorProblem::NoPackage { .. }, _) => "Incompatible provider version",
            (_, None) => "Failed to query available provider packages",
            (_, Some(_)) => "Failed to install provider",
        }
    }

    pub fn kind(&self) -> RegistryErrorKind {
        match &*self.problem {
            MirrorProblem::Request(error) => error.kind(),
            MirrorProblem::NotFound { .. } => RegistryErrorKind::NotFound,
            MirrorProblem::NoPackage { .. } => RegistryErrorKind::Incompatible,
            _ => RegistryErrorKind::Rejected,
        }
    }
}

impl MirrorArchive {
    /// Returns the request for the package.
    pub fn fetch(&self) -> Fetch {
        Fetch::get(self.url.clone())
    }

    /// Returns the possible digests of the file, from its `zh:` hashes. If the mirror also
    /// publishes hashes of other schemes, the file may match one of them instead.
    pub fn digests(&self) -> BTreeSet<Sha256Digest> {
        self.hashes.iter().filter_map(|hash| Sha256Digest::parse(hash.strip_prefix("zh:")?)).collect()
    }
}

impl RegistryClient {
    /// Returns the versions of a provider in a mirror. Names that are not versions are ignored.
    ///
    /// # Errors
    /// Returns an error if the mirror cannot be used or does not have the provider.
    pub async fn mirror_versions(
        &self,
        mirror: &NetworkMirror,
        address: &ProviderAddress,
    ) -> Result<BTreeSet<Version>, NetworkMirrorError> {
        let found = async {
            let response =
                self.mirror_file(mirror, address, "index", |url| MirrorProblem::NotFound { url }).await?;
            let index: IndexResponse = request::parse_json(&response)?;
            Ok(index.versions.0.into_iter().filter_map(|(text, _)| parse_version(&text).ok()).collect())
        };
        found.await.map_err(|problem| mirror_error(mirror, address, None, problem))
    }

    /// Returns the packages of a version in a mirror. At least one of them exists.
    ///
    /// # Errors
    /// Returns an error if the mirror cannot be used, or has neither a component nor a package for
    /// the platform.
    pub async fn mirror_archives(
        &self,
        mirror: &NetworkMirror,
        address: &ProviderAddress,
        version: &Version,
        platform: &PackagePlatform,
    ) -> Result<MirrorArchives, NetworkMirrorError> {
        let found = async {
            let not_found = |url| MirrorProblem::VersionNotFound { url };
            let response = self.mirror_file(mirror, address, &version.to_string(), not_found).await?;
            let parsed: VersionResponse = request::parse_json(&response)?;
            select(parsed, &response.url, platform)
        };
        found.await.map_err(|problem| mirror_error(mirror, address, Some(version), problem))
    }

    /// Requests a JSON file of a mirror.
    async fn mirror_file(
        &self,
        mirror: &NetworkMirror,
        address: &ProviderAddress,
        name: &str,
        not_found: impl FnOnce(String) -> MirrorProblem,
    ) -> Result<Fetched, MirrorProblem> {
        let mut url = mirror.base.clone();
        let host = ServiceHost::for_provider(address).map_err(MirrorProblem::Host)?;
        let parts = [host.as_ascii(), address.namespace(), address.type_name(), &format!("{name}.json")];
        url.path_segments_mut().map_err(|()| MirrorProblem::BaseUrl)?.pop_if_empty().extend(parts);
        let response = self.get(&mirror.host, url, MAX_JSON_BYTES).await?;
        match response.status {
            StatusCode::OK => {
                request::require_json_type(&response)?;
                Ok(response)
            }
            StatusCode::NOT_FOUND => Err(not_found(printable_url(&response.url))),
            _ => Err(request::status_error(&response).into()),
        }
    }
}

fn mirror_error(
    mirror: &NetworkMirror,
    address: &ProviderAddress,
    version: Option<&Version>,
    problem: MirrorProblem,
) -> NetworkMirrorError {
    NetworkMirrorError {
        mirror: mirror.clone(),
        address: address.clone(),
        version: version.cloned(),
        problem: Box::new(problem),
    }
}

/// Selects the packages of a version. Archives for other platforms are not validated.
fn select(
    response: VersionResponse,
    base: &Url,
    platform: &PackagePlatform,
) -> Result<MirrorArchives, MirrorProblem> {
    let mut archives: BTreeMap<String, ArchiveEntry> = response.archives.0.into_iter().collect();
    let component = COMPONENT_NAMES.into_iter().find_map(|name| Some((name, archives.remove(name)?)));
    let component = component.map(|(name, entry)| archive(name, entry, base)).transpose()?;
    let name = platform.to_string();
    let native = archives.remove(&name).map(|entry| archive(&name, entry, base)).transpose()?;
    if component.is_none() && native.is_none() {
        let offered = archives.into_keys().take(MAX_OFFERED).map(|name| shorten(&name)).collect();
        return Err(MirrorProblem::NoPackage {
            url: printable_url(base),
            platform: platform.clone(),
            offered,
        });
    }
    Ok(MirrorArchives { component, native })
}

fn archive(name: &str, entry: ArchiveEntry, base: &Url) -> Result<MirrorArchive, MirrorProblem> {
    let (location, name) = (|| printable_url(base), || name.to_owned());
    let url = resolve_link(base, &entry.url).map_err(|problem| MirrorProblem::Link {
        url: location(),
        name: name(),
        problem,
    })?;
    let hashes = entry.hashes.0;
    if let Some(invalid) = hashes.iter().find(|hash| !is_hash(hash)) {
        return Err(MirrorProblem::Hash { url: location(), name: name(), text: shorten(invalid) });
    }
    let is_known = |hash: &String| KNOWN_SCHEMES.iter().any(|scheme| hash.starts_with(scheme));
    if !hashes.is_empty() && !hashes.iter().any(is_known) {
        return Err(MirrorProblem::HashSchemes { url: location(), name: name() });
    }
    Ok(MirrorArchive { url, hashes })
}

fn shown_platforms(offered: &[String]) -> String {
    if offered.is_empty() { "no platform".to_owned() } else { offered.join(", ") }
}

/// Returns whether the text is `SCHEME:VALUE`, and can be quoted in a lock file without escapes.
fn is_hash(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'$' | b'%');
    let has_scheme =
        text.split_once(':').is_some_and(|(scheme, value)| !scheme.is_empty() && !value.is_empty());
    has_scheme && text.len() <= MAX_HASH_BYTES && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn mirror_url_must_use_https_and_gets_a_trailing_slash() {
        for (text, expected) in [
            ("https://m.example/a/", "https://m.example/a/"),
            ("https://m.example/a", "https://m.example/a/"),
            ("https://m.example", "https://m.example/"),
        ] {
            assert_eq!(NetworkMirror::new(text).unwrap().to_string(), expected);
        }
        for bad in [
            "http://m.example/",
            "file:///a/",
            "m.example/a/",
            "https://user:s3cret@m.example/",
            "https://user:s3cret@m.example:x/",
            "https://m.example/?s3cret",
            "https://[::1]/",
        ] {
            let error = NetworkMirror::new(bad).unwrap_err();
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
    }

    fn selected(archives: &Value) -> Result<MirrorArchives, MirrorProblem> {
        let base = Url::parse("https://m.example/a/h/n/t/1.0.0.json").unwrap();
        let platform = PackagePlatform::parse("linux_amd64").unwrap();
        select(serde_json::from_value(json!({ "archives": archives })).unwrap(), &base, &platform)
    }

    #[test]
    fn component_and_native_package_are_selected() {
        let zh = format!("zh:{}", "ab".repeat(32));
        let archives = selected(&json!({
            "linux_amd64": {"url": "n.zip", "Hashes": ["h1:x=", zh]},
            "wasm32_wasip2": {"url": "https://b.example/old.zip"},
            "windows_amd64": {"url": "ftp://x", "hashes": ["wrong"]},
        }))
        .unwrap();
        let native = archives.native.unwrap();
        assert_eq!(native.url.as_str(), "https://m.example/a/h/n/t/n.zip");
        assert_eq!(native.digests().len(), 1);
        assert_eq!(archives.component.unwrap().url.as_str(), "https://b.example/old.zip");
        let both = json!({"wasm32_wasip2": {"url": "old.zip"}, "wasip2_wasm": {"url": "new.wasm"}});
        let component = selected(&both).unwrap().component.unwrap();
        assert_eq!(component.url.as_str(), "https://m.example/a/h/n/t/new.wasm");
    }

    #[test]
    fn unusable_archives_are_errors() {
        assert_eq!(
            selected(&json!({"windows_amd64": {"url": "x"}})).unwrap_err().to_string(),
            "https://m.example/a/h/n/t/1.0.0.json has no package for the platform linux_amd64, and no component; the \
             mirror has packages for windows_amd64"
        );
        for (entry, expected) in [
            (json!({}), "it is missing"),
            (json!({"url": "ftp://x"}), "it must be an http or https URL"),
            (json!({"url": "x", "hashes": ["bad"]}), "invalid hash \"bad\""),
            (json!({"url": "x", "hashes": ["h1:a\"b"]}), "invalid hash"),
            (json!({"url": "x", "hashes": ["h9:abc"]}), "no hash"),
        ] {
            let error = selected(&json!({"linux_amd64": entry})).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
