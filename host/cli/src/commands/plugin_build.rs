//! `wardian plugin build`: builds the component of a provider for a release.

use std::time::Instant;

use async_trait::async_trait;
use wardian_app::atomic_write;
use wardian_authoring::project::{BuildProfile, Project};
use wardian_diagnostic::system_reason;
use wardian_files::read_regular;
use wardian_install::package::MAX_COMPONENT_BYTES;
use wardian_printable::printable;

use super::plugin_dev::{megabytes, seconds};
use crate::arguments::PluginBuildArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::component_file::{build, project_failure};
use crate::failure::{Failure, Outcome, Status};
use crate::interrupt;
use crate::shell::{OutputKind, ViewOptions};

#[async_trait(?Send)]
impl CommandSpec for PluginBuildArguments {
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
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &PluginBuildArguments) -> Outcome {
    interrupt::end_with_build_tools()?;
    let project =
        Project::load(&arguments.directory).await.map_err(|error| project_failure(context, &error))?;
    let shell = &context.shell;
    shell.say(printable!("Building {}...", project.name));
    let started = Instant::now();
    let component = build(context, &project, BuildProfile::Release).await?;
    let failed = |summary, path: &std::path::Path, error: &std::io::Error| {
        Failure::error(summary, format!("{}: {}.", path.display(), system_reason(error)))
    };
    let bytes = read_regular(&component, MAX_COMPONENT_BYTES)
        .map_err(|error| failed("Component cannot be read", &component, &error))?;
    if let Some(out) = &arguments.out {
        atomic_write::write(out, &bytes)
            .map_err(|error| failed("Component cannot be written", out, &error))?;
    }
    let shown = component.strip_prefix(&context.app.directory).unwrap_or(&component);
    let out = arguments.out.as_deref().unwrap_or(shown);
    let size = megabytes(bytes.len());
    shell.say(printable!("Wrote {} in {} ({size}).", out.display(), seconds(started.elapsed())));
    Ok(Status::Success)
}
