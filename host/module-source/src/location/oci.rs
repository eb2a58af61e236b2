//! Packages in OCI registries: `oci://HOST/REPOSITORY[?tag=TAG|?digest=DIGEST]`.

use url::Url;

use super::{ArchiveOptions, Query};
use crate::error::PackageLocationError;

const SCHEME: &str = "oci://";

/// A package in an OCI registry. The names are checked by the client of the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OciLocation {
    /// The host, with a port if the address has one.
    pub host: String,
    pub repository: String,
    pub version: OciVersion,
}

/// The manifest that an address selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OciVersion {
    Tag(String),
    Digest(String),
}

impl OciLocation {
    pub(super) fn parse(text: &str) -> Result<Self, PackageLocationError> {
        let invalid = |reason: &str| PackageLocationError::InvalidOciAddress { reason: reason.to_owned() };
        let is_oci = text.get(..SCHEME.len()).is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME));
        if !is_oci {
            return Err(invalid("another scheme cannot be used"));
        }
        let url = Url::parse(text).map_err(|_| invalid("it is not a URL"))?;
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err(invalid("it must not contain credentials or a fragment"));
        }
        let host =
            url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| invalid("the host is missing"))?;
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let repository = url.path().trim_start_matches('/').to_owned();
        if repository.is_empty() {
            return Err(invalid("the repository is missing"));
        }
        let mut query = Query::new(&url);
        ArchiveOptions::reject(&mut query, "oci")?;
        let version = match (query.take("tag"), query.take("digest")) {
            (Some(_), Some(_)) => return Err(invalid("tag and digest cannot be used together")),
            (Some(tag), None) => OciVersion::Tag(tag),
            (None, Some(digest)) => OciVersion::Digest(digest),
            (None, None) => OciVersion::Tag("latest".to_owned()),
        };
        if !query.pairs.is_empty() {
            return Err(invalid("only the arguments tag and digest are supported"));
        }
        Ok(Self { host, repository, version })
    }
}
