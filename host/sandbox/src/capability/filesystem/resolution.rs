//! Resolves a guest's path to an open directory and a name in it.
//!
//! Paths are resolved one component at a time: each directory is opened below the previous one
//! and never through a link. Links are read and resolved in the same way, so that their target
//! is known, and decided, before the operation. The operation is then performed on the name in
//! the open directory, and follows no link: a link that is inserted in the meantime causes an
//! error, and cannot be used to escape.
//!
//! Neither `..` nor a link can lead out of the directory at which the path begins, and absolute
//! links are rejected.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;

/// Maximum number of bytes of a path.
pub(crate) const MAX_PATH_LENGTH: usize = 4096;
/// Maximum number of links in one resolution.
const MAX_LINKS: usize = 40;
/// Maximum number of directories opened in one resolution. Each `..` starts again at the base.
const MAX_STEPS: usize = 4096;

/// Traversing a directory does not require read permission, if the system distinguishes the two.
#[cfg(any(target_os = "linux", target_os = "android"))]
const STEP: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const STEP: OFlags = OFlags::RDONLY;

/// An open directory.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    pub(crate) handle: Arc<File>,
    /// The directory's path: absolute, without links.
    pub(crate) path: Arc<Path>,
}

/// A resolved path.
#[derive(Debug)]
pub(crate) struct ResolvedPath {
    /// The directory that contains the file.
    pub(crate) parent: Base,
    /// The name in that directory. It is not a link if links are followed. `None` means the
    /// directory itself.
    pub(crate) name: Option<OsString>,
    /// A trailing slash requires a directory.
    pub(crate) is_directory: bool,
}

impl ResolvedPath {
    /// Returns the path: absolute, without links.
    pub(crate) fn path(&self) -> PathBuf {
        match &self.name {
            Some(name) => self.parent.path.join(name),
            None => self.parent.path.to_path_buf(),
        }
    }

    /// Returns the name in the parent directory, to be passed to the system.
    pub(crate) fn name(&self) -> &OsStr {
        self.name.as_deref().unwrap_or(OsStr::new("."))
    }
}

/// How a symbolic link in the last component of a path is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastLink {
    /// The link is resolved.
    Follow,
    /// The link itself is the result.
    Keep,
}

/// An error of resolving a path.
#[derive(Debug)]
pub(crate) enum ResolutionError {
    /// The path leads out of its directory, to this path.
    Outside(PathBuf),
    /// The system reported an error.
    System(io::Error),
}

impl From<Errno> for ResolutionError {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}

/// Opens a directory below another one. None of the names on the way may be a link.
pub(crate) fn descend(base: &Base, names: &[OsString]) -> io::Result<Base> {
    let Some((last, way)) = names.split_last() else { return Ok(base.clone()) };
    let mut handle = Arc::clone(&base.handle);
    let mut path = base.path.to_path_buf();
    for name in way {
        handle = Arc::new(step(&handle, name, STEP)?);
        path.push(name);
    }
    handle = Arc::new(step(&handle, last, OFlags::RDONLY).or_else(|_| step(&handle, last, STEP))?);
    path.push(last);
    Ok(Base { handle, path: path.into() })
}

fn step(directory: &File, name: &OsStr, flags: OFlags) -> Result<File, Errno> {
    let flags = flags | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(directory, name, flags, Mode::empty()).map(File::from)
}

/// Resolves a path. `passed` receives the other paths that the result reveals: links that were
/// followed, directories that were left again, and the path at which resolution ended.
///
/// # Errors
/// If the path leads out of its directory, or a component on the way is not a directory.
pub(crate) fn resolve(
    base: &Base,
    path: &str,
    last: LastLink,
    passed: &mut Vec<PathBuf>,
) -> Result<ResolvedPath, ResolutionError> {
    if path.is_empty() {
        return Err(Errno::NOENT.into());
    }
    if path.contains('\0') {
        return Err(Errno::INVAL.into());
    }
    if path.len() > MAX_PATH_LENGTH {
        return Err(Errno::NAMETOOLONG.into());
    }
    if path.starts_with('/') {
        return Err(ResolutionError::Outside(PathBuf::from(path)));
    }
    let mut way =
        PathWalker { base, handle: Arc::clone(&base.handle), names: Vec::new(), passed, steps: 0, links: 0 };
    let mut pending = Vec::new();
    let mut is_directory = ahead(&mut pending, OsStr::new(path));
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
                let ends_open = ahead(&mut pending, &target);
                is_directory |= is_last && ends_open;
            }
            None if is_last => return Ok(way.place(Some(name), is_directory)),
            None => {}
        }
    }
    Ok(way.place(None, true))
}

/// Pushes the names of a path onto the pending ones, so that the first name is on top, and returns
/// whether the path requires a directory.
fn ahead(pending: &mut Vec<OsString>, path: &OsStr) -> bool {
    let names = path.as_bytes().split(|byte| *byte == b'/');
    let last = names.clone().next_back().unwrap_or_default();
    let names = names.filter(|name| !matches!(*name, b"" | b"."));
    pending.extend(names.rev().map(|name| OsString::from_vec(name.to_vec())));
    matches!(last, b"" | b"." | b"..")
}

/// The progress of a resolution.
struct PathWalker<'a> {
    base: &'a Base,
    handle: Arc<File>,
    /// The names of the directories from the base to the current one.
    names: Vec<OsString>,
    passed: &'a mut Vec<PathBuf>,
    steps: usize,
    links: usize,
}

impl PathWalker<'_> {
    fn place(self, name: Option<OsString>, is_directory: bool) -> ResolvedPath {
        let path = if self.names.is_empty() { Arc::clone(&self.base.path) } else { self.path().into() };
        ResolvedPath { parent: Base { handle: self.handle, path }, name, is_directory }
    }

    fn path(&self) -> PathBuf {
        let mut path = self.base.path.to_path_buf();
        path.extend(&self.names);
        path
    }

    /// Opens the next directory, or returns the target if the name is a link.
    fn down(&mut self, name: &OsStr) -> Result<Option<OsString>, ResolutionError> {
        self.count_step()?;
        match step(&self.handle, name, STEP) {
            Ok(handle) => {
                self.handle = Arc::new(handle);
                self.names.push(name.to_owned());
                Ok(None)
            }
            // Systems return different errors for a link that is not followed.
            Err(error @ (Errno::NOTDIR | Errno::LOOP | Errno::MLINK)) => match self.link(name)? {
                Some(target) => Ok(Some(target)),
                None => Err(error.into()),
            },
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the target if the name is a link.
    fn link(&mut self, name: &OsStr) -> Result<Option<OsString>, ResolutionError> {
        let target = match readlinkat(&self.handle, name, Vec::new()) {
            Ok(target) => OsString::from_vec(target.into_bytes()),
            Err(Errno::INVAL | Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Errno::LOOP.into());
        }
        if target.is_empty() {
            return Err(Errno::NOENT.into());
        }
        if target.as_bytes().starts_with(b"/") {
            return Err(ResolutionError::Outside(target.into()));
        }
        Ok(Some(target))
    }

    /// Goes to the parent directory. The open directory's own `..` is not used: it may have been
    /// moved meanwhile.
    fn up(&mut self, pending: &[OsString]) -> Result<(), ResolutionError> {
        if self.names.is_empty() {
            let mut beyond = self.path().join("..");
            beyond.extend(pending.iter().rev());
            return Err(ResolutionError::Outside(beyond));
        }
        self.passed.push(self.path());
        self.names.pop();
        let names = std::mem::take(&mut self.names);
        self.handle = Arc::clone(&self.base.handle);
        for name in names {
            self.count_step()?;
            self.handle = Arc::new(step(&self.handle, &name, STEP)?);
            self.names.push(name);
        }
        Ok(())
    }

    fn count_step(&mut self) -> Result<(), Errno> {
        self.steps += 1;
        if self.steps > MAX_STEPS { Err(Errno::LOOP) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    struct Tree {
        root: tempfile::TempDir,
    }

    impl Tree {
        fn new() -> Self {
            let tree = Self { root: tempfile::tempdir().unwrap() };
            fs::create_dir_all(tree.path("a/b")).unwrap();
            fs::write(tree.path("a/b/file"), "").unwrap();
            for (name, target) in [
                ("link", "a/b"),
                ("a/up", "../a/b/file"),
                ("slash", "a/"),
                ("out", "../elsewhere"),
                ("absolute", "/etc"),
                ("loop", "loop"),
                ("dangling", "a/new"),
            ] {
                symlink(target, tree.path(name)).unwrap();
            }
            tree
        }

        fn path(&self, name: &str) -> PathBuf {
            self.root.path().join(name)
        }

        /// Resolves a path and returns the result below the root, or the error.
        fn find(&self, path: &str, last: LastLink) -> String {
            let handle = Arc::new(File::open(self.root.path()).unwrap());
            let base = Base { handle, path: Arc::from(self.root.path()) };
            match resolve(&base, path, last, &mut Vec::new()) {
                Ok(place) => {
                    let inner = place.path().strip_prefix(self.root.path()).unwrap().display().to_string();
                    inner + if place.is_directory { "/" } else { "" }
                }
                Err(ResolutionError::Outside(_)) => "outside".into(),
                Err(ResolutionError::System(error)) => Errno::from_io_error(&error).unwrap().to_string(),
            }
        }
    }

    #[test]
    fn paths_resolve_as_in_the_system() {
        let tree = Tree::new();
        for (path, expected) in [
            ("a/b/file", "a/b/file"),
            (".//a/./b//file", "a/b/file"),
            ("a/../a/b", "a/b"),
            ("a/b/", "a/b/"),
            (".", "/"),
            ("a/..", "/"),
            ("link/file", "a/b/file"),
            ("link/../up", "a/b/file"),
            ("link", "a/b"),
            ("link/", "a/b/"),
            ("slash", "a/"),
            ("dangling", "a/new"),
            ("new", "new"),
            ("a/b/new", "a/b/new"),
        ] {
            assert_eq!(tree.find(path, LastLink::Follow), expected, "{path}");
        }
        assert_eq!(tree.find("link", LastLink::Keep), "link");
        assert_eq!(tree.find("link/", LastLink::Keep), "a/b/", "a slash follows the link");
    }

    #[test]
    fn paths_that_lead_out_are_rejected() {
        let tree = Tree::new();
        for path in
            ["..", "../x", "a/../..", "out", "out/x", "absolute", "absolute/x", "/etc", "link/../../.."]
        {
            assert_eq!(tree.find(path, LastLink::Follow), "outside", "{path}");
        }
        assert_eq!(tree.find("out", LastLink::Keep), "out", "the link itself is inside");
    }

    #[test]
    fn invalid_paths_are_rejected() {
        let tree = Tree::new();
        let long = "a/../".repeat(MAX_PATH_LENGTH / 5);
        let too_long = "a".repeat(MAX_PATH_LENGTH + 1);
        for (path, expected) in [
            ("", Errno::NOENT),
            ("absent/x", Errno::NOENT),
            ("a/b/file/x", Errno::NOTDIR),
            ("loop", Errno::LOOP),
            ("loop/x", Errno::LOOP),
            ("a\0b", Errno::INVAL),
            (&too_long, Errno::NAMETOOLONG),
        ] {
            assert_eq!(tree.find(path, LastLink::Follow), expected.to_string(), "{path}");
        }
        assert_eq!(tree.find(&long, LastLink::Follow), "/");
    }
}
