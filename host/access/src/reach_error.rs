//! Errors for machines that cannot be reached.

use std::io;
use std::net::IpAddr;

use crate::Denied;

/// The reason why a connection to another machine could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReachError {
    #[error(transparent)]
    Denied(#[from] Denied),
    /// None of the host's addresses is allowed.
    #[error("{host} resolves to {address}: {denied}")]
    AddressDenied {
        host: String,
        /// One of the host's addresses.
        address: IpAddr,
        /// The reason why this address is not allowed.
        denied: Denied,
    },
    /// The host name could not be resolved.
    #[error("{host} cannot be resolved: {error}")]
    LookUp { host: String, error: io::Error },
    /// The host name resolves to no address.
    #[error("{0} has no address")]
    NoAddress(String),
    /// The connection could not be opened.
    #[error("could not connect to {endpoint}: {error}")]
    Connect { endpoint: String, error: io::Error },
    /// The proxy refused the connection.
    #[error("proxy {proxy} did not connect to {endpoint}: {reason}")]
    Proxy {
        proxy: String,
        endpoint: String,
        /// The proxy's response.
        reason: String,
    },
}

impl ReachError {
    /// Returns whether an authority denied the connection.
    pub fn is_denial(&self) -> bool {
        matches!(self, Self::Denied(_) | Self::AddressDenied { .. })
    }
}
