//! `wardian validate`: checks the configuration.

use std::path::Path;

use async_trait::async_trait;
use serde::Serialize;
use wardian_app::untrusted::ConfigurationTrust;
use wardian_diagnostic::Diagnostics;

use crate::arguments::ValidateArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::render::json::pretty;
use crate::shell::{OutputKind, Paint, ViewOptions};
use wardian_printable::printable;

/// The output of `validate -json`.
#[derive(Serialize)]
struct Report<D> {
    format_version: &'static str,
    valid: bool,
    error_count: usize,
    warning_count: usize,
    diagnostics: Vec<D>,
}

#[async_trait(?Send)]
impl CommandSpec for ValidateArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn output_kind(&self) -> OutputKind {
        if self.json { OutputKind::Data } else { OutputKind::Report }
    }

    fn needs_workspace(&self) -> bool {
        false
    }

    fn trust(&self) -> ConfigurationTrust {
        self.trust.level()
    }

    fn audit_log(&self) -> Option<&Path> {
        self.audit.audit_log.as_deref()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &ValidateArguments) -> Outcome {
    let diagnostics = match check(context, arguments.directory.as_deref().unwrap_or(Path::new("."))).await {
        Ok(diagnostics) | Err(Failure::Diagnostics(diagnostics) | Failure::ConsentNeeded(diagnostics)) => {
            diagnostics
        }
        Err(other) => return Err(other),
    };
    let valid = !diagnostics.has_errors();
    if arguments.json {
        context.shell.print_json(&json(&diagnostics));
    } else {
        context.shell.diagnostics(&diagnostics);
        if valid {
            let word = context.shell.paint(Paint::Success, "Success!");
            let but = if diagnostics.is_empty() { "" } else { ", but there were warnings, as shown above" };
            context.shell.say(printable!("{word} The configuration is valid{but}.\n"));
        }
    }
    Ok(if valid { Status::Success } else { Status::Failed })
}

async fn check(context: &CommandContext, directory: &Path) -> Outcome<Diagnostics> {
    let (configuration, mut diagnostics) = context.app.load(directory)?;
    if diagnostics.has_errors() {
        return Ok(diagnostics);
    }
    let found = async {
        let lock = context.app.lock_file()?;
        let plugins = context.app.plugins(&configuration, None, &lock, 1)?;
        Outcome::Ok(context.engine_run(configuration, plugins).validate().await)
    };
    match found.await {
        Ok(found) | Err(Failure::Diagnostics(found) | Failure::ConsentNeeded(found)) => {
            diagnostics.extend(found);
        }
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
