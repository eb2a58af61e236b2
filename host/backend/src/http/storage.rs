//! The requests of the backend `http`.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use md5::{Digest as _, Md5};
use serde_json::json;
use url::Url;
use wardian_download::{Fetch, Fetched, printable_url};
use wardian_state::{
    LockError, LockInfo, LockRequest, StateContent, StateError, StateStorage, StorageEffect, StorageError,
    StorageVersion, StoredState,
};

use super::HttpSettings;
use crate::service::{Answer, MAX_RESPONSE_BYTES, MAX_STATE_BYTES, unexpected};

const CONTENT_MD5: HeaderName = HeaderName::from_static("content-md5");

/// The state behind an address.
#[derive(Debug)]
pub(super) struct HttpStorage {
    settings: HttpSettings,
    lock: Mutex<Option<LockInfo>>,
}

impl HttpStorage {
    pub(super) fn new(settings: HttpSettings) -> Self {
        Self { settings, lock: Mutex::default() }
    }

    fn held(&self) -> Option<LockInfo> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_held(&self, lock: Option<LockInfo>) {
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = lock;
    }

    async fn send(
        &self,
        method: &Method,
        url: &Url,
        body: Bytes,
        max_bytes: u64,
    ) -> Result<Answer, StorageError> {
        let checksum = HeaderValue::from_str(&STANDARD.encode(Md5::digest(&body))).ok();
        let build = || {
            let mut fetch = Fetch::new(method.clone(), url.clone());
            if let Some(authorization) = &self.settings.authorization {
                fetch = fetch.authorization(authorization.clone());
            }
            if body.is_empty() {
                return fetch;
            }
            if let Some(checksum) = &checksum {
                fetch = fetch.header(CONTENT_MD5, checksum.clone());
            }
            fetch
                .header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
                .body(body.clone())
        };
        self.settings.service.send(body.len(), max_bytes, build).await
    }

    async fn stored(&self) -> Result<StoredState, StorageError> {
        let sent = self.send(&Method::GET, &self.settings.address, Bytes::new(), MAX_STATE_BYTES).await;
        let response = sent?.response;
        match response.status {
            StatusCode::OK => {
                check_md5(&response)?;
                Ok(StoredState { bytes: response.body.into(), version: StorageVersion::Unknown })
            }
            StatusCode::NO_CONTENT | StatusCode::NOT_FOUND => Ok(StoredState::default()),
            _ => Err(unexpected("read the state", &response)),
        }
    }

    async fn store(&self, content: &StateContent) -> Result<StorageVersion, StorageError> {
        let mut url = self.settings.address.clone();
        if let Some(lock) = self.held().filter(|_| self.settings.lock.is_some()) {
            url.query_pairs_mut().append_pair("ID", &lock.id);
        }
        let body = content.to_bytes();
        let sent = self.send(&self.settings.update_method, &url, body, MAX_RESPONSE_BYTES).await?;
        let response = &sent.response;
        match response.status {
            StatusCode::OK | StatusCode::CREATED | StatusCode::NO_CONTENT => Ok(StorageVersion::Unknown),
            StatusCode::CONFLICT | StatusCode::LOCKED | StatusCode::PRECONDITION_FAILED => {
                let holder = LockInfo::from_json(&response.body).filter(|info| !info.id.is_empty());
                let advice = match holder {
                    Some(holder) => format!(
                        "the service reports that {} has held the lock {} since {}; another run may have \
                         removed the lock of this run",
                        holder.who, holder.id, holder.created
                    ),
                    None => "another run may have removed the lock of this run".to_owned(),
                };
                Err(unexpected("write the state", response)
                    .with_effect(StorageEffect::Conflict)
                    .with_advice(advice))
            }
            _ => {
                let mut error = unexpected("write the state", response);
                if sent.is_repeated {
                    error.effect = StorageEffect::Unknown;
                }
                Err(error)
            }
        }
    }

    fn lock_failed(&self, error: StorageError) -> LockError {
        LockError::Storage { location: self.location(), error }
    }
}

/// Checks the body of a response, if the response contains its checksum.
fn check_md5(response: &Fetched) -> Result<(), StorageError> {
    let Some(expected) = response.headers.get(CONTENT_MD5) else { return Ok(()) };
    let expected = STANDARD.decode(expected.as_bytes()).unwrap_or_default();
    if expected == Md5::digest(&response.body).as_slice() {
        return Ok(());
    }
    Err(StorageError::new(format!(
        "the response from {} does not have the checksum in its Content-MD5 header",
        printable_url(&response.url)
    ))
    .with_advice("the state was corrupted in transit or by the service; nothing was changed"))
}

#[async_trait]
impl StateStorage for HttpStorage {
    fn location(&self) -> String {
        printable_url(&self.settings.address)
    }

    fn has_locks(&self) -> bool {
        self.settings.lock.is_some()
    }

    /// Another process can remove the lock, and the service does not compare versions.
    fn rejects_stale_writes(&self) -> bool {
        false
    }

    async fn read(&self) -> Result<StoredState, StateError> {
        self.stored().await.map_err(|error| error.at(self.location()))
    }

    async fn write(
        &self,
        content: &StateContent,
        _expected: &StorageVersion,
    ) -> Result<StorageVersion, StateError> {
        self.store(content).await.map_err(|error| error.at(self.location()))
    }

    async fn lock(&self, request: &LockRequest) -> Result<LockInfo, LockError> {
        let info = LockInfo::new(request, "");
        let Some((url, method)) = &self.settings.lock else { return Ok(info) };
        let sent = self.send(method, url, info.to_json().into(), MAX_RESPONSE_BYTES).await;
        let sent = match sent {
            Ok(sent) => sent,
            Err(error) => {
                if error.effect == StorageEffect::Unknown {
                    self.set_held(Some(info));
                    // The lock may be held without this process knowing it.
                    let _ = self.unlock().await;
                }
                return Err(self.lock_failed(error));
            }
        };
        let response = sent.response;
        match response.status {
            StatusCode::OK | StatusCode::CREATED | StatusCode::NO_CONTENT => {}
            StatusCode::CONFLICT | StatusCode::LOCKED => {
                let holder = LockInfo::from_json(&response.body).filter(|info| !info.id.is_empty());
                // An earlier attempt of this request may have acquired the lock.
                if !sent.is_repeated || holder.as_ref().is_none_or(|holder| holder.id != info.id) {
                    let holder = holder.map(Box::new);
                    return Err(LockError::Held {
                        location: self.location(),
                        holder,
                        ends_with_process: false,
                    });
                }
            }
            _ => return Err(self.lock_failed(unexpected("lock the state", &response))),
        }
        self.set_held(Some(info.clone()));
        Ok(info)
    }

    async fn unlock(&self) -> Result<(), LockError> {
        let (Some(info), Some((url, method))) = (self.held(), &self.settings.unlock) else { return Ok(()) };
        let sent = self.send(method, url, info.to_json().into(), MAX_RESPONSE_BYTES).await;
        self.set_held(None);
        let response = sent.map_err(|error| self.lock_failed(error))?.response;
        match response.status {
            StatusCode::OK | StatusCode::NO_CONTENT => Ok(()),
            _ => Err(self.lock_failed(unexpected("unlock the state", &response))),
        }
    }

    async fn force_unlock(&self, id: &str) -> Result<(), LockError> {
        let Some((url, method)) = &self.settings.unlock else {
            let reason = "the backend has no \"unlock_address\"".to_owned();
            return Err(LockError::Unsupported { location: self.location(), reason });
        };
        let body = json!({ "ID": id }).to_string();
        let sent = self.send(method, url, body.into(), MAX_RESPONSE_BYTES).await;
        let response = sent.map_err(|error| self.lock_failed(error))?.response;
        match response.status {
            StatusCode::OK | StatusCode::NO_CONTENT => Ok(()),
            StatusCode::CONFLICT | StatusCode::LOCKED => Err(LockError::OtherLock {
                location: self.location(),
                id: id.to_owned(),
                found: LockInfo::from_json(&response.body).filter(|info| !info.id.is_empty()).map(Box::new),
            }),
            _ => Err(self.lock_failed(unexpected("unlock the state", &response))),
        }
    }
}
