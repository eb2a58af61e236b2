//! The error type of state files.

use std::io;
use std::path::{Path, PathBuf};

use wardian_address::InstanceAddressError;

use crate::encryption::EncryptionFailure;
use crate::storage::StorageError;

/// The error for a state file that could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{location}: {problem}")]
pub struct StateError {
    /// The path of a file, or the location in a storage.
    pub location: String,
    #[source]
    pub problem: StateProblem,
}

impl StateError {
    pub(crate) fn new(path: &Path, problem: impl Into<StateProblem>) -> Self {
        Self { location: path.display().to_string(), problem: problem.into() }
    }

    /// Returns a suggestion for solving the problem.
    pub fn hint(&self) -> Option<&str> {
        self.problem.hint()
    }
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateProblem {
    /// A system call failed.
    #[error("failed to {doing}: {error}")]
    Io {
        /// The attempted operation, as shown in the message.
        doing: &'static str,
        #[source]
        error: io::Error,
    },
    /// The file is not text.
    #[error("this is not a state file: byte {0} is not UTF-8")]
    NotUtf8(usize),
    /// The file is not JSON, or is truncated.
    #[error("the file is damaged or is not a state file: {0}")]
    NotJson(#[source] serde_json::Error),
    /// The file is JSON without a version.
    #[error("the file is JSON, but not a state file: \"version\" is missing")]
    NoVersion,
    #[error("the state file has version 0, which does not exist")]
    VersionZero,
    /// The file's format version is newer than all supported versions.
    #[error(
        "the state file has format version {version}, which is newer than version 4, the newest that is \
         supported{}",
        writer_note(writer)
    )]
    NewVersion {
        /// The version of the format.
        version: u64,
        /// The version of Terraform that wrote the file; empty if it is unknown.
        writer: String,
    },
    /// The file contains an invalid version of the program that wrote it.
    #[error("\"{0}\" is not a version in \"terraform_version\"")]
    WriterVersion(String),
    /// An address is invalid.
    #[error("{place}: {error}")]
    Address {
        /// The location of the address in the file.
        place: String,
        #[source]
        error: InstanceAddressError,
    },
    /// A value in the file is invalid.
    #[error("{place}: {problem}")]
    Invalid {
        /// The location in the file.
        place: String,
        problem: String,
    },
    /// The value of an output cannot be stored.
    #[error("output \"{name}\" cannot be stored: {problem}")]
    Output { name: String, problem: String },
    /// The journal belongs to a different state.
    #[error(
        "the journal {} contains changes of an interrupted run to another state ({journal}; found: {state})",
        path.display()
    )]
    ForeignJournal {
        /// The journal's path.
        path: PathBuf,
        /// A description of the state that the journal changes.
        journal: String,
        /// A description of the current state.
        state: String,
    },
    /// The first record of the journal cannot be read.
    #[error("the journal {} of an interrupted run cannot be read: {problem}", path.display())]
    DamagedJournal {
        /// The journal's path.
        path: PathBuf,
        problem: String,
    },
    /// The file is encrypted, and no configured method can decrypt it.
    #[error("the state is encrypted, and the configuration has no encryption for it")]
    Encrypted,
    /// The file is not encrypted, although it must be.
    #[error("the state is not encrypted, and the configuration accepts only encrypted states")]
    NotEncrypted,
    /// The content cannot be encrypted or decrypted.
    #[error(transparent)]
    Encryption(#[from] EncryptionFailure),
    /// The state was changed while it was not locked.
    #[error("the state changed after it was read")]
    ChangedMeanwhile,
    /// The storage could not be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl StateProblem {
    pub(crate) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { doing, error }
    }

    fn hint(&self) -> Option<&str> {
        Some(match self {
            Self::Io { .. } | Self::Output { .. } => return None,
            Self::NotUtf8(_) | Self::NotJson(_) | Self::NoVersion | Self::VersionZero => {
                "the file was not changed; if it was truncated or overwritten, restore it from \
                 terraform.tfstate.backup or from another copy"
            }
            Self::NewVersion { .. } | Self::WriterVersion(_) => {
                "the file was not changed; use the program that wrote it"
            }
            Self::Address { .. } | Self::Invalid { .. } => {
                "the file was not changed; correct it at that position, or restore it from a backup"
            }
            Self::ForeignJournal { .. } | Self::DamagedJournal { .. } => {
                "nothing was changed; if the changes of that run are already in the state or are not needed, \
                 move the journal to another directory"
            }
            Self::Encrypted => {
                "nothing was changed; add the encryption block with which the state was written, or set \
                 TF_ENCRYPTION"
            }
            Self::NotEncrypted => {
                "nothing was changed; to encrypt an existing state, add a method \"unencrypted\" as the fallback \
                 of the state's method until it has been written once"
            }
            Self::Encryption(failure) => return failure.advice.as_deref(),
            Self::Storage(error) => return error.advice.as_deref(),
            Self::ChangedMeanwhile => "nothing was written; run the command again",
        })
    }
}

fn writer_note(writer: &str) -> String {
    if writer.is_empty() { String::new() } else { format!(" (it was written by Terraform {writer})") }
}
