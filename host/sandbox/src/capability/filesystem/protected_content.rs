//! Determines classes of protected files that a path does not identify: from a file's content, from
//! the names in a directory that is to be moved, and from other names of the same file.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

use wardian_access::ProtectedClasses;
use wardian_files::{Directory, FileOpening, FileScope, UnreadableDirectory, visit_tree};
use wardian_policy::{MAX_CONTENT_HEADER_LENGTH, classes_of_file_name, recognize_content};

/// Returns the classes of a regular file by its first bytes, if it can be read.
pub(super) fn classes_of_content(file: &File) -> ProtectedClasses {
    let mut header = [0; MAX_CONTENT_HEADER_LENGTH];
    let length = file.read_at(&mut header, 0).unwrap_or_default();
    let class = header.get(..length).and_then(recognize_content);
    class.map_or(ProtectedClasses::NONE, ProtectedClasses::from)
}

/// Returns the classes of a file by its content, or the classes of the names below a directory,
/// without following a symbolic link. A path that does not exist or cannot be read has no classes.
///
/// # Errors
/// Returns an error if a directory has too many entries to compare.
pub(super) fn classes_of_entry(parent: &Directory, name: &OsStr) -> io::Result<ProtectedClasses> {
    let mut classes = ProtectedClasses::NONE;
    let Ok(opened) = parent.open_file(name, FileOpening::READ) else { return Ok(classes) };
    if !opened.is_directory() {
        return Ok(if opened.metadata().len() > 0 { classes_of_content(opened.file()) } else { classes });
    }
    visit_tree(parent, name, UnreadableDirectory::Skip, &mut |_, name, depth, _| {
        if depth > 0 {
            classes = classes.union(classes_of_file_name(name));
        }
        Ok(())
    })?;
    Ok(classes)
}

/// Returns the classes that the names of a file's hard links below a directory imply.
///
/// # Errors
/// Returns an error if the directory has too many entries to compare.
pub(super) fn classes_of_links(directory: &Path, about: &Metadata) -> io::Result<ProtectedClasses> {
    let mut classes = ProtectedClasses::NONE;
    let here = OsStr::new(".");
    let opened = FileScope::confined(directory).and_then(|scope| Ok(scope.open_directory(here.as_ref())?));
    let Ok(directory) = opened else { return Ok(classes) };
    visit_tree(&directory, here, UnreadableDirectory::Skip, &mut |parent, name, _, _| {
        let found = classes_of_file_name(name);
        if !found.is_empty() && parent.metadata(name).is_ok_and(|other| is_same(about, &other)) {
            classes = classes.union(found);
        }
        Ok(())
    })?;
    Ok(classes)
}

fn is_same(one: &Metadata, other: &rustix::fs::Stat) -> bool {
    #[allow(clippy::useless_conversion, reason = "their widths differ between systems")]
    let other = (u64::from(other.st_dev), u64::from(other.st_ino));
    other == (one.dev(), one.ino())
}
