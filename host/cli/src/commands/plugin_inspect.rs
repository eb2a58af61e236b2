//! `wardian plugin inspect`: prints a plugin's imports and the capabilities that it requests.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use async_trait::async_trait;
use wardian_address::{Constraints, ProviderAddress, Version};
use wardian_app::consent_lock::component_name;
use wardian_app::sentence;
use wardian_declaration::{InspectError, inspect};
use wardian_diagnostic::{Diagnostic, Diagnostics, system_reason};
use wardian_install::file_digests::FileDigests;
use wardian_install::hash::{PackageFiles, PackageHash, Sha256Digest};
use wardian_install::installed::{ResolveError, resolve};
use wardian_install::package::{
    ComponentArtifact, ExpectedContent, MAX_COMPONENT_BYTES, OpenedPackage, PackageLocation, PluginArtifact,
    PluginOrigin,
};
use wardian_install::selection::Requirements;

use crate::arguments::PluginInspectArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::render::json::pretty;
use crate::render::plugin::{PluginReport, report_text};
use crate::shell::ViewOptions;

/// A component and its names.
struct InspectedPlugin {
    name: String,
    origin: Option<String>,
    sha256: Sha256Digest,
    package: Option<PackageHash>,
    bytes: Vec<u8>,
}

#[async_trait(?Send)]
impl CommandSpec for PluginInspectArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn needs_workspace(&self) -> bool {
        false
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self)
    }
}

fn run(context: &CommandContext, arguments: &PluginInspectArguments) -> Outcome {
    let subject = subject(context, &arguments.plugin)?;
    let inspected = inspect(&subject.bytes, &context.app.directory).map_err(|error| {
        let detail = format!("{} cannot be inspected: {error}.{}", subject.name, hint(&error));
        Failure::error("Not a loadable plugin", detail)
    })?;
    let report = PluginReport::new(
        (&subject.name, subject.origin.as_deref()),
        (subject.bytes.len(), subject.sha256.to_string(), subject.package.as_ref().map(ToString::to_string)),
        &inspected,
        wardian_sandbox::offers_import,
    );
    if arguments.json {
        context.shell.print_json(&pretty(&report));
    } else {
        context.shell.print(report_text(
            &report,
            &inspected.declaration.requests,
            context.shell.render_options(),
        ));
    }
    Ok(if report.loads() { Status::Success } else { Status::Failed })
}

fn hint(error: &InspectError) -> &'static str {
    match error {
        InspectError::NotAComponent => {
            " Plugins are components: for Rust, build for the target wasm32-wasip2. For a package, name the \
             .wasm file in it."
        }
        _ => "",
    }
}

fn subject(context: &CommandContext, text: &str) -> Outcome<InspectedPlugin> {
    let path = Path::new(text);
    let has_extension = |wanted| path.extension().is_some_and(|extension| extension == wanted);
    if has_extension("zip") {
        return from_archive(path);
    }
    if has_extension("wasm") || text.starts_with(['.', '/']) || path.exists() {
        return from_file(path);
    }
    let address = text.parse::<ProviderAddress>().map_err(|error| {
        Failure::error(
            "No such plugin",
            format!(
                "There is no file {text:?}, and it is not a provider \
            address: {error}."
            ),
        )
    })?;
    let component = installed(context, &address)?;
    let sha256 = component.sha256;
    let package =
        component.version.as_ref().map(|version| PackageHash::for_component(&address, version, sha256));
    let origin = Some(component.origin.to_string());
    Ok(InspectedPlugin {
        name: component_name(&component),
        origin,
        sha256,
        package,
        bytes: component.bytes().to_vec(),
    })
}

fn from_file(path: &Path) -> Outcome<InspectedPlugin> {
    let bytes = read(path).map_err(|error| {
        Failure::error(
            "File cannot be read",
            format!("{} cannot be read: {}.", path.display(), system_reason(&error)),
        )
    })?;
    let sha256 = Sha256Digest::hash(&bytes);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // The package hash also covers the component's file name, so it is known only for a name that a
    // package can contain.
    let is_package_name =
        name.starts_with("terraform-provider-") && name.contains("_v") && name.ends_with(".wasm");
    let mut files = PackageFiles::default();
    let package = (is_package_name && files.add(&name, sha256).is_ok()).then(|| files.hash());
    Ok(InspectedPlugin { name: path.display().to_string(), origin: None, sha256, package, bytes })
}

/// Reads the plugin in a package. The name of the package determines the plugin's name.
fn from_archive(path: &Path) -> Outcome<InspectedPlugin> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let parts = name.strip_suffix(".zip").and_then(|name| name.strip_prefix("terraform-provider-"));
    let parts = parts.and_then(|name| {
        let (type_name, rest) = name.split_once('_')?;
        let version = rest.split('_').next()?;
        let address = ProviderAddress::implied_by_local_name(type_name).ok()?;
        Some((address, version.parse::<Version>().ok()?))
    });
    let Some((address, version)) = parts else {
        return Err(Failure::error(
            "Not a package name",
            format!(
                "Package names have the form terraform-provider-NAME_VERSION_PLATFORM.zip, which identifies \
                 the plugin in the package; {name} does not. Unpack it, and name the .wasm file in \
                 it."
            ),
        ));
    };
    let location = PackageLocation::Archive(path.to_owned());
    let origin = PluginOrigin::Mirror(location.clone());
    let digests = FileDigests::default();
    let package = OpenedPackage::open(
        &address,
        &version,
        &location,
        origin,
        ExpectedContent::ComponentOrNative,
        &digests,
    )
    .map_err(|error| Failure::error("Package cannot be read", sentence(&error.to_string())))?;
    match package.artifact {
        PluginArtifact::Component(component) => Ok(InspectedPlugin {
            name: path.display().to_string(),
            origin: None,
            sha256: component.sha256,
            package: Some(package.content_hash),
            bytes: component.bytes().to_vec(),
        }),
        PluginArtifact::Native(_) => Err(is_native(&path.display(), path)),
    }
}

fn is_native(plugin: &dyn std::fmt::Display, file: &Path) -> Failure {
    Failure::error(
        "Native plugin",
        format!(
            "{plugin} is a native program ({}). It runs outside the sandbox and can do anything you can; \
             its requests are not known.",
            file.display()
        ),
    )
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_COMPONENT_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_COMPONENT_BYTES {
        return Err(io::Error::other("it exceeds the maximum size of a plugin"));
    }
    Ok(bytes)
}

/// Returns the version in the lock file, or else the newest embedded version.
fn installed(context: &CommandContext, address: &ProviderAddress) -> Outcome<ComponentArtifact> {
    let lock = context.app.lock_file()?;
    let sources = context.app.sources()?;
    let mut wanted = Requirements::default();
    wanted.add(address.clone(), Constraints::default(), "the command line");
    let artifact = match resolve(&wanted, &lock, &sources, &context.app.data_directory()) {
        Ok(mut resolved) => resolved.artifacts.remove(address),
        Err(errors) if matches!(errors.as_slice(), [ResolveError::NotLocked(_)]) => {
            let newest = sources.catalog.versions_of(address).max();
            newest
                .and_then(|version| sources.catalog.find(address, version))
                .map(|plugin| OpenedPackage::embedded(plugin).artifact)
        }
        Err(errors) => {
            let told =
                |error: &ResolveError| Diagnostic::error(error.summary(), sentence(&error.to_string()));
            return Err(errors.iter().map(told).collect::<Diagnostics>().into());
        }
    };
    match artifact {
        Some(PluginArtifact::Component(component)) => Ok(component),
        Some(PluginArtifact::Native(native)) => Err(is_native(&address.for_display(), &native.file)),
        None => Err(Failure::error(
            "Plugin not installed",
            format!(
                "{} is neither in the lock file nor embedded. Run `wardian init` in a configuration that \
                 uses it, or name its file.",
                address.for_display()
            ),
        )),
    }
}
