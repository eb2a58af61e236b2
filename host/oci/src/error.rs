//! The reasons why a request to a registry failed.

use std::fmt;
use std::io;
use std::path::PathBuf;

use http::StatusCode;
use serde::Deserialize;
use wardian_digest::Sha256Digest;
use wardian_download::FetchError;
use wardian_download::advice::{ASK_PUBLISHER, status_advice};

use crate::challenge::ChallengeError;
use crate::credentials::OciCredentialsError;
use crate::digest::DigestError;
use crate::layout::LayoutProblem;
use crate::manifest::ManifestError;
use crate::reference::{ArtifactReference, ReferenceError, RegistryHost, Repository};

const OPERATOR: &str = "ask the operator of the registry to correct it";

/// A failed request to a registry, or an artifact that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OciError {
    /// There was no response.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("failed to find the credentials of {repository}: {source}")]
    Credentials { repository: Repository, source: OciCredentialsError },
    /// The registry denied access, either without credentials or with the credentials that were sent.
    #[error("access to {repository} was denied by {url}: {reason}{}", details(errors))]
    Unauthorized {
        repository: Repository,
        url: String,
        reason: UnauthorizedReason,
        errors: Vec<RegistryMessage>,
    },
    /// The registry requested credentials in a form that cannot be answered.
    #[error(
        "{repository} requires authentication, but the challenge from {url} cannot be answered: {source}; \
         {OPERATOR}"
    )]
    Challenge { repository: Repository, url: String, source: ChallengeError },
    /// The token server returned no token.
    #[error("the token server {url} of {repository} returned no token: {reason}; check the credentials")]
    Token { repository: Repository, url: String, reason: String },
    /// The registry responded with an error.
    #[error(
        "failed to {action}: {url} responded with {status}{}; {}", details(errors), status_advice(*status)
    )]
    Response {
        /// The failed action, such as "list the tags of HOST/REPO".
        action: String,
        url: String,
        status: StatusCode,
        errors: Vec<RegistryMessage>,
    },
    /// The registry's response does not follow the specification.
    #[error("failed to {action}: the response from {url} is invalid: {reason}; {OPERATOR}")]
    InvalidResponse { action: String, url: String, reason: String },
    #[error("the manifest of {reference} cannot be used: {source}; {ASK_PUBLISHER}")]
    Manifest { reference: ArtifactReference, source: ManifestError },
    /// The digest of the content is not the expected digest.
    #[error(
        "{subject} has the digest sha256:{found}, but the expected digest is sha256:{expected}; it was \
         changed in the registry or during the transfer, and is not used; run the command again, and if it \
         fails again, ask the publisher which content is correct"
    )]
    DigestMismatch { subject: String, expected: Sha256Digest, found: Sha256Digest },
    /// The content does not have the expected size.
    #[error("{subject} has {found} bytes, but its descriptor states {expected} bytes; {ASK_PUBLISHER}")]
    SizeMismatch { subject: String, expected: u64, found: u64 },
    #[error("{repository} has more than {limit} tags; {ASK_PUBLISHER}")]
    TooManyTags { repository: Repository, limit: usize },
    /// A list has too many pages, or its pages form a cycle.
    #[error("failed to {action}: {url} has too many pages; {OPERATOR}")]
    TooManyPages { action: String, url: String },
    /// The artifact does not have the expected type or layout.
    #[error("{reference} {problem}; {ASK_PUBLISHER}")]
    Layout { reference: ArtifactReference, problem: LayoutProblem },
    #[error("{reference} refers to content whose digest cannot be verified: {source}; {ASK_PUBLISHER}")]
    Digest { reference: ArtifactReference, source: DigestError },
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    #[error("plain HTTP is allowed only for registries on this machine, and {registry} is not one")]
    PlainHttp { registry: RegistryHost },
    /// A local file could not be read.
    #[error("failed to read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A file was changed while it was pushed.
    #[error("{} was changed while it was pushed; run the command again", path.display())]
    Changed { path: PathBuf },
}

impl OciError {
    /// Returns whether the registry has no such repository or artifact.
    pub fn is_not_found(&self) -> bool {
        const NOT_FOUND: [&str; 4] = ["NAME_UNKNOWN", "NAME_INVALID", "MANIFEST_UNKNOWN", "BLOB_UNKNOWN"];
        match self {
            Self::Fetch(error) => error.is_not_found(),
            Self::Response { status, errors, .. } if errors.is_empty() => *status == StatusCode::NOT_FOUND,
            Self::Response { errors, .. } => {
                errors.iter().any(|error| NOT_FOUND.contains(&error.code.as_str()))
            }
            _ => false,
        }
    }

    /// Returns whether there was no complete response.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Fetch(error) if error.is_unreachable())
    }
}

/// The reason why access was denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnauthorizedReason {
    /// No credentials are configured.
    NoCredentials,
    /// The registry rejected the credentials.
    Rejected,
    /// The registry accepted the credentials, but they do not permit this access.
    Forbidden,
}

impl fmt::Display for UnauthorizedReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NoCredentials => {
                "no credentials are configured; log in with a program that writes Docker's configuration \
                 file, or add an oci_credentials block to the CLI configuration"
            }
            Self::Rejected => "the registry rejected the configured credentials; log in again",
            Self::Forbidden => "the credentials do not permit this access, or the repository does not exist",
        })
    }
}

/// An error in the response of a registry. The text comes from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryMessage {
    /// The code, such as `NAME_UNKNOWN`.
    pub code: String,
    pub message: String,
}

impl RegistryMessage {
    /// Maximum number of errors that are reported.
    const MAX_MESSAGES: usize = 3;

    /// Reads the errors in the body of a response; other bodies contain none.
    pub(crate) fn parse(body: &[u8]) -> Vec<Self> {
        #[derive(Deserialize)]
        struct Body {
            errors: Vec<Entry>,
        }
        #[derive(Deserialize)]
        struct Entry {
            #[serde(default)]
            code: Option<String>,
            #[serde(default)]
            message: Option<String>,
        }
        let shorten = |text: Option<String>| -> String {
            let text = text.unwrap_or_default();
            text.chars().filter(|character| !character.is_control()).take(200).collect()
        };
        let errors = serde_json::from_slice(body).map(|body: Body| body.errors).unwrap_or_default();
        let errors = errors.into_iter().take(Self::MAX_MESSAGES);
        errors
            .map(|entry| Self {
                code: shorten(entry.code).to_ascii_uppercase(),
                message: shorten(entry.message),
            })
            .collect()
    }
}

impl fmt::Display for RegistryMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code.as_str(), self.message.as_str()) {
            (code, "") => formatter.write_str(code),
            ("", message) => formatter.write_str(message),
            (code, message) => write!(formatter, "{code}: {message}"),
        }
    }
}

fn details(errors: &[RegistryMessage]) -> String {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).filter(|text| !text.is_empty()).collect();
    if texts.is_empty() { String::new() } else { format!(" ({})", texts.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, body: &str) -> OciError {
        OciError::Response {
            action: "list the tags of h/x".to_owned(),
            url: "https://h/v2/x/tags/list".to_owned(),
            status: StatusCode::from_u16(status).unwrap(),
            errors: RegistryMessage::parse(body.as_bytes()),
        }
    }

    #[test]
    fn error_codes_take_precedence_over_the_status() {
        assert!(response(404, "404 page not found").is_not_found());
        assert!(response(404, r#"{"errors":[{"code":"NAME_UNKNOWN"}]}"#).is_not_found());
        assert!(response(400, r#"{"errors":[{"code":"name_invalid","message":"x"}]}"#).is_not_found());
        assert!(!response(404, r#"{"errors":[{"code":"DENIED"}]}"#).is_not_found());
        assert!(!response(500, "").is_not_found());
    }

    #[test]
    fn control_characters_are_removed_from_registry_messages() {
        let error = response(
            400,
            r#"{"errors":[{"code":"A","message":"b\u001b[2J"},{"detail":1},{"message":"c"},{"code":"D"}]}"#,
        );
        assert_eq!(
            error.to_string(),
            "failed to list the tags of h/x: https://h/v2/x/tags/list responded with 400 Bad Request (A: b[2J; c); \
             ask the operator of the server to correct it"
        );
    }
}
