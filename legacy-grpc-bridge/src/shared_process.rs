//! Who shares a configured process: providers whose configurations are equal.
//!
//! Aliases of a provider often differ in nothing, and what was handed down through
//! modules is the same again. A process answers many calls at once, and what it does
//! follows from its configuration, so that one is enough for all of them. It ends when
//! the last of them is closed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::OnceCell;
use wardian_plugin::PluginDiagnostics;

use crate::process::Process;

/// A configured process, once somebody has configured it.
#[derive(Default)]
pub(crate) struct SharedProcess(pub(crate) OnceCell<Configured>);

pub(crate) struct Configured {
    pub(crate) process: Arc<Process>,
    /// What the plugin had to say, which each of them is told.
    pub(crate) said: PluginDiagnostics,
}

impl SharedProcess {
    /// The process, where there is one by now.
    pub(crate) fn process(&self) -> Option<&Arc<Process>> {
        self.0.get().map(|configured| &configured.process)
    }
}

/// All that are shared now, by the request that configures them.
#[derive(Default)]
pub(crate) struct SharedProcesses(Mutex<HashMap<Vec<u8>, Weak<SharedProcess>>>);

impl SharedProcesses {
    /// The one of a request; a new one where there is none that could still serve.
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

    /// Nobody shares this one any more, beside those that already do.
    pub(crate) fn forget(&self, shared: &Arc<SharedProcess>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, other| !std::ptr::eq(other.as_ptr(), Arc::as_ptr(shared)));
    }
}

/// Ends the process where nobody else shares it.
pub(crate) async fn release(shared: Arc<SharedProcess>) {
    let last = Arc::into_inner(shared).and_then(|shared| shared.0.into_inner());
    if let Some(configured) = last {
        configured.process.shut_down().await;
    }
}
