//! The response of a registry that describes the package for one platform.

use http::StatusCode;
use serde::Deserialize;
use url::Url;
use wardian_address::{ProviderAddress, Version};
use wardian_digest::Sha256Digest;
use wardian_download::printable_url;

use super::error::ProviderProblem;
use super::platform::PackagePlatform;
use super::protocol::{ProtocolList, protocols};
use super::signature::{MAX_KEYS, SigningKey};
use crate::bounded_json::{BoundedList, BoundedObject, MAX_JSON_BYTES};
use crate::client::RegistryClient;
use crate::request::{self, shorten};
use crate::service_host::ServiceHost;

/// Maximum length of a URL in a response.
const MAX_URL_BYTES: usize = 8 << 10;
const MAX_FILE_NAME_BYTES: usize = 255;
const MAX_PACKAGES: usize = 256;

/// A package, the checksums that must contain its digest, and the keys that may have signed them.
#[derive(Clone, Debug)]
pub(super) struct PackageDocument {
    pub(super) protocols: Vec<String>,
    pub(super) file_name: String,
    pub(super) url: Url,
    pub(super) digest: Sha256Digest,
    /// The size of the package, if the registry publishes it.
    pub(super) size: Option<u64>,
    pub(super) checksums: ChecksumsSource,
    /// Whether the response was sent over an encrypted connection.
    pub(super) is_encrypted: bool,
}

/// The checksums of a release, their signature, and the keys that may have made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChecksumsSource {
    pub(super) url: Url,
    pub(super) signature_url: Url,
    pub(super) keys: Vec<SigningKey>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PackageResponse {
    protocols: ProtocolList,
    os: String,
    arch: String,
    filename: String,
    download_url: String,
    shasums_url: String,
    shasums_signature_url: String,
    shasum: String,
    signing_keys: Option<SigningKeys>,
    packages: BoundedObject<PackageEntry, MAX_PACKAGES>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SigningKeys {
    gpg_public_keys: BoundedList<KeyEntry, MAX_KEYS>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct KeyEntry {
    ascii_armor: String,
    trust_signature: Option<String>,
}

/// An extension of OpenTofu's registry.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PackageEntry {
    package_size: Option<u64>,
}

impl RegistryClient {
    /// Requests the description of the package for a platform; `None` if there is no such package.
    pub(super) async fn package_document(
        &self,
        host: &ServiceHost,
        base: &Url,
        (address, version): (&ProviderAddress, &Version),
        platform: &PackagePlatform,
    ) -> Result<Option<PackageDocument>, ProviderProblem> {
        let path = format!(
            "{}/{}/{version}/download/{}/{}",
            address.namespace(),
            address.type_name(),
            platform.os(),
            platform.architecture()
        );
        let url = base.join(&path).map_err(|_| ProviderProblem::BaseUrl { host: host.clone() })?;
        let failed = |error| ProviderProblem::Request { host: host.clone(), error };
        let response = self.get(host, url, MAX_JSON_BYTES).await.map_err(failed)?;
        match response.status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Ok(None),
            _ => return Err(failed(request::status_error(&response))),
        }
        let parsed: PackageResponse = request::parse_json(&response).map_err(failed)?;
        PackageDocument::from_response(parsed, &response.url, platform).map(Some)
    }
}

impl PackageDocument {
    fn from_response(
        response: PackageResponse,
        base: &Url,
        platform: &PackagePlatform,
    ) -> Result<Self, ProviderProblem> {
        if response.os != platform.os() || response.arch != platform.architecture() {
            return Err(ProviderProblem::OtherTarget {
                url: printable_url(base),
                requested: platform.clone(),
                found: shorten(&format!("{}_{}", response.os, response.arch)),
            });
        }
        let invalid = |property, problem: &str| ProviderProblem::Response {
            url: printable_url(base),
            property,
            problem: problem.to_owned(),
        };
        let link =
            |property, text: &str| resolve_link(base, text).map_err(|problem| invalid(property, problem));
        let digest = Sha256Digest::parse(&response.shasum)
            .ok_or_else(|| invalid("shasum", "it must be a SHA-256 hash of 64 hexadecimal digits"))?;
        if !is_file_name(&response.filename) {
            return Err(invalid("filename", "it must be the name of a file, without directories"));
        }
        let size = response.packages.0.iter().find(|(name, _)| *name == platform.to_string());
        let keys = response.signing_keys.unwrap_or_default().gpg_public_keys.0;
        Ok(Self {
            protocols: protocols(response.protocols),
            url: link("download_url", &response.download_url)?,
            digest,
            size: size.and_then(|(_, package)| package.package_size),
            checksums: ChecksumsSource {
                url: link("shasums_url", &response.shasums_url)?,
                signature_url: link("shasums_signature_url", &response.shasums_signature_url)?,
                keys: keys.into_iter().map(SigningKey::from).collect(),
            },
            file_name: response.filename,
            is_encrypted: base.scheme() == "https",
        })
    }
}

impl From<KeyEntry> for SigningKey {
    fn from(entry: KeyEntry) -> Self {
        Self { armored: entry.ascii_armor, trust_signature: entry.trust_signature.unwrap_or_default() }
    }
}

/// Resolves a URL of a response, which is relative to the URL of the response.
pub(crate) fn resolve_link(base: &Url, text: &str) -> Result<Url, &'static str> {
    if text.is_empty() {
        return Err("it is missing");
    }
    if text.len() > MAX_URL_BYTES {
        return Err("it is too long");
    }
    let url = base.join(text).map_err(|_| "it is not a valid URL")?;
    if matches!(url.scheme(), "http" | "https") && url.has_host() {
        Ok(url)
    } else {
        Err("it must be an http or https URL")
    }
}

fn is_file_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_FILE_NAME_BYTES
        && !name.starts_with('.')
        && name.chars().all(|character| !character.is_control() && !matches!(character, '/' | '\\' | ' '))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn parse(changes: &Value) -> Result<PackageDocument, ProviderProblem> {
        let mut response = json!({
            "protocols": ["5.0"], "os": "linux", "arch": "amd64",
            "filename": "terraform-provider-foo_1.0.0_linux_amd64.zip",
            "download_url": "foo.zip", "shasums_url": "/sums", "shasums_signature_url": "https://b.example/sig",
            "shasum": "ab".repeat(32),
            "signing_keys": {"gpg_public_keys": [{"key_id": "x", "ascii_armor": "armor", "trust_signature": null}]},
            "packages": {"linux_amd64": {"hashes": ["h1:x"], "package_size": 12}},
        });
        for (name, value) in changes.as_object().unwrap() {
            response[name] = value.clone();
        }
        let base = Url::parse("https://a.example/v1/x").unwrap();
        let platform = PackagePlatform::parse("linux_amd64").unwrap();
        PackageDocument::from_response(serde_json::from_value(response).unwrap(), &base, &platform)
    }

    #[test]
    fn relative_urls_are_resolved_against_the_response() {
        let document = parse(&json!({})).unwrap();
        assert_eq!(document.url.as_str(), "https://a.example/v1/foo.zip");
        assert_eq!(document.checksums.url.as_str(), "https://a.example/sums");
        assert_eq!(document.checksums.signature_url.as_str(), "https://b.example/sig");
        assert_eq!(document.size, Some(12));
        assert_eq!(document.checksums.keys.len(), 1);
        assert!(parse(&json!({"signing_keys": null, "packages": null})).unwrap().checksums.keys.is_empty());
    }

    #[test]
    fn invalid_properties_are_rejected() {
        for (changes, property) in [
            (json!({"shasum": ""}), "shasum"),
            (json!({"shasum": "zz"}), "shasum"),
            (json!({"filename": ""}), "filename"),
            (json!({"filename": "../x"}), "filename"),
            (json!({"filename": "a\\b"}), "filename"),
            (json!({"filename": ".."}), "filename"),
            (json!({"filename": "a\nb"}), "filename"),
            (json!({"download_url": ""}), "download_url"),
            (json!({"download_url": "ftp://a.example/x"}), "download_url"),
            (json!({"download_url": "file:///etc/passwd"}), "download_url"),
            (json!({"download_url": "http://[::1"}), "download_url"),
            (json!({"shasums_url": "data:text/plain,x"}), "shasums_url"),
            (json!({"shasums_signature_url": "x".repeat(9_000)}), "shasums_signature_url"),
        ] {
            let error = parse(&changes).unwrap_err();
            assert!(
                matches!(error, ProviderProblem::Response { property: found, .. } if found == property),
                "{changes}: {error}"
            );
        }
        for changes in [json!({"os": "windows"}), json!({"arch": "x"})] {
            assert!(matches!(parse(&changes), Err(ProviderProblem::OtherTarget { .. })), "{changes}");
        }
    }
}
