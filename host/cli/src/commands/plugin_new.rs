//! `wardian plugin new`: creates the project of a new provider.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use wardian_app::sentence;
use wardian_authoring::scaffold::{Language, NewProvider, SdkSource, create};
use wardian_printable::printable;

use crate::arguments::PluginNewArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::render::counted::counted;
use crate::shell::{OutputKind, ViewOptions};

#[async_trait(?Send)]
impl CommandSpec for PluginNewArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn output_kind(&self) -> OutputKind {
        OutputKind::Report
    }

    fn needs_workspace(&self) -> bool {
        false
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self)
    }
}

fn run(context: &CommandContext, arguments: &PluginNewArguments) -> Outcome {
    let failed = |error: &dyn std::error::Error| {
        Failure::error("Project cannot be created", sentence(&error.to_string()))
    };
    let language = Language::parse(&arguments.language).ok_or_else(|| {
        let known: Vec<&str> = Language::ALL.iter().map(|(name, _)| *name).collect();
        let detail = format!(
            "\"{}\" is not a language for plugins; use one of: {}.",
            arguments.language,
            known.join(", ")
        );
        Failure::error("Project cannot be created", detail)
    })?;
    let provider = NewProvider::parse(&arguments.name).map_err(|error| failed(&error))?;
    let directory = arguments.directory.clone().unwrap_or_else(|| provider.directory_name().into());
    let given = arguments.sdk_path.clone().or_else(|| context.app.environment.sdk_directory());
    let sdk = match given {
        Some(path) => SdkSource::Directory(absolute(&path, &context.app.directory)),
        None => SdkSource::Release,
    };
    let project = create(&provider, language, &directory, &sdk).map_err(|error| failed(&error))?;
    let shell = &context.shell;
    shell.say(printable!(
        "Created {} with {}:",
        project.directory.display(),
        counted(project.files.len(), "file")
    ));
    for file in &project.files {
        shell.say(printable!("  {file}"));
    }
    shell.say(printable!("\nProvider address: {}", provider.address().for_display()));
    shell.say(printable!(
        "\nNext, build the provider, plan its example, and run its tests after each change:"
    ));
    let program = shell.product().command();
    shell.say(printable!("  cd {}", project.directory.display()));
    for command in project.setup_commands {
        shell.say(printable!("  {command}"));
    }
    shell.say(printable!("  {program} plugin dev"));
    shell.say(printable!("\nTo build a release:"));
    shell.say(printable!("  {}", project.build_command));
    Ok(Status::Success)
}

/// Returns the absolute path without symbolic links, if the path exists.
fn absolute(path: &Path, directory: &Path) -> PathBuf {
    let joined = directory.join(path);
    std::fs::canonicalize(&joined).unwrap_or(joined)
}
