//! The one error of this crate: what it is, what to say and which exit code.

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

    /// Somebody asked for the end before anything was done.
    pub(crate) fn interrupted() -> Self {
        Self::error("Interrupted", "The command was interrupted before it changed anything.")
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

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        state_diagnostic(&error).into()
    }
}

/// A state file's problem as a diagnostic.
pub(crate) fn state_diagnostic(error: &StateError) -> Diagnostic {
    let hint = error.hint().map_or(String::new(), |hint| format!("\n\n{}", sentence(hint)));
    Diagnostic::error(
        "State file cannot be used",
        format!("{}: {}.{hint}", error.path.display(), error.problem),
    )
}

impl From<LockError> for Failure {
    fn from(error: LockError) -> Self {
        let LockError::Held { path, holder } = &error else {
            return Self::error("Error acquiring the state lock", sentence(&error.to_string()));
        };
        let info = match holder {
            None => "The holder left no note about itself.".to_owned(),
            Some(info) => format!(
                "Lock Info:\n  ID:        {}\n  Path:      {}\n  Operation: {}\n  Who:       {}\n  Version:   {}\n  Created:   {}\n  Info:      {}",
                info.id, info.path, info.operation, info.who, info.version, info.created, info.info
            ),
        };
        Self::error(
            "Error acquiring the state lock",
            format!(
                "Another process works on the state {}; who, and since when, is said below. Nothing was changed. Wait \
                 until it is done, or let this command wait with -lock-timeout=5m.\n\n{info}",
                path.display()
            ),
        )
    }
}

/// With a capital at the start and a full stop at the end. Errors of libraries have
/// neither.
pub(crate) fn sentence(text: &str) -> String {
    let mut characters = text.trim_end().trim_end_matches('.').chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).chain(['.']).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_begin_with_a_capital_and_end_with_one_stop() {
        assert_eq!(sentence("it is gone"), "It is gone.");
        assert_eq!(sentence("it is gone. Look.\n"), "It is gone. Look.");
        assert_eq!(sentence(""), "");
    }
}
