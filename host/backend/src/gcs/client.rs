//! Requests to the JSON API of Google Cloud Storage.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName};
use http::{HeaderValue, Method, StatusCode};
use serde_json::Value;
use url::Url;
use wardian_download::{Authorization, Fetch, Fetched};
use wardian_state::{StorageEffect, StorageError};

use super::settings::GcsSettings;
use crate::service::{Answer, MAX_RESPONSE_BYTES};

/// Maximum number of pages of a list of objects.
const MAX_PAGES: usize = 10_000;

/// Maximum number of characters of a response that an error message contains.
const MAX_SHOWN_CHARACTERS: usize = 300;

/// Sends requests to the service.
#[derive(Debug)]
pub(super) struct GcsClient {
    settings: GcsSettings,
}

/// A request to the service.
pub(super) struct GcsRequest<'a> {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: Bytes,
    pub(super) max_bytes: u64,
    /// The purpose of the request, for errors.
    pub(super) operation: &'a str,
}

/// The objects with a prefix, in one page of a list.
struct Page {
    names: Vec<String>,
    next: Option<String>,
}

impl GcsClient {
    pub(super) fn new(settings: GcsSettings) -> Self {
        Self { settings }
    }

    pub(super) fn settings(&self) -> &GcsSettings {
        &self.settings
    }

    /// Returns the names of the objects with the prefix of the settings, without those in
    /// directories below it.
    pub(super) async fn list(&self) -> Result<Vec<String>, StorageError> {
        const OPERATION: &str = "list the objects";
        let mut names = Vec::new();
        let mut next: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let mut url = self.url(&[])?;
            url.query_pairs_mut()
                .append_pair("prefix", &self.settings.prefix)
                .append_pair("delimiter", "/")
                .extend_pairs(next.as_ref().map(|next| ("pageToken", next)));
            let request = GcsRequest {
                method: Method::GET,
                url,
                headers: Vec::new(),
                body: Bytes::new(),
                max_bytes: MAX_RESPONSE_BYTES,
                operation: OPERATION,
            };
            let response = self.send(request).await?.response;
            if response.status != StatusCode::OK {
                return Err(self.failure(OPERATION, &response));
            }
            let page = parse_page(&response.body).ok_or_else(|| {
                StorageError::new(format!("the list of the objects in {} is invalid", self.settings.bucket))
            })?;
            names.extend(page.names);
            match page.next {
                Some(token) if next.as_ref() != Some(&token) => next = Some(token),
                _ => break,
            }
        }
        Ok(names)
    }

    /// Returns the URL of an object.
    pub(super) fn object_url(&self, name: &str) -> Result<Url, StorageError> {
        self.url(&[name])
    }

    /// Returns the URL to which an object is uploaded.
    pub(super) fn upload_url(&self, name: &str) -> Result<Url, StorageError> {
        let mut url = self.settings.endpoint.clone();
        url.set_path("/upload/storage/v1/");
        let mut url = self.below(url, &[])?;
        url.query_pairs_mut().append_pair("uploadType", "multipart").append_pair("name", name);
        Ok(url)
    }

    fn url(&self, rest: &[&str]) -> Result<Url, StorageError> {
        self.below(self.settings.endpoint.clone(), rest)
    }

    /// Returns the URL of the bucket's objects, followed by names, below a URL.
    fn below(&self, mut url: Url, rest: &[&str]) -> Result<Url, StorageError> {
        url.set_query(None);
        url.path_segments_mut()
            .map_err(|()| StorageError::new("the endpoint has no path"))?
            .pop_if_empty()
            .extend(["b", &*self.settings.bucket, "o"])
            .extend(rest);
        Ok(url)
    }

    pub(super) async fn send(&self, request: GcsRequest<'_>) -> Result<Answer, StorageError> {
        let GcsRequest { operation, max_bytes, .. } = request;
        let authorization = match &self.settings.token {
            None => None,
            Some(token) => {
                let token = token.value().await.map_err(|reason| {
                    StorageError::new(format!("failed to {operation}: there is no access token: {reason}"))
                })?;
                Some(Authorization::bearer(&token))
            }
        };
        let build = || {
            let mut fetch = Fetch::new(request.method.clone(), request.url.clone()).redirects(0);
            for (name, value) in &request.headers {
                fetch = fetch.header(name.clone(), value.clone());
            }
            if let Some(authorization) = &authorization {
                fetch = fetch.authorization(authorization.clone());
            }
            fetch.body(request.body.clone())
        };
        let sent = self.settings.service.send(request.body.len(), max_bytes, build).await;
        sent.map_err(|error| StorageError {
            message: format!("failed to {operation}: {}", error.message),
            ..error
        })
    }

    /// Returns whether a response means that the bucket does not exist, and not only the object.
    pub(super) fn is_missing_bucket(&self, response: &Fetched) -> bool {
        let reason = reason(response);
        response.status == StatusCode::NOT_FOUND
            && (reason.contains("bucket does not exist")
                || reason.contains("NoSuchBucket")
                || reason.contains(&format!("Bucket {} does not exist", self.settings.bucket)))
    }

    /// Returns the error for a response with an unexpected status.
    pub(super) fn failure(&self, operation: &str, response: &Fetched) -> StorageError {
        let bucket = &self.settings.bucket;
        let reason = reason(response);
        let advice = match response.status.as_u16() {
            _ if self.is_missing_bucket(response) => Some(format!(
                "the bucket \"{bucket}\" does not exist; create it, or correct \"bucket\" in the backend's configuration"
            )),
            400 if reason.contains("ncryption") => Some(
                "the state is encrypted with another key; set \"encryption_key\" to the key with which it was written"
                    .to_owned(),
            ),
            401 => Some("the credentials are not valid or have expired".to_owned()),
            403 => Some("the credentials do not allow it".to_owned()),
            404 => Some("check \"storage_custom_endpoint\" in the backend's configuration".to_owned()),
            413 => Some("the state is larger than the service accepts".to_owned()),
            _ => None,
        };
        let effect =
            if response.status.is_server_error() { StorageEffect::Unknown } else { StorageEffect::None };
        let shown = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        let mut error = StorageError::new(format!(
            "failed to {operation}: the service responded with {}{shown}",
            response.status
        ))
        .with_effect(effect);
        error.advice = advice;
        error
    }
}

/// Returns a multipart body with the metadata and the content of an object, and its header.
pub(super) fn multipart(metadata: &Value, content: &[u8]) -> (Bytes, (HeaderName, HeaderValue)) {
    use sha2::{Digest as _, Sha256};
    use std::fmt::Write as _;
    // The content does not contain its own digest.
    let mut boundary = String::new();
    for byte in Sha256::digest(content) {
        let _ = write!(boundary, "{byte:02x}");
    }
    let head = format!(
        "--{boundary}\r\nContent-Type: application/json\r\n\r\n{metadata}\r\n--{boundary}\r\nContent-Type: \
         text/plain; charset=utf-8\r\n\r\n"
    );
    let end = format!("\r\n--{boundary}--\r\n");
    let body = [head.as_bytes(), content, end.as_bytes()].concat();
    let value = HeaderValue::from_str(&format!("multipart/related; boundary={boundary}"));
    // A hexadecimal number is valid in a header.
    let value = value.unwrap_or_else(|_| HeaderValue::from_static("multipart/related"));
    (body.into(), (CONTENT_TYPE, value))
}

/// Returns the reason in an error of the service, which is JSON or text.
fn reason(response: &Fetched) -> String {
    let text = match serde_json::from_slice::<Value>(&response.body) {
        Ok(error) => {
            let message = error.get("error").and_then(|error| error.get("message")).and_then(Value::as_str);
            message.unwrap_or_default().to_owned()
        }
        Err(_) => String::from_utf8_lossy(&response.body).into_owned(),
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.starts_with("<!") || text.starts_with("<html") {
        return String::new();
    }
    text.chars().take(MAX_SHOWN_CHARACTERS).collect()
}

fn parse_page(body: &[u8]) -> Option<Page> {
    let page: Value = serde_json::from_slice(body).ok()?;
    page.as_object()?;
    let names = match page.get("items") {
        None => Vec::new(),
        Some(items) => {
            let name = |item: &Value| item.get("name")?.as_str().map(str::to_owned);
            items.as_array()?.iter().map(name).collect::<Option<_>>()?
        }
    };
    let next = page.get("nextPageToken").and_then(Value::as_str).filter(|token| !token.is_empty());
    Some(Page { names, next: next.map(str::to_owned) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_list_is_parsed() {
        let page =
            parse_page(b"{\"items\":[{\"name\":\"a/b.tfstate\",\"size\":\"1\"}],\"nextPageToken\":\"t\"}")
                .unwrap();
        assert_eq!((page.names, page.next.as_deref()), (vec!["a/b.tfstate".to_owned()], Some("t")));
        assert!(parse_page(b"{}").unwrap().names.is_empty());
        for bad in ["", "[]", "<html/>", "{\"items\":1}", "{\"items\":[{\"name\":1}]}"] {
            assert!(parse_page(bad.as_bytes()).is_none(), "{bad}");
        }
    }

    #[test]
    fn multipart_body_contains_metadata_and_content() {
        let (body, (_, header)) = multipart(&serde_json::json!({"name": "n"}), b"content");
        let boundary =
            header.to_str().unwrap().strip_prefix("multipart/related; boundary=").unwrap().to_owned();
        assert_eq!(
            body,
            format!(
                "--{boundary}\r\nContent-Type: application/json\r\n\r\n{{\"name\":\"n\"}}\r\n--{boundary}\r\n\
                 Content-Type: text/plain; charset=utf-8\r\n\r\ncontent\r\n--{boundary}--\r\n"
            )
        );
    }
}
