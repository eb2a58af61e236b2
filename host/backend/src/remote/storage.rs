//! The state of one workspace.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use md5::{Digest as _, Md5};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep};
use wardian_state::{
    LockError, LockInfo, LockRequest, StateContent, StateError, StateStorage, StorageEffect, StorageError,
    StorageVersion, StoredState,
};

use super::api::{EnterpriseApi, StateVersion, Workspace, version_in};
use super::lock_reason::{from_reason, has_id, to_reason};

/// How long the service may take to process an uploaded state.
const PROCESSING_LIMIT: Duration = Duration::from_mins(2);
const PROCESSING_PAUSE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct EnterpriseStorage {
    api: Arc<EnterpriseApi>,
    name: String,
    lock: Mutex<Option<HeldLock>>,
}

#[derive(Clone, Debug)]
struct HeldLock {
    info: LockInfo,
    /// Identifies this lock in its reason.
    id: String,
}

impl EnterpriseStorage {
    pub(super) fn new(api: Arc<EnterpriseApi>, name: String) -> Self {
        Self { api, name, lock: Mutex::default() }
    }

    /// Returns the name of the lock, which is its ID in Terraform, too.
    fn lock_name(&self) -> String {
        format!("{}/{}", self.api.settings().organization, self.name)
    }

    fn held(&self) -> Option<HeldLock> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_held(&self, lock: Option<HeldLock>) {
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = lock;
    }

    /// Returns the workspace, which is created if it does not exist.
    async fn local_workspace(&self) -> Result<Workspace, StorageError> {
        let workspace = match self.api.workspace(&self.name).await? {
            Some(workspace) => workspace,
            None => self.api.create_workspace(&self.name).await?,
        };
        if workspace.is_local() {
            return Ok(workspace);
        }
        Err(StorageError::new(format!(
            "the workspace \"{}\" runs its operations in the service: its execution mode is \"{}\"",
            self.lock_name(),
            workspace.mode
        ))
        .with_advice(
            "operations of Wardian run on this machine; set the workspace's execution mode to \"local\" (in its \
             general settings, or with execution_mode = \"local\" in a resource \"tfe_workspace_settings\")",
        ))
    }

    async fn stored(&self) -> Result<StoredState, StorageError> {
        let absent = StoredState { bytes: Vec::new(), version: StorageVersion::Absent };
        let Some(workspace) = self.api.workspace(&self.name).await? else { return Ok(absent) };
        let Some(version) = self.api.current_version(&workspace).await? else { return Ok(absent) };
        let url = version.download.ok_or_else(|| {
            StorageError::new("failed to read the state: the state version has no download URL")
                .with_advice("check that the token has access to the states of the workspace")
        })?;
        let bytes = self.api.download(url).await?;
        Ok(StoredState { bytes: bytes.to_vec(), version: StorageVersion::Tag(version.id) })
    }

    /// Checks that this process still holds the lock, and that the state is the expected one.
    async fn check(&self, workspace: &Workspace, expected: &StorageVersion) -> Result<(), StorageError> {
        let conflict = |message: String| {
            StorageError::new(message).with_effect(StorageEffect::Conflict).with_advice(
                "another run may have removed the lock of this run; the state of the service was not replaced",
            )
        };
        if let Some(held) = self.held()
            && !is_held(workspace, &held.id)
        {
            return Err(conflict("failed to write the state: the lock of the workspace was lost".to_owned()));
        }
        let current = match expected {
            StorageVersion::Unknown => return Ok(()),
            StorageVersion::Absent | StorageVersion::Tag(_) => self.api.current_version(workspace).await?,
        };
        let is_expected = match (expected, &current) {
            (StorageVersion::Tag(tag), Some(current)) => *tag == current.id,
            (StorageVersion::Absent, None) => true,
            _ => false,
        };
        if is_expected {
            return Ok(());
        }
        Err(conflict("failed to write the state: it has changed since it was read".to_owned()))
    }

    async fn store(
        &self,
        content: &StateContent,
        expected: &StorageVersion,
    ) -> Result<StorageVersion, StorageError> {
        const OPERATION: &str = "write the state";
        let workspace = self.local_workspace().await?;
        self.check(&workspace, expected).await?;
        let state = content.to_bytes();
        let mut attributes = json!({
            "force": false,
            "json-state-outputs": STANDARD.encode(outputs(&state)),
            "lineage": content.lineage(),
            "md5": hex_md5(&state),
            "serial": content.serial(),
        });
        let mut sent = self.api.create_version(&workspace, &attributes).await?;
        let mut is_uploaded = true;
        if is_missing_state(sent.response.status, &sent.response.body) {
            // Older versions of the service require the state in the request.
            attributes["state"] = json!(STANDARD.encode(&state));
            sent = self.api.create_version(&workspace, &attributes).await?;
            is_uploaded = false;
        }
        let response = &sent.response;
        match response.status {
            StatusCode::OK | StatusCode::CREATED => {}
            StatusCode::CONFLICT | StatusCode::PRECONDITION_FAILED => {
                return Err(self.api.failure(OPERATION, response).with_effect(StorageEffect::Conflict).with_advice(
                    "the service has another state with this serial or lineage, or the workspace is no longer locked; \
                     its state was not replaced",
                ));
            }
            _ => {
                let mut error = self.api.failure(OPERATION, response);
                if sent.is_repeated {
                    error.effect = StorageEffect::Unknown;
                }
                return Err(error);
            }
        }
        let created = version_in(response)?;
        if is_uploaded {
            let url = created.upload.clone().ok_or_else(|| {
                StorageError::new(format!("failed to {OPERATION}: the new state version has no upload URL"))
                    .with_effect(StorageEffect::Unknown)
            })?;
            self.api.upload(url, state).await?;
            self.wait_until_processed(created).await
        } else {
            Ok(StorageVersion::Tag(created.id))
        }
    }

    async fn wait_until_processed(&self, created: StateVersion) -> Result<StorageVersion, StorageError> {
        let deadline = Instant::now() + PROCESSING_LIMIT;
        loop {
            let version = self
                .api
                .version(&created.id)
                .await
                .map_err(|error| error.with_effect(StorageEffect::Unknown))?;
            match version.status.as_deref() {
                // Older versions of the service have no status.
                Some("finalized") | None => return Ok(StorageVersion::Tag(version.id)),
                Some("pending") if Instant::now() < deadline => sleep(PROCESSING_PAUSE).await,
                Some(status) => {
                    return Err(StorageError::new(format!(
                        "failed to write the state: the status of the new state version {} is \"{status}\"",
                        version.id
                    ))
                    .with_effect(StorageEffect::Unknown));
                }
            }
        }
    }

    fn failed(&self, error: StorageError) -> LockError {
        LockError::Storage { location: self.location(), error }
    }

    fn holder(&self, workspace: &Workspace) -> Option<LockInfo> {
        workspace
            .is_locked
            .then(|| from_reason(&workspace.reason, workspace.locked_by.as_deref(), &self.lock_name()))
    }

    /// Releases the lock. The action decides whose lock can be released.
    async fn release(&self, workspace: &Workspace, action: &str, id: &str) -> Result<(), LockError> {
        const OPERATION: &str = "unlock the workspace";
        let sent = self.api.change_lock(workspace, action, None, OPERATION).await;
        let sent = sent.map_err(|error| self.failed(error))?;
        match sent.response.status {
            StatusCode::OK | StatusCode::NO_CONTENT => Ok(()),
            // An earlier attempt of this request may have released the lock.
            StatusCode::CONFLICT if sent.is_repeated => Ok(()),
            StatusCode::CONFLICT => Err(self.other_lock(id, None)),
            _ => Err(self.failed(self.api.failure(OPERATION, &sent.response))),
        }
    }

    fn other_lock(&self, id: &str, found: Option<LockInfo>) -> LockError {
        LockError::OtherLock { location: self.location(), id: id.to_owned(), found: found.map(Box::new) }
    }
}

/// Whether a workspace is locked by the lock with an ID. The token may not permit to read the reason.
fn is_held(workspace: &Workspace, id: &str) -> bool {
    workspace.is_locked && (workspace.reason.is_empty() || has_id(&workspace.reason, id))
}

/// Whether the service rejected a state version because it cannot be uploaded separately.
fn is_missing_state(status: StatusCode, body: &[u8]) -> bool {
    matches!(status, StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY)
        && super::api::error_text(body).is_some_and(|text| text.contains("state"))
}

/// Returns the outputs of a state as the service shows them.
fn outputs(state: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Outputs {
        #[serde(default)]
        outputs: Map<String, Value>,
    }
    let parsed: Option<Outputs> = serde_json::from_slice(state).ok();
    let outputs = parsed.map(|parsed| parsed.outputs).unwrap_or_default();
    let shown = outputs.into_iter().map(|(name, output)| {
        let member = |name: &str| output.get(name).cloned().unwrap_or_default();
        let sensitive = output.get("sensitive").and_then(Value::as_bool).unwrap_or_default();
        (name, json!({ "sensitive": sensitive, "type": member("type"), "value": member("value") }))
    });
    Value::Object(shown.collect()).to_string()
}

fn hex_md5(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Md5::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[async_trait]
impl StateStorage for EnterpriseStorage {
    fn location(&self) -> String {
        format!("of the workspace {} on {}", self.lock_name(), self.api.settings().host)
    }

    async fn read(&self) -> Result<StoredState, StateError> {
        self.stored().await.map_err(|error| error.at(self.location()))
    }

    async fn write(
        &self,
        content: &StateContent,
        expected: &StorageVersion,
    ) -> Result<StorageVersion, StateError> {
        self.store(content, expected).await.map_err(|error| error.at(self.location()))
    }

    async fn lock(&self, request: &LockRequest) -> Result<LockInfo, LockError> {
        const OPERATION: &str = "lock the workspace";
        let workspace = self.local_workspace().await.map_err(|error| self.failed(error))?;
        let name = self.lock_name();
        let mut info = LockInfo::new(request, name.clone());
        let id = std::mem::replace(&mut info.id, name);
        let held = HeldLock { info: info.clone(), id: id.clone() };
        let reason = to_reason(&info, &id);
        let sent = match self.api.change_lock(&workspace, "lock", Some(&reason), OPERATION).await {
            Ok(sent) => sent,
            Err(error) => {
                if error.effect == StorageEffect::Unknown {
                    // The lock may be held although the response was lost.
                    self.set_held(Some(held));
                    let _ = self.unlock().await;
                }
                return Err(self.failed(error));
            }
        };
        match sent.response.status {
            StatusCode::OK | StatusCode::CREATED | StatusCode::NO_CONTENT => {}
            StatusCode::CONFLICT => {
                let found = self.api.workspace(&self.name).await.map_err(|error| self.failed(error))?;
                let is_own = found.as_ref().is_some_and(|found| has_id(&found.reason, &id));
                if !(sent.is_repeated && is_own) {
                    let holder = found.as_ref().and_then(|found| self.holder(found)).map(Box::new);
                    let location = self.location();
                    return Err(LockError::Held { location, holder, ends_with_process: false });
                }
            }
            _ => return Err(self.failed(self.api.failure(OPERATION, &sent.response))),
        }
        self.set_held(Some(held));
        Ok(info)
    }

    async fn unlock(&self) -> Result<(), LockError> {
        let Some(held) = self.held() else { return Ok(()) };
        self.set_held(None);
        let workspace = self.api.workspace(&self.name).await.map_err(|error| self.failed(error))?;
        // The workspace may have been deleted with its lock.
        let Some(workspace) = workspace else { return Ok(()) };
        if !is_held(&workspace, &held.id) {
            return Err(self.other_lock(&held.info.id, self.holder(&workspace)));
        }
        self.release(&workspace, "unlock", &held.info.id).await
    }

    async fn force_unlock(&self, id: &str) -> Result<(), LockError> {
        let workspace = self.api.workspace(&self.name).await.map_err(|error| self.failed(error))?;
        match workspace {
            Some(workspace) if workspace.is_locked && id == self.lock_name() => {
                self.release(&workspace, "force-unlock", id).await
            }
            workspace => Err(self.other_lock(id, workspace.and_then(|workspace| self.holder(&workspace)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_have_the_form_of_terraform() {
        let state = br#"{"version":4,"outputs":{"o":{"value":"b","type":"string"},"s":{"value":[1],"type":["tuple",["number"]],"sensitive":true}}}"#;
        assert_eq!(
            outputs(state),
            "{\"o\":{\"sensitive\":false,\"type\":\"string\",\"value\":\"b\"},\"s\":{\"sensitive\":true,\"type\":[\"tuple\",[\"number\"]],\"value\":[1]}}"
        );
        assert_eq!(outputs(b"no state"), "{}");
    }
}
