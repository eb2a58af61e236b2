//! Why a request has no answer.

use std::io;
use std::net::IpAddr;

use wardian_policy::RequestError;

use crate::authority::Denied;
use crate::tls::TlsError;

/// Why a request has no answer, or not a whole one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// It is not allowed.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// None of the addresses that its host has is allowed.
    #[error("{host} leads to {address}: {denied}")]
    AddressDenied {
        /// What was looked up.
        host: String,
        /// One of its addresses.
        address: IpAddr,
        /// Why that is not allowed.
        denied: Denied,
    },
    /// It is no request that could be decided on.
    #[error("the request is not one: {0}")]
    Request(#[from] RequestError),
    /// It has no scheme or no host.
    #[error("the request does not say where it goes")]
    NoAuthority,
    /// Its `Host` is not where it goes.
    #[error("the request goes to {authority}, and its Host header says {host}")]
    Host {
        /// Where it goes.
        authority: String,
        /// What it says.
        host: String,
    },
    /// It wants what would make the connection something else.
    #[error("{0} is not for plugins")]
    Forbidden(&'static str),
    /// It brings a header that is the host's to add.
    #[error("the header {0} is added by the host for this destination, so the plugin may not set it")]
    CredentialHeader(String),
    /// As many requests as there may be go on already, and none of them ends.
    #[error("{0} requests go on at once, which is as many as may, and none of them ended in time")]
    TooMany(usize),
    /// Nobody knows the host.
    #[error("{host} cannot be looked up: {error}")]
    LookUp {
        /// What was looked up.
        host: String,
        /// What the system said.
        error: io::Error,
    },
    /// The host has no address.
    #[error("{0} has no address")]
    NoAddress(String),
    /// No connection.
    #[error("no connection to {place}: {error}")]
    Connect {
        /// Where to.
        place: String,
        /// What the system said.
        error: io::Error,
    },
    /// No connection in time.
    #[error("no connection to {0} in the time that there was")]
    ConnectTimeout(String),
    /// The other side is not who it should be, or speaks no TLS.
    #[error("no secure connection to {place}: {error}")]
    Tls {
        /// Where to.
        place: String,
        /// What was wrong.
        error: TlsError,
    },
    /// The proxy does not let it through.
    #[error("the proxy {proxy} does not connect to {place}: {reason}")]
    Proxy {
        /// Which proxy.
        proxy: String,
        /// Where to.
        place: String,
        /// What it said.
        reason: String,
    },
    /// No answer in time.
    #[error("no answer from {0} in the time that there was")]
    AnswerTimeout(String),
    /// The answer broke off, or is not HTTP.
    #[error("the exchange with {place} failed: {error}")]
    Exchange {
        /// With whom.
        place: String,
        /// What was wrong.
        error: hyper::Error,
    },
    /// The answer went silent.
    #[error("the answer of {0} went silent for longer than it may")]
    Silent(String),
    /// The answer is larger than it may be.
    #[error("the answer of {place} is larger than the {limit} bytes that it may have")]
    TooLarge {
        /// Whose.
        place: String,
        /// How many bytes there may be.
        limit: u64,
    },
    /// The body of the request came to an end before it was whole.
    #[error("the body of the request broke off")]
    Body,
}
