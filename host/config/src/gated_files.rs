//! Files named by a configuration: its modules, and the files that functions read.
//!
//! A path is resolved once, so the file that is opened is the file that was authorized
//! (`wardian-files`). Only regular files are read, and opening never blocks.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;

use wardian_files::{
    Directory, FileAccessError, FileOpening, FileScope, FileType, LastLink, ResolvedPath, WritableDirectories,
};
use wardian_plugin::{CallContext, FileGate};

use crate::files::Files;

/// Maximum size of a file. The size is limited because the content is held in memory.
const MAX_FILE_SIZE: u64 = 1 << 30;
/// Maximum depth of directories. The depth is limited because symbolic links can form a cycle.
const MAX_DEPTH: usize = 64;
/// Maximum number of files and directories in one listing, for the same reason.
const MAX_LISTED: usize = 1 << 20;

/// The files to which a configuration may refer. Clones are equivalent.
#[derive(Clone, Debug)]
pub struct GatedFiles {
    scope: Result<FileScope, Arc<io::Error>>,
    gate: FileGate,
}

impl Default for GatedFiles {
    fn default() -> Self {
        Self::anywhere(WritableDirectories::default())
    }
}

impl GatedFiles {
    /// Returns the files of a scope that are permitted by a gate.
    pub fn new(scope: FileScope, gate: FileGate) -> Self {
        Self { scope: Ok(scope), gate }
    }

    /// Returns all files that the system permits. A link in a directory that plugins may write to is
    /// not followed out of that directory.
    pub fn anywhere(writable: WritableDirectories) -> Self {
        let scope = FileScope::anywhere(Arc::new(writable)).map_err(Arc::new);
        Self { scope, gate: FileGate::default() }
    }

    fn scope(&self) -> io::Result<&FileScope> {
        self.scope.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string()))
    }

    /// Resolves a path. Checks that path and all other paths whose existence the result reveals.
    fn resolve(&self, path: &Path) -> io::Result<ResolvedPath> {
        let mut revealed = Vec::new();
        let resolved = self.scope()?.resolve_recording(path, LastLink::Follow, &mut revealed);
        match &resolved {
            Ok(resolved) => revealed.push(resolved.path()),
            Err(FileAccessError::Outside { path }) => revealed.push(path.clone()),
            // A denied file causes the same error whether or not it exists.
            Err(_) => revealed.push(path.to_owned()),
        }
        for path in &revealed {
            self.check(path)?;
        }
        Ok(resolved?)
    }

    fn check(&self, path: &Path) -> io::Result<()> {
        self.gate.check(&CallContext::default(), path).map_err(refused)
    }

    /// Returns the type of a file; `None` if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the path is not permitted, or if the type of an existing file cannot be
    /// read.
    pub fn kind(&self, path: &Path) -> io::Result<Option<FileType>> {
        let kind = self.resolve(path).and_then(|resolved| Ok(resolved.kind()?));
        match kind {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(None)
            }
            kind => kind,
        }
    }

    /// Returns all regular files below a directory, sorted. The paths are relative to the
    /// directory, with `/` between path components. Symbolic links are followed if this is
    /// permitted.
    ///
    /// # Errors
    /// Returns an error if the directory itself cannot be read, or if it contains too many files.
    pub fn list_below(&self, directory: &Path) -> io::Result<Vec<String>> {
        let directory = self.resolve(directory)?.open_directory()?;
        let mut found = Vec::new();
        self.collect(&directory, "", 0, &mut 0, &mut found)?;
        found.sort();
        Ok(found)
    }

    fn collect(
        &self,
        directory: &Directory,
        prefix: &str,
        depth: usize,
        listed: &mut usize,
        found: &mut Vec<String>,
    ) -> io::Result<()> {
        let mut listing = directory.list()?;
        loop {
            let piece = listing.read_piece()?;
            if piece.is_empty() {
                return Ok(());
            }
            *listed += piece.len();
            if *listed > MAX_LISTED {
                return Err(io::Error::other(format!("it contains more than {MAX_LISTED} files")));
            }
            for entry in piece {
                let name = entry.name.to_string_lossy();
                let relative = if prefix.is_empty() { name.into_owned() } else { format!("{prefix}/{name}") };
                let path = directory.join(&entry.name);
                match self.entry_kind(&path, entry.kind) {
                    Some(FileType::RegularFile) => found.push(relative),
                    Some(FileType::Directory) if depth < MAX_DEPTH => {
                        // Unreadable subdirectories are skipped.
                        let Ok(below) = self.resolve(&path).and_then(|path| Ok(path.open_directory()?))
                        else {
                            continue;
                        };
                        match self.collect(&below, &relative, depth + 1, listed, found) {
                            Err(error) if *listed > MAX_LISTED => return Err(error),
                            _ => {}
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// Returns the type of a directory entry. A link is followed if its target may be read.
    fn entry_kind(&self, path: &Path, kind: FileType) -> Option<FileType> {
        match kind {
            FileType::Symlink => self.kind(path).ok()?,
            kind => Some(kind),
        }
    }
}

impl Files for GatedFiles {
    fn list(&self, directory: &Path) -> io::Result<Vec<OsString>> {
        let mut listing = self.resolve(directory)?.open_directory()?.list()?;
        let mut names = Vec::new();
        loop {
            let piece = listing.read_piece()?;
            if piece.is_empty() {
                return Ok(names);
            }
            let files = piece.into_iter().filter(|entry| entry.kind != FileType::Directory);
            names.extend(files.map(|entry| entry.name));
        }
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let opened = self.resolve(path)?.open_file(FileOpening::READ)?;
        let bytes = opened.read(MAX_FILE_SIZE)?;
        self.gate.check_content(&CallContext::default(), opened.path(), &bytes).map_err(refused)?;
        Ok(bytes)
    }
}

fn refused(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, reason)
}
