//! The progress of building and publishing.

use std::path::Path;

use wardian_digest::Sha256Digest;
use wardian_oci::ArtifactReference;

/// A step of building or publishing a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PublishEvent<'a> {
    /// A package is being compressed.
    PackingStarted {
        name: &'a str,
    },
    /// A file was written to the release directory.
    FileWritten {
        path: &'a Path,
        size: u64,
    },
    /// The release directory already contains the file.
    FileUnchanged {
        path: &'a Path,
    },
    /// A file is being uploaded.
    UploadStarted {
        name: &'a str,
        size: u64,
    },
    /// A chunk of a file was uploaded.
    UploadAdvanced {
        name: &'a str,
        bytes: u64,
    },
    UploadFinished {
        name: &'a str,
    },
    /// The repository already contains the file.
    UploadSkipped {
        name: &'a str,
    },
    /// An artifact is available under a tag.
    TagPushed {
        reference: &'a ArtifactReference,
        digest: Sha256Digest,
    },
    /// The version is already published with the same content.
    AlreadyPublished {
        reference: &'a ArtifactReference,
        digest: Sha256Digest,
    },
}

/// Receives the steps of building and publishing.
pub trait PublishObserver: Send + Sync {
    fn report(&self, event: PublishEvent<'_>);
}

/// Ignores progress.
impl PublishObserver for () {
    fn report(&self, _event: PublishEvent<'_>) {}
}
