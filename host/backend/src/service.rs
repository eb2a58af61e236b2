//! Sends requests to a backend's service, retries them, and converts their errors.

use std::time::Duration;

use http::{HeaderMap, StatusCode};
use url::Url;
use wardian_download::{Downloader, Fetch, FetchError, Fetched, printable_url};
use wardian_state::{StorageEffect, StorageError};

/// Maximum size of a state.
pub(crate) const MAX_STATE_BYTES: u64 = 4 << 30;

/// Maximum size of any other response.
pub(crate) const MAX_RESPONSE_BYTES: u64 = 64 << 20;

/// The minimum speed of an upload, in bytes per second, from which its time limit follows.
const MIN_UPLOAD_SPEED: u64 = 64 << 10;

/// Maximum number of characters of a response that an error message contains.
const MAX_SHOWN_CHARACTERS: usize = 300;

/// The number of retries of a request, and the delays between them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetryRule {
    pub(crate) retries: u32,
    pub(crate) min_delay: Duration,
    pub(crate) max_delay: Duration,
}

/// A client for one service.
#[derive(Clone)]
pub(crate) struct Service {
    downloader: Downloader,
    timeout: Duration,
    retry: RetryRule,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Service").field("retry", &self.retry).finish_non_exhaustive()
    }
}

/// A response, and whether an earlier attempt of the same request may have taken effect.
pub(crate) struct Answer {
    pub(crate) response: Fetched,
    pub(crate) is_repeated: bool,
}

impl Service {
    /// Returns a client with the time limit for the beginning of a response.
    pub(crate) fn new(downloader: Downloader, timeout: Duration, retry: RetryRule) -> Self {
        Self { downloader, timeout, retry }
    }

    /// Sends the request that `build` returns for each attempt. The attempts end with the first
    /// response that is not transient.
    ///
    /// # Errors
    /// Returns the error of the last attempt. Its effect is unknown if any attempt may have reached
    /// the service.
    pub(crate) async fn send(
        &self,
        body_bytes: usize,
        max_bytes: u64,
        mut build: impl FnMut() -> Fetch + Send,
    ) -> Result<Answer, StorageError> {
        let upload = Duration::from_secs(body_bytes as u64 / MIN_UPLOAD_SPEED);
        let downloader = self.downloader.clone().with_idle_timeout(self.timeout + upload);
        let mut delay = self.retry.min_delay;
        let mut left = self.retry.retries;
        let mut is_repeated = false;
        loop {
            let request = build().retries(0).without_total_timeout();
            let result = downloader.fetch(request, max_bytes).await;
            let is_transient = match &result {
                Ok(response) => is_transient(response.status),
                Err(error) => error.is_unreachable(),
            };
            if !is_transient || left == 0 {
                return match result {
                    Ok(response) => Ok(Answer { response, is_repeated }),
                    Err(error) => {
                        let mut error = from_fetch(&error);
                        if is_repeated {
                            error.effect = StorageEffect::Unknown;
                        }
                        Err(error)
                    }
                };
            }
            is_repeated |= match &result {
                Ok(_) => true,
                Err(error) => may_have_effect(error),
            };
            left -= 1;
            tracing::debug!(?delay, "retrying a backend request");
            tokio::time::sleep(delay).await;
            delay = (delay * 2).min(self.retry.max_delay);
        }
    }
}

fn is_transient(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS
        || status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED
}

/// Returns whether the service may have processed a request that failed.
fn may_have_effect(error: &FetchError) -> bool {
    matches!(
        error,
        FetchError::Timeout { .. }
            | FetchError::Interrupted { .. }
            | FetchError::TooLarge { .. }
            | FetchError::Encoding { .. }
    )
}

fn from_fetch(error: &FetchError) -> StorageError {
    let effect = if may_have_effect(error) { StorageEffect::Unknown } else { StorageEffect::None };
    StorageError::new(error.to_string()).with_effect(effect)
}

/// Returns the error for a response with an unexpected status.
pub(crate) fn unexpected(operation: &str, response: &Fetched) -> StorageError {
    let status = response.status;
    let shown = shown_body(&response.headers, &response.body);
    let text = if shown.is_empty() { String::new() } else { format!(": {shown}") };
    let error = StorageError::new(format!(
        "failed to {operation}: {} responded with {status}{text}",
        printable_url(&response.url)
    ));
    let error = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => error.with_advice(
            "check the credentials of the backend and their permissions; nothing was changed by this request",
        ),
        StatusCode::PAYLOAD_TOO_LARGE => {
            error.with_advice("the state is larger than the service accepts; raise the limit of the service")
        }
        StatusCode::NOT_FOUND => error.with_advice("check the address in the backend's configuration"),
        _ => error,
    };
    // A gateway may respond in place of the service that processes the request.
    if status.is_server_error() { error.with_effect(StorageEffect::Unknown) } else { error }
}

/// Returns the beginning of a response that is text.
fn shown_body(headers: &HeaderMap, body: &[u8]) -> String {
    let is_markup = headers
        .get(http::header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.contains("html"));
    let Some(text) = std::str::from_utf8(body).ok().filter(|_| !is_markup) else { return String::new() };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(MAX_SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// Parses the URL in an argument.
pub(crate) fn parse_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("it is not a URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("its scheme is \"{}\", but only http and https are supported", url.scheme()));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err("it has no host".to_owned());
    }
    Ok(url)
}
