//! The backend `local`, which stores states in files.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use wardian_diagnostic::system_reason;
use wardian_plugin::Block;
use wardian_state::{BackupRule, LocalStorage, LockRequest, StateStorage};

use crate::backend::{Backend, BackendError, BackendType};
use crate::config::BackendConfig;
use crate::host::BackendHost;
use crate::schema::{block, text};
use crate::types::{DEFAULT_WORKSPACE, LOCAL};

const FILE_NAME: &str = "terraform.tfstate";
const WORKSPACE_DIRECTORY: &str = "terraform.tfstate.d";

#[derive(Debug)]
pub(crate) struct LocalBackendType;

impl BackendType for LocalBackendType {
    fn name(&self) -> &'static str {
        LOCAL
    }

    fn schema(&self) -> &'static Block {
        static SCHEMA: LazyLock<Block> =
            LazyLock::new(|| block([("path", text()), ("workspace_dir", text())]));
        &SCHEMA
    }

    fn configure(
        &self,
        config: &BackendConfig,
        _host: &BackendHost,
    ) -> Result<Arc<dyn Backend>, BackendError> {
        Ok(Arc::new(LocalBackend::from_config(config)?))
    }
}

/// A backend that stores states in local files. Relative paths are relative to the process's working
/// directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalBackend {
    path: Option<String>,
    workspace_dir: Option<String>,
}

impl LocalBackend {
    /// Returns the backend with these arguments.
    ///
    /// # Errors
    /// Returns an error if an argument is empty.
    pub fn from_config(config: &BackendConfig) -> Result<Self, BackendError> {
        const EMPTY: &str = "The value must not be empty. Omit the argument to use the default.";
        let argument = |name: &'static str, summary: &str| match config.text(name) {
            Some("") => Err(BackendError::for_argument(name, summary, EMPTY)),
            text => Ok(text.map(str::to_owned)),
        };
        Ok(Self {
            path: argument("path", "Invalid local state file path")?,
            workspace_dir: argument("workspace_dir", "Invalid local workspace directory path")?,
        })
    }

    /// Returns the state file of a workspace. Only the default workspace uses the argument `path`.
    pub fn state_path(&self, workspace: &str) -> PathBuf {
        if workspace.is_empty() || workspace == DEFAULT_WORKSPACE {
            return PathBuf::from(self.path.as_deref().unwrap_or(FILE_NAME));
        }
        self.workspace_directory().join(workspace).join(FILE_NAME)
    }

    /// Returns the directory with the states of the other workspaces.
    pub fn workspace_directory(&self) -> PathBuf {
        PathBuf::from(self.workspace_dir.as_deref().unwrap_or(WORKSPACE_DIRECTORY))
    }
}

#[async_trait]
impl Backend for LocalBackend {
    fn state(&self, workspace: &str) -> Result<Arc<dyn StateStorage>, BackendError> {
        Ok(Arc::new(LocalStorage::new(self.state_path(workspace), BackupRule::DefaultPath)))
    }

    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        let directory = self.workspace_directory();
        let mut names = Vec::new();
        match fs::read_dir(&directory) {
            Ok(entries) => {
                for entry in entries.flatten() {
                    if entry.path().is_dir()
                        && let Ok(name) = entry.file_name().into_string()
                    {
                        names.push(name);
                    }
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(BackendError::new(
                    "Workspaces cannot be listed",
                    format!(
                        "The directory {} cannot be read: {}.",
                        directory.display(),
                        system_reason(&error)
                    ),
                ));
            }
        }
        names.retain(|name| name != DEFAULT_WORKSPACE);
        names.sort();
        names.insert(0, DEFAULT_WORKSPACE.to_owned());
        Ok(names)
    }

    async fn create_workspace(&self, name: &str, _lock: Option<&LockRequest>) -> Result<(), BackendError> {
        let directory = self.workspace_directory().join(name);
        fs::create_dir_all(&directory).map_err(|error| {
            BackendError::new(
                "Workspace cannot be created",
                format!(
                    "The directory {} cannot be created: {}.",
                    directory.display(),
                    system_reason(&error)
                ),
            )
        })
    }

    async fn delete_workspace(&self, name: &str) -> Result<(), BackendError> {
        let directory = self.workspace_directory().join(name);
        match fs::remove_dir_all(&directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(BackendError::new(
                "Workspace cannot be deleted",
                format!(
                    "The directory {} cannot be removed: {}.",
                    directory.display(),
                    system_reason(&error)
                ),
            )),
            _ => Ok(()),
        }
    }

    fn as_local(&self) -> Option<&LocalBackend> {
        Some(self)
    }
}
