//! Requests with the credentials of a host, and the classification of responses.

use http::StatusCode;
use serde::de::DeserializeOwned;
use wardian_download::advice::{ASK_OPERATOR, status_advice};
use wardian_download::{Downloader, Fetch, FetchError, Fetched, content_type_is, printable_url};

use crate::bounded_json;
use crate::credentials::{CredentialOrigin, Credentials, HostCredential, token_variable};
use crate::error_kind::RegistryErrorKind;
use crate::service_host::ServiceHost;

/// Maximum length of a server's text in a message.
const MAX_SHOWN_CHARACTERS: usize = 200;

/// A request to a registry or mirror that has no usable response.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The server rejected the credentials, or no credentials are configured.
    #[error("{}", unauthorized(host, url, *status, credential))]
    Unauthorized { host: ServiceHost, url: String, status: StatusCode, credential: CredentialUse },
    #[error("the server responded to the request for {url} with {status}; {}", status_advice(*status))]
    Status { url: String, status: StatusCode },
    #[error(
        "the response from {url} has the content type {found:?}, but it must be application/json; check that \
         the URL belongs to the service, not to a web page or a login page"
    )]
    ContentType { url: String, found: String },
    #[error("the response from {url} is not the expected JSON: {reason}; {ASK_OPERATOR}")]
    Json { url: String, reason: String },
}

/// The credential that was sent with a request.
#[derive(Debug)]
#[non_exhaustive]
pub enum CredentialUse {
    /// No credential is configured.
    None,
    Sent(CredentialOrigin),
    /// A credential is configured but could not be used, for this reason. The request was sent
    /// without a credential.
    Failed(String),
}

impl RequestError {
    pub fn kind(&self) -> RegistryErrorKind {
        match self {
            Self::Fetch(error) if error.is_unreachable() || matches!(error, FetchError::Offline { .. }) => {
                RegistryErrorKind::Unreachable
            }
            _ => RegistryErrorKind::Rejected,
        }
    }
}

/// Sends a request with the credentials of a host. The credentials are sent only to the origin of
/// the URL. Responses that report missing or wrong credentials are errors.
pub(crate) async fn send(
    downloader: &Downloader,
    credentials: &Credentials,
    host: &ServiceHost,
    fetch: Fetch,
    max_bytes: u64,
) -> Result<Fetched, RequestError> {
    let (fetch, credential) = match credentials.credential(host).await {
        Ok(Some(HostCredential { token, origin })) => {
            (fetch.authorization(token.to_authorization()), CredentialUse::Sent(origin))
        }
        Ok(None) => (fetch, CredentialUse::None),
        Err(error) => {
            // As in Terraform, the service may not need credentials.
            tracing::warn!(%host, %error, "failed to obtain the credentials of a host");
            (fetch, CredentialUse::Failed(error.to_string()))
        }
    };
    // The future is large, and callers have several of them.
    let response = Box::pin(downloader.fetch(fetch, max_bytes)).await?;
    match response.status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(RequestError::Unauthorized {
            host: host.clone(),
            url: printable_url(&response.url),
            status: response.status,
            credential,
        }),
        _ => Ok(response),
    }
}

/// Returns the error for a response with an unexpected status.
pub(crate) fn status_error(response: &Fetched) -> RequestError {
    RequestError::Status { url: printable_url(&response.url), status: response.status }
}

/// Parses the body of a response.
pub(crate) fn parse_json<T: DeserializeOwned>(response: &Fetched) -> Result<T, RequestError> {
    // The reason may contain a string from the response, which can be long.
    bounded_json::parse(&response.body).map_err(|error| RequestError::Json {
        url: printable_url(&response.url),
        reason: shorten(&error.to_string()),
    })
}

/// Returns an error unless the content type of the response is JSON.
pub(crate) fn require_json_type(response: &Fetched) -> Result<(), RequestError> {
    if content_type_is(&response.headers, "application/json") {
        return Ok(());
    }
    let found = response.headers.get(http::header::CONTENT_TYPE);
    let found = found.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).unwrap_or_default();
    Err(RequestError::ContentType { url: printable_url(&response.url), found: shorten(&found) })
}

/// Returns the beginning of a server's text, for a message.
pub(crate) fn shorten(text: &str) -> String {
    shorten_to(text, MAX_SHOWN_CHARACTERS)
}

pub(crate) fn shorten_to(text: &str, max_characters: usize) -> String {
    match text.char_indices().nth(max_characters) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn unauthorized(host: &ServiceHost, url: &str, status: StatusCode, credential: &CredentialUse) -> String {
    let login = match token_variable(host) {
        Some(variable) => format!("run `wardian login {host}`, or set a token in the variable {variable}"),
        None => format!("run `wardian login {host}`"),
    };
    match credential {
        CredentialUse::None => format!(
            "host {host} requires authentication credentials: it responded to the request for {url} with \
             {status}; {login}"
        ),
        CredentialUse::Sent(origin) => format!(
            "host {host} rejected the token from {origin}: it responded to the request for {url} with {status}; \
             check that the token is valid and has access, or {login}"
        ),
        CredentialUse::Failed(reason) => format!(
            "host {host} requires authentication credentials: it responded to the request for {url} with \
             {status}; no token was sent, because {reason}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_names_host_and_remedy() {
        let error = |host: &str, credential| {
            let host = ServiceHost::parse(host).unwrap();
            let url = "https://a.example/x".to_owned();
            RequestError::Unauthorized { host, url, status: StatusCode::UNAUTHORIZED, credential }.to_string()
        };
        assert_eq!(
            error("my-host.example", CredentialUse::None),
            "host my-host.example requires authentication credentials: it responded to the request for \
             https://a.example/x with 401 Unauthorized; run `wardian login my-host.example`, or set a token in \
             the variable TF_TOKEN_my__host_example"
        );
        let origin = CredentialOrigin::Environment { variable: "TF_TOKEN_x".to_owned() };
        assert!(
            error("x:81", CredentialUse::Sent(origin)).contains("rejected the token from the environment")
        );
        assert!(error("x:81", CredentialUse::None).ends_with("; run `wardian login x:81`"));
    }

    #[test]
    fn long_server_text_is_truncated() {
        assert_eq!(shorten("short"), "short");
        assert_eq!(shorten(&"ü".repeat(1_000)).chars().count(), MAX_SHOWN_CHARACTERS + 3);
    }
}
