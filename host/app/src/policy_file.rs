//! Reads and writes the text of policy files.

use std::io;
use std::path::Path;

use wardian_diagnostic::system_reason;

use crate::atomic_write;
use crate::consent_lock;
use crate::error::AppError;

/// Reads a policy file; [`None`] if there is none.
///
/// # Errors
/// Returns an error if the file exists but cannot be read.
pub fn read_policy(path: &Path) -> Result<Option<String>, AppError> {
    consent_lock::read_text(path).map_err(|error| failed(path, "read", &error))
}

/// Writes a policy file.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn write_policy(path: &Path, text: &str) -> Result<(), AppError> {
    atomic_write::write(path, text.as_bytes()).map_err(|error| failed(path, "written", &error))
}

fn failed(path: &Path, verb: &str, error: &io::Error) -> AppError {
    AppError::new(
        format!("Policy file cannot be {verb}"),
        format!("The file {} cannot be {verb}: {}.", path.display(), system_reason(error)),
    )
}
