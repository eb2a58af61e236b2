//! The backend `azurerm`, which stores states in a container of Azure Storage.
//!
//! | blob | content |
//! |---|---|
//! | `KEY` | the state of the default workspace |
//! | `KEYenv:NAME` | the state of another workspace |
//!
//! The lock is an infinite lease of the blob, whose ID is the lock's ID; the metadata
//! `terraformlockid` contains the lock information in base64. If there is no state, an empty blob is
//! created to be leased. A state is replaced only under the lease that this process holds, and only if
//! its content is still the one that was read.

mod access;
mod azure_cli;
mod client;
mod cloud;
mod identity;
mod settings;
mod shared_key;
mod storage;

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use wardian_plugin::Block;
use wardian_state::{LockRequest, StateStorage};

use crate::backend::{Backend, BackendError, BackendType};
use crate::config::{BackendConfig, Settings};
use crate::host::BackendHost;
use crate::initial::store_initial_state;
use crate::types::DEFAULT_WORKSPACE;
use client::AzureClient;
use settings::AzureSettings;
use storage::AzureStorage;

const NAME: &str = "azurerm";

/// The text between the key and the name of a workspace.
const WORKSPACE_SEPARATOR: &str = "env:";

#[derive(Debug)]
pub(crate) struct AzureBackendType;

#[derive(Debug)]
struct AzureBackend {
    client: Arc<AzureClient>,
    terraform_version: String,
}

impl BackendType for AzureBackendType {
    fn name(&self) -> &'static str {
        NAME
    }

    fn schema(&self) -> &'static Block {
        static SCHEMA: LazyLock<Block> = LazyLock::new(settings::schema);
        &SCHEMA
    }

    fn configure(
        &self,
        config: &BackendConfig,
        host: &BackendHost,
    ) -> Result<Arc<dyn Backend>, BackendError> {
        let settings = AzureSettings::new(Settings { config, host })?;
        let terraform_version = host.terraform_version.clone();
        Ok(Arc::new(AzureBackend { client: Arc::new(AzureClient::new(settings)), terraform_version }))
    }
}

impl AzureBackend {
    fn storage(&self, workspace: &str) -> AzureStorage {
        let key = &self.client.settings().key;
        let blob = if workspace == DEFAULT_WORKSPACE {
            key.clone()
        } else {
            format!("{key}{WORKSPACE_SEPARATOR}{workspace}")
        };
        AzureStorage::new(Arc::clone(&self.client), blob)
    }
}

#[async_trait]
impl Backend for AzureBackend {
    fn state(&self, workspace: &str) -> Result<Arc<dyn StateStorage>, BackendError> {
        Ok(Arc::new(self.storage(workspace)))
    }

    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        let prefix = format!("{}{WORKSPACE_SEPARATOR}", self.client.settings().key);
        let blobs = self
            .client
            .list(&prefix)
            .await
            .map_err(|error| BackendError::new("Workspaces cannot be listed", error.sentences()))?;
        let name = |blob: &String| {
            let name = blob.strip_prefix(&prefix)?;
            (!name.is_empty() && !name.contains('/')).then(|| name.to_owned())
        };
        let mut names: Vec<String> = blobs.iter().filter_map(name).collect();
        names.retain(|name| name != DEFAULT_WORKSPACE);
        names.sort();
        names.insert(0, DEFAULT_WORKSPACE.to_owned());
        Ok(names)
    }

    async fn create_workspace(&self, name: &str, lock: Option<&LockRequest>) -> Result<(), BackendError> {
        let failed = |reason: String| BackendError::new("Workspace cannot be created", format!("{reason}."));
        let storage: Arc<dyn StateStorage> = Arc::new(self.storage(name));
        store_initial_state(storage, lock, &self.terraform_version).await.map_err(failed)
    }

    async fn delete_workspace(&self, name: &str) -> Result<(), BackendError> {
        self.storage(name)
            .delete()
            .await
            .map_err(|error| BackendError::new("Workspace cannot be deleted", error.sentences()))
    }
}
