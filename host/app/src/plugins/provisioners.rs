//! The provisioners of a run, embedded or installed like other plugins. Each provisioner is loaded
//! when a configuration first needs it.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Mutex;
use wardian_access::{Denied, FinishedProgram, ProcessAuthority, ProgramLaunch};
use wardian_address::{
    Constraints, ProviderAddress, is_in_plugin_directory, provisioner_address, provisioner_label,
};
use wardian_config::Configuration;
use wardian_engine::provisioner_blocks;
use wardian_install::package::{ComponentArtifact, OpenedPackage, PluginArtifact};
use wardian_install::selection::Requirements;
use wardian_plugin::{PluginDiagnostic, PluginDiagnostics, Provisioner, ProvisionerSource};
use wardian_process::Launcher;
use wardian_sandbox::{LoadEvent, ProvisionerGrants};
use wardian_value::Str;

use crate::catalog;
use crate::environment::ProcessEnvironment;
use crate::plugin_name::plugin_name;
use crate::plugin_policy;
use crate::plugins::{Plugins, report_compiling};

/// The loaded provisioners, and the runner of their programs.
pub(crate) struct LoadedProvisioners {
    runner: Arc<Launcher>,
    home: Option<PathBuf>,
    ssh_agent: Option<PathBuf>,
    by_type: Mutex<HashMap<String, Arc<dyn Provisioner>>>,
}

impl LoadedProvisioners {
    /// Returns a set without provisioners. Programs are searched for in the directories in the
    /// environment's `PATH`.
    pub(crate) fn new(environment: &ProcessEnvironment) -> Self {
        let search_path = environment.get("PATH").map(OsString::from).unwrap_or_default();
        Self {
            runner: Arc::new(Launcher::new(Arc::new(DenyAll), search_path)),
            home: environment.home(),
            ssh_agent: environment.ssh_agent(),
            by_type: Mutex::default(),
        }
    }
}

/// Denies every program start. Each provisioner uses its own authority instead.
struct DenyAll;

impl ProcessAuthority for DenyAll {
    fn may_start(&self, _start: &ProgramLaunch<'_>) -> Result<(), Denied> {
        Err(Denied::new("no plugin requested it"))
    }

    fn may_execute(&self, _start: &ProgramLaunch<'_>, _executable: &Path) -> Result<(), Denied> {
        Err(Denied::new("no plugin requested it"))
    }

    fn finished(&self, _ended: &FinishedProgram) {}
}

#[async_trait]
impl ProvisionerSource for Plugins {
    fn provisioner_types(&self) -> Vec<Str> {
        let mut types = catalog::provisioner_types();
        types.extend(self.by_address.keys().filter_map(provisioner_label).map(Str::from));
        types
    }

    async fn provisioner(&self, type_name: &str) -> Result<Option<Arc<dyn Provisioner>>, PluginDiagnostics> {
        let mut by_type = self.provisioners.by_type.lock().await;
        if let Some(known) = by_type.get(type_name) {
            return Ok(Some(Arc::clone(known)));
        }
        let native = plugin_address(type_name).and_then(|address| self.native_provisioners.get(&address));
        let provisioner = if let Some(native) = native {
            native.provisioner()
        } else if let Some(component) = self.provisioner_component(type_name) {
            let frontend = Arc::clone(&self.frontend);
            self.load_provisioner(component, move |event| report_compiling(&*frontend, event)).await?
        } else {
            return Ok(None);
        };
        by_type.insert(type_name.to_owned(), Arc::clone(&provisioner));
        Ok(Some(provisioner))
    }
}

/// Returns the address of the plugin to which a label refers; `None` for an embedded provisioner,
/// which no file can replace.
fn plugin_address(type_name: &str) -> Option<ProviderAddress> {
    let is_embedded = catalog::provisioner_types().iter().any(|known| **known == *type_name);
    provisioner_address(type_name).ok().filter(|_| !is_embedded)
}

/// Adds the plugins of a configuration's provisioners to the requirements. A plugin that is
/// identified only by its name is required if `is_there` returns true for it; otherwise, an error
/// is reported at the `provisioner` block.
pub fn require(
    requirements: &mut Requirements,
    configuration: &Configuration,
    is_there: impl Fn(&ProviderAddress) -> bool,
) {
    for block in provisioner_blocks(configuration) {
        let Some(address) = plugin_address(&block.type_name) else { continue };
        if !is_in_plugin_directory(&address) || is_there(&address) {
            let origin = format!("{}:{}", block.span.file.name(), block.span.start_position().line);
            requirements.add(address, Constraints::default(), origin);
        }
    }
}

impl Plugins {
    /// Returns a provisioner's component; `None` if the provisioner is not a component.
    pub(crate) fn provisioner_component(&self, type_name: &str) -> Option<ComponentArtifact> {
        let artifact = match catalog::provisioner(type_name) {
            Some(embedded) => OpenedPackage::embedded(&embedded).artifact,
            None => self.by_address.get(&plugin_address(type_name)?)?.artifact.clone(),
        };
        match artifact {
            PluginArtifact::Component(component) => Some(component),
            PluginArtifact::Native(_) => None,
        }
    }

    /// Loads a provisioner's component. Calls `tell` for each compilation.
    pub(crate) async fn load_provisioner(
        &self,
        component: ComponentArtifact,
        tell: impl Fn(LoadEvent) + Send + Sync + 'static,
    ) -> Result<Arc<dyn Provisioner>, PluginDiagnostics> {
        let name = plugin_name(&component.address, component.version.as_ref());
        let monitor =
            plugin_policy::monitor_for(&self.supervision.policy, &component, &self.supervision.audit_log);
        let (sandbox, origin) = (Arc::clone(&self.sandbox), component.origin.clone());
        let policy = monitor.policy().clone();
        let load = move || {
            let digest = *component.sha256.as_bytes();
            sandbox.load_provisioner(name, component.bytes(), Some(digest), Some(&policy), &tell)
        };
        let loaded = match tokio::task::spawn_blocking(load).await {
            Ok(loaded) => loaded.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let loaded = loaded.map_err(|problem| {
            let detail = format!("{problem}\n\nThe file is from {origin}.");
            vec![PluginDiagnostic::error("Plugin cannot be loaded", detail)]
        })?;
        Ok(loaded.provisioner(ProvisionerGrants {
            monitor,
            runner: Arc::clone(&self.provisioners.runner),
            directory: self.working_directory.clone(),
            environment: self.environment.clone(),
            home: self.provisioners.home.clone(),
            ssh_agent: self.provisioners.ssh_agent.clone(),
        }))
    }
}
