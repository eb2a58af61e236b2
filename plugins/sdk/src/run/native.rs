//! The run in unit tests: an interruption after a time, and recorded states in memory.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::clock;

/// The encoded states that a function recorded, in order.
///
/// ```
/// use wardian_sdk::testing::{RecordedStates, with_recorded_states};
///
/// let ((), recorded): ((), RecordedStates) = with_recorded_states(|| ());
/// assert!(recorded.is_empty());
/// ```
pub type RecordedStates = Vec<Vec<u8>>;

/// Records an encoded state, its private data and its identity with a host in this process.
type HostRecorder = Rc<dyn Fn(Vec<u8>, Vec<u8>, Option<Vec<u8>>) -> Result<(), String>>;

thread_local! {
    static HOST_RECORDER: RefCell<Option<HostRecorder>> = const { RefCell::new(None) };
    static INTERRUPTED_AT: Cell<Option<Instant>> = const { Cell::new(None) };
    static RECORDED: RefCell<Vec<RecordedStates>> = const { RefCell::new(Vec::new()) };
}

/// Restores the previous interruption when the function of a test ends, even if it panics.
struct InterruptionGuard(Option<Instant>);

impl Drop for InterruptionGuard {
    fn drop(&mut self) {
        INTERRUPTED_AT.set(self.0);
    }
}

/// Runs a function, and interrupts its run after a time.
///
/// ```
/// use std::time::Duration;
/// use wardian_sdk::{run, testing};
///
/// testing::with_interruption_after(Duration::ZERO, || {
///     assert!(run::interrupted());
///     assert!(run::sleep(Duration::from_secs(60)).is_err());
/// });
/// ```
pub fn with_interruption_after<R>(time: Duration, run: impl FnOnce() -> R) -> R {
    let _guard = InterruptionGuard(INTERRUPTED_AT.replace(clock::now().checked_add(time)));
    run()
}

/// Runs a function, and returns the states that it recorded as well.
///
/// ```
/// let ((), states) = wardian_sdk::testing::with_recorded_states(|| ());
/// assert!(states.is_empty());
/// ```
pub fn with_recorded_states<R>(run: impl FnOnce() -> R) -> (R, RecordedStates) {
    RECORDED.with_borrow_mut(|recorded| recorded.push(Vec::new()));
    let result = run();
    (result, RECORDED.with_borrow_mut(Vec::pop).unwrap_or_default())
}

pub(super) fn interrupted() -> bool {
    INTERRUPTED_AT.get().is_some_and(|at| at <= clock::now())
}

pub(super) fn sleep(milliseconds: u64) -> bool {
    let duration = Duration::from_millis(milliseconds);
    let until_interruption = INTERRUPTED_AT.get().map(|at| at.saturating_duration_since(clock::now()));
    match until_interruption {
        Some(rest) if rest <= duration => {
            clock::wait(rest);
            true
        }
        _ => {
            clock::wait(duration);
            false
        }
    }
}

/// Removes the recorder of a host when its call ends, even if it panics.
struct HostRecorderGuard(Option<HostRecorder>);

impl Drop for HostRecorderGuard {
    fn drop(&mut self) {
        let previous = self.0.take();
        HOST_RECORDER.with_borrow_mut(|recorder| *recorder = previous);
    }
}

/// Runs a call of a host in this process, which records states.
pub(crate) fn with_host_recorder<R>(
    record: impl Fn(Vec<u8>, Vec<u8>, Option<Vec<u8>>) -> Result<(), String> + 'static,
    call: impl FnOnce() -> R,
) -> R {
    let recorder: HostRecorder = Rc::new(record);
    let _guard = HostRecorderGuard(HOST_RECORDER.with_borrow_mut(|current| current.replace(recorder)));
    call()
}

pub(super) fn record_state(
    state: Vec<u8>,
    private: Vec<u8>,
    identity: Option<Vec<u8>>,
) -> Result<(), String> {
    RECORDED.with_borrow_mut(|recorded| {
        if let Some(states) = recorded.last_mut() {
            states.push(state.clone());
        }
    });
    match HOST_RECORDER.with_borrow(Clone::clone) {
        Some(record) => record(state, private, identity),
        None => Ok(()),
    }
}
