//! The backend `s3`, which stores states in a bucket of Amazon S3 or of a compatible service.
//!
//! | object or item | content |
//! |---|---|
//! | object `KEY` | the state of the default workspace |
//! | object `PREFIX/NAME/KEY` | the state of another workspace; the prefix is `env:` by default |
//! | object `….tflock` | the lock (`use_lockfile`), with the lock information; it is created only if it does not exist |
//! | item `BUCKET/….` | the lock in a DynamoDB table (`dynamodb_table`), with the lock information |
//! | item `BUCKET/….-md5` | the MD5 digest of the state, which every reader compares |
//!
//! A state is replaced only if its ETag is still the one that was read. A service that does not
//! support conditional writes receives an unconditional one.

mod client;
mod dynamo_lock;
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
use client::S3Client;
use settings::S3Settings;
use storage::S3Storage;

pub(crate) const NAME: &str = "s3";

#[derive(Debug)]
pub(crate) struct S3BackendType;

#[derive(Debug)]
struct S3Backend {
    client: Arc<S3Client>,
    terraform_version: String,
}

impl BackendType for S3BackendType {
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
        let settings = S3Settings::new(Settings { config, host })?;
        let terraform_version = host.terraform_version.clone();
        Ok(Arc::new(S3Backend { client: Arc::new(S3Client::new(settings)), terraform_version }))
    }
}

impl S3Backend {
    fn storage(&self, workspace: &str) -> S3Storage {
        let settings = self.client.settings();
        let key = if workspace == DEFAULT_WORKSPACE {
            settings.key.clone()
        } else {
            format!("{}{workspace}/{}", settings.workspace_prefix(), settings.key)
        };
        S3Storage::new(Arc::clone(&self.client), key)
    }
}

#[async_trait]
impl Backend for S3Backend {
    fn state(&self, workspace: &str) -> Result<Arc<dyn StateStorage>, BackendError> {
        Ok(Arc::new(self.storage(workspace)))
    }

    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        let settings = self.client.settings();
        let prefix = settings.workspace_prefix();
        let keys = self
            .client
            .list(&prefix)
            .await
            .map_err(|error| BackendError::new("Workspaces cannot be listed", error.sentences()))?;
        let name = |key: &str| {
            let (name, rest) = key.strip_prefix(&prefix)?.split_once('/')?;
            (rest == settings.key && !name.is_empty()).then(|| name.to_owned())
        };
        let mut names: Vec<String> = keys.iter().filter_map(|key| name(key)).collect();
        names.retain(|name| name != DEFAULT_WORKSPACE);
        names.sort();
        names.dedup();
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
