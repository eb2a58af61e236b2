//! `wardian policy check`

use std::path::Path;

use serde::Serialize;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_policy::{Level, PolicyFile, load, read_file};

use crate::arguments::PolicyCheckArguments;
use crate::failure::Status;
use crate::render::json::pretty;
use crate::render::policy::files_text;
use crate::session::Session;

/// `policy check -json`.
#[derive(Serialize)]
struct Report<'a, D> {
    format_version: &'static str,
    valid: bool,
    error_count: usize,
    files: Vec<File<'a>>,
    diagnostics: Vec<D>,
}

#[derive(Serialize)]
struct File<'a> {
    level: &'static str,
    path: &'a str,
    rules: usize,
}

/// Says what is wrong with policies.
pub(crate) fn run(session: &Session, arguments: &PolicyCheckArguments) -> Status {
    let (files, problems) = match read(session, arguments.file.as_deref()) {
        Ok(files) => (files, Diagnostics::new()),
        Err(problems) => (Vec::new(), problems),
    };
    let valid = !problems.has_errors();
    if arguments.json {
        session.shell.say(pretty(&Report {
            format_version: "1.0",
            valid,
            error_count: problems.len(),
            files: files
                .iter()
                .map(|file| File { level: file.level().name(), path: file.name(), rules: file.rule_count() })
                .collect(),
            diagnostics: problems.iter().map(Diagnostic::document).collect(),
        }));
    } else if valid {
        session.shell.print(&files_text(&files, session.shell.render_options()));
    } else {
        session.shell.diagnostics(&problems);
    }
    if valid { Status::Success } else { Status::Failed }
}

fn read(session: &Session, file: Option<&Path>) -> Result<Vec<PolicyFile>, Diagnostics> {
    let places = session.environment.policy_places(&session.directory, &session.started_in);
    let Some(file) = file else { return Ok(load(&places)?.files().to_vec()) };
    let is_root_modules = session.directory.join(file) == places.root_module_file();
    let level = if is_root_modules { Level::RootModule } else { Level::Organisation };
    let name = file.display().to_string();
    match read_file(level, file, &name, &session.directory)? {
        Some(file) => Ok(vec![file]),
        None => {
            let detail = format!("There is no file {name}.");
            Err(Diagnostic::error("Policy file not found", detail).into())
        }
    }
}
