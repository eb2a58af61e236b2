//! `wardian serve` and `wardian plugin bundle`: serve components as native plugins, native plugins
//! over the other protocol version, and several plugins in one process.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use wardian_address::ProviderAddress;
use wardian_app::sentence;
use wardian_diagnostic::system_reason;
use wardian_install::package::{
    ComponentArtifact, OpenedPackage, PluginArtifact, PluginOrigin, open_override,
};
use wardian_legacy_grpc_bridge::ProtocolVersion;
use wardian_legacy_grpc_bridge::server::{Multiplexed, ServeError, serve};
use wardian_plugin::{Provider, ProviderSource as _};

use crate::arguments::{BundleArguments, Protocol, ServeArguments, ServedArguments};
use crate::bundle::Bundle;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::shell::ViewOptions;
use wardian_printable::printable;

/// Maximum number of concurrent calls, regardless of how many calls the host makes.
const PARALLELISM: usize = 10;
/// The prefix of the file names of native plugins.
pub(crate) const PREFIX: &str = "terraform-provider-";
/// The same prefix in the names of libraries, in which cargo replaces `-` by `_`.
const CARGO_PREFIX: &str = "terraform_provider_";

/// A plugin to serve.
struct Served {
    artifact: PluginArtifact,
    protocol: Option<Protocol>,
}

impl Served {
    fn component(component: ComponentArtifact, protocol: Option<Protocol>) -> Self {
        Self { artifact: PluginArtifact::Component(component), protocol }
    }
}

#[async_trait(?Send)]
impl CommandSpec for ServeArguments {
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

#[async_trait(?Send)]
impl CommandSpec for BundleArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn needs_workspace(&self) -> bool {
        false
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        bundle(context, self)
    }
}

/// Serves plugins to the host that started this process.
async fn run(context: &CommandContext, arguments: &ServeArguments) -> Outcome {
    let first = find(context, &arguments.served)?;
    let protocol = first.protocol;
    let mut names = vec![(first.artifact.address().clone(), arguments.served.plugin.as_str())];
    let mut artifacts = BTreeMap::from([(first.artifact.address().clone(), first.artifact)]);
    for plugin in &arguments.further {
        let one = ServedArguments { plugin: plugin.clone(), protocol, address: None };
        let artifact = find(context, &one)?.artifact;
        let address = artifact.address().clone();
        names.push((address.clone(), plugin));
        if artifacts.insert(address.clone(), artifact).is_some() {
            let detail = format!("Two of the plugins have the address {}.", address.for_display());
            return Err(Failure::error("Plugins cannot be served as one provider", detail));
        }
    }
    let plugins = context.app.plugins_from(artifacts, BTreeMap::new(), PARALLELISM)?;
    let mut parts: Vec<(Arc<str>, Arc<dyn Provider>)> = Vec::new();
    for (address, name) in names {
        let provider = plugins.provider(&address).await.map_err(|said| {
            let said: Vec<String> = said.iter().map(|d| format!("{}: {}", d.summary, d.detail)).collect();
            Failure::error("Plugin cannot be served", said.join("\n"))
        })?;
        parts.push((name.into(), provider));
    }
    let provider: Arc<dyn Provider> = match <[_; 1]>::try_from(parts) {
        Ok([(_, provider)]) => provider,
        Err(parts) => Arc::new(Multiplexed::new(parts).await.map_err(|error| {
            Failure::error("Plugins cannot be served as one provider", sentence(&error.to_string()))
        })?),
    };
    // An interrupt on the terminal is also sent to the host, which stops its plugins.
    tokio::spawn(async { while tokio::signal::ctrl_c().await.is_ok() {} });
    let versions: &[ProtocolVersion] = match protocol {
        None => &[ProtocolVersion::Six, ProtocolVersion::Five],
        Some(Protocol::Five) => &[ProtocolVersion::Five],
        Some(Protocol::Six) => &[ProtocolVersion::Six],
    };
    let host = context.app.environment.host();
    let served = serve(provider, versions, &host, &mut std::io::stdout()).await;
    for plugin in plugins.native() {
        plugin.close().await;
    }
    served.map_err(|error| failure(&error))?;
    Ok(Status::Success)
}

fn failure(error: &ServeError) -> Failure {
    let summary = match error {
        ServeError::NotStartedByAHost => "Not started as a plugin",
        _ => "Plugin cannot be served",
    };
    Failure::error(summary, sentence(&error.to_string()))
}

/// Writes the `wardian` binary and a plugin to one file.
fn bundle(context: &CommandContext, arguments: &BundleArguments) -> Outcome {
    let served = find(context, &arguments.served)?;
    let PluginArtifact::Component(component) = served.artifact else {
        let detail = format!("{}: it is not a component.", arguments.served.plugin);
        return Err(Failure::error("Plugin cannot be read", detail));
    };
    let bundle = Bundle {
        address: component.address.clone(),
        protocol: served.protocol,
        component: component.bytes().to_vec(),
    };
    let path = &arguments.out;
    let failed = |error: std::io::Error| {
        Failure::error("Bundle cannot be written", format!("{}: {}.", path.display(), system_reason(&error)))
    };
    let program = std::env::current_exe().map_err(failed)?;
    if Bundle::read(&program).map_err(failed)?.is_some() {
        let detail = "This program is itself a bundle; only `wardian` can write bundles.";
        return Err(Failure::error("Bundle cannot be written", detail));
    }
    let mut out = File::create(path).map_err(failed)?;
    bundle.write(&mut File::open(&program).map_err(failed)?, &mut out).map_err(failed)?;
    make_executable(&out).map_err(failed)?;
    context.shell.say(printable!("Wrote {} for {}.", path.display(), bundle.address.for_display()));
    Ok(Status::Success)
}

#[cfg(unix)]
fn make_executable(file: &File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_file: &File) -> std::io::Result<()> {
    Ok(())
}

/// Finds the plugin specified in the arguments: in a bundle, embedded in the `wardian` binary, or
/// in a file.
fn find(context: &CommandContext, arguments: &ServedArguments) -> Outcome<Served> {
    let path = PathBuf::from(&arguments.plugin);
    let unreadable =
        |problem: String| Failure::error("Plugin cannot be read", format!("{}: {problem}", path.display()));
    if !path.is_file() {
        let component = embedded(context, &arguments.plugin)
            .ok_or_else(|| unreadable("there is no such file and no such embedded plugin.".into()))?;
        return Ok(Served::component(component, arguments.protocol));
    }
    if let Some(bundle) = Bundle::read(&path).map_err(|error| unreadable(format!("{error}.")))? {
        let address = arguments.address.clone().unwrap_or(bundle.address);
        let origin = PluginOrigin::DevelopmentOverride(path.clone());
        let component = ComponentArtifact::from_bytes(address, origin, bundle.component)
            .ok_or_else(|| unreadable("its content is not a component.".into()))?;
        return Ok(Served::component(component, arguments.protocol.or(bundle.protocol)));
    }
    let address = match (&arguments.address, type_name(&path)) {
        (Some(address), _) => address.clone(),
        (None, Some(name)) => ProviderAddress::parse(&format!("hashicorp/{name}"))
            .map_err(|error| unreadable(format!("{error}; specify the provider with -address.")))?,
        (None, None) => {
            return Err(unreadable("the provider is not known; specify it with -address.".into()));
        }
    };
    // The file is the `wardian` binary, under the name of one of its embedded plugins.
    if path.canonicalize().ok()
        == std::env::current_exe().ok().and_then(|program| program.canonicalize().ok())
    {
        let component = embedded(context, &address.to_string())
            .ok_or_else(|| unreadable(format!("it has no embedded plugin {}.", address.for_display())))?;
        return Ok(Served::component(component, arguments.protocol));
    }
    let artifact =
        open_override(&address, &path).map_err(|error| unreadable(sentence(&error.to_string())))?;
    Ok(Served { artifact, protocol: arguments.protocol })
}

/// Returns the newest embedded plugin with the given address.
fn embedded(context: &CommandContext, address: &str) -> Option<ComponentArtifact> {
    let address = ProviderAddress::parse(address).ok()?;
    let newest = context.app.catalog.versions_of(&address).max()?;
    match OpenedPackage::embedded(context.app.catalog.find(&address, newest)?).artifact {
        PluginArtifact::Component(component) => Some(component),
        PluginArtifact::Native(_) => None,
    }
}

/// Returns `dns` for `terraform-provider-dns_v1.2.3`, for `dns.wasm`, and for
/// `terraform_provider_dns.wasm`, which is cargo's name for the same component.
pub(crate) fn type_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let prefixes = [PREFIX, CARGO_PREFIX];
    let name = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    let name = name.split(['_', '.']).next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_name_is_derived_from_file_name() {
        for (file, name) in [
            ("/srv/terraform-provider-dns_v1.2.3", "dns"),
            ("terraform-provider-google-beta_v1.2.3.wasm", "google-beta"),
            ("dns.wasm", "dns"),
            ("target/terraform_provider_dns.wasm", "dns"),
        ] {
            assert_eq!(type_name(Path::new(file)).as_deref(), Some(name));
        }
        assert_eq!(type_name(Path::new("/srv/.wasm")), None);
    }
}
