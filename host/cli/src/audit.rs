//! The audit log of a run: where it is, and what is told of it at the end.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use wardian_diagnostic::Diagnostic;
use wardian_monitor::{AuditLog, DeniedUse};

use crate::arguments::Command;
use crate::environment::Environment;
use crate::failure::{Failure, Outcome, sentence};
use crate::session::Session;
use crate::untrusted::{self, Trust};

/// Denied uses that are told one by one; the log has all.
const MOST_TOLD: usize = 20;

/// The log that the command line or the environment asks for.
///
/// # Errors
/// Where it cannot be written: nothing runs without the record that was asked for.
pub(crate) fn open(command: &Command, environment: &Environment, started_in: &Path) -> Outcome<AuditLog> {
    let Some(path) = place(command, environment, started_in) else { return Ok(AuditLog::nowhere()) };
    if command.trust() == Trust::Stranger {
        untrusted::check_written(&path)?;
    }
    AuditLog::to_file(&path).map_err(|error| {
        let detail =
            format!("{} Nothing runs without the record that was asked for.", sentence(&error.to_string()));
        Failure::error("Audit log cannot be written", detail)
    })
}

/// Absolute, so that it is the same file wherever it is compared.
fn place(command: &Command, environment: &Environment, started_in: &Path) -> Option<PathBuf> {
    let asked = command.audit_log().and_then(|path| std::path::absolute(path).ok());
    asked.or_else(|| environment.audit_log().map(|path| started_in.join(path)))
}

/// Tells what was denied, and fails a run that was not recorded as asked.
pub(crate) fn conclude(session: &Session, outcome: Outcome) -> Outcome {
    let denials = session.audit_log.denials();
    if !denials.is_empty() {
        session.shell.diagnostics(&Diagnostic::warning("Denied by policy", told(&denials)).into());
    }
    match session.audit_log.failure() {
        None => outcome,
        Some(failure) => {
            // What the command failed with is told first: it is what was asked for.
            if let Err(earlier) = outcome {
                session.shell.failure(&earlier);
            }
            let detail = sentence(&format!("{failure}; from there on everything was denied"));
            Err(Failure::error("Audit log is not complete", detail))
        }
    }
}

/// The denied uses, each once, and the rules that would allow them.
fn told(denials: &[DeniedUse]) -> String {
    let mut text = String::from("Plugins asked for what no policy grants them, and did not get it:\n");
    for denied in denials.iter().take(MOST_TOLD) {
        let record = &denied.record;
        let resource = record.resource.as_deref().map(|name| format!(", for {name}")).unwrap_or_default();
        let times = if denied.count > 1 { format!(" ({} times)", denied.count) } else { String::new() };
        let reason = record.reason.as_deref().unwrap_or_default();
        let _ = writeln!(text, " - {reason}{resource}{times}");
    }
    if let Some(more) = denials.len().checked_sub(MOST_TOLD).filter(|more| *more > 0) {
        let _ = writeln!(text, " - and {more} more");
    }
    let mut rules: Vec<&str> =
        denials.iter().take(MOST_TOLD).filter_map(|denied| denied.rule_to_add.as_deref()).collect();
    rules.sort_unstable();
    rules.dedup();
    if !rules.is_empty() {
        text.push_str("\nIf that should be allowed, add to wardian.policy.hcl:\n\n");
        text.push_str(&rules.join("\n"));
    }
    text.trim_end().to_owned()
}
