//! The reason why a request has no response or an incomplete response.

use wardian_access::{AccessRequestError, Denied, ReachError};

use crate::tls::TlsError;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// The machine could not be reached, or connecting to it was denied.
    #[error(transparent)]
    Reach(#[from] ReachError),
    /// The request is invalid.
    #[error("invalid request: {0}")]
    Request(#[from] AccessRequestError),
    /// The URI has no scheme or no host.
    #[error("the request's URI has no scheme or host")]
    NoAuthority,
    /// The `Host` header differs from the URI.
    #[error("the request's URI has the host {authority}, but its Host header is {host}")]
    Host {
        /// The URI's host.
        authority: String,
        /// The header's value.
        host: String,
    },
    /// The request would change the protocol of the connection.
    #[error("{0} is not allowed for plugins")]
    Forbidden(&'static str),
    /// The request has a header that the host adds.
    #[error("the host adds the header {0} for this destination, so the plugin must not set it")]
    CredentialHeader(String),
    /// The number of concurrent requests has reached its limit, and none of the requests ended
    /// within the timeout.
    #[error("timed out waiting for one of {0} concurrent requests to finish")]
    LimitReached(usize),
    /// Connecting timed out.
    #[error("timed out connecting to {0}")]
    ConnectTimeout(String),
    /// The TLS handshake failed.
    #[error("the TLS connection to {endpoint} failed: {error}")]
    Tls { endpoint: String, error: TlsError },
    /// The response did not start within the timeout.
    #[error("timed out waiting for a response from {0}")]
    ResponseTimeout(String),
    /// The connection was lost, or the server violates the protocol.
    #[error("the exchange with {endpoint} failed: {error}")]
    Exchange { endpoint: String, error: hyper::Error },
    /// No more response data was received within the timeout.
    #[error("timed out reading the response from {0}")]
    ReadTimeout(String),
    #[error("the response from {endpoint} is larger than the limit of {limit} bytes")]
    TooLarge {
        endpoint: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// The request's body ended early.
    #[error("the request's body ended early")]
    Body,
}

impl From<Denied> for NetworkError {
    fn from(denied: Denied) -> Self {
        Self::Reach(denied.into())
    }
}
