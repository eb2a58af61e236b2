//! One state in a bucket, with its locks.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Method, StatusCode};
use md5::{Digest as _, Md5};
use sha2::Sha256;
use tokio::time::{Instant, sleep};
use wardian_aws::AwsServiceError;
use wardian_download::Fetched;
use wardian_state::{
    LockError, LockInfo, LockRequest, StateContent, StateError, StateStorage, StorageEffect, StorageError,
    StorageVersion, StoredState,
};

use super::client::S3Client;
use super::dynamo_lock::{self, TableLock};
use super::settings::Encryption;
use crate::service::{MAX_RESPONSE_BYTES, MAX_STATE_BYTES};

const LOCK_SUFFIX: &str = ".tflock";

/// How long a state is read again if it does not have the digest in the table, because another
/// process may be writing it.
const DIGEST_TIMEOUT: Duration = Duration::from_secs(10);
const DIGEST_PAUSE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct S3Storage {
    client: Arc<S3Client>,
    key: String,
    lock: Mutex<Option<LockInfo>>,
}

impl S3Storage {
    pub(super) fn new(client: Arc<S3Client>, key: String) -> Self {
        Self { client, key, lock: Mutex::default() }
    }

    fn lock_key(&self) -> String {
        format!("{}{LOCK_SUFFIX}", self.key)
    }

    /// Returns the name of the state in lock information and in the table.
    fn lock_path(&self) -> String {
        format!("{}/{}", self.client.settings().bucket, self.key)
    }

    fn table(&self) -> Option<&str> {
        self.client.settings().table.as_deref()
    }

    fn held(&self) -> Option<LockInfo> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_held(&self, lock: Option<LockInfo>) {
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = lock;
    }

    /// Returns the headers for the encryption of an object that is written.
    fn encryption_headers(&self) -> Vec<(&'static str, String)> {
        const ENCRYPTION: &str = "x-amz-server-side-encryption";
        match &self.client.settings().encryption {
            Encryption::Bucket => Vec::new(),
            Encryption::Managed => vec![(ENCRYPTION, "AES256".to_owned())],
            Encryption::Kms(key) => vec![
                (ENCRYPTION, "aws:kms".to_owned()),
                ("x-amz-server-side-encryption-aws-kms-key-id", key.clone()),
            ],
            Encryption::Customer(key) => customer_key_headers(key),
        }
    }

    /// Returns the headers for reading an encrypted object.
    fn decryption_headers(&self) -> Vec<(&'static str, String)> {
        match &self.client.settings().encryption {
            Encryption::Customer(key) => customer_key_headers(key),
            _ => Vec::new(),
        }
    }

    async fn put(
        &self,
        key: &str,
        body: Bytes,
        condition: Option<(&'static str, String)>,
        operation: &str,
    ) -> Result<crate::service::Answer, StorageError> {
        let settings = self.client.settings();
        let mut headers = vec![("content-type", "application/json".to_owned())];
        if settings.has_checksums {
            headers.push(("x-amz-checksum-sha256", STANDARD.encode(Sha256::digest(&body))));
            headers.push(("x-amz-sdk-checksum-algorithm", "SHA256".to_owned()));
        }
        headers.extend(self.encryption_headers());
        headers.extend(settings.acl.clone().map(|acl| ("x-amz-acl", acl)));
        headers.extend(condition);
        self.client.object(Method::PUT, key, headers, body, MAX_RESPONSE_BYTES, operation).await
    }

    /// Returns the content of an object, or the response if there is none.
    async fn get(&self, key: &str, operation: &str) -> Result<Option<Fetched>, StorageError> {
        let headers = self.decryption_headers();
        let sent =
            self.client.object(Method::GET, key, headers, Bytes::new(), MAX_STATE_BYTES, operation).await?;
        let response = sent.response;
        match response.status {
            StatusCode::OK => Ok(Some(response)),
            StatusCode::NOT_FOUND if AwsServiceError::from_response(&response).code != "NoSuchBucket" => {
                Ok(None)
            }
            _ => Err(self.client.failure(operation, &response)),
        }
    }

    async fn get_state(&self) -> Result<StoredState, StorageError> {
        match self.get(&self.key, "read the state").await? {
            None => Ok(StoredState { bytes: Vec::new(), version: StorageVersion::Absent }),
            Some(response) => Ok(StoredState { version: version(&response), bytes: response.body.into() }),
        }
    }

    /// Reads the state, and compares it with the digest in the table.
    async fn read_checked(&self) -> Result<StoredState, StorageError> {
        let deadline = Instant::now() + DIGEST_TIMEOUT;
        loop {
            let stored = self.get_state().await?;
            let Some(table) = self.table() else { return Ok(stored) };
            let Some(expected) = dynamo_lock::read_digest(&self.client, table, &self.lock_path()).await?
            else {
                return Ok(stored);
            };
            let found = if stored.bytes.is_empty() { String::new() } else { hex_md5(&stored.bytes) };
            if found == expected {
                return Ok(stored);
            }
            if Instant::now() >= deadline {
                return Err(StorageError::new(format!(
                    "the state data in S3 does not have the expected content: its digest is \"{found}\", but the table \
                     \"{table}\" contains \"{expected}\""
                ))
                .with_advice(format!(
                    "another process may have stored the state without its digest; if the state is correct, \
                    set the attribute \"Digest\" of the item \"{}-md5\" to \"{found}\"",
                    self.lock_path()
                )));
            }
            sleep(DIGEST_PAUSE).await;
        }
    }

    async fn store(
        &self,
        content: &StateContent,
        expected: &StorageVersion,
    ) -> Result<StorageVersion, StorageError> {
        const OPERATION: &str = "write the state";
        let body = content.to_bytes();
        let condition = match expected {
            StorageVersion::Unknown => None,
            StorageVersion::Absent => Some(("if-none-match", "*".to_owned())),
            StorageVersion::Tag(tag) => Some(("if-match", tag.clone())),
        };
        let is_conditional = condition.is_some();
        let mut sent = self.put(&self.key, body.clone(), condition, OPERATION).await?;
        if is_conditional && is_unsupported(&sent.response) {
            sent = self.put(&self.key, body.clone(), None, OPERATION).await?;
        }
        let response = &sent.response;
        match response.status {
            StatusCode::OK => {}
            StatusCode::PRECONDITION_FAILED | StatusCode::CONFLICT => {
                return Err(self.client.failure(OPERATION, response).with_effect(StorageEffect::Conflict).with_advice(
                    "another process has changed the state since it was read, so it was not replaced; another \
                     run may have removed the lock of this run",
                ));
            }
            _ => {
                let mut error = self.client.failure(OPERATION, response);
                if sent.is_repeated {
                    error.effect = StorageEffect::Unknown;
                }
                return Err(error);
            }
        }
        if let Some(table) = self.table() {
            dynamo_lock::write_digest(&self.client, table, &self.lock_path(), &hex_md5(&body)).await?;
        }
        Ok(version(response))
    }

    /// Deletes the state and its digest.
    pub(super) async fn delete(&self) -> Result<(), StorageError> {
        self.delete_object(&self.key, "delete the state").await?;
        match self.table() {
            Some(table) => {
                dynamo_lock::delete_item(&self.client, table, &format!("{}-md5", self.lock_path())).await
            }
            None => Ok(()),
        }
    }

    async fn delete_object(&self, key: &str, operation: &str) -> Result<(), StorageError> {
        let sent = self
            .client
            .object(Method::DELETE, key, Vec::new(), Bytes::new(), MAX_RESPONSE_BYTES, operation)
            .await?;
        match sent.response.status {
            StatusCode::OK | StatusCode::NO_CONTENT | StatusCode::NOT_FOUND => Ok(()),
            _ => Err(self.client.failure(operation, &sent.response)),
        }
    }

    fn failed(&self, error: StorageError) -> LockError {
        LockError::Storage { location: self.location(), error }
    }

    fn held_by(&self, holder: Option<LockInfo>) -> LockError {
        LockError::Held { location: self.location(), holder: holder.map(Box::new), ends_with_process: false }
    }

    /// Creates the lock object unless it exists.
    async fn lock_object(&self, info: &LockInfo) -> Result<(), LockError> {
        const OPERATION: &str = "lock the state";
        let condition = Some(("if-none-match", "*".to_owned()));
        let sent = self.put(&self.lock_key(), info.to_json().into(), condition, OPERATION).await;
        let sent = sent.map_err(|error| self.failed(error))?;
        match sent.response.status {
            StatusCode::OK => Ok(()),
            StatusCode::PRECONDITION_FAILED | StatusCode::CONFLICT => {
                let holder = self.lock_object_holder().await.map_err(|error| self.failed(error))?;
                // An earlier attempt of this request may have created the object.
                if sent.is_repeated && holder.as_ref().is_some_and(|holder| holder.id == info.id) {
                    return Ok(());
                }
                Err(self.held_by(holder))
            }
            _ => Err(self.failed(self.client.failure(OPERATION, &sent.response))),
        }
    }

    async fn lock_object_holder(&self) -> Result<Option<LockInfo>, StorageError> {
        let found = self.get(&self.lock_key(), "read the lock of the state").await?;
        Ok(found.and_then(|response| LockInfo::from_json(&response.body)))
    }

    async fn lock_item(&self, info: &LockInfo) -> Result<(), LockError> {
        let Some(table) = self.table() else { return Ok(()) };
        match dynamo_lock::lock(&self.client, table, &self.lock_path(), info).await {
            Ok(TableLock::Acquired) => Ok(()),
            Ok(TableLock::Held(holder)) => Err(self.held_by(holder)),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Releases all locks that have an ID.
    async fn release(&self, id: &str) -> Result<(), LockError> {
        let other = |found| LockError::OtherLock { location: self.location(), id: id.to_owned(), found };
        if let Some(table) = self.table() {
            let holder = dynamo_lock::read_lock(&self.client, table, &self.lock_path()).await;
            match holder.map_err(|error| self.failed(error))? {
                Some(holder) if holder.id == id => {
                    let deleted = dynamo_lock::delete_item(&self.client, table, &self.lock_path()).await;
                    deleted.map_err(|error| self.failed(error))?;
                }
                found => return Err(other(found.map(Box::new))),
            }
        }
        if self.client.settings().uses_lockfile {
            let holder = self.lock_object_holder().await.map_err(|error| self.failed(error))?;
            match holder {
                Some(holder) if holder.id == id => {
                    let deleted = self.delete_object(&self.lock_key(), "unlock the state").await;
                    deleted.map_err(|error| self.failed(error))?;
                }
                found => return Err(other(found.map(Box::new))),
            }
        }
        Ok(())
    }
}

fn customer_key_headers(key: &[u8]) -> Vec<(&'static str, String)> {
    vec![
        ("x-amz-server-side-encryption-customer-algorithm", "AES256".to_owned()),
        ("x-amz-server-side-encryption-customer-key", STANDARD.encode(key)),
        ("x-amz-server-side-encryption-customer-key-md5", STANDARD.encode(Md5::digest(key))),
    ]
}

fn hex_md5(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for byte in Md5::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn version(response: &Fetched) -> StorageVersion {
    let tag = response.headers.get(http::header::ETAG).and_then(|value| value.to_str().ok());
    tag.map_or(StorageVersion::Unknown, |tag| StorageVersion::Tag(tag.to_owned()))
}

/// Returns whether a service does not support conditional writes.
fn is_unsupported(response: &Fetched) -> bool {
    response.status == StatusCode::NOT_IMPLEMENTED
        || response.status == StatusCode::BAD_REQUEST
            && matches!(&*AwsServiceError::from_response(response).code, "NotImplemented" | "InvalidArgument")
}

#[async_trait]
impl StateStorage for S3Storage {
    fn location(&self) -> String {
        let settings = self.client.settings();
        let service = settings
            .endpoint
            .as_ref()
            .map_or(String::new(), |endpoint| format!(" at {}", wardian_download::printable_url(endpoint)));
        format!("s3://{}/{}{service}", settings.bucket, self.key)
    }

    fn has_locks(&self) -> bool {
        self.client.settings().uses_lockfile || self.table().is_some()
    }

    async fn read(&self) -> Result<StoredState, StateError> {
        self.read_checked().await.map_err(|error| error.at(self.location()))
    }

    async fn write(
        &self,
        content: &StateContent,
        expected: &StorageVersion,
    ) -> Result<StorageVersion, StateError> {
        self.store(content, expected).await.map_err(|error| error.at(self.location()))
    }

    async fn lock(&self, request: &LockRequest) -> Result<LockInfo, LockError> {
        let info = LockInfo::new(request, self.lock_path());
        let uses_lockfile = self.client.settings().uses_lockfile;
        if uses_lockfile && let Err(error) = self.lock_object(&info).await {
            if matches!(&error, LockError::Storage { error, .. } if error.effect == StorageEffect::Unknown) {
                // The lock may exist although the response was lost.
                let _ = self.release(&info.id).await;
            }
            return Err(error);
        }
        if let Err(error) = self.lock_item(&info).await {
            if uses_lockfile {
                let _ = self.delete_object(&self.lock_key(), "unlock the state").await;
            }
            return Err(error);
        }
        self.set_held(Some(info.clone()));
        Ok(info)
    }

    async fn unlock(&self) -> Result<(), LockError> {
        let Some(info) = self.held() else { return Ok(()) };
        self.set_held(None);
        self.release(&info.id).await
    }

    async fn force_unlock(&self, id: &str) -> Result<(), LockError> {
        if !self.has_locks() {
            let reason = "the backend has neither \"use_lockfile\" nor \"dynamodb_table\"".to_owned();
            return Err(LockError::Unsupported { location: self.location(), reason });
        }
        self.release(id).await
    }
}
