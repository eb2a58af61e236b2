//! The reason why a request or a download failed.

use std::io;
use std::path::PathBuf;

use http::StatusCode;
use wardian_digest::Sha256Digest;
use wardian_network::NetworkError;

use crate::advice::{ASK_OPERATOR, CHECK_NETWORK, disk_advice, status_advice};

/// A failed request or download. URLs are formatted by [`printable_url`](crate::printable_url).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    #[error(
        "{url} was not requested, because network access is disabled (offline mode); to allow requests, run \
         the command without -offline and unset WARDIAN_OFFLINE"
    )]
    Offline { url: String },
    /// The request cannot be sent.
    #[error("cannot request {url}: {reason}")]
    Invalid { url: String, reason: String },
    /// A connection to the server could not be established.
    #[error("failed to request {url}: {source}; {CHECK_NETWORK}")]
    Connect { url: String, source: NetworkError },
    /// A secure connection to the server could not be established.
    #[error("failed to request {url}: {source}{}", certificate_advice(source))]
    Tls { url: String, source: NetworkError },
    /// The server did not respond, or stopped sending, within the time limit.
    #[error("failed to request {url}: {reason}; {CHECK_NETWORK}")]
    Timeout { url: String, reason: String },
    /// The connection was lost, or the server violated the protocol.
    #[error("failed to request {url}: {source}; {CHECK_NETWORK}")]
    Interrupted { url: String, source: NetworkError },
    #[error("the response from {url} is larger than the limit of {limit} bytes; {ASK_OPERATOR}")]
    TooLarge {
        url: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// The server redirected to a URL to which no request is sent.
    #[error("the response from {url} is a redirect that cannot be followed: {problem}; {ASK_OPERATOR}")]
    Redirect { url: String, problem: RedirectProblem },
    /// The server did not send the file.
    #[error("failed to download {url}: the server responded with {status}; {}", status_advice(*status))]
    Status { url: String, status: StatusCode },
    /// The response is compressed, although the request did not allow it.
    #[error(
        "the response from {url} has the content encoding \"{encoding}\", which was not requested; the \
         server must send the file without encoding"
    )]
    Encoding { url: String, encoding: String },
    /// The file is not the expected file.
    #[error(
        "the file at {url} has the SHA-256 digest {found}, but the expected digest is {expected}; it was \
         changed on the server or during the transfer, and is not used; run the command again, and if it fails \
         again, ask the publisher which file is correct"
    )]
    DigestMismatch { url: String, expected: Sha256Digest, found: Sha256Digest },
    /// The file does not have the expected size.
    #[error("the file at {url} has {found} bytes, but its expected size is {expected} bytes; {ASK_OPERATOR}")]
    SizeMismatch {
        url: String,
        expected: u64,
        /// The number of bytes that the server announced or sent. If the server sent more than
        /// expected, the number of bytes after which the transfer was stopped.
        found: u64,
    },
    /// A local file could not be written.
    #[error("failed to write {} while downloading {url}: {source}{}", path.display(), disk_advice(source))]
    Write { url: String, path: PathBuf, source: io::Error },
}

/// The reason why a redirect is not followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RedirectProblem {
    #[error("there are more than {0} redirects")]
    TooMany(usize),
    #[error("it points back to {0}")]
    Loop(String),
    #[error("it points from https to {0}, which is not encrypted")]
    Downgrade(String),
    #[error("its location is not an http or https URL")]
    Scheme,
    #[error("its location is not a valid URL")]
    Location,
    /// The location has more bytes than the limit.
    #[error("its location is longer than {0} bytes")]
    TooLong(usize),
    /// The request has a body, which may contain a secret.
    #[error("it points to another server, {0}, and the request has a body")]
    BodyToOtherOrigin(String),
}

impl FetchError {
    /// Returns the URL, without user information and secrets.
    pub fn url(&self) -> &str {
        match self {
            Self::Offline { url }
            | Self::Invalid { url, .. }
            | Self::Connect { url, .. }
            | Self::Tls { url, .. }
            | Self::Timeout { url, .. }
            | Self::Interrupted { url, .. }
            | Self::TooLarge { url, .. }
            | Self::Redirect { url, .. }
            | Self::Status { url, .. }
            | Self::Encoding { url, .. }
            | Self::DigestMismatch { url, .. }
            | Self::SizeMismatch { url, .. }
            | Self::Write { url, .. } => url,
        }
    }

    /// Whether the server responded that the file does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Status { status: StatusCode::NOT_FOUND | StatusCode::GONE, .. })
    }

    /// Whether there was no complete response: no connection, no response within the time limit, or
    /// a lost connection.
    pub fn is_unreachable(&self) -> bool {
        matches!(
            self,
            Self::Connect { .. } | Self::Tls { .. } | Self::Timeout { .. } | Self::Interrupted { .. }
        )
    }
}

fn certificate_advice(error: &NetworkError) -> &'static str {
    match error {
        NetworkError::Tls { error, .. } if error.is_certificate_error() => {
            "; if a private certificate authority issued the server's certificate, add the authority to the \
             system's root certificates, or set SSL_CERT_FILE"
        }
        _ => "",
    }
}
