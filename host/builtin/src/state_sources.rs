//! The states that `terraform_remote_state` can read.

use std::path::PathBuf;

use wardian_backend::BackendHost;
use wardian_plugin::FileGate;

/// The locations from which states of other configurations can be read.
#[derive(Clone, Debug)]
pub(crate) struct StateSources {
    /// The directory against which relative paths are resolved.
    pub(crate) root_directory: PathBuf,
    /// Checks whether a file may be read.
    pub(crate) gate: FileGate,
    /// The environment of backends that do not store states in local files; [`None`] if they must not
    /// be opened.
    pub(crate) backends: Option<BackendHost>,
}
