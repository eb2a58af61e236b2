//! The audit log of a run: its path, and the report at the end of the run.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use wardian_app::sentence;
use wardian_diagnostic::Diagnostic;
use wardian_legacy_grpc_bridge::server::ServerNotes;
use wardian_monitor::{AuditLog, DeniedUse};
use wardian_plugin::{PluginDiagnostic, PluginDiagnostics, Severity};
use wardian_policy::POLICY_FILE_NAME;

use crate::command_context::CommandContext;
use crate::failure::{Failure, Outcome};
use crate::grant_command::{GrantCommand, combined};

/// Maximum number of denials that are listed. The audit log contains all of them.
const MAX_REPORTED_DENIALS: usize = 20;

/// Reports denials, and fails a run whose audit log is incomplete.
pub(crate) fn conclude(context: &CommandContext, outcome: Outcome) -> Outcome {
    let denials = context.app.audit_log.denials();
    if !denials.is_empty() {
        let program = context.shell.product().command();
        let text = denials_text(&denials, program);
        context.shell.diagnostics(&Diagnostic::warning("Denied by policy", text).into());
    }
    match context.app.audit_log.failure() {
        None => outcome,
        Some(failure) => {
            // The command's own error is shown before the denials.
            if let Err(earlier) = outcome {
                context.shell.failure(&earlier);
            }
            let detail = sentence(&format!("{failure}; all later accesses were denied"));
            Err(Failure::error("Audit log is not complete", detail))
        }
    }
}

/// Reports the denials of a served plugin to the host that it serves, each once. The host shows no report at
/// the end, and the plugin's own error names no rule.
pub(crate) struct DenialNotes {
    log: Arc<AuditLog>,
    program: &'static str,
    reported: Mutex<BTreeSet<String>>,
}

impl DenialNotes {
    pub(crate) fn new(context: &CommandContext) -> Self {
        let program = context.shell.product().command();
        Self { log: Arc::clone(&context.app.audit_log), program, reported: Mutex::default() }
    }
}

impl ServerNotes for DenialNotes {
    fn take(&self) -> PluginDiagnostics {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let mut new = self.log.denials();
        new.retain(|denied| {
            let DeniedUse { record, .. } = denied;
            reported.insert(format!(
                "{:?}",
                (&record.plugin, record.capability, &record.target, &record.access, &record.arguments)
            ))
        });
        if new.is_empty() {
            return PluginDiagnostics::new();
        }
        vec![PluginDiagnostic {
            severity: Severity::Warning,
            summary: "Denied by policy".to_owned(),
            detail: denials_text(&new, self.program),
            attribute: None,
        }]
    }
}

/// Returns the text that lists each denied access once and how to allow it.
fn denials_text(denials: &[DeniedUse], program: &str) -> String {
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
    let (mut commands, mut rules) = (Vec::new(), BTreeSet::new());
    for denied in denials.iter().take(MAX_REPORTED_DENIALS) {
        match GrantCommand::for_denied_use(denied) {
            Some(command) => commands.push(command),
            None => rules.extend(denied.rule_to_add.as_deref()),
        }
    }
    if !commands.is_empty() {
        text.push_str("\nIf you trust the plugin with this access, allow it with:\n\n");
        for command in combined(commands) {
            let _ = writeln!(text, "  {}", command.line(program));
        }
    }
    if !rules.is_empty() {
        let _ = write!(
            text,
            "\nIf you trust the plugin with this access, add a rule to {POLICY_FILE_NAME}. A new file must \
             also contain the line `otherwise = \"defer\"` to keep the grants of other policies in \
             effect:\n\n"
        );
        for rule in rules {
            text.push_str(rule);
        }
    }
    text.trim_end().to_owned()
}
