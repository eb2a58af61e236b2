//! `wardian validate`

use std::path::Path;

use serde::Serialize;
use wardian_diagnostic::Diagnostics;

use crate::arguments::ValidateArguments;
use crate::failure::{Failure, Outcome, Status};
use crate::render::json::pretty;
use crate::session::Session;
use crate::shell::Paint;

/// `validate -json`.
#[derive(Serialize)]
struct Report<D> {
    format_version: &'static str,
    valid: bool,
    error_count: usize,
    warning_count: usize,
    diagnostics: Vec<D>,
}

/// Checks the configuration.
pub(crate) async fn run(session: &Session, arguments: &ValidateArguments) -> Outcome {
    let diagnostics = match check(session, arguments.directory.as_deref().unwrap_or(Path::new("."))).await {
        Ok(diagnostics) | Err(Failure::Diagnostics(diagnostics)) => diagnostics,
        Err(other) => return Err(other),
    };
    let valid = !diagnostics.has_errors();
    if arguments.json {
        session.shell.say(json(&diagnostics));
    } else {
        session.shell.diagnostics(&diagnostics);
        if valid {
            let word = session.shell.paint(Paint::Success, "Success!");
            let but = if diagnostics.is_empty() { "" } else { ", but there were warnings, as shown above" };
            session.shell.say(format_args!("{word} The configuration is valid{but}.\n"));
        }
    }
    Ok(if valid { Status::Success } else { Status::Failed })
}

async fn check(session: &Session, directory: &Path) -> Outcome<Diagnostics> {
    let (configuration, mut diagnostics) = session.load(directory)?;
    if diagnostics.has_errors() {
        return Ok(diagnostics);
    }
    let found = async {
        let lock = session.lock_file()?;
        let plugins = session.plugins(&configuration, None, &lock, 1)?;
        Outcome::Ok(session.run(configuration, plugins).validate().await)
    };
    match found.await {
        Ok(found) | Err(Failure::Diagnostics(found)) => diagnostics.extend(found),
        Err(other) => return Err(other),
    }
    Ok(diagnostics)
}

fn json(diagnostics: &Diagnostics) -> String {
    let errors = diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
    pretty(&Report {
        format_version: "1.0",
        valid: errors == 0,
        error_count: errors,
        warning_count: diagnostics.len() - errors,
        diagnostics: diagnostics.iter().map(wardian_diagnostic::Diagnostic::document).collect(),
    })
}
