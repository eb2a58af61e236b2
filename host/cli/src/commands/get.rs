//! `wardian get`: installs the modules that the configuration calls.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use wardian_app::host_network::HostNetwork;
use wardian_app::modules::{self, InstalledConfiguration, ModuleOptions};
use wardian_app::test_suite::DEFAULT_TEST_DIRECTORY;
use wardian_download::NetworkAccess;
use wardian_modules::{InstallMode, ManifestRecord};
use wardian_printable::printable;

use crate::arguments::GetArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Outcome, Status};
use crate::progress::ModuleProgress;
use crate::shell::{OutputKind, ViewOptions};

#[async_trait(?Send)]
impl CommandSpec for GetArguments {
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

async fn run(context: &CommandContext, arguments: &GetArguments) -> Outcome {
    let network = context.app.network(NetworkAccess::Online)?;
    let mode = if arguments.update { InstallMode::Upgrade } else { InstallMode::Keep };
    let test_directory = arguments.test_directory.as_deref();
    let installed = install_modules(context, &network, mode, test_directory, true).await?;
    modules::record_pins(&context.app, &installed.pins, context.app.confinement.is_some())?;
    Ok(Status::Success)
}

/// Installs the modules that the configuration calls and that its tests execute, and reports each one.
/// Only `get` writes the list of modules if the configuration calls none.
pub(crate) async fn install_modules(
    context: &CommandContext,
    network: &HostNetwork,
    mode: InstallMode,
    test_directory: Option<&Path>,
    writes_empty_manifest: bool,
) -> Outcome<InstalledConfiguration> {
    let observer = Arc::new(ModuleProgress::new(&context.shell));
    let _footer = context.downloads.begin(&context.shell);
    let test_directory = Some(test_directory.unwrap_or(Path::new(DEFAULT_TEST_DIRECTORY)));
    let options = ModuleOptions { network, mode, observer, writes_empty_manifest, test_directory };
    let installed = modules::install(&context.app, options).await?;
    report_modules(context, &installed.local_modules);
    Ok(installed)
}

/// Prints `- name in directory` for each module in a local directory.
fn report_modules(context: &CommandContext, records: &[ManifestRecord]) {
    for record in records {
        context.shell.say(printable!("- {} in {}", record.key, record.directory));
    }
}
