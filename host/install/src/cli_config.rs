//! The CLI configuration: `~/.terraformrc`, `*.tfrc`, `credentials.tfrc.json`, or the file named by
//! `TF_CLI_CONFIG_FILE`.
//!
//! | setting | result |
//! |---|---|
//! | `provider_installation { … }` | [`ProviderInstallation`] |
//! | `plugin_cache_dir`, `plugin_cache_may_break_dependency_lock_file` | the fields of the same names; `$NAME` and `${NAME}` in the directory are replaced |
//! | `disable_checkpoint`, `disable_checkpoint_signature` | the fields of the same names; Wardian has no version check to disable |
//! | `credentials "HOST" { token = … }` | [`HostToken`] |
//! | `credentials_helper "NAME" { args = […] }` | [`CredentialsHelper`] |
//! | `host "HOST" { services = { … } }` | the services of the host |
//! | `oci_credentials "REGISTRY" { … }` | [`OciCredentialsBlock`] |
//! | `oci_default_credentials { … }` | [`OciDefaultCredentials`] |
//! | `sigstore_trust_root` | the field of the same name; Wardian only |
//! | anything else | a warning |
//!
//! The syntax is HCL 1 or JSON; see [`syntax`].
//!
//! This module reads only the files at the given paths; the caller determines the paths and the
//! environment variables. Invariant: `Debug` never shows a token.

pub mod syntax;

mod settings;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::file_position::FilePosition;
use crate::sources::ProviderInstallation;
use syntax::SyntaxError;

/// Settings of one or more files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CliConfig {
    /// The installation methods; [`None`] means the implied methods.
    pub provider_installation: Option<ProviderInstallation>,
    /// The directory in which downloaded packages are cached for other configurations.
    pub plugin_cache_dir: Option<PathBuf>,
    /// Whether the cache may be used for providers that are not in the lock file.
    pub plugin_cache_may_break_dependency_lock_file: bool,
    /// Only stored, for callers that report settings. Wardian does not check for updates.
    pub disable_checkpoint: bool,
    /// See `disable_checkpoint`.
    pub disable_checkpoint_signature: bool,
    /// Tokens by host.
    pub credentials: BTreeMap<String, HostToken>,
    /// A program that provides additional tokens.
    pub credentials_helper: Option<CredentialsHelper>,
    /// Services by host and by service name, which replace service discovery. A value is a URL or an
    /// object.
    pub hosts: BTreeMap<String, BTreeMap<String, Value>>,
    /// `oci_credentials` blocks, in the order of the files.
    pub oci_credentials: Vec<OciCredentialsBlock>,
    /// The `oci_default_credentials` block.
    pub oci_default_credentials: Option<OciDefaultCredentials>,
    /// The file with the trust root for the signatures of publishers, instead of the embedded one.
    /// An absolute path.
    pub sigstore_trust_root: Option<PathBuf>,
}

/// An API token. Neither `Debug` nor `Display` reveals it.
#[derive(Clone, PartialEq, Eq)]
pub struct HostToken(String);

impl HostToken {
    pub fn new(token: impl Into<String>) -> Self {
        Self(token.into())
    }

    /// Returns the token as text, to be sent in a request.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for HostToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("HostToken(…)")
    }
}

/// An `oci_credentials` block, as documented by OpenTofu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OciCredentialsBlock {
    /// `REGISTRY` or `REGISTRY/REPOSITORY`.
    pub scope: String,
    pub credential: OciCredential,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OciCredential {
    Password {
        username: String,
        password: HostToken,
    },
    Token {
        access: HostToken,
        refresh: Option<HostToken>,
    },
    /// The name of a program after `docker-credential-`.
    Helper(String),
}

/// An `oci_default_credentials` block, as documented by OpenTofu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OciDefaultCredentials {
    /// Whether the credentials of other container tools are used.
    pub discover: bool,
    /// Files in Docker's format, which replace the default files. Absolute paths.
    pub files: Option<Vec<PathBuf>>,
    /// A credential helper for all registries.
    pub helper: Option<String>,
}

/// A `credentials_helper` block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialsHelper {
    /// The name of the program after `terraform-credentials-`.
    pub name: String,
    /// Arguments that precede the command.
    pub arguments: Vec<String>,
}

/// A setting in a CLI configuration that has no effect, or a missing file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CliConfigWarning {
    /// The named file does not exist.
    Missing(PathBuf),
    /// A setting that does not exist.
    UnknownSetting { name: String, position: FilePosition },
}

impl fmt::Display for CliConfigWarning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(path) => {
                write!(formatter, "the CLI configuration file {} does not exist", path.display())
            }
            Self::UnknownSetting { name, position } => {
                write!(
                    formatter,
                    "{position}: the CLI configuration setting \"{name}\" is unknown and has no effect"
                )
            }
        }
    }
}

/// Returns the value of an environment variable. The caller provides this function.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The result of reading CLI configuration files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadedCliConfig {
    /// The settings of all files.
    pub config: CliConfig,
    /// Settings that have no effect, and missing files.
    pub warnings: Vec<CliConfigWarning>,
}

impl CliConfig {
    /// Reads a main file and then, in name order, the `*.tfrc` and `*.tfrc.json` files in a
    /// directory. Later files are merged into earlier files. If the main file does not exist, a
    /// warning is returned. A directory that does not exist is ignored.
    ///
    /// # Errors
    /// Returns an error, with the position, if a file cannot be read or is invalid.
    pub fn load(
        main_file: Option<&Path>,
        directory: Option<&Path>,
        variables: Variables<'_>,
    ) -> Result<LoadedCliConfig, CliConfigError> {
        let mut loaded = LoadedCliConfig::default();
        let mut files: Vec<PathBuf> = main_file.into_iter().map(Path::to_owned).collect();
        if let Some(directory) = directory {
            files.extend(files_in(directory)?);
        }
        for path in files {
            let text = match fs::read_to_string(&path) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    loaded.warnings.push(CliConfigWarning::Missing(path));
                    continue;
                }
                Err(source) => return Err(CliConfigError::Read { path, source }),
            };
            let next = Self::parse(&text, &path, variables)?;
            loaded.config.add(next.config, &path)?;
            loaded.warnings.extend(next.warnings);
        }
        Ok(loaded)
    }

    /// Parses one file. The path is used in messages.
    ///
    /// # Errors
    /// Returns an error, with the position, if the file is invalid.
    pub fn parse(
        text: &str,
        path: &Path,
        variables: Variables<'_>,
    ) -> Result<LoadedCliConfig, CliConfigError> {
        let entries = syntax::parse(text, path)?;
        settings::read(&entries, text, path, variables)
    }

    fn add(&mut self, later: Self, path: &Path) -> Result<(), CliConfigError> {
        if self.provider_installation.is_some() && later.provider_installation.is_some() {
            return Err(CliConfigError::SecondInstallation { path: path.to_owned() });
        }
        self.provider_installation = self.provider_installation.take().or(later.provider_installation);
        self.plugin_cache_dir = later.plugin_cache_dir.or(self.plugin_cache_dir.take());
        self.plugin_cache_may_break_dependency_lock_file |= later.plugin_cache_may_break_dependency_lock_file;
        self.disable_checkpoint |= later.disable_checkpoint;
        self.disable_checkpoint_signature |= later.disable_checkpoint_signature;
        self.credentials.extend(later.credentials);
        self.credentials_helper = later.credentials_helper.or(self.credentials_helper.take());
        self.hosts.extend(later.hosts);
        self.oci_credentials.extend(later.oci_credentials);
        self.oci_default_credentials = later.oci_default_credentials.or(self.oci_default_credentials.take());
        self.sigstore_trust_root = later.sigstore_trust_root.or(self.sigstore_trust_root.take());
        Ok(())
    }
}

fn files_in(directory: &Path) -> Result<Vec<PathBuf>, CliConfigError> {
    let failed = |source| CliConfigError::Read { path: directory.to_owned(), source };
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(failed(source)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if is_config_file(&path) && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Returns whether a path matches `*.tfrc` or `*.tfrc.json`.
fn is_config_file(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default();
    extension == "tfrc"
        || extension == "json" && path.file_stem().is_some_and(|stem| is_config_file(Path::new(stem)))
}

/// A CLI configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CliConfigError {
    /// A file or directory exists but cannot be read as text.
    #[error("failed to read the CLI configuration {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A file is neither HCL nor JSON.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The value of a setting is invalid.
    #[error("{position}: {message}")]
    Invalid {
        position: FilePosition,
        /// The problem and its solution.
        message: String,
    },
    /// Two files have a `provider_installation` block.
    #[error(
        "{}: only one provider_installation block is allowed across all CLI configuration files",
        path.display()
    )]
    SecondInstallation {
        /// The later file.
        path: PathBuf,
    },
}

#[cfg(test)]
mod tests;
