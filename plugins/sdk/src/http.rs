//! Requests of HTTP, sent by the host, as far as its policy lets.
//!
//! ```no_run
//! # fn read() -> wardian_sdk::Result<()> {
//! use wardian_sdk::http;
//!
//! let thing = http::get("https://api.example.com/v1/things/7").send()?.successful()?;
//! let thing: serde_json::Value = thing.json()?;
//! # Ok(())
//! # }
//! ```
//!
//! A call waits until the answer is there whole. TLS, proxies and credentials that the
//! person keeps from plugins are the host's matter; redirects are answers, and following
//! one is a new request. A provider that uses none of this does not import `wasi:http`,
//! and needs no grant.
//!
//! Natively, in unit tests, there is no network:
//! [`testing::answer_requests`](crate::testing::answer_requests) plays the other side.

#[cfg(target_os = "wasi")]
#[path = "http/host.rs"]
mod transport;
#[cfg(not(target_os = "wasi"))]
#[path = "http/played.rs"]
mod transport;

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

#[cfg(not(target_os = "wasi"))]
#[doc(hidden)]
pub use transport::answer_requests;

/// A request that is being put together. What is wrong with it is told by
/// [`Request::send`].
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    method: String,
    url: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    timeout: Option<Duration>,
    problem: Option<String>,
}

/// An answer, whatever it says.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    status: u16,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

/// Why there is no answer, or not the one that was wanted.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// Policy does not let this provider send it. What would is told to the person by the
    /// host.
    Denied {
        /// What was to be sent: method and URL without its query.
        request: String,
    },
    /// It could not be put together.
    Request {
        /// What was to be sent.
        request: String,
        /// What is wrong with it.
        problem: String,
    },
    /// No answer came, or not all of it.
    Failed {
        /// What was to be sent.
        request: String,
        /// What went wrong, as `wasi:http` calls it.
        problem: String,
    },
    /// The answer does not say that it went well.
    Status {
        /// What it says.
        status: u16,
        /// The beginning of its body, where that is text.
        body: String,
    },
    /// The body is not what it was read as.
    Body(String),
}

/// A request to read something.
pub fn get(url: impl Into<String>) -> Request {
    Request::new("GET", url)
}

/// A request to create something, or whatever else the body says.
pub fn post(url: impl Into<String>, body: impl Into<Vec<u8>>) -> Request {
    Request::new("POST", url).body(body)
}

/// A request to replace something.
pub fn put(url: impl Into<String>, body: impl Into<Vec<u8>>) -> Request {
    Request::new("PUT", url).body(body)
}

/// A request to remove something.
pub fn delete(url: impl Into<String>) -> Request {
    Request::new("DELETE", url)
}

impl Request {
    /// A request with any method.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            method: method.into(),
            url: url.into(),
            headers: Vec::new(),
            body: Vec::new(),
            timeout: None,
            problem: None,
        }
    }

    /// Adds a header. `Host`, and what is about the connection, are the host's.
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

    /// Sets the body to a value in JSON, with its header.
    #[must_use]
    pub fn json(mut self, value: &impl Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => self.body(body).header("Content-Type", "application/json"),
            Err(error) => {
                self.problem = Some(format!("its body cannot be written as JSON: {error}"));
                self
            }
        }
    }

    /// How long to wait to be connected, then for the answer to begin, and then for each
    /// part of it. The host has limits besides.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The headers, in the order in which they were added.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// The body.
    pub fn content(&self) -> &[u8] {
        &self.body
    }

    /// Sends it and waits for the whole answer.
    ///
    /// # Errors
    /// Where there is none. An answer that says that something failed is an answer:
    /// [`Response::successful`] makes an error of it.
    pub fn send(&self) -> Result<Response, Error> {
        if let Some(problem) = &self.problem {
            return Err(self.wrong(problem.clone()));
        }
        transport::send(self)
    }

    fn wrong(&self, problem: impl Into<String>) -> Error {
        Error::Request { request: self.shown(), problem: problem.into() }
    }

    /// Without a query, where keys and names of people are.
    fn shown(&self) -> String {
        let url = self.url.split(['?', '#']).next().unwrap_or_default();
        format!("{} {url}", self.method)
    }
}

impl Response {
    /// An answer with a status and a body.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    /// The same with a header.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// This answer if its status is between 200 and 299.
    ///
    /// # Errors
    /// If it is another one.
    pub fn successful(self) -> Result<Self, Error> {
        if (200..300).contains(&self.status) {
            return Ok(self);
        }
        let body = String::from_utf8_lossy(&self.body);
        Err(Error::Status { status: self.status, body: body.trim().chars().take(1_000).collect() })
    }

    /// The first header of that name, as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.and_then(|(_, value)| std::str::from_utf8(value).ok())
    }

    /// All headers.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// The body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The body, taken.
    pub fn into_body(self) -> Vec<u8> {
        self.body
    }

    /// The body as text.
    ///
    /// # Errors
    /// Where it is not UTF-8.
    pub fn text(&self) -> Result<&str, Error> {
        std::str::from_utf8(&self.body).map_err(|error| Error::Body(format!("it is not UTF-8: {error}")))
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// Where it is none, or another value.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| Error::Body(error.to_string()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied { request } => write!(f, "{request}: policy does not let this provider send it"),
            Self::Request { request, problem } => write!(f, "{request} cannot be sent: {problem}"),
            Self::Failed { request, problem } => write!(f, "{request} failed: {problem}"),
            Self::Status { status, body } if body.is_empty() => write!(f, "the server answers {status}"),
            Self::Status { status, body } => write!(f, "the server answers {status}: {body}"),
            Self::Body(problem) => write!(f, "the answer's body is not what it should be: {problem}"),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::answer_requests;

    #[test]
    fn a_test_answers_what_a_provider_sends() {
        let answer = answer_requests(
            |request| {
                assert_eq!((request.method(), request.url()), ("POST", "https://api.example/v1?key=1"));
                assert_eq!(request.headers().next(), Some(("Content-Type", &b"application/json"[..])));
                Ok(Response::new(201, request.content()).with_header("ETag", "7"))
            },
            || Request::new("POST", "https://api.example/v1?key=1").json(&[1, 2]).send(),
        );
        let answer = answer.unwrap().successful().unwrap();
        assert_eq!((answer.status(), answer.header("etag")), (201, Some("7")));
        assert_eq!(answer.json::<Vec<u8>>(), Ok(vec![1, 2]));
        assert_eq!(answer.text(), Ok("[1,2]"));
        assert!(matches!(answer.json::<String>(), Err(Error::Body(_))));
    }

    #[test]
    fn errors_say_what_was_asked_and_no_query() {
        let error = get("https://api.example/v1?key=secret").send().unwrap_err();
        assert_eq!(
            error.to_string(),
            "GET https://api.example/v1 failed: there is no network here, and no test that answers"
        );
        let refused = Response::new(404, "no such thing\n").successful().unwrap_err();
        assert_eq!(refused.to_string(), "the server answers 404: no such thing");
        let unwritable = std::collections::BTreeMap::from([([1], 1)]);
        let error = get("https://api.example").json(&unwritable).send().unwrap_err();
        assert!(matches!(error, Error::Request { .. }), "{error}");
    }
}
