//! `wardian providers mirror`: copies provider packages into a directory that can be used as a
//! filesystem mirror or a network mirror.
//!
//! | file below the directory | content |
//! |---|---|
//! | `HOST/NS/TYPE/terraform-provider-TYPE_VERSION_PLATFORM.zip` | a package |
//! | `HOST/NS/TYPE/terraform-provider-TYPE_VERSION_wasip2_wasm.wasm` | a component |
//! | `HOST/NS/TYPE/index.json` | the versions |
//! | `HOST/NS/TYPE/VERSION.json` | the packages of a version, with their hashes |

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wardian_address::{ProviderAddress, Version};
use wardian_app::{atomic_write, requirements};
use wardian_cache::temporary_path;
use wardian_diagnostic::{Diagnostic, Diagnostics, system_reason};
use wardian_download::NetworkAccess;
use wardian_files::read_regular;
use wardian_install::hash::PackageHash;
use wardian_install::lock_file::LockFile;
use wardian_install::mirror::Platform;
use wardian_install::package::{COMPONENT_PLATFORM, PackageLocation, PluginArtifact, PluginOrigin};
use wardian_install::platform_lock::select_for_platform;
use wardian_install::selection::{SelectedPlugin, Selection};
use wardian_install::sources::InstallationMethodKind;
use wardian_printable::printable;

use super::providers_lock::{ByPlatform, diagnostics, platforms};
use crate::arguments::ProvidersMirrorArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Outcome, Status};
use crate::shell::ViewOptions;

/// Maximum size of an index file.
const MAX_INDEX_BYTES: u64 = 16 << 20;

/// The content of `VERSION.json`.
#[derive(Default, Deserialize, Serialize)]
struct VersionIndex {
    archives: ByPlatform<Archive>,
}

#[derive(Deserialize, Serialize)]
struct Archive {
    hashes: Vec<String>,
    url: String,
}

/// The content of `index.json`.
#[derive(Default, Deserialize, Serialize)]
struct ProviderIndex {
    /// The values are reserved for future versions of the protocol.
    versions: BTreeMap<String, Map<String, Value>>,
}

#[async_trait(?Send)]
impl CommandSpec for ProvidersMirrorArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn needs_workspace(&self) -> bool {
        false
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &ProvidersMirrorArguments) -> Outcome {
    let configuration = context.app.configuration()?;
    let mut required = requirements(&configuration, None);
    required.providers.retain(|address, _| !address.is_built_in());
    let lock = if arguments.lock_file { context.app.lock_file()? } else { LockFile::default() };
    let network = context.app.network(NetworkAccess::Online)?;
    let mut sources = context.app.network_sources(&network)?;
    // An embedded plugin has no package that could be copied.
    sources.methods.retain(|method| method.kind != InstallationMethodKind::Embedded);
    let _footer = context.downloads.begin(&context.shell);
    for address in required.providers.keys() {
        context.shell.say(printable!("- Mirroring {}...", address.for_display()));
    }
    let directory = context.app.data_directory();
    let mut selected_versions = lock.clone();
    for platform in platforms(&arguments.platform) {
        let selection = select_for_platform(&required, &selected_versions, &sources, &platform, &directory)
            .await
            .map_err(|errors| diagnostics(&errors))?;
        copy_all(context, &selection, &platform, &arguments.directory)?;
        selected_versions.providers.extend(selection.lock.providers.clone());
    }
    // Not every provider has a component.
    let component = Platform::named(COMPONENT_PLATFORM);
    for address in required.providers.keys() {
        let mut one = required.clone();
        one.providers.retain(|other, _| other == address);
        let found = select_for_platform(&one, &selected_versions, &sources, &component, &directory).await;
        if let Ok(selection) = found {
            copy_all(context, &selection, &component, &arguments.directory)?;
        }
    }
    Ok(Status::Success)
}

fn copy_all(
    context: &CommandContext,
    selection: &Selection,
    platform: &Platform,
    directory: &Path,
) -> Outcome<()> {
    let mut problems = Diagnostics::new();
    for (address, chosen) in &selection.plugins {
        let (name, version) = (address.for_display(), &chosen.version);
        let how = chosen.shown_authentication();
        let authentication = how.map_or_else(String::new, |how| format!(", {how}"));
        context.shell.say(printable!("  - {name} v{version} for {}{authentication}", platform.as_str()));
        let hash = content_hash(address, chosen, selection);
        if let Err(problem) = copy(address, chosen, hash, platform, directory) {
            problems.push(problem);
        }
    }
    Ok(problems.into_result(())?)
}

/// Returns the `h1:` hash of a package. The lock file has no such hash for a component whose file
/// is signed.
fn content_hash(address: &ProviderAddress, chosen: &SelectedPlugin, selection: &Selection) -> Option<String> {
    let entry = selection.lock.providers.get(address)?;
    let recorded = entry.hashes.iter().find(|hash| hash.scheme() == "h1").cloned();
    let hash = recorded.or_else(|| match &chosen.artifact {
        PluginArtifact::Component(component) => {
            Some(PackageHash::for_component(address, &chosen.version, component.sha256))
        }
        PluginArtifact::Native(native) => native.package_hash.clone(),
    });
    hash.map(|hash| hash.to_string())
}

fn copy(
    address: &ProviderAddress,
    chosen: &SelectedPlugin,
    hash: Option<String>,
    platform: &Platform,
    directory: &Path,
) -> Result<(), Diagnostic> {
    let (PluginOrigin::Downloaded(location) | PluginOrigin::Mirror(location)) = chosen.artifact.origin()
    else {
        return Err(not_packed(address, &chosen.version));
    };
    let (source, extension) = match location {
        PackageLocation::Archive(path) => (path, "zip"),
        PackageLocation::BareComponent(path) => (path, "wasm"),
        PackageLocation::Directory(_) | PackageLocation::BareProgram(_) => {
            return Err(not_packed(address, &chosen.version));
        }
    };
    let provider_directory =
        directory.join(address.hostname()).join(address.namespace()).join(address.type_name());
    let failed = |path: &Path, error: io::Error| {
        let detail = format!("The file {} cannot be written: {}.", path.display(), system_reason(&error));
        Diagnostic::error("Failed to create local directory", detail)
    };
    fs::create_dir_all(&provider_directory).map_err(|error| failed(&provider_directory, error))?;
    let (type_name, version) = (address.type_name(), &chosen.version);
    let file_name = format!("terraform-provider-{type_name}_{version}_{}.{extension}", platform.as_str());
    let target = provider_directory.join(&file_name);
    let staged = temporary_path(&target).map_err(|error| failed(&target, error))?;
    let copied = fs::copy(source, &staged).and_then(|_| fs::rename(&staged, &target));
    if let Err(error) = copied {
        // The error of the copy is reported, so an error of the removal is ignored.
        let _ = fs::remove_file(&staged);
        return Err(failed(&target, error));
    }
    let archive = Archive { hashes: hash.into_iter().collect(), url: file_name };
    update_index(&provider_directory.join(format!("{version}.json")), |index: &mut VersionIndex| {
        index.archives.insert(platform.as_str().to_owned(), archive);
    })
    .map_err(|(path, error)| failed(&path, error))?;
    update_index(&provider_directory.join("index.json"), |index: &mut ProviderIndex| {
        index.versions.insert(version.to_string(), Map::new());
    })
    .map_err(|(path, error)| failed(&path, error))
}

/// Changes a JSON file. A file that is missing or invalid is created again.
fn update_index<T: Default + Serialize + for<'de> Deserialize<'de>>(
    path: &Path,
    change: impl FnOnce(&mut T),
) -> Result<(), (PathBuf, io::Error)> {
    let read = read_regular(path, MAX_INDEX_BYTES).ok();
    let mut index: T = read.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    change(&mut index);
    let failed = |error| (path.to_owned(), error);
    let text = serde_json::to_string_pretty(&index).map_err(|error| failed(error.into()))?;
    atomic_write::write(path, text.as_bytes()).map_err(failed)
}

fn not_packed(address: &ProviderAddress, version: &Version) -> Diagnostic {
    let detail = format!(
        "{} v{version} is available only as an unpacked directory, which cannot be copied to a mirror. Use a \
         source with the packed release.",
        address.for_display()
    );
    Diagnostic::error("Cannot mirror an unpacked package", detail)
}
