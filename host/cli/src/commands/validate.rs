//! `wardian validate`

use serde::Serialize;
use wardian_lang::Diagnostics;

use crate::arguments::ValidateArguments;
use crate::failure::{Failure, Outcome, Status};
use crate::session::Session;
use crate::shell::Paint;

/// `validate -json`.
#[derive(Serialize)]
struct Report {
    format_version: &'static str,
    valid: bool,
    error_count: usize,
    warning_count: usize,
    diagnostics: Vec<serde_json::Value>,
}

/// Checks the configuration.
pub(crate) async fn run(session: &Session, arguments: &ValidateArguments) -> Outcome {
    let diagnostics = match check(session).await {
        Ok(diagnostics) | Err(Failure::Diagnostics(diagnostics)) => diagnostics,
        Err(other) => return Err(other),
    };
    let valid = !diagnostics.has_errors();
    if arguments.json {
        session.shell.say(json(&diagnostics)?);
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

async fn check(session: &Session) -> Outcome<Diagnostics> {
    let configuration = session.configuration()?;
    let lock = session.lock_file()?;
    let plugins = session.plugins(&configuration, None, &lock, 1)?;
    Ok(session.run(configuration, plugins).validate().await)
}

fn json(diagnostics: &Diagnostics) -> Outcome<String> {
    let errors = diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
    let report = Report {
        format_version: "1.0",
        valid: errors == 0,
        error_count: errors,
        warning_count: diagnostics.len() - errors,
        diagnostics: diagnostics.iter().map(wardian_lang::Diagnostic::to_json).collect(),
    };
    serde_json::to_string_pretty(&report)
        .map_err(|error| Failure::error("JSON cannot be written", error.to_string()))
}
