//! `wardian policy check`: reports errors in policies.

use std::path::Path;

use async_trait::async_trait;
use serde::Serialize;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_policy::{Level, PolicyFile, load, read_file};

use crate::arguments::PolicyCheckArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Outcome, Status};
use crate::render::json::pretty;
use crate::render::policy::files_text;
use crate::shell::ViewOptions;

/// The output of `policy check -json`.
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

#[async_trait(?Send)]
impl CommandSpec for PolicyCheckArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn needs_workspace(&self) -> bool {
        false
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        Ok(run(context, self))
    }
}

fn run(context: &CommandContext, arguments: &PolicyCheckArguments) -> Status {
    let (files, problems) = match read(context, arguments.file.as_deref()) {
        Ok(files) => {
            let contradictions =
                files.iter().flat_map(|file| file.contradictions().iter().cloned()).collect();
            (files, contradictions)
        }
        Err(problems) => (Vec::new(), problems),
    };
    let valid = !problems.has_errors();
    if arguments.json {
        context.shell.print_json(&pretty(&Report {
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
        context.shell.print(files_text(&files, context.shell.render_options()));
    } else {
        context.shell.diagnostics(&problems);
    }
    if valid { Status::Success } else { Status::Failed }
}

fn read(context: &CommandContext, file: Option<&Path>) -> Result<Vec<PolicyFile>, Diagnostics> {
    let places = context.app.environment.policy_places(&context.app.directory, &context.app.started_in);
    let Some(file) = file else { return Ok(load(&places)?.files().to_vec()) };
    let is_root_modules = context.app.directory.join(file) == places.root_module_file();
    let level = if is_root_modules { Level::RootModule } else { Level::Organisation };
    let name = file.display().to_string();
    match read_file(level, file, &name, &context.app.directory)? {
        Some(file) => Ok(vec![file]),
        None => {
            let detail = format!("There is no file {name}.");
            Err(Diagnostic::error("Policy file not found", detail).into())
        }
    }
}
