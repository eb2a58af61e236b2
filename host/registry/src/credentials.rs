//! The user's tokens for hosts.
//!
//! | source | precedence |
//! |---|---|
//! | the environment variable `TF_TOKEN_example_com` | first |
//! | a `credentials` block of the CLI configuration, or `credentials.tfrc.json` | second |
//! | the credentials helper, a program | last |
//!
//! The caller provides the variables and the settings. Invariant: `Debug` output, errors and logs
//! never contain tokens.

mod environment;
mod error;
mod file;
mod helper;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OnceCell;

pub use environment::token_variable;
pub use error::{CredentialsError, HelperError, TokenFileError};
pub use file::TokenFile;
pub use helper::CredentialsProgram;

use crate::access_token::{AccessToken, AccessTokenError};
use crate::service_host::{ServiceHost, ServiceHostError};
use environment::EnvironmentToken;

/// A configured text, which is checked when it is used.
type ConfiguredToken = Result<AccessToken, AccessTokenError>;

/// The result of the helper for a host, shared by all callers.
type HelperResult = Arc<OnceCell<Result<Option<AccessToken>, Arc<HelperError>>>>;

/// The user's tokens for hosts. `Debug` output does not contain the tokens.
#[derive(Default)]
pub struct Credentials {
    environment: BTreeMap<ServiceHost, EnvironmentToken>,
    configured: Mutex<BTreeMap<ServiceHost, ConfiguredToken>>,
    file: Option<TokenFile>,
    helper: Option<CredentialsProgram>,
    helper_results: Mutex<BTreeMap<ServiceHost, HelperResult>>,
}

/// A token and its source.
#[derive(Clone, Debug)]
pub struct HostCredential {
    pub token: AccessToken,
    pub origin: CredentialOrigin,
}

/// The source of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CredentialOrigin {
    Environment { variable: String },
    Configuration,
    Helper { name: String },
}

/// The location in which a host's token is, or would be, stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CredentialStorage {
    File(PathBuf),
    Helper { name: String },
}

/// The location of the stored token that was removed, if there was one.
pub type RemovedCredential = Option<CredentialStorage>;

impl fmt::Display for CredentialOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment { variable } => write!(formatter, "the environment variable {variable}"),
            Self::Configuration => formatter.write_str("the CLI configuration"),
            Self::Helper { name } => write!(formatter, "the credentials helper \"{name}\""),
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let configured: Vec<ServiceHost> = lock(&self.configured).keys().cloned().collect();
        formatter
            .debug_struct("Credentials")
            .field("environment", &self.environment.keys().collect::<Vec<_>>())
            .field("configured", &configured)
            .field("file", &self.file)
            .field("helper", &self.helper)
            .finish_non_exhaustive()
    }
}

impl Credentials {
    /// Adds the tokens in environment variables. Variables with other names are ignored.
    #[must_use]
    pub fn with_environment(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        self.environment.extend(environment::tokens(variables));
        self
    }

    /// Adds the tokens of `credentials` blocks and of `credentials.tfrc.json`, by host.
    ///
    /// # Errors
    /// Returns an error if a host is invalid.
    pub fn with_configured<'a>(
        mut self,
        tokens: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, ServiceHostError> {
        let configured = self.configured.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (host, token) in tokens {
            configured.insert(ServiceHost::parse(host)?, AccessToken::new(token));
        }
        Ok(self)
    }

    /// Sets the file `credentials.tfrc.json`, in which tokens are stored. It need not exist. Its
    /// tokens are used only if they are also passed to [`Self::with_configured`].
    #[must_use]
    pub fn with_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.file = Some(TokenFile::new(path));
        self
    }

    #[must_use]
    pub fn with_helper(mut self, helper: CredentialsProgram) -> Self {
        self.helper = Some(helper);
        self
    }

    /// Returns the token of a host. The helper runs at most once for each host.
    ///
    /// # Errors
    /// Returns an error if the token is invalid, or the helper fails.
    pub async fn credential(&self, host: &ServiceHost) -> Result<Option<HostCredential>, CredentialsError> {
        if let Some(found) = self.environment.get(host) {
            let origin = CredentialOrigin::Environment { variable: found.variable.clone() };
            return known_credential(host, found.token.clone(), origin).map(Some);
        }
        if let Some(token) = lock(&self.configured).get(host).cloned() {
            return known_credential(host, token, CredentialOrigin::Configuration).map(Some);
        }
        let Some(helper) = &self.helper else { return Ok(None) };
        let cell = Arc::clone(lock(&self.helper_results).entry(host.clone()).or_default());
        let result = cell.get_or_init(|| async { helper.token(host).await.map_err(Arc::new) }).await;
        let origin = CredentialOrigin::Helper { name: helper.name.clone() };
        match result {
            Ok(token) => Ok(token.clone().map(|token| HostCredential { token, origin })),
            Err(error) => Err(CredentialsError::Helper(Arc::clone(error))),
        }
    }

    /// Returns the environment variable with a host's token, which takes precedence over a stored token.
    pub fn variable(&self, host: &ServiceHost) -> Option<&str> {
        self.environment.get(host).map(|found| found.variable.as_str())
    }

    /// Returns the location in which [`Self::store`] would store a token.
    ///
    /// # Errors
    /// Returns an error if the token of the host is configured manually, or if there is no location.
    pub async fn storage(&self, host: &ServiceHost) -> Result<CredentialStorage, CredentialsError> {
        let is_configured = lock(&self.configured).contains_key(host);
        let is_in_file = self.file_contains(host).await?;
        match (&self.helper, &self.file) {
            (_, Some(file)) if is_in_file => Ok(CredentialStorage::File(file.path().to_owned())),
            _ if is_configured => Err(CredentialsError::ManuallyConfigured { host: host.clone() }),
            (Some(helper), _) => Ok(CredentialStorage::Helper { name: helper.name.clone() }),
            (None, Some(file)) => Ok(CredentialStorage::File(file.path().to_owned())),
            (None, None) => Err(CredentialsError::NoStorage),
        }
    }

    /// Stores the token of a host: in the file if the host is in it or there is no helper, otherwise
    /// with the helper.
    ///
    /// # Errors
    /// Returns an error if the token of the host is configured manually, or cannot be stored.
    pub async fn store(
        &self,
        host: &ServiceHost,
        token: &AccessToken,
    ) -> Result<CredentialStorage, CredentialsError> {
        let storage = self.storage(host).await?;
        match (&storage, &self.helper, &self.file) {
            (CredentialStorage::Helper { .. }, Some(helper), _) => {
                helper.store(host, token).await.map_err(Arc::new)?;
                lock(&self.helper_results).remove(host);
            }
            (_, _, Some(file)) => {
                let (file, host, token) = (file.clone(), host.clone(), token.clone());
                let stored_host = host.clone();
                let stored = token.clone();
                in_background(file.path(), {
                    let file = file.clone();
                    move || file.store(&stored_host, &stored)
                })
                .await?;
                lock(&self.configured).insert(host, Ok(token));
            }
            (_, _, None) => return Err(CredentialsError::NoStorage),
        }
        Ok(storage)
    }

    /// Removes the stored token of a host. The helper always receives a request to remove the
    /// token, because it may have one.
    ///
    /// # Errors
    /// Returns an error if the token of the host is configured manually, or cannot be removed.
    pub async fn forget(&self, host: &ServiceHost) -> Result<RemovedCredential, CredentialsError> {
        let storage = match self.storage(host).await {
            Ok(storage) => storage,
            Err(CredentialsError::NoStorage) => return Ok(None),
            Err(error) => return Err(error),
        };
        match (&storage, &self.helper, &self.file) {
            (CredentialStorage::Helper { .. }, Some(helper), _) => {
                helper.forget(host).await.map_err(Arc::new)?;
                lock(&self.helper_results).remove(host);
            }
            (_, _, Some(file)) => {
                let (background, removed_host) = (file.clone(), host.clone());
                let was_stored = in_background(file.path(), move || background.remove(&removed_host)).await?;
                lock(&self.configured).remove(host);
                return Ok(was_stored.then_some(storage));
            }
            (_, _, None) => return Ok(None),
        }
        Ok(Some(storage))
    }

    async fn file_contains(&self, host: &ServiceHost) -> Result<bool, CredentialsError> {
        let Some(file) = &self.file else { return Ok(false) };
        let (background, host) = (file.clone(), host.clone());
        in_background(file.path(), move || background.contains(&host)).await
    }
}

fn known_credential(
    host: &ServiceHost,
    token: ConfiguredToken,
    origin: CredentialOrigin,
) -> Result<HostCredential, CredentialsError> {
    match token {
        Ok(token) => Ok(HostCredential { token, origin }),
        Err(error) => Err(CredentialsError::InvalidToken { host: host.clone(), origin, error }),
    }
}

/// Runs file operations on a thread that may block.
async fn in_background<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce() -> Result<T, TokenFileError> + Send + 'static,
) -> Result<T, CredentialsError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => Ok(result?),
        Err(error) => {
            let source = std::io::Error::other(error);
            Err(TokenFileError::Read { path: path.to_owned(), source }.into())
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
