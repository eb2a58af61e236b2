//! What can go wrong with state files.

use std::io;
use std::path::{Path, PathBuf};

use wardian_address::InstanceAddressError;

/// A state file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct StateError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    #[source]
    pub problem: StateProblem,
}

impl StateError {
    pub(crate) fn new(path: &Path, problem: impl Into<StateProblem>) -> Self {
        Self { path: path.to_owned(), problem: problem.into() }
    }

    /// What the person can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        self.problem.hint()
    }
}

/// What is wrong with a state file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateProblem {
    /// The system refused.
    #[error("failed to {doing}: {error}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// Why it failed.
        #[source]
        error: io::Error,
    },
    /// Not text.
    #[error("this is not a state file: byte {0} is not UTF-8")]
    NotUtf8(usize),
    /// Not JSON, or cut off.
    #[error("the state file is damaged or not a state file at all: {0}")]
    NotJson(#[source] serde_json::Error),
    /// JSON without a version.
    #[error("this is JSON, but not a state file: it has no \"version\"")]
    NoVersion,
    /// Version zero.
    #[error("the state file has version 0, which does not exist")]
    VersionZero,
    /// From the future.
    #[error(
        "the state file has format version {version}, which is newer than version 4, the newest known here{}",
        writer_note(writer)
    )]
    NewVersion {
        /// The version of the format.
        version: u64,
        /// Who wrote it, where that can be told.
        writer: String,
    },
    /// The name of a program's version that is none.
    #[error("\"{0}\" is not a version in \"terraform_version\"")]
    WriterVersion(String),
    /// An address that is none.
    #[error("{place}: {error}")]
    Address {
        /// Where in the file.
        place: String,
        /// What is wrong with it.
        #[source]
        error: InstanceAddressError,
    },
    /// A part of the file means nothing.
    #[error("{place}: {problem}")]
    Invalid {
        /// Where in the file.
        place: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A value cannot be stored.
    #[error("output \"{name}\" cannot be stored: {problem}")]
    Output {
        /// Its name.
        name: String,
        /// Why.
        problem: String,
    },
    /// The journal is not the continuation of this state.
    #[error(
        "the journal {} holds changes of an interrupted run that were made to another state than this ({journal}, here {state})",
        path.display()
    )]
    ForeignJournal {
        /// The journal.
        path: PathBuf,
        /// The state that the journal continues.
        journal: String,
        /// The state that is there.
        state: String,
    },
    /// The journal's first record cannot be read.
    #[error("the journal {} of an interrupted run cannot be read: {problem}", path.display())]
    DamagedJournal {
        /// The journal.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Written without being locked.
    #[error("the state changed on disk since it was read")]
    ChangedMeanwhile,
}

impl StateProblem {
    pub(crate) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { doing, error }
    }

    fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Io { .. } | Self::Output { .. } => return None,
            Self::NotUtf8(_) | Self::NotJson(_) | Self::NoVersion | Self::VersionZero => {
                "the file was left as it is; if it was cut off or overwritten, restore it from \
                 terraform.tfstate.backup or from another copy"
            }
            Self::NewVersion { .. } | Self::WriterVersion(_) => {
                "the file was left as it is; use the program that wrote it"
            }
            Self::Address { .. } | Self::Invalid { .. } => {
                "the file was left as it is; correct that place, or restore the file from a backup"
            }
            Self::ForeignJournal { .. } | Self::DamagedJournal { .. } => {
                "nothing was changed; if that run's changes are in the state already or not wanted, move \
                 the journal away"
            }
            Self::ChangedMeanwhile => "nothing was written; run the command again",
        })
    }
}

fn writer_note(writer: &str) -> String {
    if writer.is_empty() { String::new() } else { format!(" (it was written by Terraform {writer})") }
}
