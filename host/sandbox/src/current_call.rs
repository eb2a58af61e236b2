//! The call that an instance is executing, and the monitor that checks its accesses.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wardian_monitor::Monitor;
use wardian_plugin::PluginCall;

/// The call that an instance is executing, for capabilities whose accesses are checked and
/// recorded, even after the function that began an access has returned. Clones refer to the same
/// instance.
#[derive(Clone)]
pub(crate) struct CurrentCall {
    monitor: Monitor,
    current: Arc<Mutex<Numbered>>,
}

struct Numbered {
    number: CallNumber,
    call: PluginCall,
}

/// Distinguishes the calls of one instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallNumber(u64);

impl CurrentCall {
    pub(crate) fn new(monitor: Monitor, call: PluginCall) -> Self {
        Self { monitor, current: Arc::new(Mutex::new(Numbered { number: CallNumber(0), call })) }
    }

    pub(crate) fn begin(&self, call: PluginCall) {
        let mut current = self.lock();
        current.number.0 += 1;
        current.call = call;
    }

    pub(crate) fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    pub(crate) fn number(&self) -> CallNumber {
        self.lock().number
    }

    /// Returns the current call. An access that outlives a call remains assigned to the call in
    /// which it began.
    pub(crate) fn get(&self) -> PluginCall {
        self.lock().call.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Numbered> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
