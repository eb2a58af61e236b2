//! Decides whether and when a failed request is retried.

use std::time::{Duration, SystemTime};

use http::header::{self, HeaderMap};
use http::{Method, StatusCode};
use wardian_network::NetworkError;

use crate::error::FetchError;

/// Maximum delay between two attempts, unless the server requests another delay.
const MAX_DELAY: Duration = Duration::from_secs(30);

/// Maximum delay that a server can request. If it requests a longer delay, the request is not
/// retried.
const MAX_REQUESTED_DELAY: Duration = Duration::from_mins(1);

/// The remaining attempts of a request. The delay before each attempt is random, up to a limit that
/// doubles with each attempt (exponential backoff with full jitter).
pub(crate) struct Retries {
    left: u32,
    max_delay: Duration,
    /// Whether a request that may have been processed can be retried.
    is_idempotent: bool,
}

impl Retries {
    pub(crate) fn new(retries: u32, first_delay: Duration, method: &Method) -> Self {
        let is_idempotent = method.is_idempotent();
        Self { left: retries, max_delay: first_delay.min(MAX_DELAY), is_idempotent }
    }

    /// Returns the delay before the next attempt after an error; `None` if there is no further
    /// attempt.
    pub(crate) fn after_error(&mut self, error: &FetchError) -> Option<Duration> {
        let is_transient = match error {
            FetchError::Connect { .. } => true,
            FetchError::Tls { source: NetworkError::Tls { error, .. }, .. } => error.is_connection_error(),
            FetchError::Timeout { .. } | FetchError::Interrupted { .. } => self.is_idempotent,
            _ => false,
        };
        if is_transient { self.next_delay() } else { None }
    }

    /// Returns the delay before the next attempt after a response; `None` if the response is final.
    pub(crate) fn after_response(&mut self, status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
        let is_transient = match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => true,
            StatusCode::REQUEST_TIMEOUT => self.is_idempotent,
            StatusCode::NOT_IMPLEMENTED => false,
            _ => status.is_server_error() && self.is_idempotent,
        };
        if !is_transient {
            return None;
        }
        let requested = requested_delay(headers, SystemTime::now());
        if requested.is_some_and(|delay| delay > MAX_REQUESTED_DELAY) {
            return None;
        }
        let delay = self.next_delay()?;
        Some(requested.map_or(delay, |requested| requested.max(delay)))
    }

    /// Returns the delay before an attempt that is made for another reason.
    pub(crate) fn next_delay(&mut self) -> Option<Duration> {
        self.left = self.left.checked_sub(1)?;
        let delay = self.max_delay.mul_f64(random_fraction());
        self.max_delay = (self.max_delay * 2).min(MAX_DELAY);
        Some(delay)
    }
}

/// Returns a random number from 0 to 1.
fn random_fraction() -> f64 {
    let mut random = [0; 4];
    // Without random numbers, the longest delay is used.
    match getrandom::fill(&mut random) {
        Ok(()) => f64::from(u32::from_le_bytes(random)) / f64::from(u32::MAX),
        Err(_) => 1.0,
    }
}

/// Returns the delay that a server requests with `Retry-After`, a number of seconds or a date. The
/// date is compared with the server's clock if the response contains it.
fn requested_delay(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let requested = text(header::RETRY_AFTER)?;
    if let Ok(seconds) = requested.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = httpdate::parse_http_date(requested).ok()?;
    let now = text(header::DATE).and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or(now);
    Some(until.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn headers(values: &[(http::HeaderName, &'static str)]) -> HeaderMap {
        values.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn delays_are_random_and_their_limit_doubles() {
        let mut retries = Retries::new(9, SECOND, &Method::GET);
        let mut limit = SECOND;
        for _ in 0..9 {
            let delay = retries.next_delay().unwrap();
            assert!(delay <= limit, "{delay:?}");
            limit = (limit * 2).min(MAX_DELAY);
        }
        assert_eq!(retries.next_delay(), None);
        assert_eq!(Retries::new(0, SECOND, &Method::GET).next_delay(), None);
    }

    #[test]
    fn transient_statuses_are_retried() {
        let delay = |status: u16, method: &Method| {
            let status = StatusCode::from_u16(status).unwrap();
            Retries::new(1, SECOND, method).after_response(status, &HeaderMap::new()).is_some()
        };
        for status in [408, 429, 500, 502, 503, 504, 599] {
            assert!(delay(status, &Method::GET), "{status}");
        }
        for status in [200, 301, 400, 401, 403, 404, 410, 501] {
            assert!(!delay(status, &Method::GET), "{status}");
        }
        assert!(delay(429, &Method::POST) && delay(503, &Method::POST));
        assert!(!delay(500, &Method::POST) && !delay(408, &Method::POST));
    }

    #[test]
    fn requests_that_may_have_been_processed_are_not_retried() {
        let timeout = FetchError::Timeout { url: String::new(), reason: String::new() };
        assert!(Retries::new(1, SECOND, &Method::GET).after_error(&timeout).is_some());
        assert!(Retries::new(1, SECOND, &Method::POST).after_error(&timeout).is_none());
        let interrupted = FetchError::Interrupted { url: String::new(), source: NetworkError::Body };
        assert!(Retries::new(1, SECOND, &Method::PUT).after_error(&interrupted).is_some());
        assert!(Retries::new(1, SECOND, &Method::POST).after_error(&interrupted).is_none());
        let large = FetchError::TooLarge { url: String::new(), limit: 1 };
        assert!(Retries::new(1, SECOND, &Method::GET).after_error(&large).is_none());
    }

    #[test]
    fn retry_after_header_determines_the_delay() {
        let after = |values: &[(http::HeaderName, &'static str)]| {
            let status = StatusCode::TOO_MANY_REQUESTS;
            Retries::new(1, Duration::ZERO, &Method::GET).after_response(status, &headers(values))
        };
        assert_eq!(after(&[(header::RETRY_AFTER, "7")]), Some(7 * SECOND));
        assert_eq!(after(&[(header::RETRY_AFTER, "60")]), Some(60 * SECOND));
        assert_eq!(after(&[(header::RETRY_AFTER, "61")]), None);
        assert_eq!(after(&[(header::RETRY_AFTER, "soon")]), Some(Duration::ZERO));
        let date = [
            (header::RETRY_AFTER, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (header::DATE, "Sun, 06 Nov 1994 08:49:07 GMT"),
        ];
        assert_eq!(after(&date), Some(30 * SECOND));
        let past = [(header::RETRY_AFTER, "Sun, 06 Nov 1994 08:49:37 GMT")];
        assert_eq!(after(&past), Some(Duration::ZERO));
    }
}
