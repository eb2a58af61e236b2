//! Credentials for registries, and the rules that select a credential for a repository.
//!
//! | source | applies to |
//! |---|---|
//! | `oci_credentials` blocks of the CLI configuration | a registry, or the repositories below a path |
//! | the helper in `oci_default_credentials` | every registry |
//! | files in the format of Docker's `config.json`, in order | as their keys state, see [`docker_config`] |
//!
//! The source with the longest matching path is used, then a source for the registry, then a source
//! for all registries. If several sources are equally specific, the first of them in the order of
//! the table is used. If the selected source has no credential, requests are anonymous: no other
//! source is tried.
//!
//! Files are read, and helpers run, when a registry requests credentials for the first time. This
//! module uses only the paths, programs and environment variables that the caller passes.

mod docker_config;
mod helper;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use crate::reference::{ReferenceError, RegistryHost, Repository, is_repository_path};
use docker_config::{CredentialsConfig, read_config};

pub use helper::HelperPrograms;

/// Text that is omitted from `Debug` output.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct HiddenText(String);

impl HiddenText {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for HiddenText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("...")
    }
}

/// A credential for a registry. `Debug` output does not contain its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryCredential(pub(crate) CredentialKind);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CredentialKind {
    Password {
        user: String,
        password: HiddenText,
    },
    /// A token that is exchanged for access tokens.
    Identity(HiddenText),
    /// An access token that is sent unchanged, and a refresh token with which another access token
    /// is obtained after a rejection.
    Access {
        access: HiddenText,
        refresh: Option<HiddenText>,
    },
}

impl RegistryCredential {
    pub fn from_password(user: impl Into<String>, password: impl Into<String>) -> Self {
        Self(CredentialKind::Password { user: user.into(), password: HiddenText::new(password) })
    }

    /// Creates a credential from an identity token, which Docker also calls a refresh token.
    pub fn from_identity_token(token: impl Into<String>) -> Self {
        Self(CredentialKind::Identity(HiddenText::new(token)))
    }

    /// Creates a credential from an access token, and the refresh token that replaces it after the
    /// registry has rejected it.
    pub fn from_access_token(access: impl Into<String>, refresh: Option<String>) -> Self {
        Self(CredentialKind::Access {
            access: HiddenText::new(access),
            refresh: refresh.map(HiddenText::new),
        })
    }
}

/// The repositories to which a credential applies: all repositories of a registry, or the
/// repositories below a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialsScope {
    registry: RegistryHost,
    path: Option<String>,
}

impl CredentialsScope {
    /// Parses `HOST[:PORT][/PATH]`.
    ///
    /// # Errors
    /// Returns an error if the text has a different form.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let Some((registry, path)) = text.split_once('/') else {
            return Ok(Self { registry: RegistryHost::parse(text)?, path: None });
        };
        if !is_repository_path(path) {
            return Err(ReferenceError::Path { path: path.to_owned() });
        }
        Ok(Self { registry: RegistryHost::parse(registry)?, path: Some(path.to_owned()) })
    }

    /// Returns whether the scope is a whole registry.
    pub fn is_registry(&self) -> bool {
        self.path.is_none()
    }

    fn specificity(&self, repository: &Repository) -> Option<Specificity> {
        if self.registry != *repository.registry() {
            return None;
        }
        let Some(path) = &self.path else { return Some(Specificity::Registry) };
        let rest = repository.path().strip_prefix(path.as_str())?;
        let segments = path.split('/').count();
        (rest.is_empty() || rest.starts_with('/')).then_some(Specificity::Path(segments))
    }
}

/// The specificity with which a source matches a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Specificity {
    Everything,
    Registry,
    /// The number of matching path segments.
    Path(usize),
}

/// The origin of a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    Value(RegistryCredential),
    /// The name of a helper, which follows `docker-credential-` in the name of its program.
    Helper(String),
    /// An entry of a file that cannot be used.
    Invalid(String),
}

/// An `oci_credentials` block of the CLI configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialsBlock {
    scope: CredentialsScope,
    source: Source,
}

impl CredentialsBlock {
    pub fn with_credential(scope: CredentialsScope, credential: RegistryCredential) -> Self {
        Self { scope, source: Source::Value(credential) }
    }

    /// Creates a block that specifies a credential helper.
    ///
    /// # Errors
    /// Returns an error if the scope is not a whole registry, or the name cannot be part of a
    /// program's name.
    pub fn with_helper(scope: CredentialsScope, helper: &str) -> Result<Self, OciCredentialsError> {
        if !scope.is_registry() {
            return Err(OciCredentialsError::HelperForPath { path: scope.path.unwrap_or_default() });
        }
        helper::check_name(helper)?;
        Ok(Self { scope, source: Source::Helper(helper.to_owned()) })
    }
}

/// A file in the format of Docker's `config.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialsFile {
    path: PathBuf,
    /// Whether the user configured this file. In this case, it must be readable.
    is_required: bool,
}

impl CredentialsFile {
    /// Returns a file that the user configured. It is an error if it cannot be read.
    pub fn from_configuration(path: PathBuf) -> Self {
        Self { path, is_required: true }
    }

    /// Returns a file that other programs use. If it cannot be read, the error is only logged.
    pub fn from_discovery(path: PathBuf) -> Self {
        Self { path, is_required: false }
    }
}

/// The directories in which credentials of other programs are discovered.
#[derive(Clone, Copy, Debug)]
pub struct DiscoveryDirectories<'a> {
    pub home: &'a Path,
    /// The value of `XDG_RUNTIME_DIR`.
    pub runtime: Option<&'a Path>,
    /// The value of `XDG_CONFIG_HOME`.
    pub config: Option<&'a Path>,
}

impl DiscoveryDirectories<'_> {
    /// Returns the files that are used unless the CLI configuration specifies other files. `system`
    /// is the operating system, as in [`std::env::consts::OS`].
    pub fn files(&self, system: &str) -> Vec<CredentialsFile> {
        let podman = |directory: &Path| directory.join("containers").join("auth.json");
        let mut paths = Vec::new();
        match system {
            "linux" => paths.extend(self.runtime.map(podman)),
            "macos" | "windows" => paths.push(podman(&self.home.join(".config"))),
            _ => {}
        }
        paths.push(match self.config {
            Some(config) => podman(config),
            None => podman(&self.home.join(".config")),
        });
        paths.push(self.home.join(".docker").join("config.json"));
        paths.push(self.home.join(".dockercfg"));
        paths.dedup();
        paths.into_iter().map(CredentialsFile::from_discovery).collect()
    }
}

/// The configuration of [`OciCredentials`].
#[derive(Clone, Debug, Default)]
pub struct CredentialsOptions {
    /// The `oci_credentials` blocks of the CLI configuration.
    pub blocks: Vec<CredentialsBlock>,
    /// The helper that `oci_default_credentials` specifies.
    pub default_helper: Option<String>,
    /// The files in which credentials are searched for.
    pub files: Vec<CredentialsFile>,
    pub helpers: HelperPrograms,
}

/// Finds the credential for a repository.
#[derive(Default)]
pub struct OciCredentials {
    options: CredentialsOptions,
    configs: OnceCell<Vec<LoadedConfig>>,
    /// The results of helpers, by helper and registry.
    results: Mutex<HashMap<(String, RegistryHost), HelperResult>>,
}

type HelperResult = Arc<OnceCell<Option<RegistryCredential>>>;

struct LoadedConfig {
    file: CredentialsFile,
    config: CredentialsConfig,
}

impl OciCredentials {
    pub fn new(options: CredentialsOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Returns the credential for a repository.
    ///
    /// # Errors
    /// Returns an error if the selected source, or a file that the user configured, cannot be used.
    pub async fn find(
        &self,
        repository: &Repository,
    ) -> Result<Option<RegistryCredential>, OciCredentialsError> {
        let configs = self.configs.get_or_try_init(|| self.load()).await?;
        let blocks = self
            .options
            .blocks
            .iter()
            .filter_map(|block| Some((block.scope.specificity(repository)?, block.source.clone(), None)));
        let default = self.options.default_helper.iter();
        let default = default.map(|helper| (Specificity::Everything, Source::Helper(helper.clone()), None));
        let in_files = configs.iter().flat_map(|loaded| {
            let sources = loaded.config.sources(repository);
            sources.map(|(specificity, source)| (specificity, source, Some(&loaded.file)))
        });
        let mut best: Option<(Specificity, Source, Option<&CredentialsFile>)> = None;
        for candidate in blocks.chain(default).chain(in_files) {
            if best.as_ref().is_none_or(|best| candidate.0 > best.0) {
                best = Some(candidate);
            }
        }
        let Some((_, source, file)) = best else { return Ok(None) };
        match source {
            Source::Value(credential) => Ok(Some(credential)),
            Source::Invalid(key) => Err(OciCredentialsError::Entry {
                key,
                path: file.map(|file| file.path.clone()).unwrap_or_default(),
            }),
            Source::Helper(name) => {
                let result = self.run_helper(&name, repository.registry()).await;
                match (result, file) {
                    // Docker's configuration often names a helper that is installed elsewhere.
                    (Err(OciCredentialsError::HelperNotFound { .. }), Some(file)) if !file.is_required => {
                        tracing::warn!(
                            helper = name,
                            file = %file.path.display(),
                            "the credential helper is not installed; requests are anonymous"
                        );
                        Ok(None)
                    }
                    (result, _) => result,
                }
            }
        }
    }

    async fn load(&self) -> Result<Vec<LoadedConfig>, OciCredentialsError> {
        let files = self.options.files.clone();
        let loaded = tokio::task::spawn_blocking(move || {
            let mut loaded = Vec::new();
            for file in files {
                match read_config(&file.path) {
                    Ok(Some(config)) => loaded.push(LoadedConfig { file, config }),
                    Ok(None) if !file.is_required => {}
                    Ok(None) => return Err(OciCredentialsError::missing(&file.path)),
                    Err(error) if file.is_required => return Err(error),
                    Err(error) => tracing::warn!(%error, "a file with credentials is ignored"),
                }
            }
            Ok(loaded)
        });
        loaded.await.map_err(|_| OciCredentialsError::Stopped)?
    }

    async fn run_helper(
        &self,
        name: &str,
        registry: &RegistryHost,
    ) -> Result<Option<RegistryCredential>, OciCredentialsError> {
        let result = {
            let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(results.entry((name.to_owned(), registry.clone())).or_default())
        };
        let found = result.get_or_try_init(|| self.options.helpers.get(name, registry)).await?;
        Ok(found.clone())
    }
}

impl fmt::Debug for OciCredentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OciCredentials").field("options", &self.options).finish_non_exhaustive()
    }
}

/// A source of credentials that cannot be used. No message contains a credential.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OciCredentialsError {
    #[error("failed to read the credentials file {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("the credentials file {} is not a valid Docker configuration: {reason}", path.display())]
    Syntax {
        path: PathBuf,
        /// The kind and the position of the error, without content.
        reason: String,
    },
    #[error(
        "the entry {key:?} in the credentials file {} is not usable: \"auth\" must be the base64 encoding \
         of USER:PASSWORD",
        path.display()
    )]
    Entry { key: String, path: PathBuf },
    #[error(
        "{name:?} is not the name of a credential helper, which follows \"docker-credential-\" in the name of a program"
    )]
    HelperName { name: String },
    #[error(
        "a credential helper can be used only for a whole registry, not for the repositories below {path:?}"
    )]
    HelperForPath { path: String },
    #[error("the credential helper {program:?} was not found on PATH")]
    HelperNotFound { program: String },
    #[error("the credential helper {program:?} failed for {registry}: {reason}")]
    Helper { program: String, registry: RegistryHost, reason: String },
    #[error("reading credentials was stopped")]
    Stopped,
}

impl OciCredentialsError {
    fn missing(path: &Path) -> Self {
        Self::Read { path: path.to_owned(), source: io::Error::from(io::ErrorKind::NotFound) }
    }
}

#[cfg(test)]
mod tests;
