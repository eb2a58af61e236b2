//! The backend `gcs`, which stores states in a bucket of Google Cloud Storage.
//!
//! | object | content |
//! |---|---|
//! | `PREFIX/NAME.tfstate` | the state of a workspace, also of the default one |
//! | `PREFIX/NAME.tflock` | the lock, with the lock information; it is created only if it does not exist |
//!
//! Every object has a generation, which changes with each write. A state is replaced only if its
//! generation is still the one that was read. The ID of a lock is the generation of its object, so a
//! lock is deleted only by its holder, or with the ID.

mod client;
mod credentials;
mod settings;
mod storage;
mod tokens;

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use wardian_plugin::Block;
use wardian_state::{LockRequest, StateStorage};

use crate::backend::{Backend, BackendError, BackendType};
use crate::config::{BackendConfig, Settings};
use crate::host::BackendHost;
use crate::initial::store_initial_state;
use crate::types::DEFAULT_WORKSPACE;
use client::GcsClient;
use settings::GcsSettings;
use storage::{GcsStorage, STATE_SUFFIX};

const NAME: &str = "gcs";

#[derive(Debug)]
pub(crate) struct GcsBackendType;

#[derive(Debug)]
struct GcsBackend {
    client: Arc<GcsClient>,
    terraform_version: String,
}

impl BackendType for GcsBackendType {
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
        let settings = GcsSettings::new(Settings { config, host })?;
        let terraform_version = host.terraform_version.clone();
        Ok(Arc::new(GcsBackend { client: Arc::new(GcsClient::new(settings)), terraform_version }))
    }
}

impl GcsBackend {
    fn storage(&self, workspace: &str) -> GcsStorage {
        GcsStorage::new(Arc::clone(&self.client), workspace)
    }
}

#[async_trait]
impl Backend for GcsBackend {
    fn state(&self, workspace: &str) -> Result<Arc<dyn StateStorage>, BackendError> {
        Ok(Arc::new(self.storage(workspace)))
    }

    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        let objects = self
            .client
            .list()
            .await
            .map_err(|error| BackendError::new("Workspaces cannot be listed", error.sentences()))?;
        let prefix = &self.client.settings().prefix;
        let name = |object: &String| {
            let name = object.strip_prefix(prefix.as_str())?.strip_suffix(STATE_SUFFIX)?;
            (!name.is_empty() && !name.contains('/')).then(|| name.to_owned())
        };
        let mut names: Vec<String> = objects.iter().filter_map(name).collect();
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
