//! Writes the zip files of a release, and checks zip files from other sources.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use wardian_digest::Sha256Hasher;
use wardian_files::open_regular;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, System, ZipArchive, ZipWriter};

use crate::error::PublishError;
use crate::source_date::SourceDate;

/// Maximum number of entries of a package.
const MAX_ENTRIES: usize = 10_000;

/// The number of bytes that are compressed in one step. The compressed data can depend on this number.
const BLOCK_BYTES: u64 = 256 << 10;

/// The minimum size of an entry that requires the zip64 format.
const MAX_SHORT_BYTES: u64 = u32::MAX as u64;

/// A file to add to a zip file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ArchiveEntry {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) is_executable: bool,
}

impl ArchiveEntry {
    /// Returns a file under its own name.
    pub(crate) fn for_document(path: &Path) -> Result<Self, PublishError> {
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.filter(|name| !name.contains(['\\', ':', '\0', '\n']));
        let name = name.ok_or_else(|| PublishError::Name { path: path.to_owned() })?;
        Ok(Self { name: name.to_owned(), path: path.to_owned(), is_executable: false })
    }
}

/// Writes a zip file with these entries, sorted by name.
pub(crate) fn write_archive(
    path: &Path,
    mut entries: Vec<ArchiveEntry>,
    date: SourceDate,
) -> Result<(), PublishError> {
    entries.sort();
    for pair in entries.windows(2) {
        if let [one, other] = pair
            && one.name == other.name
        {
            return Err(PublishError::RepeatedName { name: one.name.clone() });
        }
    }
    let failed = |source| PublishError::Write { path: path.to_owned(), source };
    let zip_failed = |error: ZipError| failed(io::Error::other(error));
    let mut writer = ZipWriter::new(File::create(path).map_err(failed)?);
    for entry in entries {
        let read_failed = |source| PublishError::Read { path: entry.path.clone(), source };
        let mut file = open_regular(&entry.path).map_err(read_failed)?;
        let size = file.metadata().map_err(read_failed)?.len();
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(6))
            .last_modified_time(date.zip_time())
            .unix_permissions(if entry.is_executable { 0o755 } else { 0o644 })
            .system(System::Unix)
            .large_file(size >= MAX_SHORT_BYTES);
        writer.start_file(&*entry.name, options).map_err(zip_failed)?;
        let mut block = Vec::new();
        loop {
            block.clear();
            Read::by_ref(&mut file).take(BLOCK_BYTES).read_to_end(&mut block).map_err(read_failed)?;
            if block.is_empty() {
                break;
            }
            writer.write_all(&block).map_err(failed)?;
        }
    }
    writer.finish().map_err(zip_failed)?.sync_all().map_err(failed)
}

/// Checks that a zip file is a package with a plugin whose name begins with `prefix`.
pub(crate) fn check_archive(path: &Path, prefix: &str) -> Result<(), PublishError> {
    let archive_failed = |source| PublishError::Archive { path: path.to_owned(), source };
    let file = open_regular(path).map_err(|source| PublishError::Read { path: path.to_owned(), source })?;
    let archive = ZipArchive::new(file).map_err(archive_failed)?;
    if archive.len() > MAX_ENTRIES {
        return Err(archive_failed(ZipError::InvalidArchive("it has more than 10000 entries".into())));
    }
    let is_plugin = |name: &str| {
        name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '.']))
    };
    for name in archive.file_names() {
        if is_plugin(&name.map_err(archive_failed)?) {
            return Ok(());
        }
    }
    Err(PublishError::NoPlugin { path: path.to_owned(), prefix: prefix.to_owned() })
}

/// Copies a reader to a writer, and returns the digest and the number of bytes. Errors of the writer
/// are converted by `write_failed`.
pub(crate) fn copy_and_hash(
    mut from: impl Read,
    mut to: impl Write,
    read_failed: impl Fn(io::Error) -> PublishError,
    write_failed: impl Fn(io::Error) -> PublishError,
) -> Result<(wardian_digest::Sha256Digest, u64), PublishError> {
    let mut hasher = Sha256Hasher::default();
    let mut buffer = vec![0; 128 << 10];
    let mut size = 0;
    loop {
        let count = from.read(&mut buffer).map_err(&read_failed)?;
        let block = buffer.get(..count).unwrap_or_default();
        if block.is_empty() {
            return Ok((hasher.finish(), size));
        }
        hasher.update(block);
        to.write_all(block).map_err(&write_failed)?;
        size += block.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn entry(directory: &Path, name: &str, content: &str, is_executable: bool) -> ArchiveEntry {
        let path = directory.join(format!("source of {name}"));
        fs::write(&path, content).unwrap();
        ArchiveEntry { name: name.to_owned(), path, is_executable }
    }

    #[test]
    fn archive_depends_only_on_content() {
        let directory = tempfile::tempdir().unwrap();
        let date = SourceDate::parse("1700000000").unwrap();
        let (one, other) = (directory.path().join("1.zip"), directory.path().join("2.zip"));
        let plugin = entry(directory.path(), "terraform-provider-x_v1.0.0", "program", true);
        let license = entry(directory.path(), "LICENSE", "text", false);
        write_archive(&one, vec![plugin.clone(), license.clone()], date).unwrap();
        write_archive(&other, vec![license.clone(), plugin], date).unwrap();
        assert_eq!(fs::read(&one).unwrap(), fs::read(&other).unwrap());

        let mut archive = ZipArchive::new(File::open(&one).unwrap()).unwrap();
        let names: Vec<String> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
        assert_eq!(names, ["LICENSE", "terraform-provider-x_v1.0.0"]);
        let modes: Vec<_> =
            (0..2).map(|index| archive.by_index(index).unwrap().unix_mode().unwrap()).collect();
        assert_eq!(modes, [0o100_644, 0o100_755]);
        let time = archive.by_index(0).unwrap().last_modified().unwrap();
        assert_eq!((time.year(), time.hour()), (2023, 22));
        check_archive(&one, "terraform-provider-x").unwrap();
        assert!(matches!(check_archive(&one, "terraform-provider-xy"), Err(PublishError::NoPlugin { .. })));
        let twice = write_archive(&one, vec![license.clone(), license], date);
        assert!(matches!(twice, Err(PublishError::RepeatedName { .. })));
    }

    #[test]
    fn file_that_is_not_a_zip_archive_is_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.zip");
        fs::write(&path, "not a zip file").unwrap();
        assert!(matches!(check_archive(&path, "x"), Err(PublishError::Archive { .. })));
        assert!(matches!(check_archive(directory.path(), "x"), Err(PublishError::Read { .. })));
    }
}
