//! The call that an instance is in, and who decides on what it does there.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wardian_monitor::{Call, Monitor};

/// What a capability needs to have a use decided and recorded: the plugin's monitor, and
/// the call on whose behalf the guest acts at this moment. Clones are of the same
/// instance.
#[derive(Clone)]
pub(crate) struct InFlight {
    monitor: Monitor,
    call: Arc<Mutex<Call>>,
}

impl InFlight {
    pub(crate) fn new(monitor: Monitor, call: Call) -> Self {
        Self { monitor, call: Arc::new(Mutex::new(call)) }
    }

    /// Decides on what the plugin does.
    pub(crate) fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    /// The call as it is now. What goes on for longer keeps what it began in.
    pub(crate) fn call(&self) -> Call {
        self.lock().clone()
    }

    /// A call begins.
    pub(crate) fn begin(&self, call: Call) {
        *self.lock() = call;
    }

    fn lock(&self) -> MutexGuard<'_, Call> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
