//! Converts request errors to log lines, and to error codes for the guest.

use wardian_access::ReachError;
use wardian_network::{NetworkError, TlsError};
use wardian_plugin::PluginCall;
use wasmtime_wasi_http::Error;

/// Logs an error; the guest receives only a code.
pub(super) fn log_error(call: &PluginCall, error: &NetworkError) {
    tracing::debug!(target: "wardian::network", %call, "{error}");
}

/// Returns whether the request was rejected before the policy's decision. In this case, no record
/// exists yet.
pub(super) fn is_refusal(error: &NetworkError) -> bool {
    matches!(
        error,
        NetworkError::Request(_)
            | NetworkError::NoAuthority
            | NetworkError::Host { .. }
            | NetworkError::Forbidden(_)
            | NetworkError::CredentialHeader(_)
    )
}

/// Returns the WASI error code for an error.
pub(super) fn error_for_guest(error: NetworkError) -> Error {
    match error {
        NetworkError::Reach(error) => reach_error_for_guest(&error),
        NetworkError::Host { .. } | NetworkError::Forbidden(_) | NetworkError::CredentialHeader(_) => {
            Error::HttpRequestDenied
        }
        NetworkError::Request(_) | NetworkError::NoAuthority => Error::HttpRequestUriInvalid,
        NetworkError::LimitReached(_) => Error::ConnectionLimitReached,
        NetworkError::ConnectTimeout(_) => Error::ConnectionTimeout,
        NetworkError::Tls { error: TlsError::NoRoots(_) | TlsError::Setup(_), .. } => {
            Error::ConfigurationError
        }
        NetworkError::Tls { error, .. } if error.is_certificate_error() => Error::TlsCertificateError,
        NetworkError::Tls { .. } => Error::TlsProtocolError,
        NetworkError::ResponseTimeout(_) => Error::HttpResponseTimeout,
        NetworkError::Exchange { error, .. } if error.is_incomplete_message() || error.is_closed() => {
            Error::ConnectionTerminated
        }
        NetworkError::ReadTimeout(_) => Error::ConnectionReadTimeout,
        NetworkError::TooLarge { limit, .. } => Error::HttpResponseBodySize(Some(limit)),
        _ => Error::HttpProtocolError,
    }
}

fn reach_error_for_guest(error: &ReachError) -> Error {
    use std::io::ErrorKind;

    match error {
        ReachError::Denied(_) => Error::HttpRequestDenied,
        ReachError::AddressDenied { .. } => Error::DestinationIpProhibited,
        ReachError::LookUp { .. } => Error::DnsError { rcode: None, info_code: None },
        ReachError::NoAddress(_) => Error::DestinationNotFound,
        ReachError::Connect { error, .. } => match error.kind() {
            ErrorKind::ConnectionRefused => Error::ConnectionRefused,
            ErrorKind::TimedOut => Error::ConnectionTimeout,
            ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => Error::DestinationIpUnroutable,
            _ => Error::DestinationUnavailable,
        },
        _ => Error::DestinationUnavailable,
    }
}
