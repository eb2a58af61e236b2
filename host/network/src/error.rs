//! Errors of HTTP requests.

use std::io;
use std::net::IpAddr;

use wardian_policy::RequestError;

use crate::authority::Denied;
use crate::tls::TlsError;

/// Why a request has no response, or an incomplete one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// The authority denied it.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// None of the host's addresses is allowed.
    #[error("{host} resolves to {address}: {denied}")]
    AddressDenied {
        host: String,
        /// One of the host's addresses.
        address: IpAddr,
        /// Why this address is not allowed.
        denied: Denied,
    },
    /// The request is invalid.
    #[error("invalid request: {0}")]
    Request(#[from] RequestError),
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
    /// The request would change the meaning of the connection.
    #[error("{0} is not allowed for plugins")]
    Forbidden(&'static str),
    /// The request has a header that the host adds.
    #[error("the host adds the header {0} for this destination, so the plugin must not set it")]
    CredentialHeader(String),
    /// The limit of concurrent requests is reached, and none of them ended in time.
    #[error("timed out waiting for one of {0} concurrent requests to finish")]
    LimitReached(usize),
    /// The host name could not be resolved.
    #[error("{host} cannot be resolved: {error}")]
    LookUp { host: String, error: io::Error },
    /// The host name resolves to no address.
    #[error("{0} has no address")]
    NoAddress(String),
    /// The connection could not be opened.
    #[error("could not connect to {endpoint}: {error}")]
    Connect { endpoint: String, error: io::Error },
    /// Connecting timed out.
    #[error("timed out connecting to {0}")]
    ConnectTimeout(String),
    /// The TLS handshake failed.
    #[error("no TLS connection to {endpoint}: {error}")]
    Tls { endpoint: String, error: TlsError },
    /// The proxy refused the connection.
    #[error("proxy {proxy} did not connect to {endpoint}: {reason}")]
    Proxy {
        proxy: String,
        endpoint: String,
        /// The proxy's response.
        reason: String,
    },
    /// The response did not start in time.
    #[error("timed out waiting for a response from {0}")]
    ResponseTimeout(String),
    /// The connection was lost, or the server violates the protocol.
    #[error("the exchange with {endpoint} failed: {error}")]
    Exchange { endpoint: String, error: hyper::Error },
    /// The response stalled.
    #[error("timed out reading the response of {0}")]
    ReadTimeout(String),
    /// The response is too large.
    #[error("the response of {endpoint} is larger than the limit of {limit} bytes")]
    TooLarge {
        endpoint: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// The request's body ended early.
    #[error("the request's body ended early")]
    Body,
}
