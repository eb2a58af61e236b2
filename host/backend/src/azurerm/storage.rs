//! One state in a blob, with its lease.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Method, StatusCode};
use md5::{Digest as _, Md5};
use wardian_download::Fetched;
use wardian_state::{
    LockError, LockInfo, LockRequest, StateContent, StateError, StateStorage, StorageEffect, StorageError,
    StorageVersion, StoredState,
};

use super::client::{AzureClient, BlobRequest, error_code};
use crate::service::{Answer, MAX_STATE_BYTES};

/// The metadata that contains the lock information.
const LOCK_METADATA: &str = "terraformlockid";
const METADATA_PREFIX: &str = "x-ms-meta-";

/// Maximum number of writes of one state. A write is repeated after only the metadata was changed, and
/// after the lease was renewed, which changes the metadata again.
const MAX_WRITES: usize = 4;

/// The metadata of a blob, without the lock information.
type Metadata = Vec<(String, String)>;

#[derive(Debug)]
pub(super) struct AzureStorage {
    client: Arc<AzureClient>,
    blob: String,
    lock: Mutex<Option<HeldLock>>,
}

/// The lock that this value holds.
#[derive(Clone, Debug)]
struct HeldLock {
    info: LockInfo,
    metadata: Metadata,
}

/// The properties of a blob.
struct Properties {
    metadata: Metadata,
    is_leased: bool,
    holder: Option<LockInfo>,
}

impl HeldLock {
    fn metadata_with_lock(&self) -> Metadata {
        let mut metadata = self.metadata.clone();
        metadata.push((LOCK_METADATA.to_owned(), STANDARD.encode(self.info.to_json())));
        metadata
    }
}

impl Properties {
    fn from_response(response: &Fetched) -> Self {
        let text = |name: &str| response.headers.get(name).and_then(|value| value.to_str().ok());
        let mut metadata = Metadata::new();
        let mut holder = None;
        for (name, value) in &response.headers {
            let Some(name) = name.as_str().strip_prefix(METADATA_PREFIX) else { continue };
            let Ok(value) = value.to_str() else { continue };
            if name == LOCK_METADATA {
                holder = STANDARD.decode(value).ok().and_then(|bytes| LockInfo::from_json(&bytes));
            } else {
                metadata.push((name.to_owned(), value.to_owned()));
            }
        }
        let is_leased = text("x-ms-lease-status") == Some("locked");
        Self { metadata, is_leased, holder }
    }
}

impl AzureStorage {
    pub(super) fn new(client: Arc<AzureClient>, blob: String) -> Self {
        Self { client, blob, lock: Mutex::default() }
    }

    fn held(&self) -> Option<HeldLock> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_held(&self, lock: Option<HeldLock>) {
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = lock;
    }

    fn request<'a>(&'a self, method: Method, operation: &'a str) -> BlobRequest<'a> {
        BlobRequest::new(method, &self.blob, operation)
    }

    async fn properties(&self, operation: &str) -> Result<Option<Properties>, StorageError> {
        let response = self.client.send(self.request(Method::HEAD, operation)).await?.response;
        match response.status {
            StatusCode::OK => Ok(Some(Properties::from_response(&response))),
            StatusCode::NOT_FOUND if is_missing_blob(&response) => Ok(None),
            _ => Err(self.client.failure(operation, &response)),
        }
    }

    async fn get_state(&self) -> Result<StoredState, StorageError> {
        const OPERATION: &str = "read the state";
        let mut request = self.request(Method::GET, OPERATION);
        request.max_bytes = MAX_STATE_BYTES;
        let response = self.client.send(request).await?.response;
        match response.status {
            StatusCode::OK => {
                Ok(StoredState { version: version(&response, &response.body), bytes: response.body.into() })
            }
            StatusCode::NOT_FOUND if is_missing_blob(&response) => {
                Ok(StoredState { bytes: Vec::new(), version: StorageVersion::Absent })
            }
            _ => Err(self.client.failure(OPERATION, &response)),
        }
    }

    /// Replaces the content of the blob once.
    async fn put(
        &self,
        body: &Bytes,
        expected: &StorageVersion,
        metadata: &Metadata,
        lease: Option<&str>,
    ) -> Result<Answer, StorageError> {
        let mut request = self
            .request(Method::PUT, "write the state")
            .header("content-type", "application/json")
            .header("content-md5", STANDARD.encode(Md5::digest(body)))
            .header("x-ms-blob-content-type", "application/json")
            .header("x-ms-blob-type", "BlockBlob")
            .lease(lease);
        match expected {
            StorageVersion::Unknown => {}
            StorageVersion::Absent => request = request.header("if-none-match", "*"),
            StorageVersion::Tag(tag) => request = request.header("if-match", split_tag(tag).0),
        }
        request = with_metadata(request, metadata);
        request.body = body.clone();
        self.client.send(request).await
    }

    async fn store(
        &self,
        content: &StateContent,
        expected: &StorageVersion,
    ) -> Result<StorageVersion, StorageError> {
        const OPERATION: &str = "write the state";
        let body = content.to_bytes();
        let held = self.held();
        let lease = held.as_ref().map(|held| held.info.id.as_str());
        // Nobody else can change the metadata of a leased blob.
        let (metadata, exists) = match &held {
            Some(held) => (held.metadata_with_lock(), true),
            None => match self.properties(OPERATION).await? {
                Some(found) => (found.metadata, true),
                None => (Metadata::new(), false),
            },
        };
        if self.client.settings().has_snapshots && exists {
            self.make_snapshot(lease).await?;
        }
        let mut condition = expected.clone();
        let mut is_repeated = false;
        for _ in 0..MAX_WRITES {
            let sent = self.put(&body, &condition, &metadata, lease).await?;
            is_repeated |= sent.is_repeated;
            let response = &sent.response;
            if response.status == StatusCode::CREATED {
                return Ok(version(response, &body));
            }
            match &*error_code(response) {
                "LeaseLost" | "LeaseNotPresentWithBlobOperation" if held.is_some() => {
                    if let Some(held) = &held {
                        self.renew_lease(held).await?;
                    }
                }
                "LeaseIdMissing" | "LeaseIdMismatchWithBlobOperation" => {
                    return Err(self.lost_to_other(response).await);
                }
                "ConditionNotMet" | "BlobAlreadyExists" | "TargetConditionNotMet" => {
                    // Locks of other processes change the ETag, but not the content.
                    let found = self.get_state().await?;
                    if digest_of(&condition) != digest_of(&found.version) || condition == found.version {
                        return Err(self
                            .client
                            .failure(OPERATION, response)
                            .with_effect(StorageEffect::Conflict)
                            .with_advice(
                                "another process has changed the state since it was read, so it was not replaced; \
                                 another run may have removed the lock of this run",
                            ));
                    }
                    condition = found.version;
                }
                _ => {
                    let mut error = self.client.failure(OPERATION, response);
                    if is_repeated {
                        error.effect = StorageEffect::Unknown;
                    }
                    return Err(error);
                }
            }
        }
        Err(StorageError::new(
            "failed to write the state: other processes repeatedly changed the blob or its lease at the same time",
        )
        .with_effect(StorageEffect::Conflict))
    }

    async fn make_snapshot(&self, lease: Option<&str>) -> Result<(), StorageError> {
        const OPERATION: &str = "make a snapshot of the state";
        let request = self.request(Method::PUT, OPERATION).component("snapshot").lease(lease);
        let response = self.client.send(request).await?.response;
        match response.status {
            StatusCode::CREATED => Ok(()),
            // The write finds the reason.
            StatusCode::PRECONDITION_FAILED => Ok(()),
            StatusCode::NOT_FOUND if is_missing_blob(&response) => Ok(()),
            _ => Err(self.client.failure(OPERATION, &response)),
        }
    }

    /// Acquires a lease that was broken, unless another process holds one.
    async fn renew_lease(&self, held: &HeldLock) -> Result<(), StorageError> {
        let response = self.acquire(&held.info.id).await?.response;
        if response.status != StatusCode::CREATED {
            return Err(self.lost_to_other(&response).await);
        }
        tracing::warn!(blob = self.blob, "the lease of the state was broken and has been acquired again");
        self.set_metadata(&held.info.id, &held.metadata_with_lock(), "lock the state").await
    }

    /// Returns the error for a blob that another process has leased.
    async fn lost_to_other(&self, response: &Fetched) -> StorageError {
        let holder = match self.properties("read the lock of the state").await {
            Ok(Some(Properties { holder: Some(holder), .. })) => format!(
                "{} has held it since {} for {} (lock ID {})",
                holder.who, holder.created, holder.operation, holder.id
            ),
            _ => "its holder left no lock information".to_owned(),
        };
        let error = self.client.failure("write the state", response).with_effect(StorageEffect::Conflict);
        error.with_advice(format!(
            "another process holds the lock of the state, so it was not replaced; {holder}"
        ))
    }

    async fn acquire(&self, id: &str) -> Result<Answer, StorageError> {
        let request = self
            .request(Method::PUT, "lock the state")
            .component("lease")
            .header("x-ms-lease-action", "acquire")
            .header("x-ms-lease-duration", "-1")
            .header("x-ms-proposed-lease-id", id);
        self.client.send(request).await
    }

    async fn set_metadata(
        &self,
        lease: &str,
        metadata: &Metadata,
        operation: &str,
    ) -> Result<(), StorageError> {
        let response = self.put_metadata(lease, metadata, operation).await?;
        match response.status {
            StatusCode::OK => Ok(()),
            _ => Err(self.client.failure(operation, &response)),
        }
    }

    async fn put_metadata(
        &self,
        lease: &str,
        metadata: &Metadata,
        operation: &str,
    ) -> Result<Fetched, StorageError> {
        let request = self.request(Method::PUT, operation).component("metadata").lease(Some(lease));
        Ok(self.client.send(with_metadata(request, metadata)).await?.response)
    }

    async fn release_lease(&self, id: &str) -> Result<Answer, StorageError> {
        let request = self
            .request(Method::PUT, "unlock the state")
            .component("lease")
            .header("x-ms-lease-action", "release")
            .lease(Some(id));
        self.client.send(request).await
    }

    /// Creates an empty blob to be leased, unless there is a blob.
    async fn create_empty(&self) -> Result<(), StorageError> {
        const OPERATION: &str = "lock the state";
        let request = self
            .request(Method::PUT, OPERATION)
            .header("content-type", "application/json")
            .header("x-ms-blob-content-type", "application/json")
            .header("x-ms-blob-type", "BlockBlob")
            .header("if-none-match", "*");
        let response = self.client.send(request).await?.response;
        match response.status {
            StatusCode::CREATED | StatusCode::CONFLICT | StatusCode::PRECONDITION_FAILED => Ok(()),
            _ => Err(self.client.failure(OPERATION, &response)),
        }
    }

    fn failed(&self, error: StorageError) -> LockError {
        LockError::Storage { location: self.location(), error }
    }

    fn held_by(&self, holder: Option<LockInfo>) -> LockError {
        LockError::Held { location: self.location(), holder: holder.map(Box::new), ends_with_process: false }
    }

    async fn attempt_lock(&self, info: LockInfo) -> Result<HeldLock, LockError> {
        const OPERATION: &str = "lock the state";
        let failed = |error| self.failed(error);
        let metadata = match self.properties(OPERATION).await.map_err(failed)? {
            Some(found) if found.is_leased => return Err(self.held_by(found.holder)),
            Some(found) => found.metadata,
            None => {
                self.create_empty().await.map_err(failed)?;
                Metadata::new()
            }
        };
        let held = HeldLock { info, metadata };
        let id = &held.info.id;
        let sent = match self.acquire(id).await {
            Ok(sent) => sent,
            Err(error) => {
                if error.effect == StorageEffect::Unknown {
                    // The lease may exist although the response was lost.
                    let _ = self.release_lease(id).await;
                }
                return Err(failed(error));
            }
        };
        match (sent.response.status, &*error_code(&sent.response)) {
            (StatusCode::CREATED | StatusCode::OK, _) => {}
            (StatusCode::CONFLICT, "LeaseAlreadyPresent") => {
                let found = self.properties(OPERATION).await.map_err(failed)?;
                return Err(self.held_by(found.and_then(|found| found.holder)));
            }
            _ => return Err(failed(self.client.failure(OPERATION, &sent.response))),
        }
        if let Err(error) = self.set_metadata(id, &held.metadata_with_lock(), OPERATION).await {
            let _ = self.release_lease(id).await;
            return Err(failed(error));
        }
        Ok(held)
    }

    /// Removes the lock information and releases the lease.
    async fn release(&self, id: &str, metadata: &Metadata) -> Result<(), LockError> {
        const OPERATION: &str = "unlock the state";
        let cleared = self.put_metadata(id, metadata, OPERATION).await;
        let sent = self.release_lease(id).await.map_err(|error| self.failed(error))?;
        let is_lost = match (sent.response.status, &*error_code(&sent.response)) {
            (StatusCode::OK, _) => match cleared {
                Ok(response) if response.status == StatusCode::OK => return Ok(()),
                // The lease was broken.
                Ok(response) if response.status == StatusCode::PRECONDITION_FAILED => true,
                Ok(response) => return Err(self.failed(self.client.failure(OPERATION, &response))),
                Err(error) => return Err(self.failed(error)),
            },
            // An earlier attempt may have released the lease.
            (StatusCode::CONFLICT, _) => {
                !(sent.is_repeated && cleared.is_ok_and(|response| response.status == StatusCode::OK))
            }
            (StatusCode::NOT_FOUND, _) => is_missing_blob(&sent.response),
            _ => false,
        };
        if !is_lost && sent.response.status != StatusCode::CONFLICT {
            return Err(self.failed(self.client.failure(OPERATION, &sent.response)));
        }
        if !is_lost {
            return Ok(());
        }
        let found = self.properties(OPERATION).await.map_err(|error| self.failed(error))?;
        let found = found.filter(|found| found.is_leased).and_then(|found| found.holder);
        Err(LockError::OtherLock { location: self.location(), id: id.to_owned(), found: found.map(Box::new) })
    }

    /// Deletes the state. If this process has leased the blob, the lease ends.
    pub(super) async fn delete(&self) -> Result<(), StorageError> {
        const OPERATION: &str = "delete the state";
        let lease =
            self.client.leases().iter().find(|(_, blob)| **blob == self.blob).map(|(id, _)| id.clone());
        let request = self.request(Method::DELETE, OPERATION).lease(lease.as_deref());
        let response = self.client.send(request).await?.response;
        match response.status {
            StatusCode::ACCEPTED | StatusCode::OK => {}
            StatusCode::NOT_FOUND if is_missing_blob(&response) => {}
            _ => return Err(self.client.failure(OPERATION, &response)),
        }
        if let Some(lease) = lease {
            self.client.leases().remove(&lease);
        }
        Ok(())
    }
}

fn with_metadata<'a>(mut request: BlobRequest<'a>, metadata: &Metadata) -> BlobRequest<'a> {
    for (name, value) in metadata {
        request = request.header(format!("{METADATA_PREFIX}{name}"), value.as_str());
    }
    request
}

/// Returns whether a response means that the blob does not exist, and not that the container does not.
fn is_missing_blob(response: &Fetched) -> bool {
    matches!(&*error_code(response), "BlobNotFound" | "ResourceNotFound")
}

/// Returns the version of a content: its ETag and its digest. A change of the metadata also changes
/// the ETag.
fn version(response: &Fetched, content: &[u8]) -> StorageVersion {
    let tag = response.headers.get(http::header::ETAG).and_then(|value| value.to_str().ok());
    tag.map_or(StorageVersion::Unknown, |tag| StorageVersion::Tag(format!("{tag} {}", hex_md5(content))))
}

fn split_tag(tag: &str) -> (&str, &str) {
    tag.rsplit_once(' ').unwrap_or((tag, ""))
}

/// Returns the digest of the content that a version identifies. An empty blob contains no state.
fn digest_of(version: &StorageVersion) -> String {
    match version {
        StorageVersion::Unknown => String::new(),
        StorageVersion::Absent => hex_md5(b""),
        StorageVersion::Tag(tag) => split_tag(tag).1.to_owned(),
    }
}

fn hex_md5(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in Md5::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[async_trait]
impl StateStorage for AzureStorage {
    fn location(&self) -> String {
        let settings = self.client.settings();
        format!("azurerm://{}/{}/{}", settings.account.account, settings.container, self.blob)
    }

    async fn read(&self) -> Result<StoredState, StateError> {
        self.get_state().await.map_err(|error| error.at(self.location()))
    }

    async fn write(
        &self,
        content: &StateContent,
        expected: &StorageVersion,
    ) -> Result<StorageVersion, StateError> {
        self.store(content, expected).await.map_err(|error| error.at(self.location()))
    }

    async fn lock(&self, request: &LockRequest) -> Result<LockInfo, LockError> {
        let info = LockInfo::new(request, format!("{}/{}", self.client.settings().container, self.blob));
        let held = self.attempt_lock(info).await?;
        let info = held.info.clone();
        self.client.leases().insert(info.id.clone(), self.blob.clone());
        self.set_held(Some(held));
        Ok(info)
    }

    async fn unlock(&self) -> Result<(), LockError> {
        let Some(held) = self.held() else { return Ok(()) };
        self.set_held(None);
        if self.client.leases().remove(&held.info.id).is_none() {
            // The blob was deleted with its lease.
            return Ok(());
        }
        self.release(&held.info.id, &held.metadata).await
    }

    async fn force_unlock(&self, id: &str) -> Result<(), LockError> {
        const OPERATION: &str = "unlock the state";
        let other = |found: Option<LockInfo>| LockError::OtherLock {
            location: self.location(),
            id: id.to_owned(),
            found: found.map(Box::new),
        };
        let found = self.properties(OPERATION).await.map_err(|error| self.failed(error))?;
        match found.filter(|found| found.is_leased) {
            None => Err(other(None)),
            Some(Properties { holder: Some(holder), metadata, .. }) if holder.id == id => {
                self.release(id, &metadata).await
            }
            Some(Properties { holder: Some(holder), .. }) => Err(other(Some(holder))),
            Some(Properties { holder: None, .. }) => Err(self.failed(
                StorageError::new(
                    "failed to unlock the state: the lease of the blob has no lock information",
                )
                .with_advice(
                    "break the lease with `az storage blob lease break` if no process uses the state",
                ),
            )),
        }
    }
}
