//! Installs the provider of the state store, which must be available before a state can be read.
//!
//! The lock file is written when all plugins are selected. Until then, the selection is in effect for
//! the state store.

use wardian_app::backend::BackendOptions;
use wardian_app::consent::{self, ConsentOptions};
use wardian_app::host_network::HostNetwork;
use wardian_app::{sentence, store_requirements};
use wardian_config::Module;
use wardian_install::installed::install as install_plugin;

use super::{lines, select_plugins};
use crate::arguments::InitArguments;
use crate::command_context::CommandContext;
use crate::failure::{Failure, Outcome};
use crate::shell::InitStep;

/// Selects and installs the providers of state stores, if there are any.
pub(super) async fn install(
    context: &CommandContext,
    root: &Module,
    options: &BackendOptions,
    network: &HostNetwork,
    arguments: &InitArguments,
) -> Outcome<()> {
    let requirements = store_requirements(&context.app, root, options)?;
    if requirements.providers.is_empty() {
        return Ok(());
    }
    let shell = &context.shell;
    lines::step(shell, InitStep::StateStore);
    let sources = context.app.network_sources(network)?;
    let mut lock = context.app.lock_file()?;
    lock.providers.retain(|address, _| requirements.providers.contains_key(address));
    let selection = {
        let _footer = context.downloads.begin(shell);
        select_plugins(context, &requirements, &lock, &sources, arguments).await?
    };
    let consent_options = ConsentOptions { keeps_others: true, ..arguments.consent_options() };
    consent::confirm_native_programs(&context.app, &selection, consent_options, &arguments.allow_native)
        .await?;
    let agreements = consent::obtain(&context.app, &selection, &consent_options).await?;
    for chosen in selection.plugins.values() {
        install_plugin(chosen, &context.app.data_directory(), &sources)
            .map_err(|error| Failure::error("Plugin cannot be installed", sentence(&error.to_string())))?;
    }
    sources.digests.save_written();
    consent::record(&context.app, &agreements)?;
    context.app.record_granted_paths()?;
    context.app.select_state_store_plugins(selection.lock);
    Ok(())
}
