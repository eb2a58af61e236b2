//! Loads the provider in a component's file, for commands on plugins that are not installed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use wardian_address::ProviderAddress;
use wardian_app::plugins::Plugins;
use wardian_app::sentence;
use wardian_authoring::project::{BuildProfile, Project, ProjectError};
use wardian_install::package::{PluginArtifact, open_override};
use wardian_plugin::{CallContext, PluginDiagnostics, Provider, ProviderSchema, ProviderSource as _};
use wardian_printable::{PrintableText, printable};

use crate::command_context::CommandContext;
use crate::commands::serve::type_name;
use crate::failure::{Failure, Outcome};
use crate::shell::Paint;

/// A loaded provider, with the plugins that it belongs to.
pub(crate) struct FileProvider {
    pub(crate) address: ProviderAddress,
    pub(crate) provider: Arc<dyn Provider>,
    _plugins: Plugins,
}

impl FileProvider {
    /// Loads a component. Without an address, the name of the file determines the provider's type.
    pub(crate) async fn load(
        context: &CommandContext,
        path: &Path,
        address: Option<&ProviderAddress>,
    ) -> Outcome<Self> {
        let unreadable =
            |problem: &str| Failure::error("Plugin cannot be read", format!("{}: {problem}", path.display()));
        let address = match (address, type_name(path)) {
            (Some(address), _) => address.clone(),
            (None, Some(name)) => ProviderAddress::parse(&format!("hashicorp/{name}"))
                .map_err(|error| unreadable(&format!("{error}; specify the provider with -address.")))?,
            (None, None) => {
                return Err(unreadable("the provider is not known; specify it with -address."));
            }
        };
        let artifact =
            open_override(&address, path).map_err(|error| unreadable(&sentence(&error.to_string())))?;
        if let PluginArtifact::Native(_) = artifact {
            return Err(unreadable("it is a native program, not a component."));
        }
        let artifacts = BTreeMap::from([(address.clone(), artifact)]);
        let plugins = context.app.plugins_from(artifacts, BTreeMap::new(), 1)?;
        let provider = plugins.provider(&address).await.map_err(|errors| unusable(&errors))?;
        Ok(Self { address, provider, _plugins: plugins })
    }

    /// Returns the provider's schema.
    pub(crate) async fn schema(&self) -> Outcome<Arc<ProviderSchema>> {
        self.provider.schema(&CallContext::default()).await.map_err(|errors| unusable(&errors))
    }
}

fn unusable(errors: &PluginDiagnostics) -> Failure {
    let texts: Vec<String> =
        errors.iter().map(|error| format!("{}: {}", error.summary, error.detail)).collect();
    Failure::error("Plugin cannot be used", texts.join("\n"))
}

/// Builds a project's component, and shows the packages that are compiled.
pub(crate) async fn build(
    context: &CommandContext,
    project: &Project,
    profile: BuildProfile,
) -> Outcome<std::path::PathBuf> {
    project.build(profile, &mut show_package(context)).await.map_err(|error| project_failure(context, &error))
}

/// Returns a function that prints the name of a package that is compiled.
pub(crate) fn show_package(context: &CommandContext) -> impl FnMut(&str) + Send + use<> {
    let shell = Arc::clone(&context.shell);
    move |name: &str| shell.say(shell.paint(Paint::Faint, printable!("  compiling {name}")))
}

/// Converts an error of a project. The output of the compiler and of tests is printed as it is.
pub(crate) fn project_failure(context: &CommandContext, error: &ProjectError) -> Failure {
    let (summary, output) = match error {
        ProjectError::Build { program, output } => ("Build failed", Some((program, output))),
        ProjectError::Tests { program, output } => ("Tests failed", Some((program, output))),
        ProjectError::NoProgram { .. } | ProjectError::NoPackageInstalled { .. } | ProjectError::NoTarget => {
            ("Missing toolchain", None)
        }
        _ => ("Project cannot be used", None),
    };
    match output {
        Some((program, output)) => {
            context.shell.note(PrintableText::from_lines(output));
            Failure::error(summary, format!("The output of {program} is above."))
        }
        None => Failure::error(summary, sentence(&error.to_string())),
    }
}
