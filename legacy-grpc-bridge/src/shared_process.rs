//! Shares configured processes: providers with equal configurations use the same process.
//!
//! Aliases of a provider often have equal configurations, and so do modules to which a
//! configuration is passed. A process serves concurrent calls, and its behaviour depends only on
//! its configuration, so one process is sufficient for all these providers. The process is
//! terminated when the last of these providers is closed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::OnceCell;
use wardian_plugin::PluginDiagnostics;

use crate::process::Process;

/// A process that a provider has configured, or is configuring.
#[derive(Default)]
pub(crate) struct SharedProcess(pub(crate) OnceCell<Configured>);

pub(crate) struct Configured {
    pub(crate) process: Arc<Process>,
    /// The plugin's diagnostics, which are returned to each of the providers.
    pub(crate) reported: PluginDiagnostics,
}

impl SharedProcess {
    /// Returns the process, if it has already been started.
    pub(crate) fn process(&self) -> Option<&Arc<Process>> {
        self.0.get().map(|configured| &configured.process)
    }
}

/// All shared processes, by the request with which they are configured.
#[derive(Default)]
pub(crate) struct SharedProcesses(Mutex<HashMap<Vec<u8>, Weak<SharedProcess>>>);

impl SharedProcesses {
    /// Returns the process for a request, or a new one if there is no usable process.
    pub(crate) fn for_request(&self, request: Vec<u8>) -> Arc<SharedProcess> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, shared| shared.strong_count() > 0);
        if let Some(shared) = known.get(&request).and_then(Weak::upgrade)
            && shared.process().is_none_or(|process| process.is_alive())
        {
            return shared;
        }
        let shared = Arc::new(SharedProcess::default());
        known.insert(request, Arc::downgrade(&shared));
        shared
    }

    /// Excludes the process from sharing with other providers.
    pub(crate) fn forget(&self, shared: &Arc<SharedProcess>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, other| !std::ptr::eq(other.as_ptr(), Arc::as_ptr(shared)));
    }
}

/// Terminates the process if no other provider shares it.
pub(crate) async fn release(shared: Arc<SharedProcess>) {
    let last = Arc::into_inner(shared).and_then(|shared| shared.0.into_inner());
    if let Some(configured) = last {
        configured.process.shut_down().await;
    }
}
