//! Creates plugins, and starts and shares their processes.
//!
//! Each provider configuration has a process after it is configured; equal configurations share one
//! process (see `shared_process`). Calls that do not need a configuration (schemas, validation,
//! state upgrades, functions) share one process, which is then used for the next configuration.
//! Therefore, a single configuration needs only one process, and validation starts at most one
//! process. A cached schema requires no process.

use std::sync::Arc;

use tokio::sync::{Mutex, OnceCell};
use wardian_plugin::transport::Transport;
use wardian_plugin::{Provider, StateStorePlugin};
use wardian_process::Spawner;

use crate::NativeLimits;
use crate::launch::NativePackage;
use crate::provider::NativeWire;
use crate::provisioner::NativeProvisioner;
use crate::reattach::Reattachment;
use crate::schema_cache::SchemaCache;
use crate::shared::{Origin, Shared, Unconfigured};
use crate::shared_process::SharedProcesses;
use crate::state_store::NativeStateStores;

/// Runs native plugins.
#[derive(Default)]
pub struct Bridge {
    spawner: Arc<Spawner>,
    limits: NativeLimits,
    schemas: Option<Arc<SchemaCache>>,
}

impl Bridge {
    /// Returns a bridge with these limits.
    pub fn new(limits: NativeLimits) -> Self {
        Self { spawner: Arc::default(), limits, schemas: None }
    }

    /// Enables caching of schemas between runs.
    #[must_use]
    pub fn with_schema_cache(self, cache: SchemaCache) -> Self {
        Self { schemas: Some(Arc::new(cache)), ..self }
    }

    /// Returns a plugin. Its process is started when a call first needs it.
    pub fn plugin(&self, package: NativePackage) -> NativePlugin {
        self.shared(Origin::File(Box::new(package)), self.limits.clone())
    }

    /// Returns a plugin that was started externally; `name` is its name in messages. The bridge
    /// does not terminate it.
    pub fn reattached(&self, name: Arc<str>, reattachment: Reattachment) -> NativePlugin {
        // The plugin may be running in a debugger.
        let longest = self.limits.local_call.max(self.limits.remote_call);
        let limits = NativeLimits { local_call: longest, remote_call: longest, ..self.limits.clone() };
        self.shared(Origin::Elsewhere { name, reattachment }, limits)
    }

    fn shared(&self, origin: Origin, limits: NativeLimits) -> NativePlugin {
        let shared = Shared {
            origin,
            spawner: Arc::clone(&self.spawner),
            limits,
            schemas: self.schemas.clone(),
            schema: OnceCell::new(),
            validated: std::sync::Mutex::default(),
            processes: SharedProcesses::default(),
            unconfigured: Mutex::new(Unconfigured::NotStarted),
        };
        NativePlugin(Arc::new(shared))
    }

    /// Returns a provisioner. Its process is started when a call first needs it.
    pub fn provisioner(&self, package: NativePackage) -> NativeProvisioner {
        NativeProvisioner::new(package, Arc::clone(&self.spawner), self.limits.clone())
    }
}

/// A native plugin. Clones refer to the same plugin. [`NativePlugin::close`] terminates processes
/// that its providers no longer use; otherwise the processes are killed when the plugin is dropped.
#[derive(Clone)]
pub struct NativePlugin(Arc<Shared>);

impl NativePlugin {
    /// Returns a provider that is not configured yet.
    pub fn provider(&self) -> Arc<dyn Provider> {
        Arc::new(Transport::new(NativeWire::new(Arc::clone(&self.0))))
    }

    /// Returns the state stores of the provider. A configured state store has its own process.
    pub fn state_stores(&self) -> Arc<dyn StateStorePlugin> {
        Arc::new(NativeStateStores::new(Arc::clone(&self.0)))
    }

    /// Terminates the process that no provider has configured, and prevents new processes from
    /// being started. Providers with their own processes are closed separately.
    pub async fn close(&self) {
        let before = std::mem::replace(&mut *self.0.unconfigured.lock().await, Unconfigured::Closed);
        if let Unconfigured::Started(process) = before {
            process.shut_down().await;
        }
    }
}
