//! Requests to Consul.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, StatusCode};
use serde_json::{Value, json};
use url::Url;
use wardian_download::{Fetch, Fetched};
use wardian_state::{StorageEffect, StorageError};

use super::settings::ConsulSettings;
use crate::service::{Answer, MAX_RESPONSE_BYTES, MAX_STATE_BYTES, unexpected};

const TOKEN_HEADER: HeaderName = HeaderName::from_static("x-consul-token");

#[derive(Debug)]
pub(super) struct ConsulClient {
    settings: ConsulSettings,
}

/// A key with its value.
pub(super) struct Entry {
    pub(super) value: Vec<u8>,
    pub(super) modify_index: u64,
    /// The session that holds the key as a lock.
    pub(super) session: Option<String>,
}

/// The result of a transaction.
pub(super) enum Transaction {
    /// The indexes of the keys after the transaction, in the order of its operations.
    Done(Vec<u64>),
    /// An operation failed, so nothing was changed.
    Failed { operation: usize, reason: String },
    /// The request is larger than the server accepts.
    TooLarge(StorageError),
}

impl ConsulClient {
    pub(super) fn new(settings: ConsulSettings) -> Self {
        Self { settings }
    }

    pub(super) fn settings(&self) -> &ConsulSettings {
        &self.settings
    }

    /// Returns the URL of a resource of the API. Consul decodes the path.
    fn url(&self, resource: &str, query: &[(&str, &str)]) -> Url {
        let mut url = self.settings.address.clone();
        url.set_path(&format!("/v1/{}", resource.replace('%', "%25")));
        let scope = [
            ("dc", &self.settings.datacenter),
            ("ns", &self.settings.namespace),
            ("partition", &self.settings.partition),
        ];
        let scope = scope.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?)));
        let pairs: Vec<_> = query.iter().copied().chain(scope).collect();
        if !pairs.is_empty() {
            url.query_pairs_mut().extend_pairs(pairs);
        }
        url
    }

    async fn send(
        &self,
        method: Method,
        url: Url,
        body: Bytes,
        max_bytes: u64,
        operation: &str,
    ) -> Result<Answer, StorageError> {
        let settings = &self.settings;
        let token = settings.token.as_deref().map(|token| {
            let mut value = HeaderValue::from_str(token).map_err(|_| {
                StorageError::new("the token of Consul contains characters that cannot be sent")
            })?;
            value.set_sensitive(true);
            Ok::<_, StorageError>(value)
        });
        let token = token.transpose()?;
        let build = || {
            let mut fetch = Fetch::new(method.clone(), url.clone()).redirects(0).body(body.clone());
            if let Some(authorization) = &settings.authorization {
                fetch = fetch.authorization(authorization.clone());
            }
            match &token {
                Some(token) => fetch.header(TOKEN_HEADER, token.clone()),
                None => fetch,
            }
        };
        let sent = settings.service.send(body.len(), max_bytes, build).await;
        sent.map_err(|error| StorageError {
            message: format!("failed to {operation}: {}", error.message),
            ..error
        })
    }

    /// Returns a key; [`None`] if it does not exist.
    pub(super) async fn get(&self, key: &str, operation: &str) -> Result<Option<Entry>, StorageError> {
        let url = self.url(&format!("kv/{key}"), &[("consistent", "")]);
        let response = self.send(Method::GET, url, Bytes::new(), MAX_STATE_BYTES, operation).await?.response;
        match response.status {
            StatusCode::NOT_FOUND => Ok(None),
            StatusCode::OK => parse_entry(&response.body).map(Some).ok_or_else(|| {
                StorageError::new(format!(
                    "failed to {operation}: the response for the key \"{key}\" is not valid"
                ))
                .with_advice("check that the address is the address of Consul")
            }),
            _ => Err(unexpected(operation, &response)),
        }
    }

    /// Returns the value of a key; [`None`] if it does not exist.
    pub(super) async fn get_value(&self, key: &str, operation: &str) -> Result<Option<Bytes>, StorageError> {
        let url = self.url(&format!("kv/{key}"), &[("raw", ""), ("consistent", "")]);
        let response = self.send(Method::GET, url, Bytes::new(), MAX_STATE_BYTES, operation).await?.response;
        match response.status {
            StatusCode::NOT_FOUND => Ok(None),
            StatusCode::OK => Ok(Some(response.body)),
            _ => Err(unexpected(operation, &response)),
        }
    }

    /// Returns the keys with a prefix, up to the next `/` after it.
    pub(super) async fn keys(&self, prefix: &str) -> Result<Vec<String>, StorageError> {
        const OPERATION: &str = "list the workspaces";
        let url = self.url(&format!("kv/{prefix}"), &[("keys", ""), ("separator", "/")]);
        let response =
            self.send(Method::GET, url, Bytes::new(), MAX_RESPONSE_BYTES, OPERATION).await?.response;
        match response.status {
            StatusCode::NOT_FOUND => Ok(Vec::new()),
            StatusCode::OK => serde_json::from_slice(&response.body).map_err(|_| {
                StorageError::new(format!("failed to {OPERATION}: the list of keys is not valid"))
            }),
            _ => Err(unexpected(OPERATION, &response)),
        }
    }

    /// Stores a value. Returns [`None`] if Consul has not stored it because of the query's conditions.
    pub(super) async fn put(
        &self,
        key: &str,
        query: &[(&str, &str)],
        value: Bytes,
        operation: &str,
    ) -> Result<bool, StorageError> {
        let url = self.url(&format!("kv/{key}"), query);
        let response = self.send(Method::PUT, url, value, MAX_RESPONSE_BYTES, operation).await?.response;
        confirmed(&response, operation)
    }

    pub(super) async fn delete(
        &self,
        key: &str,
        query: &[(&str, &str)],
        operation: &str,
    ) -> Result<(), StorageError> {
        let url = self.url(&format!("kv/{key}"), query);
        let response =
            self.send(Method::DELETE, url, Bytes::new(), MAX_RESPONSE_BYTES, operation).await?.response;
        confirmed(&response, operation).map(drop)
    }

    /// Executes operations on keys; all of them, or none.
    pub(super) async fn transaction(
        &self,
        operations: Bytes,
        operation: &str,
    ) -> Result<(Transaction, bool), StorageError> {
        let url = self.url("txn", &[]);
        let Answer { response, is_repeated } =
            self.send(Method::PUT, url, operations, MAX_STATE_BYTES, operation).await?;
        let invalid = || {
            StorageError::new(format!("failed to {operation}: the response to the transaction is not valid"))
                .with_effect(StorageEffect::Unknown)
        };
        let result = match response.status {
            StatusCode::OK => {
                let parsed: Value = serde_json::from_slice(&response.body).map_err(|_| invalid())?;
                let results = parsed.get("Results").and_then(Value::as_array);
                let index = |result: &Value| result.get("KV")?.get("ModifyIndex")?.as_u64();
                let indexes = results.into_iter().flatten().filter_map(index).collect();
                Transaction::Done(indexes)
            }
            StatusCode::CONFLICT => {
                let parsed: Value = serde_json::from_slice(&response.body).map_err(|_| invalid())?;
                let first = parsed.get("Errors").and_then(|errors| errors.get(0)).ok_or_else(invalid)?;
                let number = first.get("OpIndex").and_then(Value::as_u64).unwrap_or_default();
                Transaction::Failed {
                    operation: usize::try_from(number).unwrap_or_default(),
                    reason: first.get("What").and_then(Value::as_str).unwrap_or_default().to_owned(),
                }
            }
            StatusCode::PAYLOAD_TOO_LARGE => Transaction::TooLarge(unexpected(operation, &response)),
            _ => return Err(unexpected(operation, &response)),
        };
        Ok((result, is_repeated))
    }

    /// Creates a session that expires unless it is renewed. Returns its ID.
    pub(super) async fn create_session(&self, ttl: &str, delay: &str) -> Result<String, StorageError> {
        const OPERATION: &str = "create a session";
        let body = json!({ "LockDelay": delay, "Name": "Consul API Lock", "TTL": ttl }).to_string();
        let url = self.url("session/create", &[]);
        let response =
            self.send(Method::PUT, url, body.into(), MAX_RESPONSE_BYTES, OPERATION).await?.response;
        if response.status != StatusCode::OK {
            return Err(unexpected(OPERATION, &response));
        }
        let parsed: Option<Value> = serde_json::from_slice(&response.body).ok();
        let id = parsed.as_ref().and_then(|parsed| parsed.get("ID")?.as_str());
        id.map(str::to_owned)
            .ok_or_else(|| StorageError::new(format!("failed to {OPERATION}: the response contains no ID")))
    }

    /// Renews a session. Returns `false` if it has expired.
    pub(super) async fn renew_session(&self, id: &str) -> Result<bool, StorageError> {
        const OPERATION: &str = "renew the session";
        let url = self.url(&format!("session/renew/{id}"), &[]);
        let response =
            self.send(Method::PUT, url, Bytes::new(), MAX_RESPONSE_BYTES, OPERATION).await?.response;
        match response.status {
            StatusCode::OK => Ok(true),
            StatusCode::NOT_FOUND => Ok(false),
            _ => Err(unexpected(OPERATION, &response)),
        }
    }

    pub(super) async fn destroy_session(&self, id: &str) -> Result<(), StorageError> {
        const OPERATION: &str = "end the session";
        let url = self.url(&format!("session/destroy/{id}"), &[]);
        let response =
            self.send(Method::PUT, url, Bytes::new(), MAX_RESPONSE_BYTES, OPERATION).await?.response;
        confirmed(&response, OPERATION).map(drop)
    }
}

/// Returns the boolean with which Consul responds to a write.
fn confirmed(response: &Fetched, operation: &str) -> Result<bool, StorageError> {
    match (response.status, response.body.trim_ascii()) {
        (StatusCode::OK, b"true") => Ok(true),
        (StatusCode::OK, b"false") => Ok(false),
        (StatusCode::OK, _) => Err(StorageError::new(format!(
            "failed to {operation}: the response is neither \"true\" nor \"false\""
        ))
        .with_effect(StorageEffect::Unknown)
        .with_advice("check that the address is the address of Consul")),
        _ => Err(unexpected(operation, response)),
    }
}

fn parse_entry(body: &[u8]) -> Option<Entry> {
    let parsed: Value = serde_json::from_slice(body).ok()?;
    let entry = parsed.get(0)?;
    let value = match entry.get("Value") {
        None | Some(Value::Null) => Vec::new(),
        Some(value) => STANDARD.decode(value.as_str()?).ok()?,
    };
    let session = entry.get("Session").and_then(Value::as_str).filter(|id| !id.is_empty());
    Some(Entry {
        value,
        modify_index: entry.get("ModifyIndex")?.as_u64()?,
        session: session.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_parsed() {
        let entry = parse_entry(br#"[{"Key":"a","Value":"e30=","ModifyIndex":7,"Session":"s"}]"#).unwrap();
        assert_eq!((&*entry.value, entry.modify_index, entry.session.as_deref()), (&b"{}"[..], 7, Some("s")));
        let lock = parse_entry(br#"[{"Key":"a","Value":null,"ModifyIndex":7}]"#).unwrap();
        assert!(lock.value.is_empty() && lock.session.is_none());
        for bad in ["", "{}", "[]", "[1]", r#"[{"Value":"e30="}]"#, r#"[{"Value":"%","ModifyIndex":7}]"#] {
            assert!(parse_entry(bad.as_bytes()).is_none(), "{bad}");
        }
    }
}
