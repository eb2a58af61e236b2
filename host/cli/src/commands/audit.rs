//! `wardian audit`: summarizes the audit logs of runs.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use async_trait::async_trait;
use wardian_diagnostic::{Diagnostic, system_reason};
use wardian_monitor::Summary;

use crate::arguments::AuditCommandArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::render::audit::summary_text;
use crate::render::json::{AuditDocument, pretty};
use crate::shell::ViewOptions;
use wardian_printable::{PrintableText, append, printable};

#[async_trait(?Send)]
impl CommandSpec for AuditCommandArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn needs_workspace(&self) -> bool {
        false
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self)
    }
}

/// Prints the summary of audit logs, or the policy that the runs require.
fn run(context: &CommandContext, arguments: &AuditCommandArguments) -> Outcome {
    let mut summary = Summary::default();
    for path in &arguments.files {
        let unreadable = read(path, &mut summary)?;
        warn_of_unreadable(context, path, &unreadable);
        summary.unreadable.extend(unreadable);
    }
    if arguments.suggest_policy {
        let least = summary.least_privilege_policy(&context.app.directory);
        context.shell.print(PrintableText::from_lines(&least.text));
        note_left_out(context, &least.left_out);
    } else if arguments.json {
        context.shell.print_json(&pretty(&AuditDocument::new(&summary)));
    } else {
        context.shell.print(summary_text(&summary, context.shell.render_options()));
    }
    Ok(Status::Success)
}

/// Prints the accesses that a synthesized policy does not allow.
pub(super) fn note_left_out(context: &CommandContext, left_out: &BTreeSet<String>) {
    if left_out.is_empty() {
        return;
    }
    let mut text = PrintableText::from(
        "Warning: No rule can allow exactly these accesses. Add rules manually if the run needs them:",
    );
    for one in left_out {
        append!(text, "\n - {one}");
    }
    context.shell.note(text);
}

/// Adds an audit log to a summary, and returns the numbers of the lines that are not records.
pub(super) fn read(path: &Path, summary: &mut Summary) -> Outcome<Vec<u64>> {
    let read = File::open(path).and_then(|file| summary.add_log(BufReader::new(file)));
    read.map_err(|error| {
        let detail = format!("The audit log {} cannot be read: {}.", path.display(), system_reason(&error));
        Failure::Diagnostics(Diagnostic::error("Audit log cannot be read", detail).into())
    })
}

fn warn_of_unreadable(context: &CommandContext, path: &Path, unreadable: &[u64]) {
    let Some(first) = unreadable.first() else { return };
    context.shell.note(printable!(
        "Warning: {} lines of {} are not audit records, the first of them line {first}. A killed run may \
         leave one such line; more of them mean that another program has written to the file.",
        unreadable.len(),
        path.display()
    ));
}
