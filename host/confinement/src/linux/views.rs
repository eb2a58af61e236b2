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

use crate::view::{DirectoryView, ViewEntry};

/// Creates the second directories below `base`. Adds the mounts of their entries, and each hidden directory
/// with the one to be mounted over it, in the order in which they must be mounted.
///
/// # Errors
/// Returns an error if a directory or a mount point cannot be created.
pub(crate) fn prepare(
    views: &[DirectoryView],
    base: &Path,
    entries: &mut Vec<(PathBuf, PathBuf)>,
    covers: &mut Vec<(PathBuf, PathBuf)>,
) -> io::Result<()> {
    for (number, view) in views.iter().enumerate() {
        let visible = base.join(format!("view-{number}"));
        fs::create_dir(&visible)?;
        add_entries(&view.entries, &view.directory, &visible, entries)?;
        covers.push((view.directory.clone(), visible));
    }
    // A directory is hidden before the directories in it. All entries must be mounted before.
    covers.sort();
    Ok(())
}

fn add_entries(
    entries: &BTreeMap<OsString, ViewEntry>,
    from: &Path,
    to: &Path,
    mounts: &mut Vec<(PathBuf, PathBuf)>,
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
                mounts.push((from, to));
            }
        }
    }
    Ok(())
}
