//! The dependency lock file, `.terraform.lock.hcl`.
//!
//! Terraform reads what is written here and the other way round: same bytes
//! for the same content. For how hashes of components and of native packages
//! stand together in one entry, see [`crate::selection`].
//!
//! How old and new meet: a file by a newer Terraform may hold `module` blocks,
//! which give a warning and are dropped at the next write, as Terraform does;
//! any other unknown block or argument is an error, because dropping it could
//! weaken a check that somebody relies on.
//!
//! Reads and writes the one file whose path it is given. What always holds: a
//! file that was read without error has every provider once, under its full
//! address, with an exact version; a write replaces the file whole.

mod read;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use wardian_address::{ConstraintError, Constraints, ProviderAddress, ProviderAddressError, Version};

use crate::hash::{HashSyntaxError, PackageHash};
use crate::place::Place;

/// The file's name, in the directory of the root module.
pub const LOCK_FILE_NAME: &str = ".terraform.lock.hcl";

/// What was selected, provider by provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockFile {
    /// One entry for each provider, in the file's order.
    pub providers: BTreeMap<ProviderAddress, LockEntry>,
}

/// What was selected for one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockEntry {
    /// The version to use until somebody asks for an upgrade.
    pub version: Version,
    /// What the configuration asked for at the last `init`. Informative.
    pub constraints: Constraints,
    /// Packages of this version that are accepted. Any one suffices.
    pub hashes: BTreeSet<PackageHash>,
}

/// A lock file and what is noteworthy about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadedLockFile {
    /// The content; empty when there is no file.
    pub lock: LockFile,
    /// Things that are read over.
    pub warnings: Vec<LockFileWarning>,
}

/// Something in a lock file that is read over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockFileWarning {
    /// A block that a newer Terraform may write.
    ModuleBlock(Place),
}

impl fmt::Display for LockFileWarning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::ModuleBlock(place) = self;
        write!(
            formatter,
            "{place}: module blocks in the dependency lock file are not supported and have no effect"
        )
    }
}

impl LockFile {
    /// Reads a lock file. One that does not exist is empty.
    ///
    /// # Errors
    /// With everything that is wrong with the file.
    pub fn load(path: &Path) -> Result<LoadedLockFile, LockFileError> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LoadedLockFile::default()),
            Err(source) => return Err(LockFileError::Read { path: path.to_owned(), source }),
        };
        let text = String::from_utf8(bytes).map_err(|_| LockFileError::NotText { path: path.to_owned() })?;
        Self::parse(&text, path)
    }

    /// Reads a lock file's text. The path is only for messages.
    ///
    /// # Errors
    /// With everything that is wrong with the text.
    pub fn parse(text: &str, path: &Path) -> Result<LoadedLockFile, LockFileError> {
        read::parse(text, path)
    }

    /// The text of the file, as Terraform would write it.
    pub fn render(&self) -> String {
        write::render(self)
    }

    /// Replaces the file. A crash leaves the old or the new one.
    ///
    /// # Errors
    /// When the directory cannot be written to; the old file is then untouched.
    pub fn save(&self, path: &Path) -> Result<(), LockFileError> {
        write::replace(path, self.render().as_bytes())
            .map_err(|source| LockFileError::Write { path: path.to_owned(), source })
    }
}

/// Why a lock file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockFileError {
    /// It is there but cannot be read.
    #[error("failed to read the dependency lock file {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not UTF-8.
    #[error("the dependency lock file {} is not UTF-8 text", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// It has content that is not allowed.
    #[error("the dependency lock file is not valid: {}", list(problems))]
    Invalid {
        /// Each problem with its place; never empty.
        problems: Vec<LockFileProblem>,
    },
    /// It cannot be replaced.
    #[error("failed to write the dependency lock file {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

fn list(problems: &[LockFileProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("; ")
}

/// One thing that is wrong in a lock file, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {kind}")]
pub struct LockFileProblem {
    /// Where.
    pub place: Place,
    /// What.
    pub kind: LockFileProblemKind,
}

/// What is wrong in a lock file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LockFileProblemKind {
    /// Not HCL.
    #[error("syntax error: {0}")]
    Syntax(String),
    /// A block that no lock file has.
    #[error("blocks of type \"{0}\" are not expected here")]
    UnknownBlock(String),
    /// An argument that no lock file has.
    #[error("an argument named \"{0}\" is not expected here")]
    UnknownArgument(String),
    /// A `provider` block without or with more than one label.
    #[error("a provider block has exactly one label, the provider's address")]
    Labels,
    /// The label is not an address.
    #[error("{0}")]
    Address(#[from] ProviderAddressError),
    /// An address that nobody can install.
    #[error("the provider {0} is never installed, so it cannot have a lock entry; remove this block")]
    NotInstallable(ProviderAddress),
    /// The same provider twice.
    #[error("the provider {address} already has an entry on line {first_line}; remove one of them")]
    Duplicate {
        /// Which provider.
        address: ProviderAddress,
        /// Where the first entry begins.
        first_line: usize,
    },
    /// An argument must be a text in quotes.
    #[error("the argument \"{0}\" must be a literal text in quotes")]
    NotText(&'static str),
    /// `hashes` must be a list.
    #[error("the argument \"hashes\" must be a literal list of texts in quotes")]
    NotList,
    /// No `version`.
    #[error("the argument \"version\" is required")]
    MissingVersion,
    /// `version` is not exact.
    #[error("\"{0}\" is not an exact version of three numbers, such as \"1.2.3\"")]
    Version(String),
    /// `constraints` cannot be read.
    #[error("{0}")]
    Constraints(#[from] ConstraintError),
    /// `constraints` is not in canonical form.
    #[error("the version constraints must be written in normalised form: \"{0}\"")]
    ConstraintsNotCanonical(String),
    /// A hash cannot be read.
    #[error("{0}")]
    Hash(#[from] HashSyntaxError),
}

#[cfg(test)]
mod tests;
