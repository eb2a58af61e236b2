//! The error type of this crate: diagnostics for the user.

use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_state::{LockError, StateError};

/// Diagnostics that contain at least one error, and possibly warnings.
#[derive(Clone, Debug)]
pub struct AppError(Diagnostics);

impl AppError {
    /// Returns an error without a source span.
    pub fn new(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Diagnostic::error(summary, detail).into()
    }

    /// Returns the error of a command that the user interrupted before it changed anything.
    pub fn interrupted() -> Self {
        Self::new("Interrupted", "The command was interrupted before it changed anything.")
    }

    pub fn into_diagnostics(self) -> Diagnostics {
        self.0
    }
}

impl From<Diagnostics> for AppError {
    fn from(diagnostics: Diagnostics) -> Self {
        Self(diagnostics)
    }
}

impl From<Diagnostic> for AppError {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(diagnostic.into())
    }
}

impl From<StateError> for AppError {
    fn from(error: StateError) -> Self {
        state_diagnostic(&error).into()
    }
}

/// Returns a state file's error as a diagnostic.
pub fn state_diagnostic(error: &StateError) -> Diagnostic {
    let hint = error.hint().map_or(String::new(), |hint| format!("\n\n{}", sentence(hint)));
    Diagnostic::error(
        "State file cannot be used",
        format!("{}: {}.{hint}", error.path.display(), error.problem),
    )
}

impl From<LockError> for AppError {
    fn from(error: LockError) -> Self {
        let LockError::Held { path, holder } = &error else {
            return Self::new("Error acquiring the state lock", sentence(&error.to_string()));
        };
        let info = match holder {
            None => "No lock information is available.".to_owned(),
            Some(info) => format!(
                "Lock Info:\n  ID:        {}\n  Path:      {}\n  Operation: {}\n  Who:       {}\n  Version:   {}\n  Created:   {}\n  Info:      {}",
                info.id, info.path, info.operation, info.who, info.version, info.created, info.info
            ),
        };
        Self::new(
            "Error acquiring the state lock",
            format!(
                "Another process holds the lock on the state {}. Nothing was changed. Wait until it is \
                 released, or let this command wait with -lock-timeout=5m.\n\n{info}",
                path.display()
            ),
        )
    }
}

/// Formats an error text as a sentence, with a capital letter and a full stop, which error texts of
/// libraries lack.
pub fn sentence(text: &str) -> String {
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
    fn sentence_adds_capital_letter_and_full_stop() {
        assert_eq!(sentence("it is gone"), "It is gone.");
        assert_eq!(sentence("it is gone. Try again.\n"), "It is gone. Try again.");
        assert_eq!(sentence(""), "");
    }
}
