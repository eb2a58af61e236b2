//! The calls that a plugin's process is executing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::PluginCall;

/// The calls of one process. An access that the process makes belongs to one of them: if there are
/// several, the host cannot determine which one.
#[derive(Debug, Default)]
pub struct CallsInFlight {
    calls: Mutex<Calls>,
}

#[derive(Debug, Default)]
struct Calls {
    last: u64,
    by_number: BTreeMap<u64, PluginCall>,
}

/// A call that is in flight until this value is dropped.
#[must_use = "dropping it ends the call"]
#[derive(Debug)]
pub struct CallInFlight {
    calls: Arc<CallsInFlight>,
    number: u64,
}

impl CallsInFlight {
    /// Adds a call.
    pub fn begin(self: &Arc<Self>, call: PluginCall) -> CallInFlight {
        let mut calls = self.calls();
        calls.last += 1;
        let number = calls.last;
        calls.by_number.insert(number, call);
        CallInFlight { calls: Arc::clone(self), number }
    }

    /// Returns the calls in the order in which they began.
    pub fn current(&self) -> Vec<PluginCall> {
        self.calls().by_number.values().cloned().collect()
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CallInFlight {
    fn drop(&mut self) {
        self.calls.calls().by_number.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CallContext;

    #[test]
    fn calls_are_listed_until_they_end() {
        let calls = Arc::<CallsInFlight>::default();
        let begin = |address: &str| {
            calls.begin(PluginCall::new(&"p".into(), "read", None, &CallContext::new(address)))
        };
        let listed =
            || -> Vec<String> { calls.current().iter().map(|call| call.resource().to_owned()).collect() };
        assert!(listed().is_empty());
        let first = begin("a.x");
        let second = begin("a.y");
        assert_eq!(listed(), ["a.x", "a.y"]);
        drop(first);
        assert_eq!(listed(), ["a.y"]);
        drop(second);
        assert!(listed().is_empty());
    }
}
