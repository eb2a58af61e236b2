//! Directories and files that only this user can access.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

use crate::CacheError;

pub(crate) const WRITABLE_BY_OTHERS: u32 = 0o022;
pub(crate) const READABLE_BY_OTHERS: u32 = 0o077;

/// Creates the directory if necessary, and rejects a directory to which other users can write.
///
/// # Errors
/// Returns an error if the directory cannot be created, or if other users can write to it.
pub fn private_directory(path: &Path) -> Result<(), CacheError> {
    let unusable = |source| CacheError::Unusable { path: path.to_path_buf(), source };
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(unusable)?;
    let metadata = fs::metadata(path).map_err(unusable)?;
    check_private(path, &metadata, WRITABLE_BY_OTHERS)
}

/// Creates a file that only the user can read.
///
/// # Errors
/// Returns an error if the file cannot be created, or if the name exists, even as a link.
pub fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(unix)]
pub(crate) fn check_private(path: &Path, metadata: &fs::Metadata, forbidden: u32) -> Result<(), CacheError> {
    use std::os::unix::fs::MetadataExt as _;
    let unsafe_because = |problem: String| Err(CacheError::Unsafe { path: path.into(), problem });
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return unsafe_because("belongs to another user".into());
    }
    if metadata.mode() & forbidden != 0 {
        let mode = if metadata.is_dir() { "700" } else { "600" };
        let what = if forbidden == READABLE_BY_OTHERS { "read" } else { "changed" };
        return unsafe_because(format!(
            "can be {what} by other users; run `chmod {mode}` on it to cache files there"
        ));
    }
    Ok(())
}

/// On other systems, the directories of a user are private by inheritance.
#[cfg(not(unix))]
pub(crate) fn check_private(_path: &Path, _about: &fs::Metadata, _forbidden: u32) -> Result<(), CacheError> {
    Ok(())
}
