//! Packages in buckets: Amazon S3, services with the same protocol, and Google Cloud Storage.
//!
//! | URL | bucket | region |
//! |---|---|---|
//! | `https://s3.amazonaws.com/BUCKET/KEY` | in the path | `us-east-1` |
//! | `https://s3-REGION.amazonaws.com/BUCKET/KEY` | in the path | in the host |
//! | `https://s3.REGION.amazonaws.com/BUCKET/KEY` | in the path | in the host |
//! | `https://BUCKET.s3.amazonaws.com/KEY`, `https://BUCKET.s3[-.]REGION.amazonaws.com/KEY` | in the host | in the host |
//! | any other host | in the path | `region` argument, or `us-east-1` |

use std::fmt;

use url::Url;

use super::{ArchiveOptions, Query, parse_url};
use crate::address_syntax::decode_percent;
use crate::error::PackageLocationError;
use crate::redaction::printable_address;

const DEFAULT_REGION: &str = "us-east-1";
const AMAZON_SUFFIXES: [&str; 2] = [".amazonaws.com", ".amazonaws.com.cn"];

/// An object in a bucket, or all objects whose names begin with a prefix.
#[derive(Clone, PartialEq, Eq)]
pub struct S3Location {
    pub endpoint: S3Endpoint,
    /// The region in the host or in the `region` argument; `us-east-1` if both are missing.
    pub region: String,
    pub bucket: String,
    /// The name of the object, or the common prefix of the object names in the package.
    pub key: String,
    /// The version of the object.
    pub version: Option<String>,
    pub profile: Option<String>,
    pub credentials: Option<S3Credentials>,
    pub archive: ArchiveOptions,
}

/// The server that stores a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum S3Endpoint {
    /// Amazon S3, with the suffix of its host names, such as `amazonaws.com`.
    Amazon { domain: String },
    /// Another service, with its URL without a path. The bucket is the first component of the path.
    Other { origin: Url },
}

/// Credentials in the arguments of a source. `Debug` output contains only the key ID.
#[derive(Clone, PartialEq, Eq)]
pub struct S3Credentials {
    pub access_key_id: String,
    pub secret_access_key: String,
    pub session_token: Option<String>,
}

impl fmt::Debug for S3Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("S3Credentials")
            .field("access_key_id", &self.access_key_id)
            .finish_non_exhaustive()
    }
}

impl S3Location {
    pub(super) fn parse(text: &str) -> Result<Self, PackageLocationError> {
        let url = parse_url(text, "s3", &["http", "https"], "http, https")?;
        let mut query = Query::new(&url);
        let archive = ArchiveOptions::take(&mut query, url.path())?;
        let mut take = |name: &str| query.take(name).filter(|value| !value.is_empty());
        let region = take("region");
        let version = take("version");
        let profile = take("aws_profile");
        let session_token = take("aws_access_token");
        let credentials = match (take("aws_access_key_id"), take("aws_access_key_secret")) {
            (Some(access_key_id), Some(secret_access_key)) => {
                Some(S3Credentials { access_key_id, secret_access_key, session_token })
            }
            (None, None) => None,
            _ => return Err(PackageLocationError::IncompleteCredentials),
        };
        let path = String::from_utf8_lossy(&decode_percent(url.path())).into_owned();
        let path = path.strip_prefix('/').unwrap_or(&path);
        let host = url.host_str().unwrap_or_default();
        let amazon = AMAZON_SUFFIXES.iter().find_map(|suffix| Some((host.strip_suffix(suffix)?, *suffix)));
        let (endpoint, host_region, bucket, key) = match amazon {
            Some((labels, suffix)) => {
                let endpoint = S3Endpoint::Amazon { domain: suffix.trim_start_matches('.').to_owned() };
                let (bucket, host_region) = split_amazon_host(labels);
                let path = match path.strip_prefix("s3/") {
                    Some(rest) if !is_service(labels) && bucket.is_none() => rest,
                    _ => path,
                };
                let (bucket, key) = match bucket {
                    Some(bucket) => (bucket.to_owned(), path.to_owned()),
                    None => split_bucket(path),
                };
                (endpoint, host_region, bucket, key)
            }
            None => {
                let (bucket, key) = split_bucket(path);
                (S3Endpoint::Other { origin: origin_of(&url) }, None, bucket, key)
            }
        };
        if bucket.is_empty() || key.is_empty() || bucket.contains('/') {
            return Err(PackageLocationError::BucketUrl {
                address: printable_address(text),
                expected: "https://s3.amazonaws.com/BUCKET/KEY",
            });
        }
        let region = host_region.map(str::to_owned).or(region).unwrap_or_else(|| DEFAULT_REGION.to_owned());
        Ok(Self { endpoint, region, bucket, key, version, profile, credentials, archive })
    }
}

impl fmt::Debug for S3Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("S3Location")
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .field("bucket", &self.bucket)
            .field("key", &self.key)
            .field("version", &self.version)
            .field("profile", &self.profile)
            .field("credentials", &self.credentials)
            .field("archive", &self.archive)
            .finish()
    }
}

/// Returns the bucket and the region in a host name of Amazon, without its suffix.
fn split_amazon_host(labels: &str) -> (Option<&str>, Option<&str>) {
    match labels.rsplit_once('.') {
        None if is_service(labels) => (None, labels.strip_prefix("s3-")),
        // Terraform writes `s3.REGION.amazonaws.com/BUCKET` in the form
        // `REGION.amazonaws.com/s3/BUCKET`.
        None => (None, Some(labels)),
        // A bucket's name may contain dots.
        Some((bucket, service)) if is_service(service) => (Some(bucket), service.strip_prefix("s3-")),
        Some((before, region)) => match before.rsplit_once('.') {
            Some((bucket, "s3")) => (Some(bucket), Some(region)),
            _ if before == "s3" => (None, Some(region)),
            _ => (Some(before), Some(region)),
        },
    }
}

fn is_service(label: &str) -> bool {
    label == "s3" || label.starts_with("s3-")
}

fn split_bucket(path: &str) -> (String, String) {
    let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
    (bucket.to_owned(), key.to_owned())
}

fn origin_of(url: &Url) -> Url {
    let mut origin = url.clone();
    origin.set_path("/");
    origin.set_query(None);
    origin.set_fragment(None);
    // These calls fail only for URLs without a host.
    let _ = origin.set_username("");
    let _ = origin.set_password(None);
    origin
}

/// An object in a bucket of Google Cloud Storage, or all objects whose names begin with a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GcsLocation {
    pub bucket: String,
    /// The name of the object, or the common prefix of the object names in the package.
    pub object: String,
    /// The generation of the object.
    pub generation: Option<String>,
    pub archive: ArchiveOptions,
}

impl GcsLocation {
    pub(super) fn parse(text: &str) -> Result<Self, PackageLocationError> {
        let url = parse_url(text, "gcs", &["http", "https"], "https")?;
        let archive = ArchiveOptions::take(&mut Query::new(&url), url.path())?;
        let path = String::from_utf8_lossy(&decode_percent(url.path())).into_owned();
        let parts: Vec<&str> = path.splitn(5, '/').collect();
        let is_google = url.host_str().is_some_and(|host| {
            let labels: Vec<&str> = host.split('.').collect();
            matches!(labels.as_slice(), [_, "googleapis", "com"])
        });
        match parts.as_slice() {
            [_, _, _, bucket, object] if is_google && !bucket.is_empty() && !object.is_empty() => Ok(Self {
                bucket: (*bucket).to_owned(),
                object: (*object).to_owned(),
                generation: url.fragment().filter(|fragment| !fragment.is_empty()).map(str::to_owned),
                archive,
            }),
            _ => Err(PackageLocationError::BucketUrl {
                address: printable_address(text),
                expected: "https://www.googleapis.com/storage/v1/BUCKET/OBJECT",
            }),
        }
    }
}
