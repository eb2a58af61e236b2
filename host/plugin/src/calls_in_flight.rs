//! The calls that a plugin's process is executing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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
    by_number: BTreeMap<u64, Charged>,
    /// The CPU time that the process used while no call was in flight.
    idle: Duration,
}

#[derive(Debug)]
struct Charged {
    call: PluginCall,
    cpu_time: Duration,
}

/// The process exceeded a limit on CPU time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuTimeExceeded {
    /// The process used the time while it executed this call.
    ByCall {
        /// The name of the function in the plugin's protocol.
        function: &'static str,
        /// The address of the object or the name of its type; empty if neither is known.
        resource: String,
    },
    /// The process used the time while no call was in flight.
    BetweenCalls,
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
        calls.by_number.insert(number, Charged { call, cpu_time: Duration::ZERO });
        CallInFlight { calls: Arc::clone(self), number }
    }

    /// Returns the calls in the order in which they began.
    pub fn current(&self) -> Vec<PluginCall> {
        self.calls().by_number.values().map(|charged| charged.call.clone()).collect()
    }

    /// Distributes CPU time of the process equally over the calls that are in flight, and returns the
    /// first call that has used more than a limit. Time that the process uses between calls has the same
    /// limit.
    pub fn charge(&self, cpu_time: Duration, limit: Duration) -> Option<CpuTimeExceeded> {
        let mut calls = self.calls();
        let Ok(count) = u32::try_from(calls.by_number.len()) else { return None };
        let Some(share) = cpu_time.checked_div(count) else {
            calls.idle += cpu_time;
            return (calls.idle > limit).then_some(CpuTimeExceeded::BetweenCalls);
        };
        let mut exceeded = None;
        for charged in calls.by_number.values_mut() {
            charged.cpu_time += share;
            if charged.cpu_time > limit && exceeded.is_none() {
                exceeded = Some(CpuTimeExceeded::ByCall {
                    function: charged.call.function,
                    resource: charged.call.resource().to_owned(),
                });
            }
        }
        exceeded
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

    #[test]
    fn cpu_time_is_shared_by_the_calls_in_flight() {
        let calls = Arc::<CallsInFlight>::default();
        let begin = |address: &str| {
            calls.begin(PluginCall::new(&"p".into(), "read", None, &CallContext::new(address)))
        };
        let seconds = Duration::from_secs;
        let by =
            |address: &str| Some(CpuTimeExceeded::ByCall { function: "read", resource: address.to_owned() });
        assert_eq!(calls.charge(seconds(9), seconds(10)), None);
        let first = begin("a.x");
        assert_eq!(calls.charge(seconds(8), seconds(10)), None);
        let second = begin("a.y");
        assert_eq!(calls.charge(seconds(4), seconds(10)), None);
        assert_eq!(calls.charge(seconds(2), seconds(10)), by("a.x"));
        drop(first);
        assert_eq!(calls.charge(seconds(7), seconds(10)), None);
        assert_eq!(calls.charge(seconds(1), seconds(10)), by("a.y"));
        drop(second);
        assert_eq!(calls.charge(seconds(1), seconds(10)), None);
        assert_eq!(calls.charge(seconds(1), seconds(10)), Some(CpuTimeExceeded::BetweenCalls));
    }
}
