//! The call that an instance is in, and who decides on what it does there.

use wardian_monitor::Monitor;
use wardian_plugin::PluginCall;

use crate::current_call::CurrentCall;

/// What a capability needs to have a use decided and recorded: the plugin's monitor, and
/// the call on whose behalf the guest acts at this moment. Clones are of the same
/// instance.
#[derive(Clone)]
pub(crate) struct InFlight {
    monitor: Monitor,
    current: CurrentCall,
}

impl InFlight {
    pub(crate) fn new(monitor: Monitor, current: CurrentCall) -> Self {
        Self { monitor, current }
    }

    /// Decides on what the plugin does.
    pub(crate) fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    /// The call as it is now. What goes on for longer keeps what it began in.
    pub(crate) fn call(&self) -> PluginCall {
        self.current.get()
    }
}
