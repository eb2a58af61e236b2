//! Unpacks an archive into a new directory.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use wardian_digest::Sha256Digest;

use crate::error::{ArchiveError, UnpackError};
use crate::extraction::Extraction;
use crate::format::ArchiveFormat;
use crate::limits::ArchiveLimits;
use crate::tar_archive::extract_tar;
use crate::zip_archive::CheckedZip;

/// The content of an archive that was unpacked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// The digests of the files. A name has `/` separators.
    pub files: BTreeMap<String, Sha256Digest>,
    /// The targets of the symbolic links.
    pub links: BTreeMap<String, String>,
    /// The total size of the files in bytes.
    pub bytes: u64,
}

/// Unpacks an archive into a new directory. The directory must not exist; its parent must. For a
/// directory that appears only when it is complete, unpack to another name and rename it.
///
/// # Errors
/// Returns an error if the archive is damaged, violates a limit or contains an entry that is not
/// allowed, or if a file cannot be written. The new directory is then removed.
pub fn unpack(
    archive: &Path,
    format: ArchiveFormat,
    directory: &Path,
    limits: &ArchiveLimits,
) -> Result<Unpacked, UnpackError> {
    let unpacked = open(archive, limits).and_then(|(file, size)| {
        fs::create_dir(directory)
            .map_err(|source| ArchiveError::Write { path: directory.to_owned(), source })?;
        extract(file, size, format, directory, limits).inspect_err(|_| {
            // The first error is returned, so an error during this removal is ignored.
            let _ = fs::remove_dir_all(directory);
        })
    });
    unpacked.map_err(|problem| UnpackError { archive: archive.to_owned(), problem })
}

fn open(archive: &Path, limits: &ArchiveLimits) -> Result<(File, u64), ArchiveError> {
    let file = File::open(archive).map_err(ArchiveError::Read)?;
    let metadata = file.metadata().map_err(ArchiveError::Read)?;
    if !metadata.is_file() {
        return Err(ArchiveError::Read(io::Error::other("it is not a regular file")));
    }
    if metadata.len() > limits.max_packed_bytes {
        return Err(ArchiveError::PackedTooLarge { limit: limits.max_packed_bytes });
    }
    Ok((file, metadata.len()))
}

fn extract(
    file: File,
    size: u64,
    format: ArchiveFormat,
    directory: &Path,
    limits: &ArchiveLimits,
) -> Result<Unpacked, ArchiveError> {
    let mut extraction = Extraction::new(directory, limits);
    match format {
        ArchiveFormat::Zip => CheckedZip::open(file, limits)?.extract(&mut extraction)?,
        ArchiveFormat::Tar | ArchiveFormat::TarGzip | ArchiveFormat::TarBzip2 | ArchiveFormat::TarXz => {
            extract_tar(file, size, format, limits, &mut extraction)?;
        }
    }
    extraction.finish()
}
