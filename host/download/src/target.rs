//! The file that a download writes.

use std::path::Path;

use url::Url;
use wardian_digest::Sha256Digest;

/// The file that a download writes, with its expected digest and size. Its directory must exist.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    pub path: &'a Path,
    /// The digest of the file. If it is known, an interrupted download can be resumed.
    pub expected: Option<Sha256Digest>,
    /// Maximum size in bytes.
    pub max_bytes: u64,
    /// The exact size in bytes.
    pub size: Option<u64>,
    /// Identifies the download in reports of progress.
    pub label: &'a str,
}

/// A file that was downloaded.
#[derive(Clone, Debug)]
pub struct Downloaded {
    pub sha256: Sha256Digest,
    pub size: u64,
    /// The URL after redirects, or the requested URL if an earlier process has received the whole file.
    pub url: Url,
}
