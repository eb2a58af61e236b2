//! Files beside the state. Their names can be foreseen, and their directory may
//! have come from anybody, as with a cloned repository: a symbolic link that lies
//! in their place is never followed. (The state file itself may be one.)

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// `.NAME` and a suffix, in the directory of `path`; a leading dot is not doubled.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let dot = if name.starts_with('.') { "" } else { "." };
    path.with_file_name(format!("{dot}{name}{suffix}"))
}

/// Opens a file, but not through a symbolic link.
pub(crate) fn open_itself(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let mut options = options.clone();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, system::NO_FOLLOW);
    #[cfg(not(unix))]
    if is_link(path) {
        return Err(link_error());
    }
    options.open(path).map_err(|error| if is_link(path) { link_error() } else { error })
}

/// A file's bytes, but not through a symbolic link.
pub(crate) fn read_itself(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_itself(path, OpenOptions::new().read(true))?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
}

fn link_error() -> io::Error {
    io::Error::other("it is a symbolic link, which is not followed; remove it if it is not wanted")
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    pub(super) const NO_FOLLOW: i32 = nix::libc::O_NOFOLLOW;
}

#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
mod system {
    pub(super) const NO_FOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
}
