//! The dependency lock file, `.terraform.lock.hcl`.
//!
//! Terraform and Wardian read each other's files and write the same bytes for the same content.
//! [`crate::selection`] describes how hashes of components and of native packages share an entry.
//!
//! Compatibility: a file written by a newer Terraform may contain `module` blocks, which cause a
//! warning and are dropped at the next write, as in Terraform; any other unknown block or argument
//! causes an error, because dropping it could weaken a check that users rely on.
//!
//! This module reads and writes only the file at the given path. Invariants: a file that was read
//! without an error contains every provider at most once, under its full address, with an exact
//! version; a write replaces the file atomically.

mod read;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use wardian_address::{ConstraintError, Constraints, ProviderAddress, ProviderAddressError, Version};
use wardian_files::read_regular;

use crate::file_position::FilePosition;
use crate::hash::{HashSyntaxError, PackageHash};

/// Maximum size of the file.
const MAX_LOCK_FILE_SIZE: u64 = 64 << 20;

/// The file's name in the directory of the root module.
pub const LOCK_FILE_NAME: &str = ".terraform.lock.hcl";

/// The selection for each provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockFile {
    /// One entry for each provider, in the file's order.
    pub providers: BTreeMap<ProviderAddress, LockEntry>,
}

/// The selection for one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockEntry {
    /// The version that is used until the user requests an upgrade.
    pub version: Version,
    /// The constraints of the configuration at the last `init`, for information only.
    pub constraints: Constraints,
    /// The hashes of the accepted packages of this version; a package must match only one of them.
    pub hashes: BTreeSet<PackageHash>,
}

/// A lock file and its warnings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadedLockFile {
    /// The content; empty if the file does not exist.
    pub lock: LockFile,
    /// Blocks that have no effect.
    pub warnings: Vec<LockFileWarning>,
}

/// A block of a lock file that has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockFileWarning {
    /// A `module` block, which a newer Terraform may write.
    ModuleBlock(FilePosition),
}

impl fmt::Display for LockFileWarning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::ModuleBlock(position) = self;
        write!(
            formatter,
            "{position}: module blocks in the dependency lock file are not supported and have no effect"
        )
    }
}

impl LockFile {
    /// Reads a lock file. A missing file is treated as an empty one.
    ///
    /// # Errors
    /// Returns all errors in the file.
    pub fn load(path: &Path) -> Result<LoadedLockFile, LockFileError> {
        let bytes = match read_regular(path, MAX_LOCK_FILE_SIZE) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LoadedLockFile::default()),
            Err(source) => return Err(LockFileError::Read { path: path.to_owned(), source }),
        };
        let text = String::from_utf8(bytes).map_err(|_| LockFileError::NotText { path: path.to_owned() })?;
        Self::parse(&text, path)
    }

    /// Parses a lock file. The path is used only in messages.
    ///
    /// # Errors
    /// Returns all errors in the file.
    pub fn parse(text: &str, path: &Path) -> Result<LoadedLockFile, LockFileError> {
        read::parse(text, path)
    }

    /// Returns the text of the file, in the format in which Terraform writes it.
    pub fn render(&self) -> String {
        write::render(self)
    }

    /// Replaces the file. After a crash, either the old or the new file exists.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be written to; the old file is then unchanged.
    pub fn save(&self, path: &Path) -> Result<(), LockFileError> {
        write::replace(path, self.render().as_bytes())
            .map_err(|source| LockFileError::Write { path: path.to_owned(), source })
    }
}

/// A lock file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockFileError {
    /// The file exists but cannot be read.
    #[error("failed to read the dependency lock file {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// The file is not UTF-8.
    #[error("the dependency lock file {} is not UTF-8 text", path.display())]
    NotText { path: PathBuf },
    /// The file has invalid content.
    #[error("the dependency lock file is not valid: {}", list(problems))]
    Invalid {
        /// Each problem with its position; never empty.
        problems: Vec<LockFileProblem>,
    },
    /// The file cannot be replaced.
    #[error("failed to write the dependency lock file {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

fn list(problems: &[LockFileProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("; ")
}

/// A problem in a lock file and its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{position}: {kind}")]
pub struct LockFileProblem {
    pub position: FilePosition,
    pub kind: LockFileProblemKind,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LockFileProblemKind {
    /// The file is not HCL.
    #[error("syntax error: {0}")]
    Syntax(String),
    /// A block that is not allowed in lock files.
    #[error("blocks of type \"{0}\" are not expected here")]
    UnknownBlock(String),
    /// An argument that is not allowed in lock files.
    #[error("an argument named \"{0}\" is not expected here")]
    UnknownArgument(String),
    /// A `provider` block has no label or more than one.
    #[error("a provider block has exactly one label, the provider's address")]
    Labels,
    /// The label is not an address.
    #[error("{0}")]
    Address(#[from] ProviderAddressError),
    /// The provider of this address cannot be installed.
    #[error("the provider {0} is never installed, so it cannot have a lock entry; remove this block")]
    NotInstallable(ProviderAddress),
    /// A provider has two entries.
    #[error("the provider {address} already has an entry on line {first_line}; remove one of them")]
    Duplicate {
        address: ProviderAddress,
        /// The line of the first entry.
        first_line: usize,
    },
    /// An argument must be a quoted string.
    #[error("the argument \"{0}\" must be a quoted string")]
    NotText(&'static str),
    /// `hashes` must be a list.
    #[error("the argument \"hashes\" must be a list of quoted strings")]
    NotList,
    /// `version` is missing.
    #[error("the argument \"version\" is required")]
    MissingVersion,
    /// `version` is not exact.
    #[error("\"{0}\" is not an exact version of three numbers, such as \"1.2.3\"")]
    Version(String),
    /// `constraints` is invalid.
    #[error("{0}")]
    Constraints(#[from] ConstraintError),
    /// `constraints` is not in canonical form.
    #[error("the version constraints must be written in normalized form: \"{0}\"")]
    ConstraintsNotCanonical(String),
    /// A hash is invalid.
    #[error("{0}")]
    Hash(#[from] HashSyntaxError),
}

#[cfg(test)]
mod tests;
