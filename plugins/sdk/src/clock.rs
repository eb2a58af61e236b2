//! The time, as operations read it.
//!
//! In a component, the functions read the host's clocks. In a test, [`TestClock`] replaces them, and
//! no wait of [`run`](crate::run) takes real time. Therefore, operations use this module instead of
//! [`std::time`].
//!
//! ```
//! use std::time::Duration;
//! use wardian_sdk::{clock, run};
//!
//! let start = clock::now();
//! run::sleep(Duration::from_millis(1))?;
//! assert!(clock::now() > start);
//! # Ok::<(), wardian_sdk::Diagnostics>(())
//! ```
//!
//! [`TestClock`]: crate::testing::TestClock

#[cfg(not(target_family = "wasm"))]
use std::time::Duration;
use std::time::{Instant, SystemTime};

/// Returns the time of a clock that is never set back. Use it to measure durations.
///
/// ```
/// let start = wardian_sdk::clock::now();
/// assert!(wardian_sdk::clock::now().duration_since(start).as_secs() < 60);
/// ```
pub fn now() -> Instant {
    source::now()
}

/// Returns the date and the time of day.
///
/// ```
/// assert!(wardian_sdk::clock::system_time() > std::time::UNIX_EPOCH);
/// ```
pub fn system_time() -> SystemTime {
    source::system_time()
}

/// Waits. [`run::sleep`](crate::run::sleep) also ends with the run.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn wait(duration: Duration) {
    match crate::testing::clock_of_thread() {
        Some(clock) => clock.advance(duration),
        None => std::thread::sleep(duration),
    }
}

#[cfg(target_family = "wasm")]
mod source {
    use super::{Instant, SystemTime};

    pub(super) fn now() -> Instant {
        Instant::now()
    }

    pub(super) fn system_time() -> SystemTime {
        SystemTime::now()
    }
}

#[cfg(not(target_family = "wasm"))]
mod source {
    use super::{Instant, SystemTime};
    use crate::testing::clock_of_thread;

    pub(super) fn now() -> Instant {
        clock_of_thread().map_or_else(Instant::now, |clock| clock.now())
    }

    pub(super) fn system_time() -> SystemTime {
        clock_of_thread().map_or_else(SystemTime::now, |clock| clock.system_time())
    }
}
