//! The CLI configuration: `~/.terraformrc`, `*.tfrc`, `credentials.tfrc.json`,
//! or the file that `TF_CLI_CONFIG_FILE` names.
//!
//! | setting | read as |
//! |---|---|
//! | `provider_installation { … }` | [`ProviderInstallation`] |
//! | `plugin_cache_dir`, `plugin_cache_may_break_dependency_lock_file` | as named; `$NAME` and `${NAME}` in the directory are replaced |
//! | `disable_checkpoint`, `disable_checkpoint_signature` | as named; there is no version check to disable |
//! | `credentials "HOST" { token = … }` | [`Secret`] |
//! | `credentials_helper "NAME" { args = […] }` | as named |
//! | `host "HOST" { services = { … } }` | as named |
//! | anything else | a warning |
//!
//! The syntax is the older HCL, or JSON; see [`syntax`].
//!
//! Reads the files that it is given paths of; which files those are, and what
//! variables there are, the caller says. What always holds: a token is never
//! shown by `Debug`.

pub mod syntax;

mod settings;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::place::Place;
use crate::sources::ProviderInstallation;
use syntax::SyntaxError;

/// Settings of one or more files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CliConfig {
    /// Where providers come from; [`None`] means the implied places.
    pub provider_installation: Option<ProviderInstallation>,
    /// Where downloaded packages are kept for other configurations.
    pub plugin_cache_dir: Option<PathBuf>,
    /// Whether that cache may be used for providers that are not locked.
    pub plugin_cache_may_break_dependency_lock_file: bool,
    /// Kept for callers that report settings; nothing is checked for updates.
    pub disable_checkpoint: bool,
    /// As above.
    pub disable_checkpoint_signature: bool,
    /// Tokens by host.
    pub credentials: BTreeMap<String, Secret>,
    /// A program that knows further tokens.
    pub credentials_helper: Option<CredentialsHelper>,
    /// Services by host, instead of discovery: service name to address.
    pub hosts: BTreeMap<String, BTreeMap<String, String>>,
}

/// A token. Neither `Debug` nor `Display` show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a token.
    pub fn new(token: impl Into<String>) -> Self {
        Self(token.into())
    }

    /// The token, for the one who sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

/// `credentials_helper`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialsHelper {
    /// The program is `terraform-credentials-NAME`.
    pub name: String,
    /// Arguments before the command.
    pub arguments: Vec<String>,
}

/// Something in a CLI configuration that is read over, or a file that is not
/// there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CliConfigWarning {
    /// The file that was named does not exist.
    Missing(PathBuf),
    /// A setting that nobody knows.
    UnknownSetting {
        /// Its name.
        name: String,
        /// Where it is.
        place: Place,
    },
}

impl fmt::Display for CliConfigWarning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(path) => {
                write!(formatter, "the CLI configuration file {} does not exist", path.display())
            }
            Self::UnknownSetting { name, place } => {
                write!(
                    formatter,
                    "{place}: the CLI configuration setting \"{name}\" is unknown and has no effect"
                )
            }
        }
    }
}

/// Looks up a variable of the environment, on the caller's behalf.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadedCliConfig {
    /// The settings of all files.
    pub config: CliConfig,
    /// What was read over.
    pub warnings: Vec<CliConfigWarning>,
}

impl CliConfig {
    /// Reads a main file and then, in name order, the `*.tfrc` and
    /// `*.tfrc.json` files of a directory. Later files add to earlier ones. A
    /// file that was named but does not exist is a warning; a directory that
    /// does not exist is nothing.
    ///
    /// # Errors
    /// When a file cannot be read or means nothing, with the place.
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

    /// Reads one file's text. The path is for messages.
    ///
    /// # Errors
    /// When the text means nothing, with the place.
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

/// `*.tfrc` and `*.tfrc.json`.
fn is_config_file(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default();
    extension == "tfrc"
        || extension == "json" && path.file_stem().is_some_and(|stem| is_config_file(Path::new(stem)))
}

/// Why a CLI configuration cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CliConfigError {
    /// A file or directory is there but cannot be read as text.
    #[error("failed to read the CLI configuration {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is neither HCL nor JSON.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// A setting has a value that it cannot have.
    #[error("{place}: {message}")]
    Invalid {
        /// Where.
        place: Place,
        /// What is wrong, and what would be right.
        message: String,
    },
    /// Two files have a `provider_installation` block.
    #[error("{}: only one provider_installation block may be in all CLI configuration files together", path.display())]
    SecondInstallation {
        /// The later file.
        path: PathBuf,
    },
}

#[cfg(test)]
mod tests;
