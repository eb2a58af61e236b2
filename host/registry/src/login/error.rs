//! Login errors. None of them contains a token, a code or a password.

use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::access_token::AccessTokenError;
use crate::error_kind::RegistryErrorKind;
use crate::request::RequestError;
use crate::service_host::ServiceHost;
use crate::services::{DiscoveryError, ServiceError};

/// A token that cannot be obtained from a host.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    #[error(transparent)]
    Discovery(#[from] Arc<DiscoveryError>),
    /// The host has no usable login service.
    #[error(
        "host {host} does not support creating authorization tokens: {error}; create a token by other means, and \
         add it to the CLI configuration in a credentials block"
    )]
    Service { host: ServiceHost, error: ServiceError },
    #[error(
        "host {host} does not allow any OAuth grant type that Wardian supports (authz_code, password); create a \
         token by other means, and add it to the CLI configuration in a credentials block"
    )]
    NoSupportedGrant { host: ServiceHost },
    #[error(
        "the login to {host} needs a temporary server on this machine, but none of the ports from {} to {} is free; \
         stop a program that uses one of them", ports.start(), ports.end()
    )]
    NoPort { host: ServiceHost, ports: RangeInclusive<u16> },
    #[error("the temporary server for the login to {host} failed: {source}")]
    Server { host: ServiceHost, source: io::Error },
    /// The host redirected the browser with an error.
    #[error("{host} rejected the login: {error}{}; run the command again to log in", described(description))]
    Denied { host: ServiceHost, error: String, description: String },
    /// The host did not issue a token.
    #[error("{host} did not issue a token: {url} responded with {error:?}{}", described(description))]
    Rejected { host: ServiceHost, url: String, error: String, description: String },
    #[error("failed to request a token from {host}: {error}")]
    Request { host: ServiceHost, error: RequestError },
    #[error("{host} issued an unusable token ({url}): {error}")]
    Token { host: ServiceHost, url: String, error: AccessTokenError },
    #[error("{host} rejected the token ({url}); create a new token, and enter it without changes")]
    RejectedToken { host: ServiceHost, url: String },
}

impl LoginError {
    /// Returns the summary of the diagnostic, which is Terraform's if Terraform has the same error.
    pub fn summary(&self) -> &'static str {
        match self {
            Self::Discovery(_) => "Service discovery failed for host",
            Self::Service { error: ServiceError::Invalid { .. }, .. } | Self::NoSupportedGrant { .. } => {
                "Host does not support Terraform login"
            }
            Self::Service { .. } => "Host does not support Terraform tokens API",
            Self::NoPort { .. } | Self::Server { .. } => "Can't start temporary login server",
            Self::RejectedToken { .. } => "Token is invalid",
            Self::Denied { .. } | Self::Rejected { .. } | Self::Request { .. } | Self::Token { .. } => {
                "Failed to obtain auth token"
            }
        }
    }

    pub fn kind(&self) -> RegistryErrorKind {
        match self {
            Self::Discovery(error) => error.kind(),
            Self::Service { error, .. } => error.kind(),
            Self::Request { error, .. } => error.kind(),
            _ => RegistryErrorKind::Rejected,
        }
    }
}

fn described(description: &str) -> String {
    if description.is_empty() { String::new() } else { format!(" ({description})") }
}
