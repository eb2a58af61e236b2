//! The provisioners of a run: embedded in the program, loaded when a configuration names
//! one, each once.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Mutex;
use wardian_install::catalogue::EmbeddedPlugin;
use wardian_monitor::{Monitor, PluginIdentity};
use wardian_plugin::{PluginDiagnostic, PluginDiagnostics, Provisioner, ProvisionerSource};
use wardian_process::{Authority, Denied, Ended, Runner, Start};
use wardian_sandbox::{LoadEvent, ProvisionerGrants};
use wardian_value::Str;

use crate::catalogue;
use crate::environment::Environment;
use crate::plugins::{Plugins, display_name};

/// Provisioners that somebody asked for, and what runs programs for them.
pub(crate) struct LoadedProvisioners {
    runner: Arc<Runner>,
    by_type: Mutex<HashMap<String, Arc<dyn Provisioner>>>,
}

impl LoadedProvisioners {
    /// None yet; programs are looked up as the environment says.
    pub(crate) fn new(environment: &Environment) -> Self {
        let search_path = environment.get("PATH").map(OsString::from).unwrap_or_default();
        Self { runner: Arc::new(Runner::new(Arc::new(Nobody), search_path)), by_type: Mutex::default() }
    }
}

/// On behalf of nobody nothing is started: each provisioner comes with an authority of its
/// own.
struct Nobody;

impl Authority for Nobody {
    fn may_start(&self, _start: &Start<'_>) -> Result<(), Denied> {
        Err(Denied("there is no plugin that asks for it".to_owned()))
    }

    fn ended(&self, _ended: &Ended) {}
}

#[async_trait]
impl ProvisionerSource for Plugins {
    fn provisioner_types(&self) -> Vec<Str> {
        catalogue::provisioner_types()
    }

    async fn provisioner(&self, type_name: &str) -> Result<Option<Arc<dyn Provisioner>>, PluginDiagnostics> {
        let mut by_type = self.provisioners.by_type.lock().await;
        if let Some(known) = by_type.get(type_name) {
            return Ok(Some(Arc::clone(known)));
        }
        let Some(embedded) = catalogue::provisioner(type_name) else { return Ok(None) };
        let provisioner = self.load_provisioner(embedded).await?;
        by_type.insert(type_name.to_owned(), Arc::clone(&provisioner));
        Ok(Some(provisioner))
    }
}

impl Plugins {
    async fn load_provisioner(
        &self,
        embedded: EmbeddedPlugin,
    ) -> Result<Arc<dyn Provisioner>, PluginDiagnostics> {
        let EmbeddedPlugin { address, version, bytes, sha256 } = embedded;
        let name = display_name(&address, Some(&version));
        let (sandbox, shell) = (Arc::clone(&self.sandbox), Arc::clone(&self.shell));
        let load = move || {
            let tell = |event| {
                if let LoadEvent::Compiling { plugin, .. } = event {
                    shell.note(format_args!("Compiling {plugin} once; later runs find it compiled."));
                }
            };
            sandbox.load_provisioner(name, bytes, Some(*sha256.as_bytes()), &tell)
        };
        let loaded = match tokio::task::spawn_blocking(load).await {
            Ok(loaded) => loaded.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let loaded =
            loaded.map_err(|problem| vec![PluginDiagnostic::error("Plugin cannot be loaded", problem)])?;
        let identity = PluginIdentity {
            address: address.clone(),
            version: Some(version.to_string()),
            sha256: Some(sha256.to_string()),
        };
        let policy = self.supervision.policy.of_trusted_code(&address);
        let monitor = Monitor::new(policy, identity, Arc::clone(&self.supervision.audit_log));
        Ok(loaded.provisioner(ProvisionerGrants {
            monitor,
            runner: Arc::clone(&self.provisioners.runner),
            directory: self.working_directory.clone(),
            environment: self.environment.clone(),
        }))
    }
}
