//! The audit log of a run: its path, and the report at the end of the run.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use wardian_app::sentence;
use wardian_diagnostic::Diagnostic;
use wardian_monitor::DeniedUse;
use wardian_policy::{POLICY_FILE_NAME, Remedy};

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
    let (mut declared, mut higher) = (BTreeSet::new(), BTreeSet::new());
    for denied in denials.iter().take(MAX_REPORTED_DENIALS) {
        match GrantCommand::for_denied_use(denied) {
            Some(command) => commands.push(command),
            None => match &denied.remedy {
                Some(Remedy::DeclaredGrants) => declared.extend([&*denied.record.plugin]),
                Some(Remedy::Rule(rule)) => rules.extend([&**rule]),
                Some(Remedy::RuleInFile { file, rule }) => _ = higher.insert((&**file, &**rule)),
                None => {}
            },
        }
    }
    if !declared.is_empty() {
        text.push_str("\nThe plugin declares this access. If you trust the plugin with everything that it declares, grant it with:\n\n");
        for plugin in declared {
            let _ = writeln!(text, "  {program} policy grant {plugin}");
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
    for (file, rule) in higher {
        let _ = write!(
            text,
            "\nIf you trust the plugin with this access, add a rule to {file}, without which no other policy \
             file can grant it:\n\n{rule}"
        );
    }
    text.trim_end().to_owned()
}
