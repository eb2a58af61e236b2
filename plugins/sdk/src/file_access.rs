//! Access to files: which paths the host grants, and where relative paths start.
//!
//! A provider that takes paths from a configuration checks the grant before it opens a file. A
//! missing grant is then an error; otherwise it would look like an absent file, and the provider
//! would drop the resource from the state.
//!
//! The C library below std compares preopened directories and paths without their leading
//! slashes, so `/etc/hosts` would be the file `etc/hosts` in the working directory. It does not
//! once the component has entered its working directory, so the exports of this crate do that
//! first.

use std::path::Path;

/// Returns whether the host grants any access to the path, whether or not a file exists there.
/// The host records a denied path in the audit log.
#[cfg(target_os = "wasi")]
pub fn is_granted(path: &Path) -> bool {
    // The error of WASI's C library when the host denies access. Errors of the operating system
    // have other codes.
    const NOT_PERMITTED: i32 = 63;
    let looked = std::fs::metadata(path);
    looked.map_or_else(|error| error.raw_os_error() != Some(NOT_PERMITTED), |_| true)
}

/// Outside a sandbox, the operating system decides about every path.
#[cfg(not(target_os = "wasi"))]
pub fn is_granted(_path: &Path) -> bool {
    true
}

/// Makes the working directory that the host reports the base of relative paths.
#[cfg(target_os = "wasi")]
pub(crate) fn enter_working_directory() {
    if let Some(directory) = wasip2::cli::environment::initial_cwd() {
        // If the directory is not granted, every use of a relative path fails anyway.
        let _ = std::env::set_current_dir(directory);
    }
}

/// Outside a sandbox, the process already has a working directory.
#[cfg(not(target_os = "wasi"))]
pub(crate) fn enter_working_directory() {}
