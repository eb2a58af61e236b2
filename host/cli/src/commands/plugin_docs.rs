//! `wardian plugin docs`: generates the documentation of a provider.

use std::path::PathBuf;

use async_trait::async_trait;
use wardian_app::sentence;
use wardian_authoring::documentation::layout::UnpublishedFile;
use wardian_authoring::documentation::{
    Documentation, DocumentationError, PageDifference, ProviderDocumentation, layout,
};
use wardian_authoring::project::{BuildProfile, Project};
use wardian_diagnostic::Diagnostic;
use wardian_printable::printable;

use crate::arguments::PluginDocsArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::component_file::{FileProvider, build, project_failure};
use crate::failure::{Failure, Outcome, Status};
use crate::interrupt;
use crate::render::counted::counted;
use crate::shell::{OutputKind, ViewOptions};

/// Maximum number of missing descriptions or examples that a warning lists.
const MAX_LISTED: usize = 20;

#[async_trait(?Send)]
impl CommandSpec for PluginDocsArguments {
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

async fn run(context: &CommandContext, arguments: &PluginDocsArguments) -> Outcome {
    interrupt::end_with_build_tools()?;
    let (directory, provider) = provider(context, arguments).await?;
    let schema = provider.schema().await?;
    let source = ProviderDocumentation {
        schema: &schema,
        type_name: provider.address.type_name(),
        directory: &directory,
    };
    let documentation = Documentation::generate(source).map_err(|error| failure(&error))?;
    let differences =
        if arguments.check { documentation.differences(&directory) } else { documentation.write(&directory) };
    let differences = differences.map_err(|error| failure(&error))?;
    for (path, difference) in &differences {
        let text = match (difference, arguments.check) {
            (PageDifference::Missing, true) => "is missing",
            (PageDifference::Outdated, true) => "is out of date",
            (PageDifference::Surplus, true) => "describes a type that does not exist",
            (PageDifference::Missing, false) => "was created",
            (PageDifference::Outdated, false) => "was updated",
            (PageDifference::Surplus, false) => "was removed",
        };
        context.shell.say(printable!("- {path} {text}"));
    }
    let layout = layout::problems(&directory).map_err(|error| failure(&error))?;
    warn(context, &documentation, &layout);
    let count = documentation.pages.len();
    if arguments.check && !differences.is_empty() {
        return Err(Failure::error(
            "Documentation is out of date",
            format!(
                "Out of date: {} of {}. Run `wardian plugin docs`.",
                differences.len(),
                counted(count, "page")
            ),
        ));
    }
    let now = if differences.is_empty() { "" } else { " now" };
    let are = if count == 1 { "is" } else { "are" };
    context.shell.say(printable!("{} {are}{now} up to date.", counted(count, "page")));
    Ok(Status::Success)
}

/// Loads the provider, which is built first if the argument is a directory. Returns the project's
/// directory.
async fn provider(
    context: &CommandContext,
    arguments: &PluginDocsArguments,
) -> Outcome<(PathBuf, FileProvider)> {
    let path = &arguments.plugin;
    if path.is_file() {
        let provider = FileProvider::load(context, path, arguments.address.as_ref()).await?;
        return Ok((context.app.directory.clone(), provider));
    }
    let project = Project::load(path).await.map_err(|error| project_failure(context, &error))?;
    let component = build(context, &project, BuildProfile::Development).await?;
    let address = arguments.address.as_ref().unwrap_or(&project.address);
    let provider = FileProvider::load(context, &component, Some(address)).await?;
    Ok((project.directory, provider))
}

/// Warns about missing texts, and about files that registries do not publish as they are.
fn warn(context: &CommandContext, documentation: &Documentation, layout: &[UnpublishedFile]) {
    let mut warnings = Vec::new();
    let problems: Vec<String> = layout.iter().map(|problem| sentence(&problem.to_string())).collect();
    let lists = [
        ("Missing descriptions", &documentation.missing_descriptions),
        ("Missing examples", &documentation.missing_examples),
        ("Layout of the documentation", &problems),
    ];
    for (summary, missing) in lists.into_iter().filter(|(_, missing)| !missing.is_empty()) {
        let mut detail = missing.iter().take(MAX_LISTED).map(String::as_str).collect::<Vec<_>>().join("\n");
        if missing.len() > MAX_LISTED {
            detail = format!("{detail}\nand {} more", missing.len() - MAX_LISTED);
        }
        warnings.push(Diagnostic::warning(summary, detail));
    }
    context.shell.diagnostics(&warnings.into_iter().collect());
}

fn failure(error: &DocumentationError) -> Failure {
    Failure::error("Documentation cannot be generated", format!("{error}."))
}
