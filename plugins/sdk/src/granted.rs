//! Where the host lets a component work: which paths it may use, and where relative ones
//! begin.
//!
//! A provider that takes paths from people asks before it opens one, so that a missing
//! grant is an error and never passes for an absent file, which would drop a resource from
//! state.
//!
//! The C library below std compares names and paths without their leading slashes, so that
//! `/etc/hosts` would be the file `etc/hosts` of the directory that the component works
//! in. It does not once the component has entered that directory, which the exports of
//! this crate do before anything else.

use std::path::Path;

/// Whether the host lets the component use the path in any way, be something there or not.
/// Where it does not, it records that this was asked.
#[cfg(target_os = "wasi")]
pub fn is_granted(path: &Path) -> bool {
    // Of WASI's C library: the host denies it. That the system does is another error.
    const NOT_PERMITTED: i32 = 63;
    let looked = std::fs::metadata(path);
    looked.map_or_else(|error| error.raw_os_error() != Some(NOT_PERMITTED), |_| true)
}

/// Outside of a sandbox every path is the system's to judge.
#[cfg(not(target_os = "wasi"))]
pub fn is_granted(_path: &Path) -> bool {
    true
}

/// Makes the directory that the host says the component works in the one in which relative
/// paths begin.
#[cfg(target_os = "wasi")]
pub(crate) fn enter_working_directory() {
    if let Some(directory) = wasip2::cli::environment::initial_cwd() {
        // Where it is not granted, every relative path fails by itself.
        let _ = std::env::set_current_dir(directory);
    }
}

/// Outside of a sandbox it is there already.
#[cfg(not(target_os = "wasi"))]
pub(crate) fn enter_working_directory() {}
