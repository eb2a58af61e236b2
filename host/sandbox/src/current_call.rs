//! Which call an instance is in, for whatever outlives the function that began it:
//! opened files, streams.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wardian_plugin::PluginCall;

/// The call that an instance is in. Clones are of the same instance.
#[derive(Clone)]
pub(crate) struct CurrentCall(Arc<Mutex<Numbered>>);

struct Numbered {
    number: CallNumber,
    call: PluginCall,
}

/// Tells calls of one instance apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallNumber(u64);

impl CurrentCall {
    pub(crate) fn new(call: PluginCall) -> Self {
        Self(Arc::new(Mutex::new(Numbered { number: CallNumber(0), call })))
    }

    /// A call begins.
    pub(crate) fn begin(&self, call: PluginCall) {
        let mut current = self.lock();
        current.number.0 += 1;
        current.call = call;
    }

    pub(crate) fn number(&self) -> CallNumber {
        self.lock().number
    }

    pub(crate) fn get(&self) -> PluginCall {
        self.lock().call.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Numbered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
