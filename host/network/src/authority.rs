//! Who decides what is sent.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use wardian_policy::NetworkRequest;

/// Decides on one request, and learns what became of it. Clients are shared by many on
/// whose behalf something is sent; each request brings its own authority.
pub trait Authority: Send + Sync + 'static {
    /// The headers that are the host's to add to a request, if it may be sent. A request
    /// that brings one of them itself is refused.
    fn reserved_headers(&self, request: &NetworkRequest) -> Vec<HeaderName>;

    /// Whether a request may be sent, before anything is looked up.
    ///
    /// # Errors
    /// Where it may not.
    fn may_send(&self, request: &NetworkRequest) -> Result<(), Denied>;

    /// Whether it may be sent to this address, one of those that its host has.
    ///
    /// # Errors
    /// Where it may not.
    fn may_connect(&self, request: &NetworkRequest, address: IpAddr) -> Result<(), Denied>;

    /// The headers that the host adds to a request that may be sent.
    ///
    /// # Errors
    /// Where a secret that is to be added is not there: without it the request is not
    /// what the policy says.
    fn credentials(&self, request: &NetworkRequest) -> Result<Vec<Credential>, Denied>;

    /// An exchange has ended, well or not.
    fn ended(&self, exchange: &Exchange);
}

/// A header that the host adds. Its value is a secret.
#[derive(Clone)]
pub struct Credential {
    /// The header's name.
    pub name: HeaderName,
    /// The secret, with what stands before it.
    pub value: HeaderValue,
}

impl fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Credential({}, ...)", self.name)
    }
}

/// Why something was not allowed, for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Denied(pub String);

/// One request and its answer, as far as they came.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// What was asked for.
    pub request: NetworkRequest,
    /// The address that the connection leads to; `None` where there was none, or a proxy
    /// keeps it to itself.
    pub address: Option<IpAddr>,
    /// The status of the answer; `None` where none came.
    pub status: Option<u16>,
    /// Bytes of the request's body.
    pub sent: u64,
    /// Bytes of the answer's body that were handed over.
    pub received: u64,
    /// From the request until its answer was read or let go.
    pub duration: Duration,
}
