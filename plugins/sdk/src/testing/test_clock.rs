//! A clock that passes without waiting.

use std::cell::RefCell;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The time that passes with each reading, so that a loop ends that reads the clock and does not wait.
const PER_READING: Duration = Duration::from_micros(1);

/// 2024-01-01T00:00:00Z, at which the clock starts.
const START: Duration = Duration::from_hours(473_352);

/// A clock for tests, which [`with_clock`] installs: [`run::sleep`](crate::run::sleep), deadlines
/// and back-off advance it instead of waiting. It starts at 2024-01-01T00:00:00Z. Clones share the
/// time.
///
/// ```
/// use std::time::Duration;
/// use wardian_sdk::testing::{TestClock, with_clock};
///
/// let clock = TestClock::new();
/// with_clock(&clock, || wardian_sdk::run::sleep(Duration::from_secs(3_600)))?;
/// assert_eq!(clock.elapsed(), Duration::from_secs(3_600));
/// # Ok::<(), wardian_sdk::Diagnostics>(())
/// ```
#[derive(Clone)]
pub struct TestClock(Arc<Mutex<Time>>);

struct Time {
    /// The reading of the machine's clock to which the elapsed time is added.
    base: Instant,
    start: SystemTime,
    elapsed: Duration,
    readings: Duration,
}

impl TestClock {
    /// Creates a clock at 2024-01-01T00:00:00Z.
    ///
    /// ```
    /// let clock = wardian_sdk::testing::TestClock::new();
    /// assert!(clock.elapsed().is_zero());
    /// ```
    pub fn new() -> Self {
        Self::starting_at(UNIX_EPOCH + START)
    }

    /// Creates a clock at another date.
    ///
    /// ```
    /// use std::time::UNIX_EPOCH;
    /// use wardian_sdk::testing::{TestClock, with_clock};
    ///
    /// let clock = TestClock::starting_at(UNIX_EPOCH);
    /// assert_eq!(with_clock(&clock, wardian_sdk::clock::system_time), UNIX_EPOCH);
    /// ```
    pub fn starting_at(start: SystemTime) -> Self {
        let time = Time { base: Instant::now(), start, elapsed: Duration::ZERO, readings: Duration::ZERO };
        Self(Arc::new(Mutex::new(time)))
    }

    /// Lets time pass.
    ///
    /// ```
    /// use std::time::Duration;
    /// let clock = wardian_sdk::testing::TestClock::new();
    /// clock.advance(Duration::from_secs(5));
    /// assert_eq!(clock.elapsed(), Duration::from_secs(5));
    /// ```
    pub fn advance(&self, duration: Duration) {
        let mut time = self.lock();
        time.elapsed = time.elapsed.saturating_add(duration);
    }

    /// Returns the time that has passed: all waits and calls of [`Self::advance`].
    ///
    /// ```
    /// assert!(wardian_sdk::testing::TestClock::new().elapsed().is_zero());
    /// ```
    pub fn elapsed(&self) -> Duration {
        self.lock().elapsed
    }

    pub(crate) fn now(&self) -> Instant {
        let mut time = self.lock();
        let passed = time.passed();
        time.base.checked_add(passed).unwrap_or(time.base)
    }

    pub(crate) fn system_time(&self) -> SystemTime {
        let mut time = self.lock();
        let passed = time.passed();
        time.start.checked_add(passed).unwrap_or(time.start)
    }

    fn lock(&self) -> MutexGuard<'_, Time> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Time {
    fn passed(&mut self) -> Duration {
        let passed = self.elapsed.saturating_add(self.readings);
        self.readings = self.readings.saturating_add(PER_READING);
        passed
    }
}

impl Default for TestClock {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for TestClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TestClock").field(&self.elapsed()).finish()
    }
}

thread_local! {
    static CLOCKS: RefCell<Vec<TestClock>> = const { RefCell::new(Vec::new()) };
}

/// Removes the clock when the function ends, even if it panics.
struct ClockGuard;

impl Drop for ClockGuard {
    fn drop(&mut self) {
        CLOCKS.with_borrow_mut(Vec::pop);
    }
}

/// Runs a function during which this clock is the clock of the thread.
///
/// ```
/// use std::time::{Duration, Instant};
/// use wardian_sdk::Deadline;
/// use wardian_sdk::testing::{TestClock, with_clock};
///
/// let start = Instant::now();
/// let error = with_clock(&TestClock::new(), || {
///     let deadline = Deadline::after(Duration::from_secs(600));
///     loop {
///         if let Err(error) = deadline.sleep(Duration::from_secs(30), "waiting for the server") {
///             return error;
///         }
///     }
/// });
/// assert_eq!(error.to_string(), "Timeout: Timed out after 10m0s while waiting for the server.");
/// assert!(start.elapsed() < Duration::from_secs(60));
/// ```
pub fn with_clock<R>(clock: &TestClock, run: impl FnOnce() -> R) -> R {
    CLOCKS.with_borrow_mut(|clocks| clocks.push(clock.clone()));
    let _guard = ClockGuard;
    run()
}

/// Returns the innermost clock of [`with_clock`] on this thread.
pub(crate) fn clock_of_thread() -> Option<TestClock> {
    CLOCKS.with_borrow(|clocks| clocks.last().cloned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    #[test]
    fn innermost_clock_applies() {
        let (outer, inner) = (TestClock::new(), TestClock::starting_at(UNIX_EPOCH));
        with_clock(&outer, || {
            with_clock(&inner, || crate::run::sleep(Duration::from_secs(2)).unwrap());
            crate::run::sleep(Duration::from_secs(1)).unwrap();
        });
        assert_eq!((outer.elapsed().as_secs(), inner.elapsed().as_secs()), (1, 2));
        assert!(clock_of_thread().is_none());
    }

    #[test]
    fn polling_without_waiting_reaches_the_deadline() {
        with_clock(&TestClock::new(), || {
            let end = clock::now() + Duration::from_millis(5);
            while clock::now() < end {}
        });
    }
}
