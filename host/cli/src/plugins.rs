//! The plugins of a run: found and checked before it begins, loaded when somebody
//! asks for them, each once.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::OnceCell;
use wardian_install::ProviderAddress;
use wardian_install::package::{ComponentArtifact, PluginArtifact};
use wardian_plugin::{PluginDiagnostic, PluginDiagnostics, Provider, ProviderSource};
use wardian_sandbox::{CacheDirectories, LoadEvent, LoadedPlugin, Sandbox, SandboxOptions};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::grants;
use crate::shell::Shell;

/// Where plugins come from in a run, once they are installed.
pub(crate) struct Plugins {
    sandbox: Arc<Sandbox>,
    by_address: BTreeMap<ProviderAddress, Plugin>,
    /// What grants of directories are about; absolute.
    working_directory: PathBuf,
    shell: Arc<Shell>,
}

struct Plugin {
    artifact: PluginArtifact,
    loaded: OnceCell<Result<LoadedPlugin, String>>,
}

impl Plugins {
    /// These plugins, to be run with `parallelism` calls at a time.
    ///
    /// # Errors
    /// Where WebAssembly cannot be run here at all.
    pub(crate) fn new(
        artifacts: BTreeMap<ProviderAddress, PluginArtifact>,
        working_directory: PathBuf,
        parallelism: usize,
        environment: &Environment,
        shell: &Arc<Shell>,
    ) -> Result<Self, Failure> {
        let by_address = artifacts
            .into_iter()
            .map(|(address, artifact)| (address, Plugin { artifact, loaded: OnceCell::new() }))
            .collect();
        let sandbox = sandbox(environment, parallelism)?;
        Ok(Self { sandbox: Arc::new(sandbox), by_address, working_directory, shell: Arc::clone(shell) })
    }

    /// Loads every plugin now, so that its code is compiled and kept for later
    /// runs. `tell` hears of work that takes a while.
    ///
    /// # Errors
    /// Everything that cannot be loaded, each with the reason.
    pub(crate) async fn load_all(
        &self,
        tell: impl Fn(&ProviderAddress, LoadEvent) + Send + Sync + 'static,
    ) -> Result<(), PluginDiagnostics> {
        let tell = Arc::new(tell);
        let mut problems = Vec::new();
        for address in self.by_address.keys() {
            let (tell, about) = (Arc::clone(&tell), address.clone());
            if let Err(problem) = self.loaded(address, move |event| tell(&about, event)).await {
                problems.extend(problem);
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Why compiled code is not kept between runs, if it is not.
    pub(crate) fn cache_problem(&self) -> Option<String> {
        self.sandbox.cache_refusal().map(ToString::to_string)
    }

    async fn loaded(
        &self,
        address: &ProviderAddress,
        tell: impl Fn(LoadEvent) + Send + Sync + 'static,
    ) -> Result<&LoadedPlugin, PluginDiagnostics> {
        let plugin = self.by_address.get(address).ok_or_else(|| unavailable(address))?;
        let component = match &plugin.artifact {
            PluginArtifact::Component(component) => component,
            PluginArtifact::Native(_) => return Err(native(address)),
        };
        let name = display_name(component);
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
        let shell = Arc::clone(&self.shell);
        let tell = move |event| {
            if let LoadEvent::Compiling { plugin, .. } = event {
                shell.note(format_args!("Compiling {plugin} once; later runs find it compiled."));
            }
        };
        let plugin = self.loaded(address, tell).await?;
        plugin
            .provider(grants::of(address, &self.working_directory))
            .map_err(|error| vec![PluginDiagnostic::error("Plugin cannot be started", error.to_string())])
    }
}

fn sandbox(environment: &Environment, parallelism: usize) -> Result<Sandbox, Failure> {
    let cache = environment.cache_directory().zip(environment.private_directory());
    let cache = cache.map(|(cache, private)| CacheDirectories { code: cache.join("code"), key: private });
    let options = SandboxOptions { cache, parallelism, ..SandboxOptions::default() };
    Sandbox::new(options).map_err(|error| Failure::error("Plugins cannot be run", format!("{error}.")))
}

/// `hashicorp/random v3.7.2`
fn display_name(component: &ComponentArtifact) -> String {
    let address = component.address.for_display();
    match &component.version {
        Some(version) => format!("{address} v{version}"),
        None => address.to_string(),
    }
}

/// What is said of a plugin that only the system itself could run.
pub(crate) fn native_is_not_available(address: &ProviderAddress) -> String {
    format!(
        "The only plugin that was found for {} is a native program. Running native plugins is not available yet: \
         only WebAssembly components can be used.",
        address.for_display()
    )
}

fn native(address: &ProviderAddress) -> PluginDiagnostics {
    vec![PluginDiagnostic::error("Native plugin", native_is_not_available(address))]
}

fn unavailable(address: &ProviderAddress) -> PluginDiagnostics {
    let detail = if address.is_built_in() {
        format!("The provider {address} is part of Terraform and is not available here yet.")
    } else {
        format!("The provider {} is not installed. Run `wardian init`.", address.for_display())
    };
    vec![PluginDiagnostic::error("Provider not available", detail)]
}
