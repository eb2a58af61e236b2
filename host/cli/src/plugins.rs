//! The plugins of a run: found and checked before it begins, loaded when somebody
//! asks for them, each once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::OnceCell;
use wardian_address::{ProviderAddress, Version, provisioner_name};
use wardian_install::package::{NativeArtifact, PluginArtifact};
use wardian_legacy_grpc_bridge::{
    Bridge, Confinement, Limits, NativePackage, NativePlugin, NativeProvisioner, Reattachment, Security,
};
use wardian_monitor::{AuditLog, Monitor};
use wardian_network::proxy::ProxySettings;
use wardian_plugin::{FileGate, PluginDiagnostic, PluginDiagnostics, Provider, ProviderSource};
use wardian_policy::{NativePlugins, PluginPolicy, Policy};
use wardian_sandbox::{
    CacheDirectories, Grants, LoadEvent, LoadedPlugin, NetworkOptions, Sandbox, SandboxOptions,
};

use crate::built_in;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::grants;
use crate::kept;
use crate::native_confinement;
use crate::provisioners::LoadedProvisioners;
use crate::secrets::HostSecrets;
use crate::shell::Shell;

/// Where plugins come from in a run, once they are installed.
pub(crate) struct Plugins {
    pub(crate) sandbox: Arc<Sandbox>,
    /// Why the cache is not used, where plugins could reach it.
    exposed_cache: Option<String>,
    pub(crate) by_address: BTreeMap<ProviderAddress, Plugin>,
    native: BTreeMap<ProviderAddress, NativePlugin>,
    pub(crate) native_provisioners: BTreeMap<ProviderAddress, NativeProvisioner>,
    /// What grants of directories are about; absolute.
    pub(crate) working_directory: PathBuf,
    /// The host's, of which a policy may grant some.
    pub(crate) environment: Vec<(String, String)>,
    states: FileGate,
    pub(crate) shell: Arc<Shell>,
    /// Decides on provisioners, too.
    pub(crate) supervision: Supervision,
    pub(crate) provisioners: LoadedProvisioners,
}

/// A plugin outside of the process, whose processes have to end.
#[derive(Clone)]
pub(crate) enum NativeProcesses {
    /// Those of providers.
    Provider(NativePlugin),
    /// That of a provisioner.
    Provisioner(NativeProvisioner),
}

impl NativeProcesses {
    /// Ends them.
    pub(crate) async fn close(&self) {
        match self {
            Self::Provider(plugin) => plugin.close().await,
            Self::Provisioner(plugin) => plugin.close().await,
        }
    }
}

/// What plugins may touch, and where that is recorded.
#[derive(Clone)]
pub(crate) struct Supervision {
    pub(crate) policy: Arc<Policy>,
    pub(crate) audit_log: Arc<AuditLog>,
    /// Which states of others may be read.
    pub(crate) states: FileGate,
}

pub(crate) struct Plugin {
    pub(crate) artifact: PluginArtifact,
    /// Decides for a component; a native plugin is outside of every wall.
    monitor: Option<Monitor>,
    /// Of a component only.
    loaded: OnceCell<Result<LoadedPlugin, String>>,
}

impl Plugins {
    /// These plugins, and those that run already, to be run with `parallelism` calls at a time.
    ///
    /// # Errors
    /// Where WebAssembly cannot be run here at all.
    pub(crate) fn new(
        artifacts: BTreeMap<ProviderAddress, PluginArtifact>,
        running: BTreeMap<ProviderAddress, Reattachment>,
        working_directory: PathBuf,
        parallelism: usize,
        supervision: &Supervision,
        environment: &Environment,
        shell: &Arc<Shell>,
    ) -> Result<Self, Failure> {
        let Supervision { policy, audit_log, states } = supervision;
        let bridge = match kept::schemas(environment, &working_directory) {
            Some(cache) => Bridge::new(Limits::default()).with_schema_cache(cache),
            None => Bridge::new(Limits::default()),
        };
        let mut native = BTreeMap::new();
        let mut native_provisioners = BTreeMap::new();
        let mut by_address = BTreeMap::new();
        for (address, artifact) in artifacts {
            let monitor = match &artifact {
                PluginArtifact::Native(program) => {
                    let policy = grants::policy_of(policy, &address, &program.origin);
                    if policy.native() == NativePlugins::Deny {
                        return Err(native_denied(&address, &policy));
                    }
                    let confinement = native_confinement::of_program(&address, &policy, shell)?;
                    let package =
                        native_package(program, &policy, confinement, &working_directory, environment);
                    if provisioner_name(&address).is_some() {
                        native_provisioners.insert(address.clone(), bridge.provisioner(package));
                    } else {
                        native.insert(address.clone(), bridge.plugin(package));
                    }
                    None
                }
                PluginArtifact::Component(component) => {
                    Some(grants::monitor_of(policy, component, audit_log))
                }
            };
            by_address.insert(address, Plugin { artifact, monitor, loaded: OnceCell::new() });
        }
        for (address, running) in running {
            let policy = policy.of_trusted_code(&address);
            if policy.native() == NativePlugins::Deny {
                return Err(native_denied(&address, &policy));
            }
            native_confinement::of_running(&address, &running, &policy, shell)?;
            let name = format!("{} ({running})", address.for_display());
            native.insert(address, bridge.reattached(name.into(), running));
        }
        let (sandbox, exposed_cache) = sandbox(environment, parallelism, &working_directory)?;
        Ok(Self {
            sandbox: Arc::new(sandbox),
            exposed_cache,
            by_address,
            native,
            native_provisioners,
            working_directory,
            environment: environment.all().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            states: states.clone(),
            shell: Arc::clone(shell),
            supervision: supervision.clone(),
            provisioners: LoadedProvisioners::new(environment),
        })
    }

    /// The plugins that are programs of their own.
    pub(crate) fn native(&self) -> impl Iterator<Item = NativeProcesses> {
        let providers = self.native.values().cloned().map(NativeProcesses::Provider);
        providers.chain(self.native_provisioners.values().cloned().map(NativeProcesses::Provisioner))
    }

    /// A hash of each plugin, by address: what a saved plan recognises them by.
    pub(crate) fn digests(&self) -> BTreeMap<String, String> {
        let digest = |(address, plugin): (&ProviderAddress, &Plugin)| match &plugin.artifact {
            PluginArtifact::Component(component) => Some((address.to_string(), component.sha256.to_string())),
            PluginArtifact::Native(native) => {
                Some((address.to_string(), native.package_hash.as_ref()?.to_string()))
            }
        };
        self.by_address.iter().filter_map(digest).collect()
    }

    /// Loads every component now, and the provisioners of these types, so that its code is
    /// compiled and kept for later runs; native plugins are not run. `tell` hears of work
    /// that takes a while.
    ///
    /// # Errors
    /// Everything that cannot be loaded, each with the reason.
    pub(crate) async fn load_all(
        &self,
        provisioners: &BTreeSet<&str>,
        tell: impl Fn(LoadEvent) + Send + Sync + 'static,
    ) -> Result<(), PluginDiagnostics> {
        let tell = Arc::new(tell);
        let mut problems = Vec::new();
        let components = self.by_address.iter().filter(|(_, plugin)| plugin.monitor.is_some());
        for address in components.map(|(address, _)| address).filter(|one| provisioner_name(one).is_none()) {
            let tell = Arc::clone(&tell);
            if let Err(problem) = self.loaded(address, move |event| tell(event)).await {
                problems.extend(problem);
            }
        }
        for component in provisioners.iter().filter_map(|name| self.provisioner_component(name)) {
            let tell = Arc::clone(&tell);
            if let Err(problem) = self.load_provisioner(component, move |event| tell(event)).await {
                problems.extend(problem);
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Why compiled code is not kept between runs, if it is not.
    pub(crate) fn cache_problem(&self) -> Option<String> {
        self.exposed_cache.clone().or_else(|| self.sandbox.cache_refusal().map(ToString::to_string))
    }

    async fn loaded(
        &self,
        address: &ProviderAddress,
        tell: impl Fn(LoadEvent) + Send + Sync + 'static,
    ) -> Result<&LoadedPlugin, PluginDiagnostics> {
        let plugin = self.by_address.get(address).ok_or_else(|| unavailable(address))?;
        let component = match &plugin.artifact {
            PluginArtifact::Component(component) => component,
            PluginArtifact::Native(_) => return Err(unavailable(address)),
        };
        let name = display_name(&component.address, component.version.as_ref());
        let loading = || async {
            let (sandbox, component, name) = (Arc::clone(&self.sandbox), component.clone(), name.clone());
            let load = move || {
                let digest = *component.sha256.as_bytes();
                sandbox.load(name, component.bytes(), Some(digest), &tell).map_err(|error| error.to_string())
            };
            tokio::task::spawn_blocking(load).await.map_err(|error| error.to_string()).flatten()
        };
        let loaded = plugin.loaded.get_or_init(loading).await;
        loaded.as_ref().map_err(|problem| {
            let detail = format!("{problem}\n\nIts file comes from {}.", component.origin);
            vec![PluginDiagnostic::error("Plugin cannot be loaded", detail)]
        })
    }
}

#[async_trait]
impl ProviderSource for Plugins {
    async fn provider(&self, address: &ProviderAddress) -> Result<Arc<dyn Provider>, PluginDiagnostics> {
        if address.is_built_in() {
            return built_in::provider(address, &self.working_directory, &self.states);
        }
        if let Some(native) = self.native.get(address) {
            return Ok(native.provider());
        }
        let shell = Arc::clone(&self.shell);
        let tell = move |event| {
            if let LoadEvent::Compiling { plugin, .. } = event {
                shell.note(format_args!("Compiling {plugin} once; later runs find it compiled."));
            }
        };
        let plugin = self.loaded(address, tell).await?;
        let monitor = self.by_address.get(address).and_then(|plugin| plugin.monitor.clone());
        let monitor = monitor.ok_or_else(|| unavailable(address))?;
        let grants = Grants::by_policy(monitor, &self.working_directory, self.environment.iter().cloned());
        Ok(plugin.provider(grants))
    }
}

/// The sandbox, and why it keeps no compiled code, where that is so. Whoever can
/// write both the cache and its key decides what code is run, so neither may lie in
/// a directory that a plugin may be granted.
fn sandbox(
    environment: &Environment,
    parallelism: usize,
    working_directory: &Path,
) -> Result<(Sandbox, Option<String>), Failure> {
    let cache = environment.cache_directory().zip(environment.private_directory());
    let cache = cache.map(|(cache, private)| CacheDirectories { code: cache.join("code"), key: private });
    let exposed = cache.as_ref().and_then(|cache| {
        let inside =
            [&cache.code, &cache.key].into_iter().find(|path| lies_within(path, working_directory))?;
        Some(format!(
            "{} lies within the directory of the configuration, where plugins may be allowed to write; set \
             WARDIAN_CACHE_DIR and XDG_DATA_HOME to directories elsewhere to keep compiled plugins",
            inside.display()
        ))
    });
    let cache = cache.filter(|_| exposed.is_none());
    let network = NetworkOptions {
        proxies: ProxySettings::from_variables(|name| environment.get(name)),
        secrets: Arc::new(HostSecrets::new(environment)),
        ..NetworkOptions::default()
    };
    let options = SandboxOptions { cache, parallelism, network, ..SandboxOptions::default() };
    let sandbox = Sandbox::new(options)
        .map_err(|error| Failure::error("Plugins cannot be run", format!("{error}.")))?;
    Ok((sandbox, exposed))
}

/// Whether a path, of which the end may not be there yet, is `directory` or below.
pub(crate) fn lies_within(path: &Path, directory: &Path) -> bool {
    let Ok(directory) = directory.canonicalize() else { return false };
    let existing = path.ancestors().find_map(|ancestor| ancestor.canonicalize().ok());
    existing.is_some_and(|existing| existing.starts_with(&directory))
}

/// How the program of a native plugin is run.
fn native_package(
    native: &NativeArtifact,
    policy: &PluginPolicy,
    confinement: Option<Confinement>,
    working_directory: &Path,
    environment: &Environment,
) -> NativePackage {
    NativePackage {
        name: display_name(&native.address, native.version.as_ref()).into(),
        // What is run does not depend on where it is run.
        executable: working_directory.join(&native.file),
        environment: grants::environment_of(&native.address, policy, environment),
        working_directory: working_directory.to_owned(),
        socket_directory: environment.temporary_directory(),
        security: if environment.secures_plugins() { Security::MutualTls } else { Security::Plain },
        confinement,
        content: kept::content(native),
    }
}

/// A program that a policy does not let run.
fn native_denied(address: &ProviderAddress, policy: &PluginPolicy) -> Failure {
    let why = match &policy.settings().native {
        Some(set) if set.value == NativePlugins::Deny => format!("{} says so", set.place),
        _ => "a policy file says nothing of it, and does not leave it to others".to_owned(),
    };
    let detail = format!(
        "{} is a program of its own, which would run outside of the sandbox, and policy does not let it run: {why}. Use          a plugin that is a component, or have the policy say native = \"warn\" for it.",
        address.for_display()
    );
    Failure::error("Native plugin denied by policy", detail)
}

/// `hashicorp/random v3.7.2`
pub(crate) fn display_name(address: &ProviderAddress, version: Option<&Version>) -> String {
    let address = address.for_display();
    match version {
        Some(version) => format!("{address} v{version}"),
        None => address.to_string(),
    }
}

fn unavailable(address: &ProviderAddress) -> PluginDiagnostics {
    let detail = format!("The provider {} is not installed. Run `wardian init`.", address.for_display());
    vec![PluginDiagnostic::error("Provider not available", detail)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_below_the_configuration_is_found_out_through_links_too() {
        let root = tempfile::tempdir().unwrap();
        let (inside, outside) = (root.path().join("project"), root.path().join("home"));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        assert!(lies_within(&inside.join(".cache/not/there/yet"), &inside));
        assert!(!lies_within(&outside.join("cache"), &inside));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&inside, outside.join("link")).unwrap();
            assert!(lies_within(&outside.join("link/cache"), &inside));
        }
    }
}
