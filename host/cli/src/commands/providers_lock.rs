//! `wardian providers lock`: records the hashes of provider packages for other platforms.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use async_trait::async_trait;
use wardian_address::ProviderAddress;
use wardian_app::{requirements, sentence};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_download::NetworkAccess;
use wardian_install::lock_file::LOCK_FILE_NAME;
use wardian_install::mirror::{FilesystemMirror, Platform};
use wardian_install::network_source::NetworkMethod;
use wardian_install::platform_lock::{PlatformLockChange, add_hashes, restrict, select_for_platform};
use wardian_install::selection::{Requirements, SelectedPlugin, SelectionError};
use wardian_install::sources::{InstallationMethod, InstallationMethodKind, ProviderFilter, Sources};
use wardian_printable::printable;

use crate::arguments::ProvidersLockArguments;
use crate::command_context::CommandContext;
use crate::command_spec::{CommandSpec, InvalidOptions};
use crate::failure::{Failure, Outcome, Status};
use crate::shell::ViewOptions;

#[async_trait(?Send)]
impl CommandSpec for ProvidersLockArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn needs_workspace(&self) -> bool {
        false
    }

    fn check(&self) -> Result<(), InvalidOptions> {
        if self.fs_mirror.is_some() && self.net_mirror.is_some() {
            return Err(InvalidOptions::new(
                "Invalid installation method options",
                "-fs-mirror and -net-mirror are alternatives: use only one of them.",
            ));
        }
        Ok(())
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &ProvidersLockArguments) -> Outcome {
    let configuration = context.app.configuration()?;
    let required = required_providers(&requirements(&configuration, None), &arguments.providers)?;
    let mut lock = context.app.lock_file()?;
    let before = lock.clone();
    let network = context.app.network(NetworkAccess::Online)?;
    let mut sources = context.app.network_sources(&network)?;
    only_method(&mut sources, method(arguments));
    let platforms = platforms(&arguments.platform);
    let _footer = context.downloads.begin(&context.shell);
    for platform in &platforms {
        for address in required.providers.keys() {
            let constraint = lock.providers.get(address).map(|entry| entry.version.to_string());
            let version = constraint.map(|version| format!(" {version}")).unwrap_or_default();
            let (name, platform) = (address.for_display(), platform.as_str());
            context.shell.say(printable!("- Fetching {name}{version} for {platform}..."));
        }
        let directory = context.app.data_directory();
        let selection = select_for_platform(&required, &lock, &sources, platform, &directory)
            .await
            .map_err(|errors| not_retrieved(&errors, platform))?;
        for (address, change) in add_hashes(&mut lock, &selection) {
            if let Some(chosen) = selection.plugins.get(&address) {
                report(context, &address, chosen, platform, change);
            }
        }
    }
    let product = context.shell.product();
    if lock == before {
        let name = product.name();
        context
            .shell
            .say(printable!("\nSuccess! {name} has validated the lock file and found no need for changes."));
        return Ok(Status::Success);
    }
    lock.save(Path::new(LOCK_FILE_NAME))
        .map_err(|error| Failure::error("Lock file cannot be written", sentence(&error.to_string())))?;
    context.shell.say(printable!(
        "\nSuccess! {} has updated the lock file.\n\nReview the changes in .terraform.lock.hcl and then commit to \
         your\nversion control system to retain the new checksums.",
        product.name()
    ));
    Ok(Status::Success)
}

fn report(
    context: &CommandContext,
    address: &ProviderAddress,
    chosen: &SelectedPlugin,
    platform: &Platform,
    change: PlatformLockChange,
) {
    let (name, version, platform) = (address.for_display(), &chosen.version, platform.as_str());
    let authentication = chosen.shown_authentication().map(|how| format!(" ({how})")).unwrap_or_default();
    context.shell.say(printable!("- Retrieved {name} {version} for {platform}{authentication}"));
    let effect = match change {
        PlatformLockChange::NewProvider => {
            "This was a new provider and the checksums for this platform are now tracked in the lock file"
        }
        PlatformLockChange::NewHashes => {
            "Additional checksums for this platform are now tracked in the lock file"
        }
        PlatformLockChange::None => "All checksums for this platform were already tracked in the lock file",
    };
    context.shell.say(printable!("- Obtained {name} checksums for {platform}; {effect}"));
}

fn method(arguments: &ProvidersLockArguments) -> InstallationMethodKind {
    match (&arguments.fs_mirror, &arguments.net_mirror) {
        (Some(directory), _) => InstallationMethodKind::Filesystem(FilesystemMirror::new(directory)),
        (None, Some(url)) => {
            let url = if url.ends_with('/') { url.clone() } else { format!("{url}/") };
            InstallationMethodKind::Network(NetworkMethod::Mirror { url })
        }
        (None, None) => InstallationMethodKind::Network(NetworkMethod::Registry),
    }
}

fn only_method(sources: &mut Sources<'_>, kind: InstallationMethodKind) {
    sources.methods = vec![InstallationMethod { kind, scope: ProviderFilter::default() }];
}

/// Returns the platforms that options specify, or this machine's platform.
pub(super) fn platforms(given: &[Platform]) -> Vec<Platform> {
    if given.is_empty() { vec![Platform::current()] } else { given.to_vec() }
}

/// Returns the requirements of the named providers, or of all providers that can be installed.
fn required_providers(all: &Requirements, named: &[ProviderAddress]) -> Outcome<Requirements> {
    let unknown: Diagnostics = named
        .iter()
        .filter(|address| !all.providers.contains_key(*address))
        .map(|address| {
            let detail = format!(
                "The configuration does not require the provider {}. Specify providers in \
                 required_providers by their source addresses.",
                address.for_display()
            );
            Diagnostic::error("Invalid provider argument", detail)
        })
        .collect();
    unknown.into_result(())?;
    let mut required = restrict(all, &named.iter().cloned().collect::<BTreeSet<_>>());
    required.providers.retain(|address, _| !address.is_built_in());
    Ok(required)
}

fn not_retrieved(errors: &[SelectionError], platform: &Platform) -> Diagnostic {
    let reasons: Vec<String> = errors.iter().map(|error| sentence(&error.to_string())).collect();
    let detail = format!(
        "The providers for {} could not be fetched to compute their hashes. The lock file was not changed.\n\n{}",
        platform.as_str(),
        reasons.join("\n\n")
    );
    Diagnostic::error("Could not retrieve providers for locking", detail)
}

pub(super) fn diagnostics(errors: &[SelectionError]) -> Diagnostics {
    let to_diagnostic =
        |error: &SelectionError| Diagnostic::error(error.summary(), sentence(&error.to_string()));
    errors.iter().map(to_diagnostic).collect()
}

/// The packages of a provider by platform.
pub(super) type ByPlatform<T> = BTreeMap<String, T>;
