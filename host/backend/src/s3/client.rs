//! Signed requests to the bucket and to the lock table.

use bytes::Bytes;
use http::header::HeaderName;
use http::{HeaderValue, Method, StatusCode};
use jiff::Timestamp;
use roxmltree::Document;
use tokio::sync::OnceCell;
use url::Url;
use wardian_aws::{AwsServiceError, SignedRequest, SigningKey, encode_path, encode_value, sign};
use wardian_download::{Fetch, Fetched};
use wardian_state::{StorageEffect, StorageError};

use super::settings::S3Settings;
use crate::service::{Answer, MAX_RESPONSE_BYTES};

/// Maximum number of pages of a list of objects.
const MAX_PAGES: usize = 10_000;

/// Sends requests to the services.
#[derive(Debug)]
pub(super) struct S3Client {
    settings: S3Settings,
    /// Whether the account was checked.
    account: OnceCell<()>,
}

/// A request to a service.
struct ServiceRequest<'a> {
    service: &'static str,
    method: Method,
    url: Url,
    headers: Vec<(&'static str, String)>,
    body: Bytes,
    max_bytes: u64,
    /// The purpose of the request, for errors.
    operation: &'a str,
}

impl S3Client {
    pub(super) fn new(settings: S3Settings) -> Self {
        Self { settings, account: OnceCell::new() }
    }

    pub(super) fn settings(&self) -> &S3Settings {
        &self.settings
    }

    /// Sends a request for an object.
    pub(super) async fn object(
        &self,
        method: Method,
        key: &str,
        headers: Vec<(&'static str, String)>,
        body: Bytes,
        max_bytes: u64,
        operation: &str,
    ) -> Result<Answer, StorageError> {
        let url = self.url(&format!("/{}", encode_path(key)), None)?;
        let request = ServiceRequest { service: "s3", method, url, headers, body, max_bytes, operation };
        self.send(request).await
    }

    /// Returns the keys of all objects with a prefix.
    pub(super) async fn list(&self, prefix: &str) -> Result<Vec<String>, StorageError> {
        const OPERATION: &str = "list the objects";
        let mut keys = Vec::new();
        let mut continuation: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let token =
                continuation.as_ref().map(|token| format!("continuation-token={}&", encode_value(token)));
            let query = format!(
                "{}list-type=2&max-keys=1000&prefix={}",
                token.unwrap_or_default(),
                encode_value(prefix)
            );
            let request = ServiceRequest {
                service: "s3",
                method: Method::GET,
                url: self.url("/", Some(&query))?,
                headers: Vec::new(),
                body: Bytes::new(),
                max_bytes: MAX_RESPONSE_BYTES,
                operation: OPERATION,
            };
            let response = self.send(request).await?.response;
            if response.status != StatusCode::OK {
                return Err(self.failure(OPERATION, &response));
            }
            let text = String::from_utf8_lossy(&response.body).into_owned();
            let page = parse_page(&text).ok_or_else(|| {
                StorageError::new(format!("the list of the objects in {} is invalid", self.settings.bucket))
            })?;
            keys.extend(page.keys);
            match page.continuation {
                Some(next) if continuation.as_ref() != Some(&next) => continuation = Some(next),
                _ => break,
            }
        }
        Ok(keys)
    }

    /// Calls an action of DynamoDB.
    pub(super) async fn table(&self, action: &str, body: &serde_json::Value) -> Result<Answer, StorageError> {
        let settings = &self.settings;
        let url = match &settings.table_endpoint {
            Some(endpoint) => endpoint.clone(),
            None => {
                let (region, domain) = (&settings.region, self.domain());
                let host = match (settings.uses_fips, settings.uses_dualstack) {
                    (true, _) => format!("dynamodb-fips.{region}.{domain}"),
                    (false, true) => format!("dynamodb.{region}.api.aws"),
                    (false, false) => format!("dynamodb.{region}.{domain}"),
                };
                parse(&format!("https://{host}/"))?
            }
        };
        let request = ServiceRequest {
            service: "dynamodb",
            method: Method::POST,
            url,
            headers: vec![
                ("content-type", "application/x-amz-json-1.0".to_owned()),
                ("x-amz-target", format!("DynamoDB_20120810.{action}")),
            ],
            body: Bytes::from(body.to_string()),
            max_bytes: MAX_RESPONSE_BYTES,
            operation: "use the lock table",
        };
        self.send(request).await
    }

    async fn send(&self, request: ServiceRequest<'_>) -> Result<Answer, StorageError> {
        let settings = &self.settings;
        let operation = request.operation;
        self.account
            .get_or_try_init(|| self.check_account())
            .await
            .map_err(|reason| credentials_error(operation, &reason))?;
        // A request can be retried for minutes, and a key can expire in that time.
        let key = settings.credentials.key(&settings.clients.downloader).await;
        let key = key.map_err(|error| credentials_error(operation, &error.to_string()))?;
        let build = || self.fetch(&request, &key);
        let sent = settings.clients.service.send(request.body.len(), request.max_bytes, build).await;
        sent.map_err(|error| StorageError {
            message: format!("failed to {operation}: {}", error.message),
            ..error
        })
    }

    fn fetch(&self, request: &ServiceRequest<'_>, key: &SigningKey) -> Fetch {
        let signed = SignedRequest {
            region: &self.settings.region,
            service: request.service,
            method: request.method.as_str(),
            url: &request.url,
            headers: &request.headers,
            body: &request.body,
        };
        let mut fetch = Fetch::new(request.method.clone(), request.url.clone()).redirects(0);
        for (name, value) in sign(key, &signed, Timestamp::now()) {
            fetch = fetch.header(name, value);
        }
        for (name, value) in &request.headers {
            if let Ok(mut header) = HeaderValue::from_str(value) {
                header.set_sensitive(name.contains("customer-key"));
                fetch = fetch.header(HeaderName::from_static(name), header);
            }
        }
        fetch.body(request.body.clone())
    }

    /// Checks that the credentials belong to an account that the configuration allows.
    async fn check_account(&self) -> Result<(), String> {
        let settings = &self.settings;
        if settings.allowed_accounts.is_empty() && settings.forbidden_accounts.is_empty() {
            return Ok(());
        }
        let account = settings.credentials.account(&settings.clients.downloader).await;
        let account = account.map_err(|error| error.to_string())?;
        let is_allowed = settings.allowed_accounts.is_empty() || settings.allowed_accounts.contains(&account);
        if is_allowed && !settings.forbidden_accounts.contains(&account) {
            return Ok(());
        }
        Err(format!("the configuration does not allow the account {account} of the credentials"))
    }

    /// Returns the error for a response with an unexpected status.
    pub(super) fn failure(&self, operation: &str, response: &Fetched) -> StorageError {
        let bucket = &self.settings.bucket;
        let found = AwsServiceError::from_response(response);
        let advice = match (&*found.code, found.status.as_u16()) {
            ("NoSuchBucket", _) => Some(format!(
                "the S3 bucket \"{bucket}\" does not exist; create it, or correct \"bucket\" and \"region\" in the \
                 backend's configuration"
            )),
            ("ResourceNotFoundException", _) => Some(format!(
                "the table \"{}\" does not exist; create it with the partition key \"LockID\" of type string",
                self.settings.table.as_deref().unwrap_or_default()
            )),
            (
                "InvalidAccessKeyId"
                | "SignatureDoesNotMatch"
                | "ExpiredToken"
                | "InvalidToken"
                | "UnrecognizedClientException"
                | "InvalidClientTokenId",
                _,
            ) => Some("the credentials are not valid or have expired".to_owned()),
            ("RequestTimeTooSkewed", _) => Some("correct the clock of this machine".to_owned()),
            (_, 301 | 307 | 308) | ("AuthorizationHeaderMalformed" | "PermanentRedirect", _) => {
                let region =
                    response.headers.get("x-amz-bucket-region").and_then(|value| value.to_str().ok());
                Some(match region {
                    Some(region) => format!("the bucket is in the region \"{region}\"; correct \"region\""),
                    None => "the bucket is in another region; correct \"region\"".to_owned(),
                })
            }
            ("EntityTooLarge", _) => Some("the state is larger than the service accepts".to_owned()),
            (_, 401 | 403) => Some("the credentials do not allow it".to_owned()),
            _ => None,
        };
        let effect =
            if found.status.is_server_error() { StorageEffect::Unknown } else { StorageEffect::None };
        let mut error =
            StorageError::new(format!("failed to {operation}: the service responded with {found}"))
                .with_effect(effect);
        error.advice = advice;
        error
    }

    fn domain(&self) -> &'static str {
        if self.settings.region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" }
    }

    /// Returns the URL of a path in the bucket.
    fn url(&self, path: &str, query: Option<&str>) -> Result<Url, StorageError> {
        let settings = &self.settings;
        let (bucket, region) = (&settings.bucket, &settings.region);
        let is_label = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_in_path = settings.uses_path_style || !bucket.bytes().all(is_label);
        let base = match &settings.endpoint {
            Some(endpoint) => endpoint.as_str().trim_end_matches('/').to_owned(),
            None => {
                let fips = if settings.uses_fips { "-fips" } else { "" };
                let dualstack = if settings.uses_dualstack { ".dualstack" } else { "" };
                format!("https://s3{fips}{dualstack}.{region}.{}", self.domain())
            }
        };
        let text = if is_in_path {
            let path = if path == "/" { "" } else { path };
            format!("{base}/{}{path}", encode_value(bucket))
        } else {
            let (scheme, rest) = base.split_once("://").unwrap_or(("https", &base));
            format!("{scheme}://{bucket}.{rest}{path}")
        };
        let mut url = parse(&text)?;
        url.set_query(query);
        Ok(url)
    }
}

fn parse(text: &str) -> Result<Url, StorageError> {
    Url::parse(text).map_err(|error| StorageError::new(format!("the URL {text} is not valid: {error}")))
}

fn credentials_error(operation: &str, reason: &str) -> StorageError {
    StorageError::new(format!("failed to {operation}: no valid credential sources were found: {reason}"))
}

struct Page {
    keys: Vec<String>,
    continuation: Option<String>,
}

fn parse_page(text: &str) -> Option<Page> {
    let document = Document::parse(text).ok()?;
    let root = document.root_element();
    if root.tag_name().name() != "ListBucketResult" {
        return None;
    }
    let child = |node: roxmltree::Node<'_, '_>, name: &str| {
        let found = node.children().find(|child| child.tag_name().name() == name);
        found.and_then(|child| child.text().map(str::to_owned))
    };
    let contents = root.children().filter(|node| node.tag_name().name() == "Contents");
    let keys = contents.map(|node| child(node, "Key")).collect::<Option<Vec<_>>>()?;
    let is_truncated = child(root, "IsTruncated").is_some_and(|value| value == "true");
    let continuation = child(root, "NextContinuationToken").filter(|_| is_truncated);
    if is_truncated && continuation.is_none() {
        return None;
    }
    Some(Page { keys, continuation })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_list_is_parsed() {
        let page = parse_page(
            "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
             <IsTruncated>true</IsTruncated><NextContinuationToken>t/1</NextContinuationToken>\
             <Contents><Key>env:/a&amp;b/k</Key></Contents></ListBucketResult>",
        )
        .unwrap();
        assert_eq!((page.keys, page.continuation.as_deref()), (vec!["env:/a&b/k".to_owned()], Some("t/1")));
        for bad in ["", "<html/>", "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"] {
            assert!(parse_page(bad).is_none(), "{bad}");
        }
    }
}
