//! Limits the CPU time of the calls that a native process executes.
//!
//! A process executes several calls at once, and the system reports only the sum of its CPU time.
//! Therefore, the time is distributed equally over the calls that are in flight. Native code cannot be
//! interrupted, so a process that exceeds the limit is killed.

use std::sync::Arc;
use std::time::Duration;

use wardian_plugin::transport::format_seconds;
use wardian_plugin::{CallsInFlight, CpuTimeExceeded};
use wardian_process::cpu_time_with_descendants;

/// The interval between measurements. A process can exceed its limit by this time on each processor.
const INTERVAL: Duration = Duration::from_millis(200);

/// The limit of one process.
pub(crate) struct CpuLimit {
    pub(crate) limit: Duration,
    pub(crate) calls: Arc<CallsInFlight>,
}

impl CpuLimit {
    /// Waits until the process exceeds the limit, and returns the reason for killing it. Never returns if
    /// the system does not report CPU time.
    pub(crate) async fn exceeded(&self, process: u32) -> String {
        let mut interval = tokio::time::interval(INTERVAL);
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut last = Duration::ZERO;
        loop {
            interval.tick().await;
            let Some(used) = cpu_time_with_descendants(process) else {
                return std::future::pending().await;
            };
            // A descendant that another process waited for is no longer counted.
            let more = used.saturating_sub(last);
            last = last.max(used);
            match self.calls.charge(more, self.limit) {
                None => {}
                Some(CpuTimeExceeded::ByCall { function, resource }) => {
                    let resource =
                        if resource.is_empty() { String::new() } else { format!(" of {resource}") };
                    return format!(
                        "{function}{resource} used more than {} of CPU time, which is the limit of the policy",
                        format_seconds(self.limit)
                    );
                }
                Some(CpuTimeExceeded::BetweenCalls) => {
                    return format!(
                        "it used more than {} of CPU time between calls, which is the limit of the policy",
                        format_seconds(self.limit)
                    );
                }
            }
        }
    }
}
