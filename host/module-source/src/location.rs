//! The location of a package: the getter that fetches it, and the getter's arguments.
//!
//! | getter | arguments |
//! |---|---|
//! | `git` | `ref`, `depth`, `sshkey` |
//! | `hg` | `rev` |
//! | `http`, `https` | `archive`, `checksum` |
//! | `file` | `archive`, `checksum` |
//! | `s3` | `archive`, `checksum`, `version`, `region`, `aws_profile`, `aws_access_key_id`, `aws_access_key_secret`, `aws_access_token` |
//! | `gcs` | `archive`, `checksum`, `#GENERATION` |
//! | `oci` | `tag`, `digest` |

mod bucket;
mod file;
mod http;
mod oci;
mod repository;

pub use bucket::{GcsLocation, S3Credentials, S3Endpoint, S3Location};
pub use file::FileLocation;
pub use http::{HttpLocation, UrlCredentials};
pub use oci::OciLocation;
pub use repository::{GitLocation, MercurialLocation, SshKey};

use url::Url;

use crate::address_syntax::{scheme, split_forced_getter};
use crate::archive::PackageArchive;
use crate::checksum::ChecksumArgument;
use crate::error::PackageLocationError;
use crate::redaction::printable_address;

/// The getter that fetches a package, and its arguments. `Debug` output contains no secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PackageLocation {
    Git(GitLocation),
    Mercurial(MercurialLocation),
    Http(HttpLocation),
    File(FileLocation),
    S3(S3Location),
    Gcs(GcsLocation),
    Oci(OciLocation),
}

impl PackageLocation {
    pub(crate) fn parse(address: &str) -> Result<Self, PackageLocationError> {
        let (forced, rest) = split_forced_getter(address);
        let own_scheme = scheme(rest).unwrap_or_default().to_ascii_lowercase();
        let getter = forced.unwrap_or(&own_scheme);
        match getter {
            "git" => GitLocation::parse(rest).map(Self::Git),
            "hg" => MercurialLocation::parse(rest).map(Self::Mercurial),
            "http" | "https" => HttpLocation::parse(rest).map(Self::Http),
            "file" => FileLocation::parse(rest).map(Self::File),
            "s3" => S3Location::parse(rest).map(Self::S3),
            "gcs" => GcsLocation::parse(rest).map(Self::Gcs),
            "oci" => OciLocation::parse(rest).map(Self::Oci),
            other => Err(PackageLocationError::UnsupportedScheme { scheme: other.to_owned() }),
        }
    }

    /// Returns whether the package is a directory, a file or a repository on this machine.
    pub fn is_on_this_machine(&self) -> bool {
        match self {
            Self::File(_) => true,
            Self::Git(location) => location.url.scheme() == "file",
            Self::Mercurial(location) => location.url.scheme() == "file",
            Self::Http(_) | Self::S3(_) | Self::Gcs(_) | Self::Oci(_) => false,
        }
    }
}

/// The format and the digest of an archive. If there is no format, the package is not an archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchiveOptions {
    pub format: Option<PackageArchive>,
    pub checksum: Option<ChecksumArgument>,
}

impl ArchiveOptions {
    /// Removes the `archive` and `checksum` arguments from a query. `path` is the path of the URL;
    /// its suffix selects the format if the `archive` argument is missing.
    fn take(query: &mut Query, path: &str) -> Result<Self, PackageLocationError> {
        let format = match query.take("archive").as_deref() {
            None | Some("") => PackageArchive::from_path(path),
            Some(name) => PackageArchive::from_name(name),
        };
        let checksum = query.take("checksum").filter(|value| !value.is_empty());
        let checksum = checksum.map(|value| ChecksumArgument::parse(&value)).transpose()?;
        match format {
            Some(PackageArchive::Gzip | PackageArchive::Bzip2 | PackageArchive::Xz) => {
                Err(PackageLocationError::SingleFile {
                    format: format.map(|format| format.to_string()).unwrap_or_default(),
                })
            }
            None if checksum.is_some() => Err(PackageLocationError::ChecksumWithoutArchive),
            _ => Ok(Self { format, checksum }),
        }
    }

    /// Rejects the archive arguments for getters that do not fetch archives.
    fn reject(query: &mut Query, getter: &'static str) -> Result<(), PackageLocationError> {
        const OFF: [&str; 6] = ["", "0", "f", "false", "False", "FALSE"];
        if query.take("archive").is_some_and(|value| !OFF.contains(&value.as_str())) {
            return Err(PackageLocationError::ArchiveNotSupported { getter });
        }
        match query.take("checksum") {
            Some(value) if !value.is_empty() => Err(PackageLocationError::ChecksumWithoutArchive),
            _ => Ok(()),
        }
    }
}

/// The query of a URL, from which a getter's arguments are removed. The other arguments are
/// preserved exactly as written, because servers may have signed them.
struct Query {
    pairs: Vec<String>,
}

impl Query {
    fn new(url: &Url) -> Self {
        let pairs = url.query().unwrap_or_default().split('&');
        Self { pairs: pairs.filter(|pair| !pair.is_empty()).map(str::to_owned).collect() }
    }

    /// Removes an argument. Returns its first value.
    fn take(&mut self, name: &str) -> Option<String> {
        let mut value = None;
        self.pairs.retain(|pair| {
            let Some((found, text)) = url::form_urlencoded::parse(pair.as_bytes()).next() else {
                return true;
            };
            if found != name {
                return true;
            }
            value.get_or_insert_with(|| text.into_owned());
            false
        });
        value
    }

    /// Sets the query of a URL to the remaining arguments.
    fn apply_to(&self, url: &mut Url) {
        let query = self.pairs.join("&");
        url.set_query(if query.is_empty() { None } else { Some(&query) });
    }
}

/// Parses a URL with one of the given schemes.
fn parse_url(
    text: &str,
    getter: &'static str,
    schemes: &[&str],
    supported: &'static str,
) -> Result<Url, PackageLocationError> {
    let invalid =
        |reason: String| PackageLocationError::InvalidUrl { address: printable_address(text), reason };
    let own_scheme = scheme(text).unwrap_or_default().to_ascii_lowercase();
    if !schemes.contains(&own_scheme.as_str()) {
        return Err(PackageLocationError::UrlScheme { getter, scheme: own_scheme, supported });
    }
    let url = Url::parse(text).map_err(|error| invalid(error.to_string()))?;
    let is_file = own_scheme == "file";
    // The URL parser adds and removes slashes.
    let after_slashes = text.get(own_scheme.len()..).and_then(|rest| rest.strip_prefix("://"));
    let has_authority = after_slashes.is_some_and(|rest| is_file || !rest.starts_with(['/', '\\']));
    if url.cannot_be_a_base() || !has_authority || (!is_file && url.host_str().unwrap_or_default().is_empty())
    {
        return Err(invalid("it has no host".to_owned()));
    }
    if is_file && !matches!(url.host_str(), None | Some("" | "localhost")) {
        return Err(invalid("a file URL has no host; write three slashes after the scheme".to_owned()));
    }
    Ok(url)
}

#[cfg(test)]
mod tests;
