//! The call that an instance is in, and the monitor that decides on accesses in it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wardian_monitor::Monitor;
use wardian_plugin::PluginCall;

/// The call that an instance is in, for capabilities that have an access decided and
/// recorded, also after the function that began it has returned. Clones are of the same
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

    /// Begins a call.
    pub(crate) fn begin(&self, call: PluginCall) {
        let mut current = self.lock();
        current.number.0 += 1;
        current.call = call;
    }

    /// The monitor that decides on the plugin's accesses.
    pub(crate) fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    pub(crate) fn number(&self) -> CallNumber {
        self.lock().number
    }

    /// The call at this moment. An access that outlives the call keeps the one it began in.
    pub(crate) fn get(&self) -> PluginCall {
        self.lock().call.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Numbered> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
