//! Reads the state files of other configurations, if the [`FileGate`] permits it.

use std::path::PathBuf;

use wardian_plugin::FileGate;

/// The state files that `terraform_remote_state` can read.
#[derive(Clone, Debug)]
pub(crate) struct StateFiles {
    /// The directory against which relative paths are resolved.
    pub(crate) root_directory: PathBuf,
    /// Checks whether a file may be read.
    pub(crate) gate: FileGate,
}
