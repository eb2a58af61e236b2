//! The states that `terraform_remote_state` can read.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use wardian_backend::BackendHost;
use wardian_plugin::{FileGate, PluginDiagnostics};
use wardian_state::StateEncryption;

/// The encryption of the states that one data source reads.
pub type RemoteStateTarget = Arc<dyn StateEncryption>;

/// Returns the encryption of the states that data sources read.
pub trait RemoteStateEncryption: fmt::Debug + Send + Sync {
    /// Returns the encryption for the instance of a data source; [`None`] if there is none.
    ///
    /// # Errors
    /// Returns an error if the configuration is not valid.
    fn target(&self, address: &str) -> Result<Option<RemoteStateTarget>, PluginDiagnostics>;
}

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
    /// The encryption of the states, if there is any.
    pub(crate) encryption: Option<Arc<dyn RemoteStateEncryption>>,
}
