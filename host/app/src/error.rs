//! The error type of this crate: diagnostics for the user.

use std::fs;
use std::io;
use std::path::Path;

use wardian_diagnostic::{Diagnostic, Diagnostics, system_reason};
use wardian_state::{LockError, StateError, StateProblem};

/// Diagnostics that contain at least one error, and possibly warnings.
#[derive(Clone, Debug)]
pub struct AppError {
    diagnostics: Diagnostics,
    needs_consent: bool,
}

impl AppError {
    /// Returns an error without a source span.
    pub fn new(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Diagnostic::error(summary, detail).into()
    }

    /// Returns the error for a command that the user interrupted before it changed anything.
    pub fn interrupted() -> Self {
        Self::new("Interrupted", "The command was interrupted before it changed anything.")
    }

    /// Returns the error for a command that did nothing because it needs the user's consent.
    pub fn for_consent(diagnostics: Diagnostics) -> Self {
        Self { diagnostics, needs_consent: true }
    }

    /// Returns the error for a lock that could not be released.
    pub fn for_unlock(error: LockError) -> Self {
        Self::new(
            "Error releasing the state lock",
            format!(
                "{} The lock may still be held. If other commands report that, release it with `wardian \
                 force-unlock` and the ID that they show.",
                sentence(&error.to_string())
            ),
        )
    }

    /// Returns whether the command would succeed with the user's consent.
    pub fn needs_consent(&self) -> bool {
        self.needs_consent
    }

    pub fn into_diagnostics(self) -> Diagnostics {
        self.diagnostics
    }
}

impl From<Diagnostics> for AppError {
    fn from(diagnostics: Diagnostics) -> Self {
        Self { diagnostics, needs_consent: false }
    }
}

impl From<Diagnostic> for AppError {
    fn from(diagnostic: Diagnostic) -> Self {
        Diagnostics::from(diagnostic).into()
    }
}

impl From<StateError> for AppError {
    fn from(error: StateError) -> Self {
        state_diagnostic(&error).into()
    }
}

/// Converts the error of a state file to a diagnostic.
pub fn state_diagnostic(error: &StateError) -> Diagnostic {
    let hint = error.hint().map_or(String::new(), |hint| format!("\n\n{}", sentence(hint)));
    let summary = match &error.problem {
        StateProblem::Storage(_) => "Backend cannot be used",
        _ => "State file cannot be used",
    };
    Diagnostic::error(summary, format!("{}.{hint}", state_reason(error)))
}

/// Describes an error of a state file, with its path.
pub fn state_reason(error: &StateError) -> String {
    let reason = match &error.problem {
        StateProblem::Io { doing, error } => format!("failed to {doing}: {}", system_reason(error)),
        StateProblem::NotJson(problem) => match merge_conflict(Path::new(&error.location)) {
            Some(line) => format!(
                "line {line} is a conflict marker of a version control system, so two states were merged as \
                 text. Use one of the two complete states; their contents cannot be combined line by line"
            ),
            None => format!("the file is damaged or is not a state file: {}", json_reason(problem)),
        },
        problem => problem.to_string(),
    };
    format!("{}: {reason}", error.location)
}

/// Returns the number of the first line that is a merge conflict marker.
fn merge_conflict(path: &Path) -> Option<usize> {
    let text = fs::read(path).ok()?;
    let is_marker = |line: &[u8]| line.starts_with(b"<<<<<<< ");
    text.split(|byte| *byte == b'\n').position(is_marker).map(|index| index + 1)
}

/// Describes an error in a JSON document.
pub fn json_reason(error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    match error.classify() {
        serde_json::error::Category::Eof if line == 1 && column == 0 => "it is empty".to_owned(),
        serde_json::error::Category::Eof => {
            format!("it ends in the middle of a value, at line {line}, column {column}; it may be truncated")
        }
        serde_json::error::Category::Syntax => {
            format!("it is not valid JSON at line {line}, column {column}")
        }
        serde_json::error::Category::Data => {
            format!("it has unexpected content at line {line}, column {column}")
        }
        serde_json::error::Category::Io => "it cannot be read".to_owned(),
    }
}

impl From<LockError> for AppError {
    fn from(error: LockError) -> Self {
        let (location, holder, ends_with_process) = match &error {
            LockError::Held { location, holder, ends_with_process } => (location, holder, ends_with_process),
            LockError::Io { doing, path, error } => {
                let reason =
                    sentence(&format!("failed to {doing} {}: {}", path.display(), system_reason(error)));
                let is_read_only = matches!(
                    error.kind(),
                    io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
                );
                let advice = if is_read_only {
                    " If the command does not change the state (a plan, for example), run it with \
                     -lock=false. This is safe only if the state does not change in the meantime."
                } else {
                    ""
                };
                return Self::new("Error acquiring the state lock", format!("{reason}{advice}"));
            }
            LockError::Storage { error: problem, .. } => {
                let advice = problem
                    .advice
                    .as_deref()
                    .map_or(String::new(), |advice| format!(" {}", sentence(advice)));
                return Self::new(
                    "Error acquiring the state lock",
                    format!("{}{advice}", sentence(&error.to_string())),
                );
            }
            _ => return Self::new("Error acquiring the state lock", sentence(&error.to_string())),
        };
        let release = match holder {
            Some(info) if !ends_with_process => format!(
                " If its holder has ended without releasing it, release it with `wardian force-unlock {}`.",
                info.id
            ),
            _ => String::new(),
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
                "Another process holds the lock on the state {location}. Nothing was changed. Wait until it is \
                 released, or let this command wait with -lock-timeout=5m.{release}\n\n{info}"
            ),
        )
    }
}

/// Formats a library's error message as a sentence, with a capital letter and a period.
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
