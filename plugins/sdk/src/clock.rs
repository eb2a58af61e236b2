//! The time, as operations read it and wait for it.
//!
//! In a component, the functions read the host's clocks. In a test, [`TestClock`] replaces them, and
//! no wait takes real time. Therefore, operations use this module instead of [`std::time`] and
//! [`std::thread::sleep`].
//!
//! ```
//! use std::time::Duration;
//! use wardian_sdk::clock;
//!
//! let start = clock::now();
//! clock::sleep(Duration::from_millis(1));
//! assert!(clock::now() > start);
//! ```
//!
//! [`TestClock`]: crate::testing::TestClock

use std::time::{Duration, Instant, SystemTime};

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

/// Waits. With a [test clock](crate::testing::TestClock), the time passes immediately.
///
/// ```
/// wardian_sdk::clock::sleep(std::time::Duration::from_millis(1));
/// ```
pub fn sleep(duration: Duration) {
    source::sleep(duration);
}

#[cfg(target_family = "wasm")]
mod source {
    use super::{Duration, Instant, SystemTime};

    pub(super) fn now() -> Instant {
        Instant::now()
    }

    pub(super) fn system_time() -> SystemTime {
        SystemTime::now()
    }

    pub(super) fn sleep(duration: Duration) {
        std::thread::sleep(duration);
    }
}

#[cfg(not(target_family = "wasm"))]
mod source {
    use super::{Duration, Instant, SystemTime};
    use crate::testing::clock_of_thread;

    pub(super) fn now() -> Instant {
        clock_of_thread().map_or_else(Instant::now, |clock| clock.now())
    }

    pub(super) fn system_time() -> SystemTime {
        clock_of_thread().map_or_else(SystemTime::now, |clock| clock.system_time())
    }

    pub(super) fn sleep(duration: Duration) {
        match clock_of_thread() {
            Some(clock) => clock.advance(duration),
            None => std::thread::sleep(duration),
        }
    }
}
