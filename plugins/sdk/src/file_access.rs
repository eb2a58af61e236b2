//! Checks access to files, and sets the base of relative paths.
//!
//! A provider whose configuration contains paths should check the grant before it opens a file, to
//! report a missing grant as an error. Otherwise the file would appear to be absent, and the
//! provider would remove the resource from the state.
//!
//! The C library that std depends on compares preopened directories and paths without their leading
//! slashes, so `/etc/hosts` would refer to the file `etc/hosts` in the working directory. After the
//! component has changed to its working directory, the C library distinguishes the two paths, so
//! the exports of this crate first change to that directory.

use std::path::Path;

/// Returns whether the host grants any access to the path, even if no file exists there. The host
/// records a denied path in the audit log.
///
/// ```
/// use std::path::Path;
/// use wardian_sdk::{Diagnostic, Result, file_access};
///
/// fn check(path: &str) -> Result<()> {
///     if file_access::is_granted(Path::new(path)) {
///         return Ok(());
///     }
///     Err(Diagnostic::error("No access", format!("No policy grants access to {path}.")).at_attribute("path").into())
/// }
/// ```
#[cfg(target_os = "wasi")]
pub fn is_granted(path: &Path) -> bool {
    // WASI's C library returns this error if the host denies access. Errors of the operating system
    // have other codes.
    const NOT_PERMITTED: i32 = 63;
    let looked = std::fs::metadata(path);
    looked.map_or_else(|error| error.raw_os_error() != Some(NOT_PERMITTED), |_| true)
}

/// Returns `true`, since the operating system checks every path outside the sandbox.
///
/// ```
/// use std::path::Path;
/// use wardian_sdk::{Diagnostic, Result, file_access};
///
/// fn check(path: &str) -> Result<()> {
///     if file_access::is_granted(Path::new(path)) {
///         return Ok(());
///     }
///     Err(Diagnostic::error("No access", format!("No policy grants access to {path}.")).at_attribute("path").into())
/// }
/// assert!(check("/etc/hosts").is_ok());
/// ```
#[cfg(not(target_os = "wasi"))]
pub fn is_granted(_path: &Path) -> bool {
    true
}

/// Changes to the working directory that the host returns. Relative paths are then resolved against
/// it.
#[cfg(target_os = "wasi")]
pub(crate) fn enter_working_directory() {
    if let Some(directory) = wasip2::cli::environment::initial_cwd() {
        // If the directory is not granted, every access to a relative path fails in any case.
        let _ = std::env::set_current_dir(directory);
    }
}

/// Does nothing, since the process already has a working directory outside the sandbox.
#[cfg(not(target_os = "wasi"))]
pub(crate) fn enter_working_directory() {}
