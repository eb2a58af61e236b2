//! The audit log of a run: its path, and the report at the end of the run.

use std::fmt::Write as _;

use wardian_app::sentence;
use wardian_diagnostic::Diagnostic;
use wardian_monitor::DeniedUse;

use crate::command_context::CommandContext;
use crate::failure::{Failure, Outcome};

/// The maximum number of denials that are listed; the log has all of them.
const MAX_REPORTED_DENIALS: usize = 20;

/// Reports denials, and fails a run whose audit log is incomplete.
pub(crate) fn conclude(context: &CommandContext, outcome: Outcome) -> Outcome {
    let denials = context.app.audit_log.denials();
    if !denials.is_empty() {
        context.shell.diagnostics(&Diagnostic::warning("Denied by policy", denials_text(&denials)).into());
    }
    match context.app.audit_log.failure() {
        None => outcome,
        Some(failure) => {
            // The command's own error is shown before the denials.
            if let Err(earlier) = outcome {
                context.shell.failure(&earlier);
            }
            let detail = sentence(&format!("{failure}; all accesses after that were denied"));
            Err(Failure::error("Audit log is not complete", detail))
        }
    }
}

/// Returns the denied accesses, each once, and the rules that would allow them.
fn denials_text(denials: &[DeniedUse]) -> String {
    let mut text = String::from("Plugins requested access that no policy grants, and were denied:\n");
    for denied in denials.iter().take(MAX_REPORTED_DENIALS) {
        let record = &denied.record;
        let resource = record.resource.as_deref().map(|name| format!(", for {name}")).unwrap_or_default();
        let times = if denied.count > 1 { format!(" ({} times)", denied.count) } else { String::new() };
        let reason = record.reason.as_deref().unwrap_or_default();
        let _ = writeln!(text, " - {reason}{resource}{times}");
    }
    if let Some(more) = denials.len().checked_sub(MAX_REPORTED_DENIALS).filter(|more| *more > 0) {
        let _ = writeln!(text, " - and {more} more");
    }
    let mut rules: Vec<&str> = denials
        .iter()
        .take(MAX_REPORTED_DENIALS)
        .filter_map(|denied| denied.rule_to_add.as_deref())
        .collect();
    rules.sort_unstable();
    rules.dedup();
    if !rules.is_empty() {
        text.push_str("\nTo allow this, add to wardian.policy.hcl:\n\n");
        text.push_str(&rules.join("\n"));
    }
    text.trim_end().to_owned()
}
