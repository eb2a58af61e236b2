//! The authority over HTTP requests.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use http::{HeaderName, HeaderValue};

use crate::{Denied, NetworkRequest};

/// Authorizes HTTP requests and records their exchanges. Requests share a client, but each request
/// has a separate authority.
pub trait HttpAuthority: Send + Sync + 'static {
    /// Returns the headers that only the host may add to a request. A request that already
    /// has one of them is rejected.
    fn reserved_headers(&self, request: &NetworkRequest) -> Vec<HeaderName>;

    /// Checks whether a request may be sent; called before its host is resolved.
    ///
    /// # Errors
    /// Returns the denial.
    fn may_send(&self, request: &NetworkRequest) -> Result<(), Denied>;

    /// Checks whether a request may be sent to one of the addresses of its host.
    ///
    /// # Errors
    /// Returns the denial.
    fn may_connect(&self, request: &NetworkRequest, address: IpAddr) -> Result<(), Denied>;

    /// Returns the headers that the host adds to an allowed request.
    ///
    /// # Errors
    /// Returns a denial if a secret is missing, since the request would then be sent without a
    /// credential that policy requires.
    fn credentials(&self, request: &NetworkRequest) -> Result<Vec<HttpCredential>, Denied>;

    /// Records an exchange that ended, successfully or not.
    fn finished(&self, exchange: &HttpExchange);
}

/// A header that the host adds. Its value is a secret.
#[derive(Clone)]
pub struct HttpCredential {
    pub name: HeaderName,
    /// The secret with its prefix.
    pub value: HeaderValue,
}

impl fmt::Debug for HttpCredential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "HttpCredential({}, ...)", self.name)
    }
}

/// The record of a request and its response, which may be incomplete.
#[derive(Clone, Debug)]
pub struct HttpExchange {
    pub request: NetworkRequest,
    /// The peer's address; `None` if there was no connection, or if a proxy resolved the name.
    pub address: Option<IpAddr>,
    /// The status of the response; `None` without a response.
    pub status: Option<u16>,
    /// The number of bytes of the request's body.
    pub sent: u64,
    /// The number of bytes of the response's body that the caller received.
    pub received: u64,
    /// The time from the request until its response was read or dropped.
    pub duration: Duration,
}

/// Returns whether a byte is allowed in an HTTP token, such as a method or a header name.
pub fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
