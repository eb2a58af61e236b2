//! Checks symbolic links before they are moved, since a relative link refers to a different file
//! when it is in another directory.
//!
//! A symbolic link in a directory may move together with the directory if the target of the link is
//! also in that directory, regardless of the new name. Absolute links and links to targets outside
//! the moved file or directory are rejected, since a program outside the sandbox could follow them
//! later.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::directory::Directory;
use crate::error::FileAccessError;

/// The maximum number of names that are visited in a directory tree.
const MAX_VISITED_ENTRIES: usize = 100_000;
/// The maximum depth of a visited name. Each level holds an open directory.
const MAX_DEPTH: usize = 64;

/// Receives a directory, a name in it, its depth below the first name, and its type.
pub type Visitor<'a> = dyn FnMut(&Directory, &OsStr, usize, FileType) -> Result<(), FileAccessError> + 'a;

/// The treatment of a directory that the user cannot read, or that is removed during the visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreadableDirectory {
    /// The visit returns an error.
    Reject,
    /// The visit skips the content of the directory.
    Skip,
}

impl UnreadableDirectory {
    fn skips(self, error: &FileAccessError) -> bool {
        const UNREADABLE: [Errno; 5] =
            [Errno::ACCESS, Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::MLINK];
        self == Self::Skip
            && match error {
                FileAccessError::Process => true,
                FileAccessError::System(error) => {
                    Errno::from_io_error(error).is_some_and(|error| UNREADABLE.contains(&error))
                }
                _ => false,
            }
    }
}

/// Calls a function for a name and, if it is a directory, for everything below it. Symbolic links
/// are not followed.
///
/// # Errors
/// Returns an error if the function returns an error, if there are more than `MAX_VISITED_ENTRIES`
/// names or more than 64 levels, or if the name or a directory below it cannot be read.
pub fn visit_tree(
    parent: &Directory,
    name: &OsStr,
    unreadable: UnreadableDirectory,
    visit: &mut Visitor<'_>,
) -> Result<(), FileAccessError> {
    let Some(kind) = parent.kind(name)? else { return Err(Errno::NOENT.into()) };
    TreeWalk { left: MAX_VISITED_ENTRIES, unreadable, visit }.visit_entry(parent, name, kind, 0)
}

struct TreeWalk<'a, 'b> {
    left: usize,
    unreadable: UnreadableDirectory,
    visit: &'a mut Visitor<'b>,
}

impl TreeWalk<'_, '_> {
    fn visit_entry(
        &mut self,
        parent: &Directory,
        name: &OsStr,
        kind: FileType,
        depth: usize,
    ) -> Result<(), FileAccessError> {
        self.left = self.left.checked_sub(1).ok_or(Errno::OVERFLOW)?;
        (self.visit)(parent, name, depth, kind)?;
        if kind != FileType::Directory {
            return Ok(());
        }
        if depth >= MAX_DEPTH {
            return Err(Errno::OVERFLOW.into());
        }
        let opened = parent.open_directory(name).and_then(|directory| Ok((directory.list()?, directory)));
        let (mut listing, directory) = match opened {
            Ok(opened) => opened,
            Err(error) if self.unreadable.skips(&error) => return Ok(()),
            Err(error) => return Err(error),
        };
        loop {
            let piece = listing.read_piece()?;
            if piece.is_empty() {
                return Ok(());
            }
            for entry in piece {
                self.visit_entry(&directory, &entry.name, entry.kind, depth + 1)?;
            }
        }
    }
}

/// Checks a file or directory before it is moved to another parent directory: no symbolic link in
/// it may point outside of it.
///
/// # Errors
/// Returns [`FileAccessError::Outside`] for such a link, and an error if there are too many files
/// to check.
pub fn check_moved_links(parent: &Directory, name: &OsStr) -> Result<(), FileAccessError> {
    visit_tree(parent, name, UnreadableDirectory::Reject, &mut |directory, name, depth, kind| {
        if kind != FileType::Symlink {
            return Ok(());
        }
        let target = directory.read_link(name)?;
        // A link directly in the moved directory has depth 1, and its target must not begin with
        // `..`.
        if stays_beneath(&target, depth.saturating_sub(1)) {
            return Ok(());
        }
        let path = if target.as_bytes().starts_with(b"/") {
            PathBuf::from(target)
        } else {
            directory.path().join(target)
        };
        Err(FileAccessError::Outside { path })
    })
}

/// Whether the target of a symbolic link is inside the directory `depth` levels above the link's
/// parent, regardless of what the names in the target refer to. `..` after a name is rejected,
/// because that name may be a symbolic link.
pub fn stays_beneath(target: &OsStr, depth: usize) -> bool {
    let bytes = target.as_bytes();
    if bytes.starts_with(b"/") {
        return false;
    }
    let mut names = bytes.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b".")).peekable();
    let mut up = 0;
    while names.next_if(|name| *name == b"..").is_some() {
        up += 1;
    }
    up <= depth && names.all(|name| name != b"..")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    fn open(path: &Path) -> Directory {
        Directory::open_absolute(&path.canonicalize().unwrap()).unwrap()
    }

    #[test]
    fn link_targets_outside_the_directory_are_detected() {
        for (target, depth, expected) in [
            ("a/b", 0, true),
            ("./a", 0, true),
            ("..", 0, false),
            ("../a", 1, true),
            ("../../a", 1, false),
            ("a/../b", 5, false),
            ("/a", 5, false),
        ] {
            assert_eq!(stays_beneath(OsStr::new(target), depth), expected, "{target} {depth}");
        }
    }

    #[test]
    fn links_may_move_only_within_their_directory() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("d/e/f")).unwrap();
        symlink("../../x", root.path().join("d/e/f/inside")).unwrap();
        symlink("f", root.path().join("d/e/down")).unwrap();
        let base = open(root.path());
        check_moved_links(&base, OsStr::new("d")).unwrap();
        let inner = open(&root.path().join("d"));
        assert!(check_moved_links(&inner, OsStr::new("e")).is_err(), "the link leads above e");
        check_moved_links(&open(&root.path().join("d/e")), OsStr::new("down")).unwrap();
        symlink("/etc", root.path().join("d/absolute")).unwrap();
        assert!(check_moved_links(&base, OsStr::new("d")).is_err());
    }

    #[test]
    fn large_and_deep_trees_are_rejected() {
        let root = tempfile::tempdir().unwrap();
        for index in 0..20 {
            fs::write(root.path().join(index.to_string()), "").unwrap();
        }
        let parent = open(root.path().parent().unwrap());
        let name = root.path().file_name().unwrap();
        let count = |max| {
            let mut seen = 0;
            let mut visit = |_: &Directory, _: &OsStr, _, _| {
                seen += 1;
                Ok(())
            };
            let mut walk = TreeWalk { left: max, unreadable: UnreadableDirectory::Reject, visit: &mut visit };
            walk.visit_entry(&parent, name, FileType::Directory, 0).map(|()| seen)
        };
        assert_eq!(count(21).unwrap(), 21);
        assert!(count(20).is_err());
        let mut deep = root.path().to_owned();
        deep.extend(vec!["d"; MAX_DEPTH + 1]);
        fs::create_dir_all(&deep).unwrap();
        assert!(count(1_000).is_err());
    }

    #[test]
    fn directory_that_vanishes_is_rejected_or_skipped() {
        let root = tempfile::tempdir().unwrap();
        let parent = open(root.path());
        let visit = |unreadable| {
            fs::create_dir_all(root.path().join("d/e")).unwrap();
            let mut seen = Vec::new();
            let visited = visit_tree(&parent, OsStr::new("d"), unreadable, &mut |directory, name, _, _| {
                seen.push(name.to_owned());
                if name == "e" { Ok(directory.remove_directory(name)?) } else { Ok(()) }
            });
            assert_eq!(seen, ["d", "e"]);
            visited
        };
        assert!(visit(UnreadableDirectory::Reject).is_err());
        assert!(visit(UnreadableDirectory::Skip).is_ok());
    }
}
