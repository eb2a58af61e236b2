//! Opens the audit log selected by `-audit-log` or the environment.

use std::path::{Path, PathBuf};

use wardian_monitor::AuditLog;

use crate::environment::ProcessEnvironment;
use crate::error::{AppError, sentence};
use crate::untrusted::{self, ConfigurationTrust};

/// Opens the audit log that is specified on the command line (`path`) or in the environment.
///
/// # Errors
/// Returns an error if the log cannot be written: a command does not run without the requested record.
pub fn open(
    path: Option<&Path>,
    trust: ConfigurationTrust,
    environment: &ProcessEnvironment,
    started_in: &Path,
) -> Result<AuditLog, AppError> {
    let Some(path) = absolute_path(path, environment, started_in) else { return Ok(AuditLog::disabled()) };
    if trust == ConfigurationTrust::Untrusted {
        untrusted::check_written(&path)?;
    }
    AuditLog::open(&path).map_err(|error| {
        let detail =
            format!("{} Commands do not run without the requested audit log.", sentence(&error.to_string()));
        AppError::new("Audit log cannot be written", detail)
    })
}

/// Returns an absolute path, which can be compared with other paths.
fn absolute_path(
    path: Option<&Path>,
    environment: &ProcessEnvironment,
    started_in: &Path,
) -> Option<PathBuf> {
    let named = path.and_then(|path| std::path::absolute(path).ok());
    named.or_else(|| environment.audit_log().map(|path| started_in.join(path)))
}
