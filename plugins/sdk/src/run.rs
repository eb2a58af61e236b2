//! The run to which a call belongs: its interruption, and waits that end with it.
//!
//! When the user interrupts a run for the first time, each running call can end in an orderly way.
//! [`Context::sleep`](crate::Context::sleep), [`Deadline::sleep`](crate::Deadline::sleep), the waits of
//! [`shared`](crate::shared) and the requests of [`http`](crate::http) that change nothing end early.
//!
//! ```
//! # fn is_ready() -> bool { true }
//! use std::time::Duration;
//!
//! fn wait_until_ready() -> wardian_sdk::Result<()> {
//!     while !is_ready() {
//!         wardian_sdk::run::sleep(Duration::from_secs(2))?;
//!     }
//!     Ok(())
//! }
//! # wait_until_ready().unwrap();
//! ```
//!
//! In unit tests, [`testing::with_interruption_after`](crate::testing::with_interruption_after)
//! interrupts the run, and [`testing::with_recorded_states`](crate::testing::with_recorded_states)
//! returns the recorded states.

#[cfg(target_os = "wasi")]
#[path = "run/host.rs"]
mod imports;
#[cfg(not(target_os = "wasi"))]
#[path = "run/native.rs"]
mod imports;

use std::time::Duration;

use crate::{Diagnostics, Result};

#[cfg(not(target_os = "wasi"))]
#[doc(hidden)]
pub use imports::{RecordedStates, with_interruption_after, with_recorded_states};

#[cfg(not(target_family = "wasm"))]
pub(crate) use imports::with_host_recorder;

/// Returns whether the user has interrupted the run.
///
/// ```
/// assert!(!wardian_sdk::run::interrupted());
/// ```
pub fn interrupted() -> bool {
    imports::interrupted()
}

/// Waits.
///
/// ```
/// use std::time::Duration;
/// use wardian_sdk::run;
/// use wardian_sdk::testing::{TestClock, with_clock};
///
/// let clock = TestClock::new();
/// with_clock(&clock, || run::sleep(Duration::from_secs(60)))?;
/// assert_eq!(clock.elapsed(), Duration::from_secs(60));
/// # Ok::<(), wardian_sdk::Diagnostics>(())
/// ```
///
/// # Errors
/// Returns an error if the run is interrupted.
pub fn sleep(duration: Duration) -> Result<()> {
    // Whole milliseconds, rounded up: a wait is never shorter than requested.
    let milliseconds = u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
    if imports::sleep(milliseconds) { Err(interruption()) } else { Ok(()) }
}

/// Returns the error of an operation that ends because the run is interrupted.
pub(crate) fn interruption() -> Diagnostics {
    Diagnostics::error("Interrupted", "The operation ended early because the run is interrupted.")
}

/// Records an encoded state. A host that keeps no state returns no error.
pub(crate) fn record_state(state: Vec<u8>, private: Vec<u8>, identity: Option<Vec<u8>>) -> Result<()> {
    imports::record_state(state, private, identity)
        .map_err(|problem| Diagnostics::error("State not recorded", problem))
}
