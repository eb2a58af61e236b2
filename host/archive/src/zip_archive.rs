//! Reads zip archives.
//!
//! Only the central directory is used. Its entries are checked completely when the archive is
//! opened; the content of an entry is limited to the size in the directory, and the checksum is
//! verified when the content is read to its end.

mod directory;

use std::fs::File;
use std::io::{self, Read};

use zip::read::{ArchiveOffset, Config, ZipFile};
use zip::{ZipArchive, result::ZipError};

use crate::entry_name::EntryName;
use crate::error::{ArchiveError, shown_name};
use crate::extraction::{Extraction, FileEntry};
use crate::limits::ArchiveLimits;
use crate::name_tree::{NameTree, NodeKind};
use directory::{DirectoryBudget, LimitedFile, repeated_name, stated_entries};

/// The bits of a Unix mode that contain the file type, and the types of files, directories and
/// symbolic links. Archives that other systems created record no type.
const FILE_TYPE_MASK: u32 = 0o170_000;
const FILE_TYPE: u32 = 0o100_000;
const DIRECTORY_TYPE: u32 = 0o040_000;
const LINK_TYPE: u32 = 0o120_000;

/// Maximum size of the central directory for each allowed entry, several times the usual size.
const MAX_DIRECTORY_BYTES_PER_ENTRY: u64 = 640;
const MIN_DIRECTORY_BYTES: u64 = 1 << 20;

/// A zip archive whose entries were checked.
pub struct CheckedZip {
    archive: ZipArchive<LimitedFile>,
    entries: Vec<CheckedEntry>,
    unpacked_bytes: u64,
    max_link_bytes: usize,
}

struct CheckedEntry {
    index: usize,
    name: EntryName,
    kind: EntryKind,
    mode: Option<u32>,
    size: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    File,
    Directory,
    Link,
}

impl CheckedZip {
    /// Opens an archive and checks its entries.
    ///
    /// # Errors
    /// Returns an error if the file is not a zip archive, violates a limit, or contains an entry
    /// that is not allowed.
    pub fn open(mut file: File, limits: &ArchiveLimits) -> Result<Self, ArchiveError> {
        let too_many = || ArchiveError::TooManyEntries { limit: limits.max_entries };
        let packed = file.metadata().map_err(ArchiveError::Read)?.len();
        if packed > limits.max_packed_bytes {
            return Err(ArchiveError::PackedTooLarge { limit: limits.max_packed_bytes });
        }
        let max_entries = limits.max_entries as u64;
        if stated_entries(&mut file, packed).map_err(ArchiveError::Read)? > max_entries {
            return Err(too_many());
        }
        let second = file.try_clone().map_err(ArchiveError::Read)?;
        let limit = max_entries.saturating_mul(MAX_DIRECTORY_BYTES_PER_ENTRY).max(MIN_DIRECTORY_BYTES);
        let budget = DirectoryBudget::new(limit);
        // The offset must be known, since a search for it needs memory in proportion to the file.
        let config = Config { archive_offset: ArchiveOffset::Known(0) };
        let opened = ZipArchive::with_config(config, LimitedFile::new(file, &budget));
        if budget.is_exceeded() {
            return Err(ArchiveError::DirectoryTooLarge { limit });
        }
        budget.remove();
        let mut archive = opened.map_err(ArchiveError::Zip)?;
        if archive.len() > limits.max_entries {
            return Err(too_many());
        }
        if archive.has_duplicate_names() {
            let name = repeated_name(second, archive.central_directory_start()).unwrap_or_default();
            return Err(ArchiveError::RepeatedName { name: shown_name(&name) });
        }
        let (entries, unpacked_bytes) = check_entries(&archive, limits)?;
        let max_unpacked = limits.max_unpacked_from(packed);
        if unpacked_bytes > limits.max_unpacked_bytes {
            return Err(ArchiveError::UnpackedTooLarge { limit: limits.max_unpacked_bytes });
        }
        if unpacked_bytes > max_unpacked {
            return Err(ArchiveError::Ratio { limit: max_unpacked, ratio: limits.max_ratio });
        }
        if archive.has_overlapping_entries().map_err(ArchiveError::Zip)? {
            return Err(ArchiveError::Overlap);
        }
        Ok(Self { archive, entries, unpacked_bytes, max_link_bytes: limits.max_name_bytes })
    }

    /// Returns the total size of the files according to the archive's headers.
    pub fn unpacked_bytes(&self) -> u64 {
        self.unpacked_bytes
    }

    /// Returns the names of the files and of the directories that have an entry, with `/`
    /// separators.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// Returns the names of the files, with `/` separators.
    pub fn file_names(&self) -> impl Iterator<Item = &str> {
        let files = self.entries.iter().filter(|entry| entry.kind == EntryKind::File);
        files.map(|entry| entry.name.as_str())
    }

    /// Returns the content of a file; `None` if no file has this name.
    ///
    /// # Errors
    /// Returns an error if the compression method is not supported.
    pub fn file(&mut self, name: &str) -> Result<Option<impl Read + use<'_>>, ArchiveError> {
        let is_wanted = |entry: &&CheckedEntry| entry.kind == EntryKind::File && entry.name.as_str() == name;
        let Some(entry) = self.entries.iter().find(is_wanted) else { return Ok(None) };
        let content = self.archive.by_index(entry.index).map_err(ArchiveError::Zip)?;
        Ok(Some(SizedReader { content, left: entry.size }))
    }

    /// Calls a function for the name, the Unix mode and the content of each file.
    ///
    /// # Errors
    /// Returns an error if an entry cannot be read, or the function returns an error.
    pub fn for_each_file(
        &mut self,
        mut with: impl FnMut(&str, Option<u32>, &mut dyn Read) -> io::Result<()>,
    ) -> io::Result<()> {
        for entry in self.entries.iter().filter(|entry| entry.kind == EntryKind::File) {
            let content = self.archive.by_index(entry.index)?;
            with(entry.name.as_str(), entry.mode, &mut SizedReader { content, left: entry.size })?;
        }
        Ok(())
    }

    /// Writes all entries.
    pub(crate) fn extract(mut self, extraction: &mut Extraction<'_>) -> Result<(), ArchiveError> {
        for entry in self.entries {
            let CheckedEntry { index, name, kind, mode, size } = entry;
            if kind == EntryKind::Directory {
                extraction.add_directory(&name)?;
                continue;
            }
            let content = self.archive.by_index(index).map_err(ArchiveError::Zip)?;
            let shown = name.as_str().to_owned();
            let mut content = SizedReader { content, left: size };
            let read_error = |error: io::Error| match error.kind() {
                io::ErrorKind::FileTooLarge => ArchiveError::WrongSize { name: shown.clone() },
                _ => ArchiveError::Zip(ZipError::Io(error)),
            };
            if kind == EntryKind::Link {
                let mut target = Vec::new();
                let limit = self.max_link_bytes as u64 + 1;
                content.take(limit).read_to_end(&mut target).map_err(read_error)?;
                extraction.add_link(name, &target)?;
            } else {
                extraction.add_file(FileEntry { name, mode, size }, &mut content, read_error)?;
            }
        }
        Ok(())
    }
}

/// Checks the entries, and returns them and the total size of the files.
fn check_entries(
    archive: &ZipArchive<LimitedFile>,
    limits: &ArchiveLimits,
) -> Result<(Vec<CheckedEntry>, u64), ArchiveError> {
    let mut tree = NameTree::new(limits.max_entries, limits.ignores_case);
    let mut entries = Vec::with_capacity(archive.len());
    let mut total = 0_u64;
    for index in 0..archive.len() {
        let entry = archive.by_index_data(index).map_err(ArchiveError::Zip)?;
        let raw = entry.name_raw();
        let mode = entry.unix_mode();
        let file_type = mode.unwrap_or_default() & FILE_TYPE_MASK;
        let kind = match file_type {
            _ if entry.is_dir() => EntryKind::Directory,
            0 | FILE_TYPE | DIRECTORY_TYPE => EntryKind::File,
            LINK_TYPE if limits.allows_links => EntryKind::Link,
            _ => return Err(ArchiveError::SpecialEntry { name: shown_name(raw) }),
        };
        if !matches!(file_type, 0 | FILE_TYPE | DIRECTORY_TYPE | LINK_TYPE) {
            return Err(ArchiveError::SpecialEntry { name: shown_name(raw) });
        }
        // A name is ambiguous if it is not UTF-8, or if an extra field contains a different name.
        let is_ambiguous = || entry.name().map_or(true, |name| name.as_bytes() != raw);
        if limits.requires_plain_names && is_ambiguous() {
            return Err(ArchiveError::UnsafeName { name: shown_name(raw) });
        }
        if entry.encrypted() {
            return Err(ArchiveError::Encrypted { name: shown_name(raw) });
        }
        let Some(name) = EntryName::parse(raw, limits)? else {
            if kind == EntryKind::Directory {
                continue;
            }
            return Err(ArchiveError::UnsafeName { name: shown_name(raw) });
        };
        let size = if kind == EntryKind::Directory { 0 } else { entry.size() };
        total = total.saturating_add(size);
        // A link's target is known only after the entry is read, so targets are checked at the end.
        let node = if kind == EntryKind::Directory { NodeKind::Directory } else { NodeKind::File };
        tree.add(&name, node)?;
        entries.push(CheckedEntry { index, name, kind, mode, size });
    }
    Ok((entries, total))
}

/// A reader that fails if the content is larger than its size in the archive's headers, since a
/// small archive can expand to an enormous number of zeros.
struct SizedReader<'a> {
    content: ZipFile<'a, LimitedFile>,
    left: u64,
}

impl Read for SizedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            io::Error::new(io::ErrorKind::FileTooLarge, "the unpacked data is larger than the stated size")
        })?;
        if count == 0 && self.left > 0 && !buffer.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "the unpacked data is smaller than the stated size",
            ));
        }
        Ok(count)
    }
}
