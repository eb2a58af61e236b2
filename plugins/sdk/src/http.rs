//! Sends HTTP requests through the host, if policy allows them.
//!
//! ```no_run
//! # fn read() -> wardian_sdk::Result<()> {
//! use wardian_sdk::http;
//!
//! let thing = http::get("https://api.example.com/v1/things/7").send()?.error_for_status()?;
//! let thing: serde_json::Value = thing.json()?;
//! # Ok(())
//! # }
//! ```
//!
//! A call waits until the complete response has been received. The host handles TLS, proxies, and
//! credentials that plugins do not see. Redirects are returned as responses; following a redirect
//! is a new request. A provider that does not use this module does not import `wasi:http` and needs
//! no grant.
//!
//! Native unit tests have no network: [`testing::with_mock_http`](crate::testing::with_mock_http)
//! replaces the server.

#[cfg(target_os = "wasi")]
#[path = "http/host.rs"]
mod transport;
#[cfg(not(target_os = "wasi"))]
#[path = "http/mock.rs"]
mod transport;

mod pages;

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use pages::{Pages, next_link, pages};
#[cfg(not(target_os = "wasi"))]
#[doc(hidden)]
pub use transport::with_mock_http;

/// A request that is being built. [`Request::send`] reports its errors.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    method: String,
    url: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    timeout: Option<Duration>,
    ends_on_interrupt: Option<bool>,
    problem: Option<String>,
}

/// A response with any status.
///
/// ```
/// use wardian_sdk::http::Response;
///
/// let response = Response::new(404, "no such server");
/// assert_eq!(response.status(), 404);
/// assert!(response.error_for_status().is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    status: u16,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

/// The reason why a request has no response or an invalid response.
///
/// ```
/// use wardian_sdk::http::{Error, Response};
///
/// let error = Response::new(500, "out of order").error_for_status().unwrap_err();
/// assert_eq!(error, Error::Status { status: 500, body: "out of order".to_owned() });
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// Policy does not allow the provider to send the request. The host shows the user the rule
    /// that would allow it.
    Denied {
        /// The method and the URL without its query.
        request: String,
    },
    /// The method, the URL or a header is malformed, so nothing was sent.
    InvalidRequest {
        /// The method and the URL without its query.
        request: String,
        /// The error in the request.
        problem: String,
    },
    /// No response or only an incomplete response was received.
    Failed {
        /// The method and the URL without its query.
        request: String,
        /// The error code of `wasi:http`, as text.
        problem: String,
    },
    /// The run was interrupted.
    Interrupted {
        /// The method and the URL without its query.
        request: String,
    },
    /// The status is not a success.
    Status {
        /// The status of the response.
        status: u16,
        /// The beginning of the response body, as text.
        body: String,
    },
    /// The body does not have the expected format.
    Body(String),
}

/// Creates a GET request.
///
/// ```
/// use wardian_sdk::http;
///
/// let request = http::get("https://api.example/servers").header("Accept", "application/json");
/// assert_eq!(request.method(), "GET");
/// ```
pub fn get(url: impl Into<String>) -> Request {
    Request::new("GET", url)
}

/// Creates a POST request.
///
/// ```
/// use wardian_sdk::http;
///
/// let request = http::post("https://api.example/servers", "{}").header("Accept", "application/json");
/// assert_eq!(request.method(), "POST");
/// ```
pub fn post(url: impl Into<String>, body: impl Into<Vec<u8>>) -> Request {
    Request::new("POST", url).body(body)
}

/// Creates a PUT request.
///
/// ```
/// use wardian_sdk::http;
///
/// let request = http::put("https://api.example/servers/1", "{}").header("Accept", "application/json");
/// assert_eq!(request.method(), "PUT");
/// ```
pub fn put(url: impl Into<String>, body: impl Into<Vec<u8>>) -> Request {
    Request::new("PUT", url).body(body)
}

/// Creates a DELETE request.
///
/// ```
/// use wardian_sdk::http;
///
/// let request = http::delete("https://api.example/servers/1").header("Accept", "application/json");
/// assert_eq!(request.method(), "DELETE");
/// ```
pub fn delete(url: impl Into<String>) -> Request {
    Request::new("DELETE", url)
}

impl Request {
    /// Creates a request with any method.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            method: method.into(),
            url: url.into(),
            headers: Vec::new(),
            body: Vec::new(),
            timeout: None,
            ends_on_interrupt: None,
            problem: None,
        }
    }

    /// Adds a header. The host sets `Host` and the headers that concern the connection.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets the body to a value encoded as JSON, with the matching `Content-Type`.
    #[must_use]
    pub fn json(mut self, value: &impl Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => self.body(body).header("Content-Type", "application/json"),
            Err(error) => {
                self.problem = Some(format!("its body cannot be encoded as JSON: {error}"));
                self
            }
        }
    }

    /// Sets the timeout for the connection, for the beginning of the response, and for each
    /// subsequent chunk of the response. The host's limits apply in addition.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets whether the request ends with [`Error::Interrupted`] if the run is interrupted while it is
    /// in progress. By default, requests with the methods GET, HEAD and OPTIONS do, and others do not,
    /// because their effect would be unknown. A request that begins after the interruption does not
    /// end.
    #[must_use]
    pub fn ends_on_interrupt(mut self, ends: bool) -> Self {
        self.ends_on_interrupt = Some(ends);
        self
    }

    #[cfg(target_os = "wasi")]
    fn is_interruptible(&self) -> bool {
        let is_safe = matches!(self.method.to_ascii_uppercase().as_str(), "GET" | "HEAD" | "OPTIONS");
        self.ends_on_interrupt.unwrap_or(is_safe) && !crate::run::interrupted()
    }

    /// Returns the method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Returns the URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the headers in the order in which they were added.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// Returns the body.
    pub fn content(&self) -> &[u8] {
        &self.body
    }

    /// Returns the timeout.
    ///
    /// ```
    /// use std::time::Duration;
    /// let request = wardian_sdk::http::get("https://api.example").timeout(Duration::from_secs(5));
    /// assert_eq!(request.time_limit(), Some(Duration::from_secs(5)));
    /// ```
    pub fn time_limit(&self) -> Option<Duration> {
        self.timeout
    }

    /// Sends the request and waits for the complete response.
    ///
    /// # Errors
    /// Returns an error if no response is received. A response with an error status is `Ok`;
    /// [`Response::error_for_status`] converts it to an error.
    pub fn send(&self) -> Result<Response, Error> {
        if let Some(problem) = &self.problem {
            return Err(self.invalid(problem.clone()));
        }
        transport::send(self)
    }

    fn invalid(&self, problem: impl Into<String>) -> Error {
        Error::InvalidRequest { request: self.method_and_url(), problem: problem.into() }
    }

    /// Returns the method and the URL. The query of the URL is omitted, since it may contain keys
    /// and personal data.
    fn method_and_url(&self) -> String {
        let url = self.url.split(['?', '#']).next().unwrap_or_default();
        format!("{} {url}", self.method)
    }
}

impl Response {
    /// Creates a response with a status and a body.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Returns the status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Returns the response if its status is between 200 and 299.
    ///
    /// # Errors
    /// Returns an error if the status is not in that range.
    pub fn error_for_status(self) -> Result<Self, Error> {
        if (200..300).contains(&self.status) {
            return Ok(self);
        }
        let body = String::from_utf8_lossy(&self.body);
        Err(Error::Status { status: self.status, body: body.trim().chars().take(1_000).collect() })
    }

    /// Returns the first header with this name, as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.and_then(|(_, value)| std::str::from_utf8(value).ok())
    }

    /// Returns all headers.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// Returns the body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Returns the body, and drops the other data of the response.
    pub fn into_body(self) -> Vec<u8> {
        self.body
    }

    /// Returns the body as text.
    ///
    /// # Errors
    /// Returns an error if the body is not UTF-8.
    pub fn text(&self) -> Result<&str, Error> {
        std::str::from_utf8(&self.body).map_err(|error| Error::Body(format!("it is not UTF-8: {error}")))
    }

    /// Decodes the body as JSON.
    ///
    /// # Errors
    /// Returns an error if the body is not JSON, or does not match the type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| Error::Body(error.to_string()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied { request } => write!(
                f,
                "{request}: policy does not allow this provider to send \
                it"
            ),
            Self::InvalidRequest { request, problem } => write!(f, "{request} cannot be sent: {problem}"),
            Self::Failed { request, problem } => write!(f, "{request} failed: {problem}"),
            Self::Interrupted { request } => write!(f, "{request} ended because the run is interrupted"),
            Self::Status { status, body } if body.is_empty() => write!(
                f,
                "the server responded with status \
                {status}"
            ),
            Self::Status { status, body } => write!(f, "the server responded with status {status}: {body}"),
            Self::Body(problem) => write!(f, "the response body is not valid: {problem}"),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::with_mock_http;

    #[test]
    fn mock_server_responds_to_request() {
        let answer = with_mock_http(
            |request| {
                assert_eq!((request.method(), request.url()), ("POST", "https://api.example/v1?key=1"));
                assert_eq!(request.headers().next(), Some(("Content-Type", &b"application/json"[..])));
                Ok(Response::new(201, request.content()).with_header("ETag", "7"))
            },
            || Request::new("POST", "https://api.example/v1?key=1").json(&[1, 2]).send(),
        );
        let answer = answer.unwrap().error_for_status().unwrap();
        assert_eq!((answer.status(), answer.header("etag")), (201, Some("7")));
        assert_eq!(answer.json::<Vec<u8>>(), Ok(vec![1, 2]));
        assert_eq!(answer.text(), Ok("[1,2]"));
        assert!(matches!(answer.json::<String>(), Err(Error::Body(_))));
    }

    #[test]
    fn errors_name_url_without_query() {
        let error = get("https://api.example/v1?key=secret").send().unwrap_err();
        assert_eq!(
            error.to_string(),
            "GET https://api.example/v1 failed: there is no network in unit tests; use testing::with_mock_http"
        );
        let refused = Response::new(404, "no such thing\n").error_for_status().unwrap_err();
        assert_eq!(refused.to_string(), "the server responded with status 404: no such thing");
        let unwritable = std::collections::BTreeMap::from([([1], 1)]);
        let error = get("https://api.example").json(&unwritable).send().unwrap_err();
        assert!(matches!(error, Error::InvalidRequest { .. }), "{error}");
    }
}
