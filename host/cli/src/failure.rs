//! The one error of this crate: what it is, what to say and which exit code.

use wardian_app::AppError;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_state::{LockError, StateError};

/// How a command that did its work ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// All is well.
    Success,
    /// It is not, and that was said already.
    Failed,
    /// A plan with changes, where the person wanted to be told so.
    Changes,
    /// Files that could not be formatted, and that was said already.
    NotFormatted,
    /// Files that are not in the standard style.
    Unformatted,
    /// No command was given.
    NothingAsked,
}

impl Status {
    /// What the shell gets.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Changes | Self::NotFormatted => 2,
            Self::Unformatted => 3,
            Self::NothingAsked => 127,
        }
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line cannot be understood.
    Usage(Usage),
    /// Anything else, warnings that belong to it included.
    Diagnostics(Diagnostics),
}

/// What is wrong with a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    /// What, in a few words.
    pub(crate) summary: String,
    /// Why, and what would be right.
    pub(crate) detail: String,
    /// The command whose help says more; empty for the program's own.
    pub(crate) command: String,
}

/// What every command returns.
pub(crate) type Outcome<T = Status> = Result<T, Failure>;

impl Failure {
    /// An error without a place.
    pub(crate) fn error(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Diagnostic::error(summary, detail).into()
    }
}

impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Self {
        Self::Diagnostics(diagnostics)
    }
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Diagnostics(diagnostic.into())
    }
}

impl From<Usage> for Failure {
    fn from(usage: Usage) -> Self {
        Self::Usage(usage)
    }
}

impl From<AppError> for Failure {
    fn from(error: AppError) -> Self {
        Self::Diagnostics(error.into_diagnostics())
    }
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        AppError::from(error).into()
    }
}

impl From<LockError> for Failure {
    fn from(error: LockError) -> Self {
        AppError::from(error).into()
    }
}
