//! The reason why a package could not be fetched.

use wardian_archive::ArchiveError;
use wardian_download::FetchError;
use wardian_download::advice::{ASK_OPERATOR, ASK_PUBLISHER};
use wardian_module_source::{ModuleSourceError, PackageLocationError};
use wardian_oci::{ModuleAddressError, OciError};

use crate::cache::ModuleCacheError;
use crate::getters::git::GitError;
use crate::getters::http::PageError;
use crate::getters::s3::BucketError;
use crate::programs::ProgramError;
use crate::subdirectory::SubdirectoryError;
use crate::tree::TreeError;

/// The reason why a package could not be fetched. The text does not contain the module and the
/// package, because the module's error contains them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    #[error(transparent)]
    Location(#[from] PackageLocationError),
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Bucket(#[from] BucketError),
    #[error(transparent)]
    OciAddress(#[from] ModuleAddressError),
    #[error(transparent)]
    Oci(#[from] OciError),
    #[error("the archive cannot be unpacked: {0}; {ASK_PUBLISHER}")]
    Archive(#[from] ArchiveError),
    #[error(transparent)]
    Tree(#[from] TreeError),
    #[error(transparent)]
    Cache(#[from] ModuleCacheError),
    #[error(transparent)]
    Subdirectory(#[from] SubdirectoryError),
    #[error(
        "the archive has the {algorithm} digest {found}, but the expected digest is {expected}; it was \
        changed on the server or during the transfer, and is not used; run the command again, and if it \
        fails again, ask the publisher which file is correct"
    )]
    Checksum { algorithm: &'static str, expected: String, found: String },
    #[error("the list of checksums at {url} contains no digest of the file \"{file}\"; {ASK_PUBLISHER}")]
    ChecksumMissing { url: String, file: String },
    #[error(
        "the list of checksums has the address \"{address}\", which is not an http or https URL; correct the checksum argument of the source"
    )]
    ChecksumAddress { address: String },
    /// A server referred to a location to which it must not refer.
    #[error("the server referred to {target}, {problem}; {ASK_OPERATOR}")]
    Referral { target: String, problem: &'static str },
    #[error("the server referred to \"{location}\": {source}; {ASK_OPERATOR}")]
    ReferralAddress { location: String, source: ModuleSourceError },
    #[error("there were more than {limit} consecutive X-Terraform-Get redirects; {ASK_OPERATOR}")]
    TooManyReferrals { limit: usize },
    #[error(
        "the package is in a repository, and programs such as git are not run for untrusted configurations. Run \
         `wardian init` in a trusted copy of this configuration first, which stores the package in the cache"
    )]
    ProgramsNotAllowed,
    #[error(
        "{address} was not fetched, because network access is disabled (offline mode) and the package is not in the cache; run the command without -offline and unset WARDIAN_OFFLINE"
    )]
    Offline { address: String },
    /// The package is not an archive in a known format.
    #[error(
        "the response from {url} is neither a zip archive nor a compressed tar archive; check the address, or {ASK_OPERATOR}"
    )]
    UnknownArchive { url: String },
    #[error("source path error: {path}: {reason}")]
    LocalPath { path: String, reason: String },
    #[error("the package contains no files; check the address, or ask the publisher to correct it")]
    Empty,
    /// Another process changes or removes packages in the cache.
    #[error("the package in the cache was changed twice while it was copied; run the command again")]
    CacheChanged,
    /// A blocking task was cancelled or failed.
    #[error("the files of the package could not be processed: {0}")]
    Task(String),
}
