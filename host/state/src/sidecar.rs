//! Sidecar files: the backup, the lock information and the journal of a state file.
//!
//! Their names are predictable, and their directory may come from an untrusted source such as a
//! cloned repository, so a sidecar file that is a symbolic link is never followed. (The state file
//! itself may be a symbolic link.)

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The paths of a state file's sidecar files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sidecars {
    /// The backup of the state before the first change: the state's name with the suffix `.backup`.
    pub backup: PathBuf,
    /// The lock information, which identifies the holder: `.NAME.lock.info`.
    pub lock_info: PathBuf,
    /// The write-ahead log of an apply: `.NAME.journal`.
    pub journal: PathBuf,
}

impl Sidecars {
    /// Returns the sidecar files of the state file at `state`.
    pub fn for_state(state: &Path) -> Self {
        let mut backup = state.as_os_str().to_owned();
        backup.push(".backup");
        Self {
            backup: backup.into(),
            lock_info: hidden_sibling(state, ".lock.info"),
            journal: hidden_sibling(state, ".journal"),
        }
    }

    pub fn into_paths(self) -> [PathBuf; 3] {
        [self.backup, self.lock_info, self.journal]
    }
}

/// Returns the path of `.NAME` with a suffix, in the directory of `path`. If the name already has a
/// leading dot, no other dot is added.
fn hidden_sibling(path: &Path, suffix: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let dot = if name.starts_with('.') { "" } else { "." };
    path.with_file_name(format!("{dot}{name}{suffix}"))
}

/// Opens a file. Fails if it is a symbolic link.
pub(crate) fn open_no_follow(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let mut options = options.clone();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, system::NO_FOLLOW | system::NO_WAITING);
    #[cfg(not(unix))]
    if is_link(path) {
        return Err(link_error());
    }
    let file = options.open(path).map_err(|error| if is_link(path) { link_error() } else { error })?;
    check_regular(&file)?;
    Ok(file)
}

/// Opens a file whose path may be a link. Returns an error if it is neither a regular file nor a
/// directory, and does not wait for the other end of a pipe.
pub(crate) fn open_regular(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let mut options = options.clone();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, system::NO_WAITING);
    let file = options.open(path)?;
    check_regular(&file)?;
    Ok(file)
}

/// Returns an error if the file is neither a regular file nor a directory. A directory causes an
/// error later, when it is read or written.
fn check_regular(file: &File) -> io::Result<()> {
    let kind = file.metadata()?.file_type();
    if kind.is_file() || kind.is_dir() {
        return Ok(());
    }
    Err(io::Error::other("it is neither a regular file nor a directory"))
}

/// Returns a file's bytes. Fails if it is a symbolic link.
pub(crate) fn read_no_follow(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_no_follow(path, OpenOptions::new().read(true))?.read_to_end(&mut bytes)?;
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
    pub(super) const NO_WAITING: i32 = nix::libc::O_NONBLOCK;
}

#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
mod system {
    pub(super) const NO_FOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    pub(super) const NO_WAITING: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sidecar_names_do_not_double_leading_dot() {
        let names = |state: &str| {
            Sidecars::for_state(Path::new(state)).into_paths().map(|path| path.display().to_string())
        };
        assert_eq!(
            names("a/x.tfstate"),
            ["a/x.tfstate.backup", "a/.x.tfstate.lock.info", "a/.x.tfstate.journal"]
        );
        assert_eq!(names(".x.tfstate"), [".x.tfstate.backup", ".x.tfstate.lock.info", ".x.tfstate.journal"]);
    }
}
