//! `wardian audit`

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use wardian_diagnostic::Diagnostic;
use wardian_monitor::Summary;

use crate::arguments::AuditCommandArguments;
use crate::failure::{Failure, Outcome, Status};
use crate::render::audit::summary_text;
use crate::render::json::{AuditDocument, pretty};
use crate::session::Session;

/// Sums up a log, or says which policy its run needs.
pub(crate) fn run(session: &Session, arguments: &AuditCommandArguments) -> Outcome {
    let summary = read(&arguments.file)?;
    warn_of_unreadable(session, &arguments.file, &summary);
    if arguments.suggest_policy {
        let least = summary.least_policy(&session.directory);
        session.shell.print(&least.text);
        if !least.left_out.is_empty() {
            let list: Vec<String> = least.left_out.iter().map(|one| format!(" - {one}")).collect();
            let detail = format!(
                "No rule names these uses and nothing else. Write rules by hand if the run needs them:\n{}",
                list.join("\n")
            );
            session.shell.note(format_args!("Warning: {detail}"));
        }
    } else if arguments.json {
        session.shell.say(pretty(&AuditDocument::new(&summary)));
    } else {
        session.shell.print(&summary_text(&summary, session.shell.render_options()));
    }
    Ok(Status::Success)
}

fn read(path: &Path) -> Outcome<Summary> {
    let read = File::open(path).and_then(|file| Summary::read(BufReader::new(file)));
    read.map_err(|error| {
        let detail = format!("The audit log {} cannot be read: {error}.", path.display());
        Failure::Diagnostics(Diagnostic::error("Audit log cannot be read", detail).into())
    })
}

fn warn_of_unreadable(session: &Session, path: &Path, summary: &Summary) {
    let Some(first) = summary.unreadable.first() else { return };
    session.shell.note(format_args!(
        "Warning: {} of the lines of {} are no records, the first of them line {first}. A run that is killed may leave \
         one; more of them mean that somebody else has written there.",
        summary.unreadable.len(),
        path.display()
    ));
}
