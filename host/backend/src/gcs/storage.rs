//! One state in a bucket, with its lock.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::HeaderName;
use http::{HeaderValue, Method, StatusCode};
use md5::{Digest as _, Md5};
use serde_json::{Value, json};
use sha2::Sha256;
use wardian_download::Fetched;
use wardian_state::{
    LockError, LockInfo, LockRequest, StateContent, StateError, StateStorage, StorageEffect, StorageError,
    StorageVersion, StoredState,
};

use super::client::{GcsClient, GcsRequest, multipart};
use super::settings::Encryption;
use crate::service::{Answer, MAX_RESPONSE_BYTES, MAX_STATE_BYTES};

pub(super) const STATE_SUFFIX: &str = ".tfstate";
const LOCK_SUFFIX: &str = ".tflock";
const GENERATION: &str = "x-goog-generation";

/// The generation of an object that does not exist.
const NO_GENERATION: &str = "0";

#[derive(Debug)]
pub(super) struct GcsStorage {
    client: Arc<GcsClient>,
    workspace: String,
    lock: Mutex<Option<LockInfo>>,
}

/// The lock object.
struct FoundLock {
    /// The ID in the object. The lock's ID for users is its generation.
    stored_id: String,
    info: LockInfo,
}

impl GcsStorage {
    pub(super) fn new(client: Arc<GcsClient>, workspace: &str) -> Self {
        Self { client, workspace: workspace.to_owned(), lock: Mutex::default() }
    }

    fn state_name(&self) -> String {
        format!("{}{}{STATE_SUFFIX}", self.client.settings().prefix, self.workspace)
    }

    fn lock_name(&self) -> String {
        format!("{}{}{LOCK_SUFFIX}", self.client.settings().prefix, self.workspace)
    }

    fn held(&self) -> Option<LockInfo> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_held(&self, lock: Option<LockInfo>) {
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = lock;
    }

    /// Returns the headers of requests for an object that is encrypted with the user's key.
    fn key_headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        let Encryption::Customer(key) = &self.client.settings().encryption else { return Vec::new() };
        let headers = [
            ("x-goog-encryption-algorithm", "AES256".to_owned()),
            ("x-goog-encryption-key", STANDARD.encode(key)),
            ("x-goog-encryption-key-sha256", STANDARD.encode(Sha256::digest(key))),
        ];
        let header = |(name, value): (&'static str, String)| {
            let mut value = HeaderValue::from_str(&value).ok()?;
            value.set_sensitive(true);
            Some((HeaderName::from_static(name), value))
        };
        headers.into_iter().filter_map(header).collect()
    }

    /// Returns the content of an object, or [`None`] if there is none.
    async fn get(
        &self,
        name: &str,
        headers: Vec<(HeaderName, HeaderValue)>,
        operation: &str,
    ) -> Result<Option<Fetched>, StorageError> {
        let mut url = self.client.object_url(name)?;
        url.query_pairs_mut().append_pair("alt", "media");
        let request = GcsRequest {
            method: Method::GET,
            url,
            headers,
            body: Bytes::new(),
            max_bytes: MAX_STATE_BYTES,
            operation,
        };
        let response = self.client.send(request).await?.response;
        match response.status {
            StatusCode::OK => Ok(Some(response)),
            StatusCode::NOT_FOUND if !self.client.is_missing_bucket(&response) => Ok(None),
            _ => Err(self.client.failure(operation, &response)),
        }
    }

    /// Writes an object if it has a generation.
    async fn put(
        &self,
        name: &str,
        content: &[u8],
        generation: Option<&str>,
        is_state: bool,
        operation: &str,
    ) -> Result<Answer, StorageError> {
        let mut url = self.client.upload_url(name)?;
        url.query_pairs_mut().extend_pairs(generation.map(|generation| ("ifGenerationMatch", generation)));
        if let (true, Encryption::Kms(key)) = (is_state, &self.client.settings().encryption) {
            url.query_pairs_mut().append_pair("kmsKeyName", key);
        }
        let metadata = json!({ "name": name, "md5Hash": STANDARD.encode(Md5::digest(content)) });
        let (body, content_type) = multipart(&metadata, content);
        let mut headers = if is_state { self.key_headers() } else { Vec::new() };
        headers.push(content_type);
        let request =
            GcsRequest { method: Method::POST, url, headers, body, max_bytes: MAX_RESPONSE_BYTES, operation };
        self.client.send(request).await
    }

    /// Deletes an object, or only one generation of it.
    async fn delete_object(
        &self,
        name: &str,
        generation: Option<&str>,
        operation: &str,
    ) -> Result<Answer, StorageError> {
        let mut url = self.client.object_url(name)?;
        if let Some(generation) = generation {
            url.query_pairs_mut().append_pair("ifGenerationMatch", generation);
        }
        let request = GcsRequest {
            method: Method::DELETE,
            url,
            headers: Vec::new(),
            body: Bytes::new(),
            max_bytes: MAX_RESPONSE_BYTES,
            operation,
        };
        self.client.send(request).await
    }

    async fn get_state(&self) -> Result<StoredState, StorageError> {
        match self.get(&self.state_name(), self.key_headers(), "read the state").await? {
            None => Ok(StoredState { bytes: Vec::new(), version: StorageVersion::Absent }),
            Some(response) => {
                let version =
                    generation_header(&response).map_or(StorageVersion::Unknown, StorageVersion::Tag);
                Ok(StoredState { version, bytes: response.body.into() })
            }
        }
    }

    async fn store(
        &self,
        content: &StateContent,
        expected: &StorageVersion,
    ) -> Result<StorageVersion, StorageError> {
        const OPERATION: &str = "write the state";
        let generation = match expected {
            StorageVersion::Unknown => None,
            StorageVersion::Absent => Some(NO_GENERATION),
            StorageVersion::Tag(tag) => Some(tag.as_str()),
        };
        let sent = self.put(&self.state_name(), &content.to_bytes(), generation, true, OPERATION).await?;
        let response = &sent.response;
        match response.status {
            StatusCode::OK => {
                Ok(written_generation(response).map_or(StorageVersion::Unknown, StorageVersion::Tag))
            }
            StatusCode::PRECONDITION_FAILED => {
                Err(self.client.failure(OPERATION, response).with_effect(StorageEffect::Conflict).with_advice(
                    "another process has changed the state since it was read, so it was not replaced; another \
                     run may have removed the lock of this run",
                ))
            }
            _ => {
                let mut error = self.client.failure(OPERATION, response);
                if sent.is_repeated {
                    error.effect = StorageEffect::Unknown;
                }
                Err(error)
            }
        }
    }

    /// Deletes the state.
    pub(super) async fn delete(&self) -> Result<(), StorageError> {
        const OPERATION: &str = "delete the state";
        let response = self.delete_object(&self.state_name(), None, OPERATION).await?.response;
        match response.status {
            StatusCode::OK | StatusCode::NO_CONTENT => Ok(()),
            StatusCode::NOT_FOUND if !self.client.is_missing_bucket(&response) => Ok(()),
            _ => Err(self.client.failure(OPERATION, &response)),
        }
    }

    fn failed(&self, error: StorageError) -> LockError {
        LockError::Storage { location: self.location(), error }
    }

    async fn found_lock(&self) -> Result<Option<FoundLock>, LockError> {
        let found = self.get(&self.lock_name(), Vec::new(), "read the lock of the state").await;
        let found = found.map_err(|error| self.failed(error))?;
        Ok(found.map(|response| {
            // An object with another content is a lock, too.
            let mut info = LockInfo::from_json(&response.body).unwrap_or_default();
            let generation = generation_header(&response).unwrap_or_default();
            let stored_id = std::mem::replace(&mut info.id, generation);
            FoundLock { stored_id, info }
        }))
    }

    /// Creates the lock object unless it exists, and returns its generation.
    async fn create_lock(&self, info: &LockInfo) -> Result<String, LockError> {
        const OPERATION: &str = "lock the state";
        let content = info.to_json();
        let sent =
            self.put(&self.lock_name(), content.as_bytes(), Some(NO_GENERATION), false, OPERATION).await;
        let sent = match sent {
            Ok(sent) => sent,
            Err(error) => {
                if error.effect == StorageEffect::Unknown {
                    // The lock may exist although the response was lost.
                    self.remove_own_lock(info).await;
                }
                return Err(self.failed(error));
            }
        };
        match sent.response.status {
            StatusCode::OK => {
                if let Some(generation) = written_generation(&sent.response) {
                    return Ok(generation);
                }
                match self.found_lock().await? {
                    Some(found) if found.stored_id == info.id && !found.info.id.is_empty() => Ok(found.info.id),
                    _ => Err(self.failed(StorageError::new(
                        "failed to lock the state: the service does not return the generation of the lock object",
                    ))),
                }
            }
            StatusCode::PRECONDITION_FAILED => match self.found_lock().await? {
                // An earlier attempt of this request has created the object.
                Some(found) if sent.is_repeated && found.stored_id == info.id => Ok(found.info.id),
                found => Err(LockError::Held {
                    location: self.location(),
                    holder: found.map(|found| Box::new(found.info)),
                    ends_with_process: false,
                }),
            },
            _ => Err(self.failed(self.client.failure(OPERATION, &sent.response))),
        }
    }

    /// Removes a lock that this process may have created. Errors are ignored, because the lock is not
    /// used.
    async fn remove_own_lock(&self, info: &LockInfo) {
        if let Ok(Some(found)) = self.found_lock().await
            && found.stored_id == info.id
        {
            let _ = self.release(&found.info.id).await;
        }
    }

    /// Deletes the lock object if it has a generation.
    async fn release(&self, generation: &str) -> Result<(), LockError> {
        const OPERATION: &str = "unlock the state";
        let other =
            |found| LockError::OtherLock { location: self.location(), id: generation.to_owned(), found };
        if generation.parse::<i64>().is_err() {
            let found = self.found_lock().await?;
            return Err(other(found.map(|found| Box::new(found.info))));
        }
        let sent = self.delete_object(&self.lock_name(), Some(generation), OPERATION).await;
        let sent = sent.map_err(|error| self.failed(error))?;
        match sent.response.status {
            StatusCode::OK | StatusCode::NO_CONTENT => Ok(()),
            // An earlier attempt has deleted it.
            StatusCode::NOT_FOUND if sent.is_repeated => Ok(()),
            StatusCode::NOT_FOUND if !self.client.is_missing_bucket(&sent.response) => Err(other(None)),
            StatusCode::PRECONDITION_FAILED => {
                let found = self.found_lock().await?;
                Err(other(found.map(|found| Box::new(found.info))))
            }
            _ => Err(self.failed(self.client.failure(OPERATION, &sent.response))),
        }
    }
}

/// Returns the generation of an object that was read.
fn generation_header(response: &Fetched) -> Option<String> {
    response.headers.get(GENERATION).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// Returns the generation of an object that was written.
fn written_generation(response: &Fetched) -> Option<String> {
    let object: Value = serde_json::from_slice(&response.body).ok()?;
    object.get("generation")?.as_str().map(str::to_owned)
}

#[async_trait]
impl StateStorage for GcsStorage {
    fn location(&self) -> String {
        format!("gs://{}/{}", self.client.settings().bucket, self.state_name())
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
        let path = format!("gs://{}/{}", self.client.settings().bucket, self.lock_name());
        let mut info = LockInfo::new(request, path);
        info.id = self.create_lock(&info).await?;
        self.set_held(Some(info.clone()));
        Ok(info)
    }

    async fn unlock(&self) -> Result<(), LockError> {
        let Some(info) = self.held() else { return Ok(()) };
        self.set_held(None);
        self.release(&info.id).await
    }

    async fn force_unlock(&self, id: &str) -> Result<(), LockError> {
        self.release(id).await
    }
}
