//! Packages on this machine.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{ArchiveOptions, Query, parse_url};
use crate::address_syntax::{decode_percent, split_query};
use crate::error::PackageLocationError;

/// A directory or an archive on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLocation {
    /// The absolute path, as written: components such as `..` are not removed.
    pub path: PathBuf,
    pub archive: ArchiveOptions,
}

impl FileLocation {
    pub(super) fn parse(text: &str) -> Result<Self, PackageLocationError> {
        let url = parse_url(text, "file", &["file"], "file")?;
        let (address, _) = split_query(text);
        let address = address.split('#').next().unwrap_or_default();
        let after_scheme = address.split_once("://").map(|(_, rest)| rest).unwrap_or_default();
        let path =
            after_scheme.get(after_scheme.find('/').unwrap_or(after_scheme.len())..).unwrap_or_default();
        let archive = ArchiveOptions::take(&mut Query::new(&url), path)?;
        let path = decode_percent(if path.is_empty() { "/" } else { path });
        if path.contains(&0) {
            return Err(PackageLocationError::InvalidUrl {
                address: text.to_owned(),
                reason: "the path contains a NUL byte".to_owned(),
            });
        }
        Ok(Self { path: path_from_bytes(path), archive })
    }
}

#[cfg(unix)]
fn path_from_bytes(bytes: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt as _;
    OsString::from_vec(bytes).into()
}

#[cfg(not(unix))]
fn path_from_bytes(bytes: Vec<u8>) -> PathBuf {
    OsString::from(String::from_utf8_lossy(&bytes).into_owned()).into()
}
