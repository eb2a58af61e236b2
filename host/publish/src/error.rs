//! The reasons why a release cannot be built or published.

use std::io;
use std::path::PathBuf;

use wardian_declaration::InspectError;
use wardian_digest::Sha256Digest;
use wardian_oci::{ArtifactReference, OciError, ReferenceError};
use zip::result::ZipError;

/// A release that cannot be built or published.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    #[error("failed to read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("failed to write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("SOURCE_DATE_EPOCH is {text:?}, but it must be a number of seconds since 1970")]
    SourceDate { text: String },
    #[error("{text:?} is not a protocol version, such as \"6.0\"")]
    Protocol { text: String },
    #[error("a release needs at least one protocol version, such as \"6.0\"")]
    NoProtocol,
    #[error("{} is larger than the limit of {limit} bytes", path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    #[error("{} is not a component that can be published: {source}", path.display())]
    Component { path: PathBuf, source: InspectError },
    /// The component does not export the interface of a plugin of this kind.
    #[error("{} is not a {kind}: it does not export {interface}", path.display())]
    NotAPlugin {
        path: PathBuf,
        kind: &'static str,
        /// The interface, without its version.
        interface: &'static str,
    },
    #[error("{} imports or exports {name:?}, whose name is too long", path.display())]
    LongName { path: PathBuf, name: String },
    #[error("\"{platform}\" is the platform of components, not of a native package")]
    ComponentPlatform { platform: String },
    #[error("there are two native packages for {platform}")]
    RepeatedPlatform { platform: String },
    /// A file is not an executable for its platform.
    #[error("{} cannot be used as the native package for {platform}: it is {found}", path.display())]
    Executable { path: PathBuf, platform: String, found: String },
    #[error("{} cannot be used as a native package: {source}", path.display())]
    Archive { path: PathBuf, source: ZipError },
    #[error(
        "{} cannot be used as a native package: it contains no file whose name begins with {prefix:?}",
        path.display()
    )]
    NoPlugin { path: PathBuf, prefix: String },
    #[error("{} cannot be added to a package: its name is not valid in a zip file", path.display())]
    Name { path: PathBuf },
    #[error("two files of a package are named {name:?}")]
    RepeatedName { name: String },
    /// A file was changed while the release was published.
    #[error("{} was changed after the release was built; build it again", path.display())]
    Changed { path: PathBuf },
    /// The release directory contains a different file with the same name as a file of the release.
    #[error(
        "{} exists with different content; published files must not change, so choose another directory or \
         another version (or, if nobody uses these files yet, replace them with -replace)",
        path.display()
    )]
    Exists { path: PathBuf },
    /// The version's tag refers to a different artifact.
    #[error(
        "{reference} is already published with different content{}; published versions must not change, \
         so choose another version (or, if nobody uses this one yet, replace it with -replace)",
        found_digest(*found)
    )]
    Published {
        reference: ArtifactReference,
        /// The digest of the published artifact, if it is an OCI artifact.
        found: Option<Sha256Digest>,
    },
    #[error(
        "{text:?} is not the address of a repository, which has the form oci://HOST/REPOSITORY: {reason}"
    )]
    Address { text: String, reason: String },
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    #[error(transparent)]
    Oci(#[from] OciError),
}

fn found_digest(found: Option<Sha256Digest>) -> String {
    found.map_or_else(String::new, |digest| format!(" (sha256:{digest})"))
}
