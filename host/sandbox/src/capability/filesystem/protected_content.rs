//! Classes of protected files that a path does not reveal: those of a file's content, of the names
//! below a directory that is moved, and of other names of the same file.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use wardian_access::ProtectedClasses;
use wardian_policy::{MAX_CONTENT_HEADER_LENGTH, classes_of_file_name, recognize_content};

/// Maximum number of names below a directory that are compared.
const MAX_ENTRIES: usize = 100_000;
/// Maximum depth of such a name. Each level holds an open directory.
const MAX_DEPTH: usize = 64;

/// Opening a pipe without a peer, or a device, must not block the thread.
const LOOK: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// Returns the classes of a regular file by its first bytes, if it can be read.
pub(super) fn classes_of_content(file: &File) -> ProtectedClasses {
    let mut header = [0; MAX_CONTENT_HEADER_LENGTH];
    let length = file.read_at(&mut header, 0).unwrap_or_default();
    let class = header.get(..length).and_then(recognize_content);
    class.map_or(ProtectedClasses::NONE, ProtectedClasses::from)
}

/// Returns the classes of a file by its content, or those of the names below a directory, without
/// following a link. Something that does not exist or cannot be read has none.
///
/// # Errors
/// If a directory has too many entries to compare.
pub(super) fn classes_of_entry(parent: impl AsFd, name: &OsStr) -> Result<ProtectedClasses, Errno> {
    let Ok(opened) = openat(parent, name, LOOK | OFlags::RDONLY, Mode::empty()) else {
        return Ok(ProtectedClasses::NONE);
    };
    let file = File::from(opened);
    match file.metadata() {
        Ok(about) if about.is_file() && about.len() > 0 => Ok(classes_of_content(&file)),
        Ok(about) if about.is_dir() => {
            let mut classes = ProtectedClasses::NONE;
            let mut add = |_: BorrowedFd<'_>, _: &OsStr, found| classes = classes.union(found);
            let mut left = MAX_ENTRIES;
            visit_protected(file.into(), 0, &mut left, &mut add)?;
            Ok(classes)
        }
        _ => Ok(ProtectedClasses::NONE),
    }
}

/// Returns the classes of the files below a directory that are the same file as another one.
///
/// # Errors
/// If the directory has too many entries to compare.
pub(super) fn classes_of_links(directory: &Path, about: &Metadata) -> Result<ProtectedClasses, Errno> {
    let Ok(directory) = File::open(directory) else { return Ok(ProtectedClasses::NONE) };
    let mut classes = ProtectedClasses::NONE;
    let mut add = |parent: BorrowedFd<'_>, name: &OsStr, found| {
        #[allow(clippy::useless_conversion, reason = "their widths differ between systems")]
        let is_same = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|other| {
            (u64::from(other.st_dev), u64::from(other.st_ino)) == (about.dev(), about.ino())
        });
        if is_same {
            classes = classes.union(found);
        }
    };
    let mut left = MAX_ENTRIES;
    visit_protected(directory.into(), 0, &mut left, &mut add)?;
    Ok(classes)
}

type Visitor<'a> = dyn FnMut(BorrowedFd<'_>, &OsStr, ProtectedClasses) + 'a;

/// Calls a function for each protected name below a directory. Links are not followed, and
/// directories that cannot be read are skipped: nobody can move what is in them either.
fn visit_protected(
    directory: OwnedFd,
    depth: usize,
    left: &mut usize,
    visit: &mut Visitor<'_>,
) -> Result<(), Errno> {
    if depth > MAX_DEPTH {
        return Err(Errno::OVERFLOW);
    }
    let mut entries = Dir::read_from(&directory)?;
    while let Some(entry) = entries.read() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if matches!(name.as_bytes(), b"." | b"..") {
            continue;
        }
        *left = left.checked_sub(1).ok_or(Errno::OVERFLOW)?;
        let classes = classes_of_file_name(name);
        if !classes.is_empty() {
            visit(directory.as_fd(), name, classes);
        }
        if matches!(entry.file_type(), FileType::Directory | FileType::Unknown) {
            match openat(&directory, name, LOOK | OFlags::DIRECTORY, Mode::empty()) {
                Ok(below) => visit_protected(below, depth + 1, left, visit)?,
                Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK | Errno::ACCESS | Errno::NOENT) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}
