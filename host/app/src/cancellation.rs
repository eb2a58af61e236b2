//! Cancels operations when the user requests a stop.

use wardian_engine::{Stop, StopSignal};

/// Waits for `work`. Returns `None` if the user requests a stop first.
pub async fn unless_stopped<T>(signal: &StopSignal, work: impl Future<Output = T>) -> Option<T> {
    let mut signal = signal.clone();
    tokio::select! {
        done = work => Some(done),
        _ = signal.wait_beyond(Stop::No) => None,
    }
}
