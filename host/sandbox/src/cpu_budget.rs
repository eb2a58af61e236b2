//! Limits the CPU time of a call.
//!
//! Epochs advance by the wall clock. Guest code detects a tick when it next runs, even if it has
//! waited in the host or its thread was preempted. Therefore, a tick only triggers a reading of the
//! thread's CPU clock, which advances only while the thread runs. That clock measures the CPU time
//! of the guest, and of the host while it polls the call's futures.
//!
//! Reading that clock takes more than half a microsecond, about a tenth of a short call's duration.
//! Therefore, nothing is measured until a call has waited for the first time or has run for an
//! epoch; most calls end earlier.
//!
//! Guest code also yields to the executor at each tick. Therefore, a long computation cannot delay
//! timeouts or cancellation.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use wasmtime::UpdateDeadline;

use crate::limits::{Bound, EffectiveLimits};

/// The time that the system needs to wake the other thread and then this thread again. Neither
/// thread's CPU clock includes it.
pub(crate) const HAND_OVER: Duration = Duration::from_micros(25);

/// The call exceeded its limit on CPU time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it used more than {:?} of CPU time", .0.value)]
pub(crate) struct CpuTimeExceeded(pub(crate) Bound<Duration>);

/// Measures the CPU time of one instance's calls, each separately.
#[derive(Debug)]
pub(crate) struct CpuClock {
    limit: Bound<Duration>,
    measured: Mutex<Measured>,
}

/// The measurements of one call.
#[derive(Debug, Default)]
struct Measured {
    /// CPU time used in earlier polls.
    before: Duration,
    /// The thread's CPU time when the poll began, or at the first epoch after that.
    since: Option<Duration>,
    has_waited: bool,
}

impl CpuClock {
    pub(crate) fn new(limits: &EffectiveLimits) -> Self {
        Self { limit: limits.computation.clone(), measured: Mutex::default() }
    }

    /// Starts measuring a new call.
    pub(crate) fn restart(&self) {
        *self.measured() = Measured::default();
    }

    /// Measures the CPU time of a future: a call, or the initialization of an instance.
    pub(crate) async fn measure<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            self.measured().enter(thread_clock);
            let polled = future.as_mut().poll(context);
            if polled.is_pending() {
                self.measured().leave(thread_clock);
            }
            polled
        })
        .await
    }

    /// Runs work for the call on another thread. The call is charged the work's CPU time and
    /// [`HAND_OVER`].
    ///
    /// Most work is so short that reading the thread's CPU clock would be too expensive. Short work
    /// is charged by the wall clock, which is cheaper to read. Longer work may have waited for a
    /// disk, so it is charged the CPU time since the thread's clock was last read, but at most the
    /// elapsed time.
    pub(crate) fn charge_work<T>(&self, work: impl FnOnce() -> T) -> T {
        const SHORT: Duration = Duration::from_micros(50);
        thread_local!(static READ: Cell<Duration> = const { Cell::new(Duration::ZERO) });
        let begun = Instant::now();
        let done = work();
        let mut used = begun.elapsed();
        if used > SHORT {
            let now = thread_clock();
            used = used.min(now.saturating_sub(READ.replace(now)));
        }
        self.charge(used.saturating_add(HAND_OVER));
        done
    }

    /// Adds CPU time that was used for the call.
    pub(crate) fn charge(&self, time: Duration) {
        let mut measured = self.measured();
        measured.before = measured.before.saturating_add(time);
    }

    /// Checks the budget. The epoch callback calls this function when guest code runs, once for all
    /// epochs that have passed.
    pub(crate) fn tick(&self) -> wasmtime::Result<UpdateDeadline> {
        let now = thread_clock();
        if self.measured().at(now) > self.limit.value {
            return Err(wasmtime::Error::new(CpuTimeExceeded(self.limit.clone())));
        }
        Ok(UpdateDeadline::Yield(1))
    }

    fn measured(&self) -> MutexGuard<'_, Measured> {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Measured {
    /// Returns the call's CPU time when the thread's CPU clock shows `now`.
    fn at(&mut self, now: Duration) -> Duration {
        self.before + now.saturating_sub(*self.since.get_or_insert(now))
    }

    /// Records that the call is being polled.
    fn enter(&mut self, clock: impl FnOnce() -> Duration) {
        self.since = self.has_waited.then(clock);
    }

    /// Records that the call waits; it may continue on another thread.
    fn leave(&mut self, clock: impl FnOnce() -> Duration) {
        if self.since.is_some() {
            self.before = self.at(clock());
        }
        self.since = None;
        self.has_waited = true;
    }
}

/// Returns the CPU time of this thread.
fn thread_clock() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::grants::Grants;
    use crate::limits::SandboxLimits;

    const fn milliseconds(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn call_is_charged_for_threads_only_while_polled() {
        let mut call = Measured::default();
        call.enter(|| unreachable!("most calls end with the first poll"));
        assert_eq!(call.at(milliseconds(1_000)), milliseconds(0), "from the first epoch on");
        assert_eq!(call.at(milliseconds(1_007)), milliseconds(7));
        call.leave(|| milliseconds(1_009));
        // The call continues on another thread, whose earlier CPU time is not charged.
        call.enter(|| milliseconds(300));
        assert_eq!(call.at(milliseconds(300)), milliseconds(9), "the tick after a wait is no computing");
        call.leave(|| milliseconds(302));
        call.enter(|| milliseconds(5_000));
        assert_eq!(call.at(milliseconds(5_001)), milliseconds(12));
    }

    #[test]
    fn frequent_short_polls_are_charged() {
        let mut call = Measured::default();
        call.enter(Duration::default);
        call.leave(|| unreachable!("nothing has been measured yet"));
        for poll in 0..1_000 {
            call.enter(|| milliseconds(10 * poll));
            call.leave(|| milliseconds(10 * poll + 2));
        }
        assert_eq!(call.at(milliseconds(0)), milliseconds(2_000));
    }

    #[test]
    fn work_on_other_threads_is_charged() {
        let limits = SandboxLimits { computation: milliseconds(30), ..SandboxLimits::default() };
        let clock = CpuClock::new(&EffectiveLimits::new(&limits, Grants::nothing().monitor.policy()));
        clock.restart();
        std::thread::scope(|scope| {
            scope.spawn(|| clock.charge_work(|| std::thread::sleep(milliseconds(60))));
        });
        assert!(clock.tick().is_ok(), "it only waited");
        let compute = || {
            let begun = thread_clock();
            while thread_clock().saturating_sub(begun) < milliseconds(40) {}
        };
        std::thread::scope(|scope| {
            scope.spawn(|| clock.charge_work(compute));
        });
        assert!(clock.tick().is_err());
        clock.restart();
        for _ in 0..1_000 {
            clock.charge_work(|| {
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_micros(40) {}
            });
        }
        assert!(clock.tick().is_err(), "short work adds up");
    }

    #[test]
    fn idle_thread_is_not_charged_and_each_call_starts_at_zero() {
        let limits = SandboxLimits { computation: milliseconds(30), ..SandboxLimits::default() };
        let clock = CpuClock::new(&EffectiveLimits::new(&limits, Grants::nothing().monitor.policy()));
        for _ in 0..2 {
            clock.restart();
            assert!(clock.tick().is_ok());
            std::thread::sleep(milliseconds(60));
            assert!(clock.tick().is_ok(), "it stood still");
            let begun = Instant::now();
            let ended = loop {
                if let Err(error) = clock.tick() {
                    break error;
                }
                assert!(begun.elapsed() < Duration::from_mins(5), "it never came to an end");
            };
            assert!(ended.is::<CpuTimeExceeded>());
        }
    }
}
