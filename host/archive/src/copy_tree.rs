//! Copies directory trees.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The method of copying a tree.
#[derive(Clone, Copy, Debug, Default)]
pub struct CopyOptions {
    /// Skips files and directories whose name begins with a dot, as Terraform does for a second
    /// copy of a module package.
    pub skips_hidden: bool,
    /// Creates hard links to the files if the file system allows it. Then a later change of a file
    /// in one of the trees also changes the other.
    pub uses_hard_links: bool,
}

/// A tree that could not be copied.
#[derive(Debug, thiserror::Error)]
#[error("failed to copy {} to {}: {source}", from.display(), to.display())]
pub struct CopyError {
    /// The file or directory.
    pub from: PathBuf,
    pub to: PathBuf,
    pub source: io::Error,
}

/// Copies the content of a directory to another, which is created if it does not exist. Symbolic
/// links are copied as links with the same target, and never followed. A file that exists at the
/// target is not replaced. If the target is in the directory, it is not copied into itself.
///
/// The time is proportional to the number of entries and to the size of the files.
///
/// # Errors
/// Returns an error if an entry cannot be read or written, exists at the target, or is neither a
/// file, a directory nor a link. The entries that were copied before remain.
pub fn copy_tree(from: &Path, to: &Path, options: CopyOptions) -> Result<(), CopyError> {
    let failed = |source| CopyError { from: from.to_owned(), to: to.to_owned(), source };
    // A module can be installed as a link to its directory.
    let root = fs::canonicalize(from).map_err(failed)?;
    fs::create_dir_all(to).map_err(failed)?;
    let target = fs::metadata(to).map_err(failed)?;
    let mut left = vec![(root, to.to_owned())];
    while let Some((from, to)) = left.pop() {
        let failed = |source| CopyError { from: from.clone(), to: to.clone(), source };
        for entry in fs::read_dir(&from).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if options.skips_hidden && name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let (from, to) = (entry.path(), to.join(&name));
            let failed = |source| CopyError { from: from.clone(), to: to.clone(), source };
            let file_type = entry.file_type().map_err(failed)?;
            if file_type.is_dir() {
                if is_same(&entry.metadata().map_err(failed)?, &target) {
                    continue;
                }
                fs::create_dir(&to).map_err(failed)?;
                left.push((from, to));
            } else if file_type.is_symlink() {
                fs::read_link(&from).and_then(|link| copy_link(&link, &to)).map_err(failed)?;
            } else if !(options.uses_hard_links && file_type.is_file() && fs::hard_link(&from, &to).is_ok()) {
                copy_file(&from, &to).map_err(failed)?;
            }
        }
    }
    Ok(())
}

/// Whether both are the same directory, regardless of its path.
#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_one: &Metadata, _other: &Metadata) -> bool {
    false
}

/// Copies a regular file with its permissions, without following a link at either path.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut reading = OpenOptions::new();
    reading.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut reading, flags);
    }
    let mut source = reading.open(from)?;
    let metadata = source.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is neither a file, a directory nor a symbolic link"));
    }
    let mut target = File::create_new(to)?;
    io::copy(&mut source, &mut target)?;
    target.set_permissions(permissions(&metadata))
}

/// Returns the permissions of a copy, without the set-user-ID and set-group-ID bits.
#[cfg(unix)]
fn permissions(metadata: &Metadata) -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    fs::Permissions::from_mode((metadata.permissions().mode() & 0o777) | 0o600)
}

#[cfg(not(unix))]
fn permissions(metadata: &Metadata) -> fs::Permissions {
    metadata.permissions()
}

#[cfg(unix)]
fn copy_link(target: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
fn copy_link(_target: &Path, _path: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
