//! The thread that advances the engine's epoch during calls.
//!
//! The thread starts with the first call. It sleeps if no call has run for a while, to avoid waking
//! an idle process a hundred times a second. The thread holds only a weak reference to the engine,
//! so the thread ends when the engine is dropped.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

use wasmtime::{Engine, EngineWeak};

/// Duration of an epoch.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// Number of ticks without a call after which the thread sleeps until the next call. With a much
/// smaller number, successive calls would often have to wake the thread.
const PATIENCE: u32 = 50;

pub(crate) struct Ticker {
    engine: EngineWeak,
    shared: Arc<Shared>,
    thread: OnceLock<Result<Thread, String>>,
}

#[derive(Default)]
struct Shared {
    running: AtomicUsize,
    asleep: AtomicBool,
    stopped: AtomicBool,
}

/// A guard: epochs advance until it is dropped.
pub(crate) struct Ticking<'a>(&'a Shared);

impl Ticker {
    pub(crate) fn new(engine: &Engine) -> Self {
        Self { engine: engine.weak(), shared: Arc::default(), thread: OnceLock::new() }
    }

    /// Advances epochs until the guard is dropped. Costs two atomic operations, except for the
    /// first call and after a pause.
    ///
    /// Returns an error if the system cannot start a thread, since a guest that cannot be
    /// interrupted must not run.
    pub(crate) fn start(&self) -> Result<Ticking<'_>, String> {
        let thread = self.thread.get_or_init(|| self.spawn()).as_ref().map_err(String::clone)?;
        self.shared.running.fetch_add(1, Ordering::SeqCst);
        let ticking = Ticking(&self.shared);
        if self.shared.asleep.load(Ordering::SeqCst) {
            thread.unpark();
        }
        Ok(ticking)
    }

    fn spawn(&self) -> Result<Thread, String> {
        let (engine, shared) = (self.engine.clone(), Arc::clone(&self.shared));
        thread::Builder::new()
            .name("sandbox-epochs".into())
            .stack_size(64 << 10)
            .spawn(move || shared.tick_while(&engine))
            .map(|handle| handle.thread().clone())
            .map_err(|error| format!("cannot start the thread that interrupts plugins: {error}"))
    }
}

impl Shared {
    fn tick_while(&self, engine: &EngineWeak) {
        let mut idle = 0;
        while !self.stopped.load(Ordering::SeqCst) {
            if self.running.load(Ordering::SeqCst) > 0 {
                idle = 0;
            } else {
                idle += 1;
            }
            if idle > PATIENCE {
                self.sleep();
                idle = 0;
            }
            thread::sleep(TICK);
            let Some(engine) = engine.upgrade() else { return };
            engine.increment_epoch();
        }
    }

    /// Waits for the next call. If a call starts between the two loads, it finds `asleep` set and
    /// unparks the thread. An unpark before the park causes the park to return immediately.
    fn sleep(&self) {
        self.asleep.store(true, Ordering::SeqCst);
        while self.running.load(Ordering::SeqCst) == 0 && !self.stopped.load(Ordering::SeqCst) {
            thread::park();
        }
        self.asleep.store(false, Ordering::SeqCst);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        if let Some(Ok(thread)) = self.thread.get() {
            thread.unpark();
        }
    }
}

impl Drop for Ticking<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// Only a store's callback can observe that epochs advance, so the test checks the thread's own
    /// state.
    #[test]
    fn thread_sleeps_when_idle_and_wakes_for_call() {
        let engine = crate::engine::create(crate::engine::EngineSettings::Standard).unwrap();
        let ticker = Ticker::new(&engine);
        assert!(ticker.thread.get().is_none(), "no thread before the first call");
        drop(ticker.start().unwrap());
        wait_for(|| ticker.shared.asleep.load(Ordering::SeqCst));
        let ticking = ticker.start().unwrap();
        wait_for(|| !ticker.shared.asleep.load(Ordering::SeqCst));
        drop(ticking);
    }

    fn wait_for(condition: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !condition() {
            assert!(Instant::now() < deadline, "the condition never came to hold");
            thread::sleep(TICK);
        }
    }
}
