//! `wardian serve` and `wardian plugin bundle`: components as native plugins.

use std::fs::File;
use std::path::{Path, PathBuf};

use wardian_install::ProviderAddress;
use wardian_install::package::{ComponentArtifact, OpenedPackage, Origin, PluginArtifact, open_override};
use wardian_legacy_grpc_bridge::ProtocolVersion;
use wardian_legacy_grpc_bridge::server::{ServeError, serve};
use wardian_plugin::ProviderSource as _;

use crate::arguments::{BundleArguments, Protocol, ServeArguments, ServedArguments};
use crate::bundle::Bundle;
use crate::failure::{Failure, Outcome, Status, sentence};
use crate::session::Session;

/// The most calls at a time; a host asks for as many as it wants.
const PARALLELISM: usize = 10;
/// What the names of native plugins begin with.
pub(crate) const PREFIX: &str = "terraform-provider-";

/// What is served.
struct Served {
    component: ComponentArtifact,
    protocol: Option<Protocol>,
}

/// Serves a plugin to the host that started this process.
pub(crate) async fn run(session: &Session, arguments: &ServeArguments) -> Outcome {
    let served = find(session, &arguments.served)?;
    let address = served.component.address.clone();
    let artifact = PluginArtifact::Component(served.component);
    let plugins = session.plugins_of([(address.clone(), artifact)].into(), PARALLELISM)?;
    let provider = plugins.provider(&address).await.map_err(|said| {
        let said: Vec<String> = said.iter().map(|d| format!("{}: {}", d.summary, d.detail)).collect();
        Failure::error("Plugin cannot be served", said.join("\n"))
    })?;
    // An interrupt on the terminal reaches the host as well, which tells its plugins.
    tokio::spawn(async { while tokio::signal::ctrl_c().await.is_ok() {} });
    let versions: &[ProtocolVersion] = match served.protocol {
        None => &[ProtocolVersion::Six, ProtocolVersion::Five],
        Some(Protocol::Five) => &[ProtocolVersion::Five],
        Some(Protocol::Six) => &[ProtocolVersion::Six],
    };
    let host = session.environment.host();
    serve(provider, versions, &host, &mut std::io::stdout()).await.map_err(|error| failure(&error))?;
    Ok(Status::Success)
}

fn failure(error: &ServeError) -> Failure {
    let summary = match error {
        ServeError::NotStartedByAHost => "Not started as a plugin",
        _ => "Plugin cannot be served",
    };
    Failure::error(summary, sentence(&error.to_string()))
}

/// Writes a plugin and this program as one file.
pub(crate) fn bundle(session: &Session, arguments: &BundleArguments) -> Outcome {
    let served = find(session, &arguments.served)?;
    let bundle = Bundle {
        address: served.component.address.clone(),
        protocol: served.protocol,
        component: served.component.bytes().to_vec(),
    };
    let path = &arguments.out;
    let failed = |error: std::io::Error| {
        Failure::error("Bundle cannot be written", format!("{}: {error}.", path.display()))
    };
    let program = std::env::current_exe().map_err(failed)?;
    if Bundle::read(&program).map_err(failed)?.is_some() {
        let detail = "This program is itself a bundle; only `wardian` makes bundles.";
        return Err(Failure::error("Bundle cannot be written", detail));
    }
    let mut out = File::create(path).map_err(failed)?;
    bundle.write(&mut File::open(&program).map_err(failed)?, &mut out).map_err(failed)?;
    make_executable(&out).map_err(failed)?;
    session.shell.say(format_args!("Wrote {} for {}.", path.display(), bundle.address.for_display()));
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

/// The component that is meant: a bundle's, one of this program's, or a file's.
fn find(session: &Session, arguments: &ServedArguments) -> Outcome<Served> {
    let path = PathBuf::from(&arguments.plugin);
    let unreadable =
        |problem: String| Failure::error("Plugin cannot be read", format!("{}: {problem}", path.display()));
    if !path.is_file() {
        let component = embedded(session, &arguments.plugin)
            .ok_or_else(|| unreadable("there is no such file, and no such plugin in this program.".into()))?;
        return Ok(Served { component, protocol: arguments.protocol });
    }
    if let Some(bundle) = Bundle::read(&path).map_err(|error| unreadable(format!("{error}.")))? {
        let address = arguments.address.clone().unwrap_or(bundle.address);
        let origin = Origin::DevelopmentOverride(path.clone());
        let component = ComponentArtifact::of_bytes(address, origin, bundle.component)
            .ok_or_else(|| unreadable("what it bundles is no component.".into()))?;
        return Ok(Served { component, protocol: arguments.protocol.or(bundle.protocol) });
    }
    let address = match (&arguments.address, type_name(&path)) {
        (Some(address), _) => address.clone(),
        (None, Some(name)) => ProviderAddress::parse(&format!("hashicorp/{name}"))
            .map_err(|error| unreadable(format!("{error}; -address names the provider.")))?,
        (None, None) => return Err(unreadable("-address has to name the provider.".into())),
    };
    // This program under the name of one of its plugins.
    if path.canonicalize().ok()
        == std::env::current_exe().ok().and_then(|program| program.canonicalize().ok())
    {
        let component = embedded(session, &address.to_string())
            .ok_or_else(|| unreadable(format!("there is no plugin {} in it.", address.for_display())))?;
        return Ok(Served { component, protocol: arguments.protocol });
    }
    match open_override(&address, &path).map_err(|error| unreadable(sentence(&error.to_string())))? {
        PluginArtifact::Component(component) => Ok(Served { component, protocol: arguments.protocol }),
        PluginArtifact::Native(_) => Err(unreadable("it is no component.".into())),
    }
}

/// The newest plugin of this program with an address.
fn embedded(session: &Session, address: &str) -> Option<ComponentArtifact> {
    let address = ProviderAddress::parse(address).ok()?;
    let newest = session.catalogue.versions_of(&address).max()?;
    match OpenedPackage::embedded(session.catalogue.find(&address, newest)?).artifact {
        PluginArtifact::Component(component) => Some(component),
        PluginArtifact::Native(_) => None,
    }
}

/// `dns` of `terraform-provider-dns_v1.2.3`, and of `dns.wasm`.
fn type_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    let name = name.split(['_', '.']).next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_says_the_type() {
        for (file, name) in [
            ("/srv/terraform-provider-dns_v1.2.3", "dns"),
            ("terraform-provider-google-beta_v1.2.3.wasm", "google-beta"),
            ("dns.wasm", "dns"),
        ] {
            assert_eq!(type_name(Path::new(file)).as_deref(), Some(name));
        }
        assert_eq!(type_name(Path::new("/srv/.wasm")), None);
    }
}
