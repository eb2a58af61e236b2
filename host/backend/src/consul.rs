//! The backend `consul`, which stores states in the key/value store of Consul.
//!
//! | key | value |
//! |---|---|
//! | `PATH`, or `PATH-env:NAME` for other workspaces | the state, or the list of its chunks |
//! | `KEY/tfstate.HASH/N` | chunk `N` of a state that does not fit in one value |
//! | `KEY/.lock` | no value; the session that holds the lock |
//! | `KEY/.lockinfo` | the lock information |
//!
//! A state is replaced only if its key has not changed since it was read and, if it is locked, only
//! while the session holds the lock: one transaction checks both and writes. The session is renewed
//! while the lock is held, and expires 15 seconds after the process is killed.

mod client;
mod lock;
mod settings;
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
use client::ConsulClient;
use settings::ConsulSettings;
use storage::ConsulStorage;

const NAME: &str = "consul";
const WORKSPACE_SUFFIX: &str = "-env:";

#[derive(Debug)]
pub(crate) struct ConsulBackendType;

#[derive(Debug)]
struct ConsulBackend {
    client: Arc<ConsulClient>,
    terraform_version: String,
}

impl BackendType for ConsulBackendType {
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
        let settings = ConsulSettings::new(Settings { config, host })?;
        Ok(Arc::new(ConsulBackend {
            client: Arc::new(ConsulClient::new(settings)),
            terraform_version: host.terraform_version.clone(),
        }))
    }
}

impl ConsulBackend {
    fn storage(&self, workspace: &str) -> ConsulStorage {
        let path = &self.client.settings().path;
        let key = match workspace {
            "" | DEFAULT_WORKSPACE => path.clone(),
            name => format!("{path}{WORKSPACE_SUFFIX}{name}"),
        };
        ConsulStorage::new(Arc::clone(&self.client), key)
    }
}

#[async_trait]
impl Backend for ConsulBackend {
    fn state(&self, workspace: &str) -> Result<Arc<dyn StateStorage>, BackendError> {
        Ok(Arc::new(self.storage(workspace)))
    }

    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        let prefix = format!("{}{WORKSPACE_SUFFIX}", self.client.settings().path);
        let keys = self
            .client
            .keys(&prefix)
            .await
            .map_err(|error| BackendError::new("Workspaces cannot be listed", error.sentences()))?;
        // Keys of chunks and locks are below the key of the state.
        let names = keys.iter().filter_map(|key| key.strip_prefix(&prefix));
        let mut names: Vec<String> =
            names.filter(|name| !name.is_empty() && !name.contains('/')).map(str::to_owned).collect();
        names.sort();
        names.insert(0, DEFAULT_WORKSPACE.to_owned());
        Ok(names)
    }

    async fn create_workspace(&self, name: &str, lock: Option<&LockRequest>) -> Result<(), BackendError> {
        store_initial_state(Arc::new(self.storage(name)), lock, &self.terraform_version)
            .await
            .map_err(|reason| BackendError::new("Workspace cannot be created", format!("{reason}.")))
    }

    async fn delete_workspace(&self, name: &str) -> Result<(), BackendError> {
        self.storage(name)
            .delete()
            .await
            .map_err(|error| BackendError::new("Workspace cannot be deleted", error.sentences()))
    }
}
