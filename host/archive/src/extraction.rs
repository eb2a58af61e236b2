//! Writes the entries of an archive to a new directory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use wardian_digest::Sha256Hasher;

use crate::entry_name::EntryName;
use crate::error::ArchiveError;
use crate::limits::ArchiveLimits;
use crate::name_tree::{NameTree, NodeKind};
use crate::unpack::Unpacked;

const BUFFER_BYTES: usize = 128 * 1024;

/// The mode bits that are preserved. Every file is readable and writable by the user.
const MODE_MASK: u32 = 0o755;
const USER_MODE: u32 = 0o600;
const DEFAULT_MODE: u32 = 0o644;

/// A new directory to which entries are written. Links are created at the end, so no entry can be
/// written through a link.
pub(crate) struct Extraction<'a> {
    root: &'a Path,
    limits: &'a ArchiveLimits,
    tree: NameTree,
    links: Vec<(EntryName, String)>,
    unpacked: Unpacked,
    buffer: Vec<u8>,
}

/// A file to write.
pub(crate) struct FileEntry {
    pub(crate) name: EntryName,
    pub(crate) mode: Option<u32>,
    /// The size in the archive's headers.
    pub(crate) size: u64,
}

impl<'a> Extraction<'a> {
    /// Starts the extraction to an existing, empty directory.
    pub(crate) fn new(root: &'a Path, limits: &'a ArchiveLimits) -> Self {
        let tree = NameTree::new(limits.max_entries, limits.ignores_case);
        let buffer = vec![0; BUFFER_BYTES];
        Self { root, limits, tree, links: Vec::new(), unpacked: Unpacked::default(), buffer }
    }

    pub(crate) fn add_directory(&mut self, name: &EntryName) -> Result<(), ArchiveError> {
        self.add(name, NodeKind::Directory).map(drop)
    }

    /// Writes a file. `read_error` converts an error of the reader.
    pub(crate) fn add_file(
        &mut self,
        entry: FileEntry,
        content: &mut dyn Read,
        read_error: impl Fn(io::Error) -> ArchiveError,
    ) -> Result<(), ArchiveError> {
        let path = self.add(&entry.name, NodeKind::File)?;
        let failed = |source| ArchiveError::Write { path: path.clone(), source };
        let wrong_size = || ArchiveError::WrongSize { name: entry.name.as_str().to_owned() };
        let mut file = create_file(&path, entry.mode).map_err(failed)?;
        let mut hasher = Sha256Hasher::default();
        let mut size = 0_u64;
        loop {
            let count = match content.read(&mut self.buffer) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(read_error(error)),
            };
            let Some(bytes) = self.buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
            size = size.saturating_add(count as u64);
            if size > entry.size {
                return Err(wrong_size());
            }
            hasher.update(bytes);
            file.write_all(bytes).map_err(failed)?;
        }
        if size != entry.size {
            return Err(wrong_size());
        }
        self.unpacked.bytes = self.unpacked.bytes.saturating_add(size);
        self.unpacked.files.insert(entry.name.into_string(), hasher.finish());
        Ok(())
    }

    /// Records a symbolic link, which is created at the end.
    pub(crate) fn add_link(&mut self, name: EntryName, target: &[u8]) -> Result<(), ArchiveError> {
        if !self.limits.allows_links {
            return Err(ArchiveError::SpecialEntry { name: name.into_string() });
        }
        let shown = || String::from_utf8_lossy(target).chars().take(100).collect();
        let Some(target) = std::str::from_utf8(target).ok().filter(|target| {
            target.len() <= self.limits.max_name_bytes && !target.chars().any(char::is_control)
        }) else {
            return Err(ArchiveError::UnsafeLink { name: name.into_string(), target: shown() });
        };
        let target = target.to_owned();
        self.add(&name, NodeKind::Link(target.clone()))?;
        self.links.push((name, target));
        Ok(())
    }

    /// Checks and creates the links.
    pub(crate) fn finish(mut self) -> Result<Unpacked, ArchiveError> {
        self.tree.check_links(&self.links)?;
        for (name, target) in self.links {
            let path = self.root.join(name.as_str());
            create_link(&target, &path).map_err(|source| ArchiveError::Write { path, source })?;
            self.unpacked.links.insert(name.into_string(), target);
        }
        Ok(self.unpacked)
    }

    /// Adds a name, creates the directories that it requires, and returns its path.
    fn add(&mut self, name: &EntryName, kind: NodeKind) -> Result<PathBuf, ArchiveError> {
        for end in self.tree.add(name, kind)? {
            let directory = self.root.join(name.as_str().get(..end).unwrap_or_default());
            match fs::create_dir(&directory) {
                // The name differs from an earlier one only in its case.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && self.limits.ignores_case => {}
                Err(source) => return Err(ArchiveError::Write { path: directory, source }),
                Ok(()) => {}
            }
        }
        Ok(self.root.join(name.as_str()))
    }
}

/// Creates a file, which must not exist. The process's umask restricts its mode further.
fn create_file(path: &Path, mode: Option<u32>) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let mode = (mode.unwrap_or(DEFAULT_MODE) & MODE_MASK) | USER_MODE;
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options.open(path)
}

#[cfg(unix)]
fn create_link(target: &str, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
fn create_link(_target: &str, _path: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
