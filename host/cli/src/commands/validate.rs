//! `wardian validate`: checks the configuration.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use wardian_app::test_suite::{DEFAULT_TEST_DIRECTORY, TestFiles};
use wardian_app::untrusted::ConfigurationTrust;
use wardian_config::{Configuration, QueryFiles};
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

    fn query_files(&self) -> QueryFiles {
        if self.query { QueryFiles::Included } else { QueryFiles::Ignored }
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
    let diagnostics = match check(context, arguments).await {
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

async fn check(context: &CommandContext, arguments: &ValidateArguments) -> Outcome<Diagnostics> {
    let directory = arguments.directory.as_deref().unwrap_or(Path::new("."));
    let (configuration, tests, mut diagnostics) = if arguments.no_tests {
        let (configuration, diagnostics) = context.app.load(directory)?;
        (configuration, TestFiles::default(), diagnostics)
    } else {
        let test_directory = arguments.test_directory.as_deref().unwrap_or(Path::new(DEFAULT_TEST_DIRECTORY));
        context.app.load_with_tests(directory, test_directory)?
    };
    if diagnostics.has_errors() {
        return Ok(diagnostics);
    }
    let found = async {
        let lock = context.app.lock_file()?;
        let plugins = context.app.plugins_with_tests(&configuration, &tests, None, &lock, 1)?;
        let run = |configuration: &Arc<Configuration>| {
            context.engine_run(Arc::clone(configuration), Arc::clone(&plugins))
        };
        let mut found = run(&configuration).validate().await;
        for module in tests.configurations() {
            found.extend(run(module).validate().await);
        }
        found.extend(tests.files.check(&configuration, &tests.modules));
        Outcome::Ok(found)
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
