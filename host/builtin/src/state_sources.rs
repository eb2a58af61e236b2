//! The states that `terraform_remote_state` can read.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use wardian_backend::BackendHost;
use wardian_plugin::{FileGate, PluginDiagnostics};
use wardian_state::StateEncryption;
use wardian_value::Value;

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

/// The backends whose states can be read, apart from states in local files.
#[derive(Clone, Debug, Default)]
pub enum OtherBackends {
    #[default]
    None,
    All(Box<BackendHost>),
    /// Those that rules permit: the configuration is not trusted.
    Permitted(Arc<dyn BackendRules>),
}

/// Decides which backends of an untrusted configuration may be opened for reading.
pub trait BackendRules: fmt::Debug + Send + Sync {
    /// Returns the environment of a backend with these arguments, which are all arguments that are set.
    ///
    /// # Errors
    /// Returns the reason if the backend must not be opened, as the end of a sentence.
    fn permit(&self, type_name: &str, arguments: &Value) -> Result<PermittedBackend, String>;
}

/// A backend that may be opened for reading.
#[derive(Clone)]
pub struct PermittedBackend {
    pub host: BackendHost,
    /// Returns whether the state of a workspace may be read.
    pub workspaces: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

/// The locations from which states of other configurations can be read.
#[derive(Clone, Debug)]
pub(crate) struct StateSources {
    /// The directory against which relative paths are resolved.
    pub(crate) root_directory: PathBuf,
    /// Checks whether a file may be read.
    pub(crate) gate: FileGate,
    /// The backends that do not store states in local files.
    pub(crate) backends: OtherBackends,
    /// The encryption of the states, if there is any.
    pub(crate) encryption: Option<Arc<dyn RemoteStateEncryption>>,
}
