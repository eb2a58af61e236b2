//! The reason why a command failed, and the exit codes.

use wardian_app::AppError;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_state::{LockError, StateError};

/// The outcome of a command that did not end with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Success,
    /// The command failed, and the failure has already been reported.
    Failed,
    /// The plan has changes, and the user gave `-detailed-exitcode`.
    Changes,
    /// Some files could not be formatted, and the errors have been reported.
    NotFormatted,
    /// Some files are not in the standard style.
    Unformatted,
    /// `init` did nothing, because it needs the user's consent.
    ConsentNeeded,
    /// No command was given.
    NothingAsked,
    /// A part of the process panicked, or an error occurred that only a bug can cause.
    Crashed,
}

impl Status {
    /// Returns the process's exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Changes | Self::NotFormatted => 2,
            Self::Unformatted => 3,
            Self::ConsentNeeded => 4,
            Self::NothingAsked => 127,
            Self::Crashed => 11,
        }
    }
}

#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is invalid.
    Usage(Usage),
    /// Any other errors, with the warnings that accompany them.
    Diagnostics(Diagnostics),
    /// The command needs the user's consent.
    ConsentNeeded(Diagnostics),
}

/// An error in the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) summary: String,
    /// The reason, and the correct usage.
    pub(crate) detail: String,
    /// The command whose help describes the usage; empty for the help of `wardian` itself.
    pub(crate) command: String,
}

/// The result of a command.
pub(crate) type Outcome<T = Status> = Result<T, Failure>;

impl Failure {
    /// Creates an error without a source span.
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
        if error.needs_consent() {
            return Self::ConsentNeeded(error.into_diagnostics());
        }
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
