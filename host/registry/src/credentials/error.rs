//! Credential errors. None of them contains a token.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::CredentialOrigin;
use crate::access_token::AccessTokenError;
use crate::service_host::ServiceHost;

/// A token that cannot be obtained, stored or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialsError {
    #[error("the token for {host} from {origin} cannot be used: {error}")]
    InvalidToken { host: ServiceHost, origin: CredentialOrigin, error: AccessTokenError },
    #[error(transparent)]
    Helper(#[from] Arc<HelperError>),
    #[error(transparent)]
    File(#[from] TokenFileError),
    /// The user has configured the token in a location that is not changed automatically.
    #[error(
        "the credentials for {host} are in a credentials block of the CLI configuration, which is not changed \
         automatically; revoke them if they are no longer needed, and remove that block"
    )]
    ManuallyConfigured { host: ServiceHost },
    #[error(
        "there is no place to store credentials: there is neither a home directory nor a credentials helper"
    )]
    NoStorage,
}

impl CredentialsError {
    /// Returns the summary of the diagnostic for a failed `login` or `logout`.
    pub fn summary(&self) -> String {
        match self {
            Self::ManuallyConfigured { host, .. } => {
                format!("Credentials for {host} are manually configured")
            }
            _ => "Failed to access API tokens".to_owned(),
        }
    }
}

/// The file `credentials.tfrc.json` cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenFileError {
    #[error("failed to read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is larger than {limit} bytes and is not read", path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    /// The file is not changed.
    #[error(
        "{} is not a valid credentials file: {problem}; correct or remove the file", path.display()
    )]
    Invalid { path: PathBuf, problem: String },
    #[error("failed to write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// A credentials helper that failed.
#[derive(Debug, thiserror::Error)]
#[error("the credentials helper {} failed to {action} the token of {host}: {problem}", program.display())]
pub struct HelperError {
    pub program: PathBuf,
    /// The verb of the request: `get`, `store` or `forget`.
    pub action: &'static str,
    pub host: ServiceHost,
    pub problem: HelperProblem,
}

/// The reason why a credentials helper failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HelperProblem {
    #[error("{0}")]
    Start(wardian_process::ProcessError),
    #[error("it did not finish within {} seconds", .0.as_secs())]
    Timeout(Duration),
    #[error("its output is larger than {0} bytes")]
    TooMuchOutput(usize),
    #[error("it exited with {status}{}", shown_output(message))]
    Exit {
        /// The exit code or the signal.
        status: String,
        /// The text that it wrote to standard error.
        message: String,
    },
    #[error("its output is not a JSON object with a \"token\"")]
    Output,
    #[error("{0}")]
    Token(AccessTokenError),
}

fn shown_output(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}
