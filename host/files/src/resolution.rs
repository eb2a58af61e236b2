//! Resolves a path to an open directory and a name in it.
//!
//! Paths are resolved one component at a time: each directory is opened in the previous directory
//! and never through a symbolic link. Symbolic links are read and resolved in the same way. The
//! target is therefore known before the operation and can be checked. The operation is then
//! performed on the name in the open directory and does not follow a symbolic link: a link that is
//! inserted between resolution and operation causes an error instead of an escape.
//!
//! [`LinkRule`] determines the allowed targets of symbolic links.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::directory::Directory;
use crate::error::FileAccessError;
use crate::open_file::{FileOpening, OpenedFile};
use crate::writable_directories::WritableDirectories;

/// The maximum number of bytes of a path.
pub const MAX_PATH_LENGTH: usize = 4096;
/// The maximum number of symbolic links in one resolution.
const MAX_LINKS: usize = 40;
/// The maximum number of directories that are opened in one resolution. Each `..` opens the
/// directories from the base again.
const MAX_STEPS: usize = 4096;

/// The treatment of a symbolic link in the last component of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastLink {
    /// The symbolic link is resolved.
    Follow,
    /// The symbolic link itself is the result.
    Keep,
}

/// The allowed targets of paths and symbolic links.
#[derive(Clone, Copy, Debug)]
pub enum LinkRule<'a> {
    /// For plugins: neither `..` nor a symbolic link may leave the directory at which the path
    /// begins, and absolute links are rejected.
    Relative,
    /// For untrusted configurations: the same as `Relative`, but an absolute link may point into
    /// the directory.
    Beneath,
    /// For the operator's configuration: any target, except that a symbolic link in one of these
    /// directories is not followed out of that directory. The path begins at the root directory.
    Anywhere(&'a WritableDirectories),
    /// For paths that a policy grants: any target that is not reached through a symbolic link in
    /// one of these directories. The path begins at the root directory.
    NoPluginLinks(&'a WritableDirectories),
}

#[derive(Debug)]
pub struct ResolvedPath {
    /// The directory that contains the file.
    pub parent: Directory,
    /// The name in that directory. It is not a symbolic link if symbolic links are followed. `None`
    /// means the directory itself.
    pub name: Option<OsString>,
    /// Whether a trailing slash requires a directory.
    pub is_directory: bool,
}

impl ResolvedPath {
    /// Returns the path: absolute, without symbolic links.
    pub fn path(&self) -> PathBuf {
        match &self.name {
            Some(name) => self.parent.join(name),
            None => self.parent.path().to_path_buf(),
        }
    }

    /// Returns the name to pass to the system, in the parent directory.
    pub fn name(&self) -> &OsStr {
        self.name.as_deref().unwrap_or(OsStr::new("."))
    }

    /// Opens the file or directory.
    ///
    /// # Errors
    /// Returns an error if the path does not refer to a regular file or directory, or if it cannot
    /// be opened.
    pub fn open_file(&self, how: FileOpening) -> Result<OpenedFile, FileAccessError> {
        let how = FileOpening { directory: how.directory || self.is_directory, ..how };
        self.parent.open_file(self.name(), how)
    }

    /// Opens the directory.
    ///
    /// # Errors
    /// Returns an error if the path does not refer to a directory, or if it cannot be opened.
    pub fn open_directory(&self) -> Result<Directory, FileAccessError> {
        self.parent.open_directory(self.name())
    }

    /// Returns the type; `None` if the file does not exist.
    ///
    /// # Errors
    /// Returns an error if the file belongs to a process, or if its metadata cannot be read.
    pub fn kind(&self) -> Result<Option<FileType>, FileAccessError> {
        self.parent.kind(self.name())
    }
}

/// Resolves a path. `passed` receives the other paths whose existence the result reveals: symbolic
/// links that were followed, directories that `..` left, and the path at which resolution ended.
///
/// # Errors
/// Returns an error if the path leads out of its directory, or a component before the last one is
/// not a directory.
pub fn resolve(
    base: &Directory,
    path: &OsStr,
    last: LastLink,
    rule: LinkRule<'_>,
    passed: &mut Vec<PathBuf>,
) -> Result<ResolvedPath, FileAccessError> {
    let bytes = path.as_bytes();
    if bytes.is_empty() {
        return Err(Errno::NOENT.into());
    }
    if bytes.contains(&0) {
        return Err(Errno::INVAL.into());
    }
    if bytes.len() > MAX_PATH_LENGTH {
        return Err(Errno::NAMETOOLONG.into());
    }
    if bytes.starts_with(b"/") && base.path().parent().is_some() {
        return Err(FileAccessError::Outside { path: PathBuf::from(path) });
    }
    let mut way = PathWalker {
        base,
        directory: base.clone(),
        names: Vec::new(),
        rule,
        confined: None,
        passed,
        steps: 0,
        links: 0,
    };
    let mut pending = Vec::new();
    let mut is_directory = ahead(&mut pending, path);
    while let Some(name) = pending.pop() {
        if name == ".." {
            way.up(&pending)?;
            continue;
        }
        let is_last = pending.is_empty();
        if is_last && last == LastLink::Keep && !is_directory {
            return Ok(way.place(Some(name), false));
        }
        let link = if is_last { way.link(&name) } else { way.down(&name) };
        if !matches!(link, Ok(None)) {
            way.passed.push(way.path().join(&name));
        }
        match link? {
            Some(target) => {
                let target = way.enter_link(&name, target)?;
                let ends_open = ahead(&mut pending, &target);
                is_directory |= is_last && ends_open;
            }
            None if is_last => return Ok(way.place(Some(name), is_directory)),
            None => {}
        }
    }
    Ok(way.place(None, true))
}

/// Pushes the components of a path onto the stack of pending components, the first on top. Returns
/// whether the path must resolve to a directory.
fn ahead(pending: &mut Vec<OsString>, path: &OsStr) -> bool {
    let names = path.as_bytes().split(|byte| *byte == b'/');
    let last = names.clone().next_back().unwrap_or_default();
    let names = names.filter(|name| !matches!(*name, b"" | b"."));
    pending.extend(names.rev().map(|name| OsString::from_vec(name.to_vec())));
    matches!(last, b"" | b"." | b"..")
}

/// Returns the components of an absolute path.
pub(crate) fn names_of(path: &Path) -> Vec<OsString> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            _ => None,
        })
        .collect()
}

/// The progress of a resolution.
struct PathWalker<'a> {
    base: &'a Directory,
    /// The current directory. Its path is not used; `names` contains the path instead.
    directory: Directory,
    /// The components below the base.
    names: Vec<OsString>,
    rule: LinkRule<'a>,
    /// The symbolic link that was followed in a directory that a plugin may write to, and that
    /// directory. The rest of the path must not leave the directory.
    confined: Option<(PathBuf, PathBuf)>,
    passed: &'a mut Vec<PathBuf>,
    steps: usize,
    links: usize,
}

impl PathWalker<'_> {
    fn place(self, name: Option<OsString>, is_directory: bool) -> ResolvedPath {
        let parent = if self.names.is_empty() {
            self.directory.with_path(self.base.shared_path())
        } else {
            self.directory.with_path(self.path().into())
        };
        ResolvedPath { parent, name, is_directory }
    }

    fn path(&self) -> PathBuf {
        let mut path = self.base.path().to_path_buf();
        path.extend(&self.names);
        path
    }

    /// Opens the next directory, or returns the target if the name is a symbolic link.
    fn down(&mut self, name: &OsStr) -> Result<Option<OsString>, FileAccessError> {
        self.count_step()?;
        match self.directory.step(name) {
            Ok(directory) => {
                self.directory = directory;
                self.names.push(name.to_owned());
                Ok(None)
            }
            // Systems report different errors for a symbolic link that is not followed.
            Err(error @ (Errno::NOTDIR | Errno::LOOP | Errno::MLINK)) => match self.link(name)? {
                Some(target) => Ok(Some(target)),
                None => Err(error.into()),
            },
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the target if the name is a symbolic link.
    fn link(&mut self, name: &OsStr) -> Result<Option<OsString>, FileAccessError> {
        let Some(target) = self.directory.link_target(name)? else { return Ok(None) };
        // Symbolic links in procfs do not necessarily resolve to the target that they report.
        self.directory.metadata(name)?;
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Errno::LOOP.into());
        }
        if target.is_empty() {
            return Err(Errno::NOENT.into());
        }
        Ok(Some(target))
    }

    /// Applies the rule to a symbolic link in the current directory. Returns the rest of its
    /// target, which is resolved from the directory that is current after the call.
    fn enter_link(&mut self, name: &OsStr, target: OsString) -> Result<OsString, FileAccessError> {
        match self.rule {
            LinkRule::Relative | LinkRule::Beneath => {}
            LinkRule::NoPluginLinks(directories) => {
                let here = self.path();
                if let Some(directory) = directories.containing(&here) {
                    return Err(FileAccessError::PluginLink {
                        link: here.join(name),
                        directory: directory.to_owned(),
                    });
                }
            }
            LinkRule::Anywhere(directories) => {
                let here = self.path();
                if let Some(directory) = directories.containing(&here) {
                    self.confined = Some((here.join(name), directory.to_owned()));
                }
            }
        }
        if !target.as_bytes().starts_with(b"/") {
            return Ok(target);
        }
        let outside = || FileAccessError::Outside { path: PathBuf::from(&target) };
        let within = match (self.rule, &self.confined) {
            (LinkRule::Relative, _) => return Err(outside()),
            (LinkRule::Beneath, _) => self.base.path().to_owned(),
            (_, Some((_, directory))) => directory.clone(),
            (_, None) => PathBuf::from("/"),
        };
        // Only names are compared, so a target outside the directory is not accessed.
        let Ok(rest) = Path::new(&target).strip_prefix(&within) else {
            return Err(self.plugin_link().unwrap_or_else(outside));
        };
        let mut rest = rest.as_os_str().to_owned();
        if rest.is_empty() || target.as_bytes().ends_with(b"/") {
            rest.push("/.");
        }
        let names = within.strip_prefix(self.base.path()).map(names_of).unwrap_or_default();
        self.restart(names)?;
        Ok(rest)
    }

    /// Changes to the parent directory. The entry `..` of the open directory is not used, because
    /// the directory may have been moved.
    fn up(&mut self, pending: &[OsString]) -> Result<(), FileAccessError> {
        if let Some((_, directory)) = &self.confined
            && self.path() == *directory
            && let Some(error) = self.plugin_link()
        {
            return Err(error);
        }
        if self.names.is_empty() {
            // The parent of the root is the root.
            if matches!(self.rule, LinkRule::Anywhere(_) | LinkRule::NoPluginLinks(_)) {
                return Ok(());
            }
            let mut beyond = self.path().join("..");
            beyond.extend(pending.iter().rev());
            return Err(FileAccessError::Outside { path: beyond });
        }
        self.passed.push(self.path());
        let mut names = std::mem::take(&mut self.names);
        names.pop();
        self.restart(names)
    }

    fn plugin_link(&self) -> Option<FileAccessError> {
        let (link, directory) = self.confined.clone()?;
        Some(FileAccessError::PluginLink { link, directory })
    }

    /// Opens a directory below the base; the names must not be symbolic links.
    fn restart(&mut self, names: Vec<OsString>) -> Result<(), FileAccessError> {
        self.names = Vec::with_capacity(names.len());
        self.directory = self.base.clone();
        for name in names {
            self.count_step()?;
            self.directory = self.directory.step(&name)?;
            self.names.push(name);
        }
        Ok(())
    }

    fn count_step(&mut self) -> Result<(), io::Error> {
        self.steps += 1;
        if self.steps > MAX_STEPS { Err(Errno::LOOP.into()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
