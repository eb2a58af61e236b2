//! Plugins and their processes.
//!
//! Every provider configuration has a process, once it is configured; equal ones
//! share one (see `shared_process`). What needs no configuration (schemas, validation, state upgrades, functions)
//! shares one process, and the next configuration takes that over. So one
//! configuration needs one process, and a validation starts no more than one. A schema
//! that was kept needs none.

use std::sync::Arc;

use tokio::sync::{Mutex, OnceCell};
use wardian_plugin::Provider;
use wardian_plugin::transport::Transport;
use wardian_process::Spawner;

use crate::NativeLimits;
use crate::launch::NativePackage;
use crate::provider::NativeWire;
use crate::provisioner::NativeProvisioner;
use crate::reattach::Reattachment;
use crate::schema_cache::SchemaCache;
use crate::shared::{Origin, Shared, Unconfigured};
use crate::shared_process::SharedProcesses;

/// Where native plugins are run from.
#[derive(Default)]
pub struct Bridge {
    spawner: Arc<Spawner>,
    limits: NativeLimits,
    schemas: Option<Arc<SchemaCache>>,
}

impl Bridge {
    /// A bridge for plugins with these limits.
    pub fn new(limits: NativeLimits) -> Self {
        Self { spawner: Arc::default(), limits, schemas: None }
    }

    /// Keeps schemas between runs.
    #[must_use]
    pub fn with_schema_cache(self, cache: SchemaCache) -> Self {
        Self { schemas: Some(Arc::new(cache)), ..self }
    }

    /// A plugin; nothing of it is run before a call needs it.
    pub fn plugin(&self, package: NativePackage) -> NativePlugin {
        self.shared(Origin::File(package), self.limits.clone())
    }

    /// A plugin that somebody else started, by the name that messages call it. It is not
    /// ended by us.
    pub fn reattached(&self, name: Arc<str>, reattachment: Reattachment) -> NativePlugin {
        // Somebody may be looking at it step by step.
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
            shared_processes: SharedProcesses::default(),
            unconfigured: Mutex::new(Unconfigured::NotStarted),
        };
        NativePlugin(Arc::new(shared))
    }

    /// A plugin that is a provisioner; nothing of it is run before a call needs it.
    pub fn provisioner(&self, package: NativePackage) -> NativeProvisioner {
        NativeProvisioner::new(package, Arc::clone(&self.spawner), self.limits.clone())
    }
}

/// A native plugin. Clones are the same. Processes that its providers do not have
/// any more end in order with [`NativePlugin::close`], and otherwise when it is
/// dropped, by being killed.
#[derive(Clone)]
pub struct NativePlugin(Arc<Shared>);

impl NativePlugin {
    /// A provider that is not configured yet.
    pub fn provider(&self) -> Arc<dyn Provider> {
        Arc::new(Transport::new(NativeWire::new(Arc::clone(&self.0))))
    }

    /// Ends the process that no configuration has taken over, and starts none any
    /// more. Providers with processes of their own are closed by themselves.
    pub async fn close(&self) {
        let before = std::mem::replace(&mut *self.0.unconfigured.lock().await, Unconfigured::Closed);
        if let Unconfigured::Started(process) = before {
            process.shut_down().await;
        }
    }
}
