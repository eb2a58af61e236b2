//! The backend `remote` and the block `cloud`, which store states in HCP Terraform or Terraform
//! Enterprise. Operations run on this machine.
//!
//! | operation | request of the API |
//! |---|---|
//! | read | the workspace's current state version, and the download of its content |
//! | write | a new state version with serial, lineage and MD5, and the upload of its content |
//! | lock | the workspace's lock; its reason contains the holder |
//! | workspaces | by name, by prefix (`remote`), or by tags (`cloud`) |
//!
//! The service rejects a state whose serial is not newer. In addition, this backend compares the
//! current state version and the lock before each write. A workspace whose execution mode is not
//! `local` is neither locked nor written, since runs of the service would use other variables and
//! credentials.

mod api;
mod lock_reason;
mod settings;
mod storage;

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use wardian_plugin::Block;
use wardian_state::{LockRequest, StateStorage};

use crate::backend::{Backend, BackendError, BackendType};
use crate::config::{BackendConfig, Settings};
use crate::host::BackendHost;
use crate::types::{CLOUD, DEFAULT_WORKSPACE};
use api::EnterpriseApi;
use settings::{EnterpriseSettings, Mapping};
use storage::EnterpriseStorage;

const REMOTE: &str = "remote";

#[derive(Debug)]
pub(crate) struct RemoteBackendType;

#[derive(Debug)]
pub(crate) struct CloudBackendType;

#[derive(Debug)]
struct EnterpriseBackend {
    /// The name of the workspace that a single state uses.
    single: Option<String>,
    api: Arc<EnterpriseApi>,
}

impl BackendType for RemoteBackendType {
    fn name(&self) -> &'static str {
        REMOTE
    }

    fn schema(&self) -> &'static Block {
        static SCHEMA: LazyLock<Block> = LazyLock::new(settings::remote_schema);
        &SCHEMA
    }

    fn needs_service_hosts(&self) -> bool {
        true
    }

    fn configure(
        &self,
        config: &BackendConfig,
        host: &BackendHost,
    ) -> Result<Arc<dyn Backend>, BackendError> {
        let settings = EnterpriseSettings::for_remote(Settings { config, host })?;
        let single = matches!(settings.mapping, Mapping::Name(_)).then(|| DEFAULT_WORKSPACE.to_owned());
        Ok(Arc::new(EnterpriseBackend { single, api: Arc::new(EnterpriseApi::new(settings)) }))
    }
}

impl BackendType for CloudBackendType {
    fn name(&self) -> &'static str {
        CLOUD
    }

    fn schema(&self) -> &'static Block {
        static SCHEMA: LazyLock<Block> = LazyLock::new(settings::cloud_schema);
        &SCHEMA
    }

    fn needs_service_hosts(&self) -> bool {
        true
    }

    fn configure(
        &self,
        config: &BackendConfig,
        host: &BackendHost,
    ) -> Result<Arc<dyn Backend>, BackendError> {
        let settings = EnterpriseSettings::for_cloud(Settings { config, host })?;
        // As in Terraform, the selected workspace has the name in the block.
        let single = match &settings.mapping {
            Mapping::Name(name) => Some(name.clone()),
            Mapping::Prefix(_) | Mapping::Tags { .. } => None,
        };
        Ok(Arc::new(EnterpriseBackend { single, api: Arc::new(EnterpriseApi::new(settings)) }))
    }
}

impl EnterpriseBackend {
    /// Returns the name of a workspace in the organization.
    fn remote_name(&self, workspace: &str) -> Result<String, BackendError> {
        let settings = self.api.settings();
        match (&settings.mapping, &self.single) {
            (Mapping::Name(name), Some(single)) if workspace == single => Ok(name.clone()),
            (Mapping::Name(name), _) => Err(BackendError::new(
                "Workspaces not supported",
                format!(
                    "The {} stores the state of the workspace \"{name}\" only, but the workspace \"{workspace}\" is \
                     selected. Run `wardian init` to select it.",
                    settings.block
                ),
            )),
            (_, _) if workspace == DEFAULT_WORKSPACE || workspace.is_empty() => Err(BackendError::new(
                "Default workspace not supported",
                format!(
                    "The {} has no workspace \"default\". Select another one with `wardian workspace select NAME`, or \
                     create it with `wardian workspace new NAME`.",
                    settings.block
                ),
            )),
            (Mapping::Prefix(prefix), _) => Ok(format!("{prefix}{workspace}")),
            (Mapping::Tags { .. }, _) => Ok(workspace.to_owned()),
        }
    }
}

#[async_trait]
impl Backend for EnterpriseBackend {
    fn state(&self, workspace: &str) -> Result<Arc<dyn StateStorage>, BackendError> {
        let name = self.remote_name(workspace)?;
        Ok(Arc::new(EnterpriseStorage::new(Arc::clone(&self.api), name)))
    }

    fn has_workspaces(&self) -> bool {
        self.single.is_none()
    }

    fn default_workspace(&self) -> Option<&str> {
        self.single.as_deref()
    }

    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        if let Some(single) = &self.single {
            return match self.api.settings().block {
                settings::CLOUD_BLOCK => Ok(vec![single.clone()]),
                _ => Err(BackendError::no_workspaces(REMOTE)),
            };
        }
        let names = self.api.workspace_names().await;
        let names =
            names.map_err(|error| BackendError::new("Workspaces cannot be listed", error.sentences()))?;
        let mut names: Vec<String> = match &self.api.settings().mapping {
            Mapping::Prefix(prefix) => names
                .iter()
                .filter_map(|name| name.strip_prefix(prefix.as_str()))
                .map(str::to_owned)
                .collect(),
            Mapping::Name(_) | Mapping::Tags { .. } => names,
        };
        names.retain(|name| !name.is_empty() && name != DEFAULT_WORKSPACE);
        names.sort();
        Ok(names)
    }

    async fn create_workspace(&self, name: &str, _lock: Option<&LockRequest>) -> Result<(), BackendError> {
        if self.single.is_some() {
            return Err(BackendError::no_workspaces(self.api.settings().block));
        }
        let name = self.remote_name(name)?;
        let created = self.api.create_workspace(&name).await;
        created.map(drop).map_err(|error| BackendError::new("Workspace cannot be created", error.sentences()))
    }

    async fn delete_workspace(&self, name: &str) -> Result<(), BackendError> {
        if self.single.is_some() {
            return Err(BackendError::no_workspaces(self.api.settings().block));
        }
        let name = self.remote_name(name)?;
        let deleted = self.api.delete_workspace(&name).await;
        deleted.map_err(|error| BackendError::new("Workspace cannot be deleted", error.sentences()))
    }
}
