//! From a directory to a configuration.

use std::path::Path;

use wardian_lang::Diagnostics;

use crate::configuration::Configuration;
use crate::files::{DiskFiles, Files};

/// Loads the configuration whose root module is in a directory.
///
/// # Errors
///
/// All that is wrong with it. Every diagnostic that has a place carries the
/// text around it.
pub fn load_root(directory: &Path) -> Result<Configuration, Diagnostics> {
    load_root_from(&DiskFiles, directory)
}

/// As [`load_root`], with files from elsewhere.
///
/// # Errors
///
/// As [`load_root`].
pub fn load_root_from(files: &dyn Files, directory: &Path) -> Result<Configuration, Diagnostics> {
    let _ = (files, directory);
    Err(Diagnostics::new())
}
