//! Credentials for Amazon S3.
//!
//! The first credentials that are found are used: the credentials in the source; the profile that
//! the source specifies; the environment; the selected or default profile; the EC2 instance role,
//! if the caller allows requests to the metadata service. The profiles are in the files of the AWS
//! CLI.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use http::{HeaderName, HeaderValue, Method};
use serde::Deserialize;
use url::Url;
use wardian_download::{Downloader, Fetch};
use wardian_files::read_regular;
use wardian_module_source::S3Location;

use super::BucketError;

const MAX_FILE_BYTES: u64 = 1 << 20;
const MAX_METADATA_BYTES: u64 = 64 << 10;
const DEFAULT_PROFILE: &str = "default";
const TOKEN_LIFETIME: HeaderName = HeaderName::from_static("x-aws-ec2-metadata-token-ttl-seconds");
const METADATA_TOKEN: HeaderName = HeaderName::from_static("x-aws-ec2-metadata-token");

/// The credentials and settings for Amazon S3 that the environment provides. `Debug` output
/// contains no secrets.
#[derive(Clone, Default)]
pub struct S3Settings {
    pub access_key_id: Option<String>,
    pub secret_access_key: Option<String>,
    pub session_token: Option<String>,
    /// The profile that is used instead of `default`.
    pub profile: Option<String>,
    pub credentials_file: Option<PathBuf>,
    pub config_file: Option<PathBuf>,
    /// The URL of a service that is used instead of Amazon's.
    pub endpoint: Option<Url>,
    /// The URL of the machine's metadata service. If it is missing, the instance role is not used.
    pub instance_metadata: Option<Url>,
}

impl fmt::Debug for S3Settings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("S3Settings")
            .field("access_key_id", &self.access_key_id)
            .field("profile", &self.profile)
            .field("credentials_file", &self.credentials_file)
            .field("config_file", &self.config_file)
            .field("endpoint", &self.endpoint.as_ref().map(wardian_download::printable_url))
            .field("instance_metadata", &self.instance_metadata.as_ref().map(wardian_download::printable_url))
            .finish_non_exhaustive()
    }
}

/// A key with which requests are signed. `Debug` output contains only the key ID.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SigningKey {
    pub id: String,
    pub secret: String,
    pub session_token: Option<String>,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SigningKey").field("id", &self.id).finish_non_exhaustive()
    }
}

impl S3Settings {
    /// Returns the key for a location, or `None` for anonymous requests.
    pub(super) async fn access_key(
        &self,
        location: &S3Location,
        downloader: &Downloader,
    ) -> Result<Option<SigningKey>, BucketError> {
        if let Some(credentials) = &location.credentials {
            return Ok(Some(SigningKey {
                id: credentials.access_key_id.clone(),
                secret: credentials.secret_access_key.clone(),
                session_token: credentials.session_token.clone(),
            }));
        }
        if let Some(profile) = &location.profile {
            return self.key_of_profile(profile)?.map(Some).ok_or_else(|| {
                failed(format!(
                    "the profile \"{profile}\" has no access key in the configuration files of the AWS CLI"
                ))
            });
        }
        if let (Some(access_key_id), Some(secret_access_key)) = (&self.access_key_id, &self.secret_access_key)
        {
            return Ok(Some(SigningKey {
                id: access_key_id.clone(),
                secret: secret_access_key.clone(),
                session_token: self.session_token.clone(),
            }));
        }
        let profile = self.profile.as_deref().unwrap_or(DEFAULT_PROFILE);
        if let Some(key) = self.key_of_profile(profile)? {
            return Ok(Some(key));
        }
        match &self.instance_metadata {
            Some(base) => key_of_machine(base, downloader).await,
            None => Ok(None),
        }
    }

    fn key_of_profile(&self, profile: &str) -> Result<Option<SigningKey>, BucketError> {
        let files = [
            (&self.credentials_file, profile.to_owned()),
            (
                &self.config_file,
                if profile == DEFAULT_PROFILE { profile.to_owned() } else { format!("profile {profile}") },
            ),
        ];
        for (path, section) in files {
            let Some(path) = path else { continue };
            let values = read_section(path, &section)?;
            let value = |name: &str| values.get(name).filter(|value| !value.is_empty()).cloned();
            if let (Some(id), Some(secret)) = (value("aws_access_key_id"), value("aws_secret_access_key")) {
                let session_token = value("aws_session_token");
                return Ok(Some(SigningKey { id, secret, session_token }));
            }
        }
        Ok(None)
    }
}

fn failed(reason: String) -> BucketError {
    BucketError::Credentials { service: "Amazon S3", reason }
}

/// Reads a section of a file. If the file does not exist, the section is empty.
fn read_section(path: &Path, section: &str) -> Result<BTreeMap<String, String>, BucketError> {
    let bytes = match read_regular(path, MAX_FILE_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(failed(format!("{} cannot be read: {error}", path.display()))),
    };
    Ok(parse_section(&String::from_utf8_lossy(&bytes), section))
}

fn parse_section(text: &str, section: &str) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    let mut is_inside = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            is_inside = name.split_whitespace().eq(section.split_whitespace());
        } else if is_inside
            && !line.starts_with(char::is_whitespace)
            && !trimmed.starts_with(['#', ';'])
            && let Some((name, value)) = trimmed.split_once('=')
        {
            values.insert(name.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    values
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct MachineKey {
    access_key_id: String,
    secret_access_key: String,
    token: Option<String>,
}

/// Requests the key of the instance role from the metadata service.
async fn key_of_machine(base: &Url, downloader: &Downloader) -> Result<Option<SigningKey>, BucketError> {
    let wrong = |reason: &str| failed(format!("the metadata service {reason}"));
    let join = |path: &str| base.join(path).map_err(|_| wrong("has an invalid URL"));
    let fetch = async |request: Fetch| {
        let fetched = downloader.fetch(request.redirects(0).retries(0), MAX_METADATA_BYTES).await;
        let fetched = fetched.map_err(|error| failed(error.to_string()))?;
        if !fetched.status.is_success() {
            return Err(wrong(&format!("responded with {}", fetched.status)));
        }
        Ok(fetched.body)
    };
    let request = Fetch::new(Method::PUT, join("latest/api/token")?);
    let token = fetch(request.header(TOKEN_LIFETIME, HeaderValue::from_static("300"))).await?;
    let mut token = HeaderValue::from_bytes(&token).map_err(|_| wrong("returned an invalid token"))?;
    token.set_sensitive(true);
    let roles = join("latest/meta-data/iam/security-credentials/")?;
    let list = fetch(Fetch::get(roles.clone()).header(METADATA_TOKEN, token.clone())).await?;
    let list = String::from_utf8_lossy(&list).into_owned();
    let Some(role) = list.lines().next().map(str::trim).filter(|role| !role.is_empty()) else {
        return Ok(None);
    };
    let url = roles.join(role).map_err(|_| wrong("returned an invalid role"))?;
    let key = fetch(Fetch::get(url).header(METADATA_TOKEN, token)).await?;
    let key: MachineKey = serde_json::from_slice(&key).map_err(|_| wrong("returned an invalid key"))?;
    Ok(Some(SigningKey { id: key.access_key_id, secret: key.secret_access_key, session_token: key.token }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profile_sections_are_parsed() {
        let text = "# comment\n[default]\naws_access_key_id = A\naws_secret_access_key=B=\n s3 =\n  x = y\n\
            [profile  other ]\nregion = eu\n[other]\naws_access_key_id=C\n";
        let values = parse_section(text, "default");
        assert_eq!(values.get("aws_access_key_id").unwrap(), "A");
        assert_eq!(values.get("aws_secret_access_key").unwrap(), "B=");
        assert!(!values.contains_key("x"));
        assert_eq!(parse_section(text, "profile other").get("region").unwrap(), "eu");
        assert_eq!(parse_section(text, "other").get("aws_access_key_id").unwrap(), "C");
        assert!(parse_section(text, "missing").is_empty());
    }

    #[test]
    fn key_is_read_from_credential_files() {
        let place = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = place.path().join(name);
            std::fs::write(&path, text).unwrap();
            Some(path)
        };
        let settings = S3Settings {
            credentials_file: write(
                "credentials",
                "[default]\naws_access_key_id=A\naws_secret_access_key=s3cret\n",
            ),
            config_file: write("config", "[profile p]\naws_access_key_id=B\naws_secret_access_key=s3cret\n"),
            ..S3Settings::default()
        };
        let id = |profile: &str| settings.key_of_profile(profile).unwrap().map(|key| key.id);
        assert_eq!(id("default").as_deref(), Some("A"));
        assert_eq!(id("p").as_deref(), Some("B"));
        assert_eq!(id("missing"), None);
        let key = settings.key_of_profile("default").unwrap();
        assert!(!format!("{settings:?} {key:?}").contains("s3cret"));
    }
}
