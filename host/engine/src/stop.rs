//! Requests to stop a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

/// The urgency of a stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// No stop is requested.
    #[default]
    No,
    /// Stop after the running operations are done.
    Graceful,
    /// Stop now and abort running operations.
    Now,
}

/// The sender of stop requests.
#[derive(Clone, Debug)]
pub struct Stopper {
    stop: watch::Sender<Stop>,
    shared: Shared,
}

/// State that can be read without waiting.
#[derive(Clone, Debug, Default)]
struct Shared {
    walk_has_begun: Arc<AtomicBool>,
    /// Whether the request is [`Stop::Now`].
    now: Arc<AtomicBool>,
}

/// The receiver of stop requests.
#[derive(Clone, Debug)]
pub struct StopSignal {
    stop: watch::Receiver<Stop>,
    shared: Shared,
    /// Whether a graceful stop is not received.
    only_immediate: bool,
}

/// Returns a sender and its receiver.
pub fn stop_channel() -> (Stopper, StopSignal) {
    let (sender, receiver) = watch::channel(Stop::No);
    let shared = Shared::default();
    let signal = StopSignal { stop: receiver, shared: shared.clone(), only_immediate: false };
    (Stopper { stop: sender, shared }, signal)
}

impl Stopper {
    /// Requests a stop: the first call requests a graceful stop, the second call an immediate stop.
    /// Returns the current request.
    pub fn ask(&self) -> Stop {
        self.stop.send_modify(|stop| {
            *stop = match stop {
                Stop::No => Stop::Graceful,
                Stop::Graceful | Stop::Now => Stop::Now,
            };
        });
        let stop = *self.stop.borrow();
        self.shared.now.store(stop == Stop::Now, Ordering::Relaxed);
        stop
    }

    /// Returns the current request.
    pub fn current(&self) -> Stop {
        *self.stop.borrow()
    }

    /// Whether the run has begun to walk its graph. From then on, objects may be changing.
    pub fn walk_has_begun(&self) -> bool {
        self.shared.walk_has_begun.load(Ordering::SeqCst)
    }
}

impl StopSignal {
    /// Returns a signal that never requests a stop.
    pub fn never() -> Self {
        stop_channel().1
    }

    /// Returns a signal that receives only a request to stop immediately, for work that remains to be
    /// done after a graceful stop.
    pub fn only_immediate(&self) -> Self {
        Self { only_immediate: true, ..self.clone() }
    }

    /// Records that the run begins to walk its graph.
    pub(crate) fn begin_walk(&self) {
        self.shared.walk_has_begun.store(true, Ordering::SeqCst);
    }

    /// Returns a flag that is set when the run must stop immediately.
    pub(crate) fn now_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.shared.now)
    }

    /// Returns the current request.
    pub fn current(&self) -> Stop {
        self.received(*self.stop.borrow())
    }

    fn received(&self, stop: Stop) -> Stop {
        if self.only_immediate && stop == Stop::Graceful { Stop::No } else { stop }
    }

    /// Waits until a stop that is more urgent than `seen` is requested. Waits forever if the sender
    /// was dropped.
    pub async fn wait_beyond(&mut self, seen: Stop) -> Stop {
        loop {
            let stop = *self.stop.borrow_and_update();
            let stop = self.received(stop);
            if stop > seen {
                return stop;
            }
            if self.stop.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_stop_request_stops_immediately() {
        let (stopper, signal) = stop_channel();
        assert_eq!(signal.current(), Stop::No);
        assert_eq!(stopper.ask(), Stop::Graceful);
        assert_eq!(stopper.ask(), Stop::Now);
        assert_eq!(stopper.ask(), Stop::Now);
        assert_eq!(signal.current(), Stop::Now);
        assert!(signal.now_flag().load(Ordering::Relaxed));
    }

    #[test]
    fn graceful_stop_can_be_ignored() {
        let (stopper, signal) = stop_channel();
        let immediate = signal.only_immediate();
        stopper.ask();
        assert_eq!((signal.current(), immediate.current()), (Stop::Graceful, Stop::No));
        stopper.ask();
        assert_eq!((signal.current(), immediate.current()), (Stop::Now, Stop::Now));
    }

    #[test]
    fn stopper_reports_whether_the_walk_has_begun() {
        let (stopper, signal) = stop_channel();
        assert!(!stopper.walk_has_begun());
        signal.begin_walk();
        assert!(stopper.walk_has_begun());
    }
}
