//! Requests for the blobs of a storage account.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::header::{AUTHORIZATION, HeaderName};
use http::{HeaderValue, Method, StatusCode};
use jiff::Timestamp;
use roxmltree::Document;
use tokio::sync::OnceCell;
use url::Url;
use wardian_download::{Authorization, Fetch, Fetched};
use wardian_state::{StorageEffect, StorageError};

use super::access::{BlobAccess, BlobAuthorization};
use super::settings::AzureSettings;
use super::shared_key::SharedKey;
use crate::service::{Answer, MAX_RESPONSE_BYTES};

/// Maximum number of pages of a list of blobs.
const MAX_PAGES: usize = 10_000;

const VERSION: &str = "2023-11-03";

/// Maximum number of characters of a response that an error message contains.
const MAX_SHOWN_CHARACTERS: usize = 300;

/// Sends requests to the service.
#[derive(Debug)]
pub(super) struct AzureClient {
    settings: AzureSettings,
    access: OnceCell<BlobAccess>,
    /// The names of the blobs that this process has leased, by the IDs of the leases.
    leases: Mutex<BTreeMap<String, String>>,
}

/// A request for a blob, or for the container.
pub(super) struct BlobRequest<'a> {
    pub(super) method: Method,
    /// The name of the blob; [`None`] for the container.
    pub(super) blob: Option<&'a str>,
    pub(super) query: Vec<(&'static str, String)>,
    /// The names of the headers are in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Bytes,
    pub(super) max_bytes: u64,
    /// The purpose of the request, for errors.
    pub(super) operation: &'a str,
}

impl<'a> BlobRequest<'a> {
    /// Returns a request without headers and body.
    pub(super) fn new(method: Method, blob: &'a str, operation: &'a str) -> Self {
        Self {
            method,
            blob: Some(blob),
            query: Vec::new(),
            headers: Vec::new(),
            body: Bytes::new(),
            max_bytes: MAX_RESPONSE_BYTES,
            operation,
        }
    }

    /// Sets the part of the blob to which the request refers, such as `lease`.
    pub(super) fn component(mut self, name: &str) -> Self {
        self.query.push(("comp", name.to_owned()));
        self
    }

    pub(super) fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Adds the lease without which a leased blob cannot be changed.
    pub(super) fn lease(self, lease: Option<&str>) -> Self {
        match lease {
            Some(lease) => self.header("x-ms-lease-id", lease),
            None => self,
        }
    }
}

impl AzureClient {
    pub(super) fn new(settings: AzureSettings) -> Self {
        Self { settings, access: OnceCell::new(), leases: Mutex::default() }
    }

    pub(super) fn settings(&self) -> &AzureSettings {
        &self.settings
    }

    pub(super) fn leases(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the names of all blobs with a prefix.
    pub(super) async fn list(&self, prefix: &str) -> Result<Vec<String>, StorageError> {
        const OPERATION: &str = "list the blobs";
        let mut names = Vec::new();
        let mut marker: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let mut query = vec![
                ("restype", "container".to_owned()),
                ("comp", "list".to_owned()),
                ("prefix", prefix.to_owned()),
            ];
            query.extend(marker.clone().map(|marker| ("marker", marker)));
            let request = BlobRequest {
                method: Method::GET,
                blob: None,
                query,
                headers: Vec::new(),
                body: Bytes::new(),
                max_bytes: MAX_RESPONSE_BYTES,
                operation: OPERATION,
            };
            let response = self.send(request).await?.response;
            if response.status != StatusCode::OK {
                return Err(self.failure(OPERATION, &response));
            }
            let text = String::from_utf8_lossy(&response.body);
            let page = parse_page(&text).ok_or_else(|| {
                StorageError::new(format!("the list of the blobs in {} is invalid", self.settings.container))
            })?;
            names.extend(page.names);
            match page.marker {
                Some(next) if marker.as_ref() != Some(&next) => marker = Some(next),
                _ => break,
            }
        }
        Ok(names)
    }

    pub(super) async fn send(&self, request: BlobRequest<'_>) -> Result<Answer, StorageError> {
        let operation = request.operation;
        let failed = |reason: String| {
            StorageError::new(format!(
                "failed to {operation}: there is no access to the storage account: {reason}"
            ))
        };
        let clients = &self.settings.clients;
        let access = self.access.get_or_try_init(|| self.settings.account.access(&clients.downloader)).await;
        let access = access.map_err(failed)?;
        let token = match &access.authorization {
            BlobAuthorization::Token(token) => {
                Some(Authorization::bearer(&token.value().await.map_err(failed)?))
            }
            _ => None,
        };
        let url = self.url(access, &request)?;
        let build = || {
            let mut headers = request.headers.clone();
            headers.push(("x-ms-version".to_owned(), VERSION.to_owned()));
            // A request is valid for 15 minutes, so each attempt has its own time.
            headers.push((
                "x-ms-date".to_owned(),
                Timestamp::now().strftime("%a, %d %b %Y %H:%M:%S GMT").to_string(),
            ));
            let mut fetch = Fetch::new(request.method.clone(), url.clone()).redirects(0);
            for (name, value) in &headers {
                let name = HeaderName::from_bytes(name.as_bytes()).ok();
                if let Some((name, value)) = name.zip(HeaderValue::from_str(value).ok()) {
                    fetch = fetch.header(name, value);
                }
            }
            match (&access.authorization, &token) {
                (BlobAuthorization::Key(key), _) => {
                    fetch = fetch.header(AUTHORIZATION, signature(key, &request, &url, &headers));
                }
                (_, Some(token)) => fetch = fetch.authorization(token.clone()),
                _ => {}
            }
            fetch.body(request.body.clone())
        };
        let sent = clients.service.send(request.body.len(), request.max_bytes, build).await;
        sent.map_err(|error| StorageError {
            message: format!("failed to {operation}: {}", error.message),
            ..error
        })
    }

    fn url(&self, access: &BlobAccess, request: &BlobRequest<'_>) -> Result<Url, StorageError> {
        let mut url = access.endpoint.clone();
        url.path_segments_mut()
            .map_err(|()| StorageError::new("the blob endpoint has no path"))?
            .pop_if_empty()
            .push(&self.settings.container)
            .extend(request.blob.into_iter().flat_map(|blob| blob.split('/')));
        if let BlobAuthorization::Signature(query) = &access.authorization {
            url.set_query(Some(query));
        }
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&request.query);
        }
        Ok(url)
    }

    /// Returns the error for a response with an unexpected status.
    pub(super) fn failure(&self, operation: &str, response: &Fetched) -> StorageError {
        let (account, container) = (&self.settings.account.account, &self.settings.container);
        let code = error_code(response);
        let advice = match (&*code, response.status.as_u16()) {
            ("ContainerNotFound", _) => Some(format!(
                "the container \"{container}\" does not exist in the storage account \"{account}\"; create it, or correct \
                 \"container_name\" in the backend's configuration"
            )),
            ("AuthorizationPermissionMismatch", _) => Some(
                "the identity needs the role \"Storage Blob Data Contributor\" for the container".to_owned(),
            ),
            ("AuthorizationFailure", _) => Some(
                "the credentials, or the network rules of the storage account, do not allow it".to_owned(),
            ),
            ("KeyBasedAuthenticationNotPermitted", _) => Some(
                "the storage account does not allow access keys; set \"use_azuread_auth\" in the backend's configuration"
                    .to_owned(),
            ),
            ("AuthenticationFailed" | "InvalidAuthenticationInfo" | "NoAuthenticationInformation", _) => Some(
                "the credentials are not valid or have expired, or the clock of this machine is wrong".to_owned(),
            ),
            ("SnapshotsPresent", _) => Some("delete the snapshots of the blob first".to_owned()),
            ("RequestBodyTooLarge", _) | (_, 413) => {
                Some("the state is larger than the service accepts".to_owned())
            }
            (_, 401 | 403) => Some("the credentials do not allow it".to_owned()),
            _ => None,
        };
        let effect =
            if response.status.is_server_error() { StorageEffect::Unknown } else { StorageEffect::None };
        let mut message = format!("failed to {operation}: the service responded with {}", response.status);
        if !code.is_empty() {
            message.extend([", ", &*code]);
        }
        if let Some(reason) = reason(response) {
            message.extend([": ", &*reason]);
        }
        let mut error = StorageError::new(message).with_effect(effect);
        error.advice = advice;
        error
    }
}

fn signature(
    key: &SharedKey,
    request: &BlobRequest<'_>,
    url: &Url,
    headers: &[(String, String)],
) -> HeaderValue {
    let text = key.authorization(request.method.as_str(), url, headers, request.body.len());
    // The account's name and base64 are valid in a header.
    let mut value = HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static(""));
    value.set_sensitive(true);
    value
}

/// Returns the code of an error, such as `BlobNotFound`; empty if the response contains none.
pub(super) fn error_code(response: &Fetched) -> String {
    let header = response.headers.get("x-ms-error-code").and_then(|value| value.to_str().ok());
    let header = header.map(str::to_owned);
    header.or_else(|| element(&response.body, "Code")).unwrap_or_default()
}

/// Returns the first line of the message of an error. Further lines contain the request's ID.
fn reason(response: &Fetched) -> Option<String> {
    let message = element(&response.body, "Message")?;
    let line = message.lines().next()?.trim();
    Some(line.chars().take(MAX_SHOWN_CHARACTERS).collect())
}

fn element(body: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let document = Document::parse(text.trim_start_matches('\u{feff}').trim_start()).ok()?;
    let node = document.descendants().find(|node| node.tag_name().name() == name)?;
    node.text().map(|text| text.trim().to_owned())
}

struct Page {
    names: Vec<String>,
    marker: Option<String>,
}

fn parse_page(text: &str) -> Option<Page> {
    let document = Document::parse(text.trim_start_matches('\u{feff}')).ok()?;
    let root = document.root_element();
    if root.tag_name().name() != "EnumerationResults" {
        return None;
    }
    let child = |node: roxmltree::Node<'_, '_>, name: &str| {
        let found = node.children().find(|child| child.tag_name().name() == name);
        found.and_then(|child| child.text().map(str::to_owned))
    };
    let blobs = root.children().find(|node| node.tag_name().name() == "Blobs")?;
    let blobs = blobs.children().filter(|node| node.tag_name().name() == "Blob");
    let names = blobs.map(|node| child(node, "Name")).collect::<Option<Vec<_>>>()?;
    Some(Page { names, marker: child(root, "NextMarker").filter(|marker| !marker.is_empty()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blob_list_is_parsed() {
        let page = parse_page(
            "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults><Blobs><Blob><Name>a&amp;b \
             c</Name><Properties/></Blob></Blobs><NextMarker>m</NextMarker></EnumerationResults>",
        )
        .unwrap();
        assert_eq!((page.names, page.marker.as_deref()), (vec!["a&b c".to_owned()], Some("m")));
        for bad in [
            "",
            "<html/>",
            "<EnumerationResults/>",
            "<EnumerationResults><Blobs><Blob/></Blobs></EnumerationResults>",
        ] {
            assert!(parse_page(bad).is_none(), "{bad}");
        }
    }
}
