//! Prepares the mounts with which a program sees a part of a directory.
//!
//! For each such directory, a second one is created that contains a mount point for each visible entry.
//! The program's mount namespace mounts the entries at these points, and then the second directory over
//! the first one. Entries that other processes create later are in the hidden directory, and a
//! visible file that another process replaces stays the one that was mounted.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::linux::mounts::Mount;
use crate::view::{DirectoryView, ViewEntry};

/// The mounts of views.
pub(crate) struct PreparedViews {
    /// The mounts of the visible entries, which must be performed before any directory is hidden.
    pub(crate) entries: Vec<Mount>,
    /// A directory precedes the directories in it.
    pub(crate) directories: Vec<VisibleDirectory>,
}

/// A directory that must be mounted over another one.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct VisibleDirectory {
    pub(crate) hidden: PathBuf,
    pub(crate) visible: PathBuf,
}

impl PreparedViews {
    /// Creates the second directories below `base`.
    ///
    /// # Errors
    /// Returns an error if a directory or a mount point cannot be created.
    pub(crate) fn create(views: &[DirectoryView], base: &Path) -> io::Result<Self> {
        let mut prepared = Self { entries: Vec::new(), directories: Vec::with_capacity(views.len()) };
        for (number, view) in views.iter().enumerate() {
            let visible = base.join(format!("view-{number}"));
            fs::create_dir(&visible)?;
            add_entries(&view.entries, &view.directory, &visible, &mut prepared.entries)?;
            prepared.directories.push(VisibleDirectory { hidden: view.directory.clone(), visible });
        }
        prepared.directories.sort();
        Ok(prepared)
    }
}

fn add_entries(
    entries: &BTreeMap<OsString, ViewEntry>,
    from: &Path,
    to: &Path,
    mounts: &mut Vec<Mount>,
) -> io::Result<()> {
    for (name, entry) in entries {
        let (from, to) = (from.join(name), to.join(name));
        let kind = match fs::symlink_metadata(&from) {
            Ok(metadata) => metadata.file_type(),
            // Removed since it was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        match entry {
            ViewEntry::Partial(entries) if kind.is_dir() => {
                fs::create_dir(&to)?;
                add_entries(entries, &from, &to, mounts)?;
            }
            // Replaced since it was listed, so no entry of it is known.
            ViewEntry::Partial(_) => {}
            ViewEntry::Whole if kind.is_symlink() => symlink(fs::read_link(&from)?, &to)?,
            ViewEntry::Whole => {
                if kind.is_dir() {
                    fs::create_dir(&to)?;
                } else {
                    fs::File::create_new(&to)?;
                }
                mounts.push(Mount::new(&from, &to)?);
            }
        }
    }
    Ok(())
}
