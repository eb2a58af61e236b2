//! The backend `kubernetes`, which stores states in Secrets.
//!
//! | object | content |
//! |---|---|
//! | Secret `tfstate-WORKSPACE-SUFFIX` | the state, compressed by gzip, or its first MiB |
//! | Secret `tfstate-WORKSPACE-SUFFIX-part-N` | MiB number N of the compressed state |
//! | Lease `lock-tfstate-WORKSPACE-SUFFIX` | the lock's ID, and the lock information in an annotation |
//!
//! Each Secret is replaced only if its `resourceVersion` has not changed since it was read. The
//! parts of a state cannot be replaced together: additional ones are created first, and then the
//! first one is replaced, so a rejected part or a conflict is found before the old state has changed.

mod client;
mod exec;
mod kubeconfig;
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
use client::KubernetesClient;
use settings::KubernetesSettings;
use storage::KubernetesStorage;

const NAME: &str = "kubernetes";

/// Maximum length of the name of a Secret or Lease.
const MAX_NAME_LENGTH: usize = 253;
/// Maximum length of the value of a label.
const MAX_LABEL_LENGTH: usize = 63;

#[derive(Debug)]
pub(crate) struct KubernetesBackendType;

#[derive(Debug)]
struct KubernetesBackend {
    client: Arc<KubernetesClient>,
    terraform_version: String,
}

impl BackendType for KubernetesBackendType {
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
        let settings = KubernetesSettings::new(Settings { config, host })?;
        Ok(Arc::new(KubernetesBackend {
            client: Arc::new(KubernetesClient::new(settings)),
            terraform_version: host.terraform_version.clone(),
        }))
    }
}

impl KubernetesBackend {
    fn storage(&self, workspace: &str) -> Result<KubernetesStorage, BackendError> {
        let workspace = if workspace.is_empty() { DEFAULT_WORKSPACE } else { workspace };
        let name = format!("tfstate-{workspace}-{}", self.client.settings().suffix);
        if !is_name(&name) || workspace.len() > MAX_LABEL_LENGTH {
            return Err(BackendError::new(
                "Invalid workspace name",
                format!(
                    "The state of the workspace \"{workspace}\" would be in a Secret with the name \"{name}\", which \
                     Kubernetes does not allow. Use a name with lower case letters, digits and \"-\" only."
                ),
            ));
        }
        Ok(KubernetesStorage::new(Arc::clone(&self.client), workspace, name))
    }
}

/// Whether Kubernetes allows a name of a Secret, with the suffix of a part and the prefix of a lock.
fn is_name(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.len() + "lock--part-9999".len() <= MAX_NAME_LENGTH
        && name.split('.').all(|label| {
            !label.is_empty()
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.bytes().all(is_inner)
        })
}

#[async_trait]
impl Backend for KubernetesBackend {
    fn state(&self, workspace: &str) -> Result<Arc<dyn StateStorage>, BackendError> {
        Ok(Arc::new(self.storage(workspace)?))
    }

    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        let names = self.client.workspaces().await;
        let mut names =
            names.map_err(|error| BackendError::new("Workspaces cannot be listed", error.sentences()))?;
        names.retain(|name| name != DEFAULT_WORKSPACE);
        names.sort();
        names.dedup();
        names.insert(0, DEFAULT_WORKSPACE.to_owned());
        Ok(names)
    }

    async fn create_workspace(&self, name: &str, lock: Option<&LockRequest>) -> Result<(), BackendError> {
        store_initial_state(Arc::new(self.storage(name)?), lock, &self.terraform_version)
            .await
            .map_err(|reason| BackendError::new("Workspace cannot be created", format!("{reason}.")))
    }

    async fn delete_workspace(&self, name: &str) -> Result<(), BackendError> {
        let deleted = self.storage(name)?.delete().await;
        deleted.map_err(|error| BackendError::new("Workspace cannot be deleted", error.sentences()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        for good in ["tfstate-default-state", "tfstate-a.b-1x"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "A", "a_b", "-a", "a-", "a..b", "a.-b", "a/b", &"a".repeat(250)] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
