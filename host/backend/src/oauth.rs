//! Access tokens of cloud services: token requests, and tokens that are renewed before they expire.

use std::fmt;

use async_trait::async_trait;
use http::Method;
use http::header::{CONTENT_TYPE, HeaderValue};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::sync::Mutex;
use url::{Url, form_urlencoded};
use wardian_download::{Downloader, Fetch, printable_url};

/// A token is renewed if it expires within this time.
const RENEWAL_MARGIN: SignedDuration = SignedDuration::from_mins(5);

/// Maximum size of the response of a token service.
const MAX_TOKEN_BYTES: u64 = 1 << 20;

/// Maximum number of characters of a token service's error that a message contains.
const MAX_SHOWN_CHARACTERS: usize = 300;

/// A token with its time of expiry. `Debug` output does not contain the token.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct AccessToken {
    pub(crate) value: String,
    /// [`None`] if it is not known.
    pub(crate) expires: Option<Timestamp>,
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AccessToken").field("expires", &self.expires).finish_non_exhaustive()
    }
}

impl AccessToken {
    /// Reads the response of an OAuth token service. Numbers may be texts.
    pub(crate) fn from_response(response: &Value) -> Result<Self, String> {
        let value = response.get("access_token").and_then(Value::as_str).filter(|token| !token.is_empty());
        let value = value.ok_or("the token service returned no access token")?.to_owned();
        let seconds = response.get("expires_in").and_then(|seconds| match seconds {
            Value::String(text) => text.parse().ok(),
            seconds => seconds.as_i64(),
        });
        let expires =
            seconds.and_then(|seconds| Timestamp::now().checked_add(SignedDuration::from_secs(seconds)).ok());
        Ok(Self { value, expires })
    }

    fn is_due(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires.duration_since(now) <= RENEWAL_MARGIN)
    }
}

/// Requests access tokens.
#[async_trait]
pub(crate) trait TokenSource: fmt::Debug + Send + Sync {
    /// Requests a new token.
    ///
    /// # Errors
    /// Returns the reason if there is no token. It contains no secret.
    async fn request(&self) -> Result<AccessToken, String>;
}

/// The current token of a source.
#[derive(Debug)]
pub(crate) struct RenewedToken {
    source: Box<dyn TokenSource>,
    current: Mutex<Option<AccessToken>>,
}

impl RenewedToken {
    pub(crate) fn new(source: Box<dyn TokenSource>) -> Self {
        Self { source, current: Mutex::default() }
    }

    /// Returns a token that does not expire soon. Concurrent callers wait for one request.
    ///
    /// # Errors
    /// Returns the reason if there is no valid token.
    pub(crate) async fn value(&self) -> Result<String, String> {
        let mut current = self.current.lock().await;
        let now = Timestamp::now();
        if let Some(token) = current.as_ref().filter(|token| !token.is_due(now)) {
            return Ok(token.value.clone());
        }
        match self.source.request().await {
            Ok(token) => Ok(current.insert(token).value.clone()),
            // The token is still valid, so a failed renewal can be repeated later.
            Err(error) => match &*current {
                Some(token) if token.expires.is_some_and(|expires| expires > now) => {
                    tracing::warn!(error, "an access token could not be renewed");
                    Ok(token.value.clone())
                }
                _ => Err(error),
            },
        }
    }
}

/// Returns a POST request with a form.
pub(crate) fn form_request(url: Url, form: &[(&str, &str)]) -> Fetch {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    Fetch::new(Method::POST, url)
        .header(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"))
        .body(body.into())
}

/// Returns a POST request with a JSON document.
pub(crate) fn json_request(url: Url, body: &Value) -> Fetch {
    Fetch::new(Method::POST, url)
        .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
        .body(body.to_string().into())
}

/// Sends a request to a token service, and returns the successful response.
///
/// # Errors
/// Returns the reason, with the error that the service names.
pub(crate) async fn send(downloader: &Downloader, request: Fetch, url: &Url) -> Result<Vec<u8>, String> {
    let fetched = downloader.fetch(request.redirects(0), MAX_TOKEN_BYTES).await;
    let fetched = fetched.map_err(|error| error.to_string())?;
    if fetched.status.is_success() {
        return Ok(fetched.body.to_vec());
    }
    let reason = serde_json::from_slice(&fetched.body).ok().and_then(|error| reason_of(&error));
    Err(format!(
        "the token service {} responded with {}{}",
        printable_url(url),
        fetched.status,
        reason.map(|reason| format!(": {reason}")).unwrap_or_default()
    ))
}

/// Sends a request to a token service, and returns its JSON document.
///
/// # Errors
/// Returns the reason if the request fails or the response is not JSON.
pub(crate) async fn send_for_json(
    downloader: &Downloader,
    request: Fetch,
    url: &Url,
) -> Result<Value, String> {
    let body = send(downloader, request, url).await?;
    // The parser's error may contain parts of the token.
    serde_json::from_slice(&body)
        .map_err(|_| format!("the response of the token service {} is not JSON", printable_url(url)))
}

/// Returns the reason in an error of OAuth, or of a service of Google or Azure.
fn reason_of(response: &Value) -> Option<String> {
    let error = response.get("error")?;
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let (code, description) = match error {
        Value::String(code) => (Some(code.clone()), text(response, "error_description")),
        error => (text(error, "status").or_else(|| text(error, "code")), text(error, "message")),
    };
    let parts: Vec<String> = [code, description].into_iter().flatten().collect();
    let text = parts.join(": ").split_whitespace().collect::<Vec<_>>().join(" ");
    Some(text.chars().take(MAX_SHOWN_CHARACTERS).collect())
}

/// Parses the URL of a token service. Secrets are sent there, so it must be encrypted or local.
///
/// # Errors
/// Returns the reason if no secret may be sent to the URL.
pub(crate) fn parse_token_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok();
    let is_safe = |url: &Url| {
        url.scheme() == "https"
            || url.scheme() == "http" && matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"))
    };
    url.filter(is_safe).ok_or_else(|| "the URL of the token service is not an https URL".to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;

    /// Issues tokens with a lifetime, and fails after some of them.
    #[derive(Debug)]
    struct Counter {
        count: Arc<AtomicUsize>,
        lifetime: SignedDuration,
        limit: usize,
    }

    #[async_trait]
    impl TokenSource for Counter {
        async fn request(&self) -> Result<AccessToken, String> {
            let count = self.count.fetch_add(1, Ordering::Relaxed);
            let expires = Some(Timestamp::now().checked_add(self.lifetime).unwrap());
            if count < self.limit {
                Ok(AccessToken { value: format!("token {count}"), expires })
            } else {
                Err("the service failed".to_owned())
            }
        }
    }

    fn token(lifetime: SignedDuration, limit: usize) -> RenewedToken {
        RenewedToken::new(Box::new(Counter { count: Arc::default(), lifetime, limit }))
    }

    #[tokio::test]
    async fn token_is_renewed_before_it_expires() {
        let long = token(SignedDuration::from_mins(6), 9);
        let short = token(SignedDuration::from_mins(4), 9);
        for number in 0..3 {
            assert_eq!(long.value().await.unwrap(), "token 0");
            assert_eq!(short.value().await.unwrap(), format!("token {number}"));
        }
    }

    #[tokio::test]
    async fn valid_token_is_used_after_a_failed_renewal() {
        let valid = token(SignedDuration::from_mins(4), 1);
        let expired = token(SignedDuration::from_secs(-1), 1);
        for token in [&valid, &expired] {
            assert_eq!(token.value().await.unwrap(), "token 0");
        }
        assert_eq!(valid.value().await.unwrap(), "token 0");
        assert_eq!(expired.value().await.unwrap_err(), "the service failed");
    }

    #[test]
    fn responses_are_read() {
        for seconds in [json!(3600), json!("3600")] {
            let token = AccessToken::from_response(&json!({"access_token": "s3cret", "expires_in": seconds}))
                .unwrap();
            assert!(token.expires.unwrap() > Timestamp::now());
            assert!(!format!("{token:?}").contains("s3cret"));
        }
        assert_eq!(AccessToken::from_response(&json!({"access_token": "a"})).unwrap().expires, None);
        for bad in [json!({}), json!({"access_token": ""}), json!([]), json!({"access_token": 1})] {
            assert!(AccessToken::from_response(&bad).is_err(), "{bad}");
        }
        let reason = |error: Value| reason_of(&error);
        assert_eq!(
            reason(json!({"error": "invalid_grant", "error_description": "it\n expired"})).unwrap(),
            "invalid_grant: it expired"
        );
        assert_eq!(reason(json!({"error": {"status": "X", "message": "m"}})).unwrap(), "X: m");
        assert_eq!(reason(json!({"x": 1})), None);
    }

    #[test]
    fn secrets_are_not_sent_unencrypted() {
        for good in ["https://a.example/token", "http://127.0.0.1:1/token", "http://localhost/"] {
            assert!(parse_token_url(good).is_ok(), "{good}");
        }
        for bad in ["http://a.example/token", "ftp://127.0.0.1/", "x", "", "http://127.0.0.1.example/"] {
            assert!(parse_token_url(bad).is_err(), "{bad}");
        }
    }
}
