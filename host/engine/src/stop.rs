//! Stopping a run.

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
pub struct Stopper(watch::Sender<Stop>);

/// The receiver of stop requests.
#[derive(Clone, Debug)]
pub struct StopSignal(watch::Receiver<Stop>);

/// Returns a sender and its receiver.
pub fn stop_channel() -> (Stopper, StopSignal) {
    let (sender, receiver) = watch::channel(Stop::No);
    (Stopper(sender), StopSignal(receiver))
}

impl Stopper {
    /// Requests a stop: the first call requests a graceful stop, the second one an immediate stop.
    /// Returns the request.
    pub fn ask(&self) -> Stop {
        self.0.send_modify(|stop| {
            *stop = match stop {
                Stop::No => Stop::Graceful,
                Stop::Graceful | Stop::Now => Stop::Now,
            };
        });
        *self.0.borrow()
    }
}

impl StopSignal {
    /// Returns a signal that never requests a stop.
    pub fn never() -> Self {
        stop_channel().1
    }

    /// Returns the current request.
    pub fn current(&self) -> Stop {
        *self.0.borrow()
    }

    /// Waits for a more urgent request than `seen`. Waits forever if the sender was dropped.
    pub async fn wait_beyond(&mut self, seen: Stop) -> Stop {
        loop {
            let stop = *self.0.borrow_and_update();
            if stop > seen {
                return stop;
            }
            if self.0.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_request_stops_at_once() {
        let (stopper, signal) = stop_channel();
        assert_eq!(signal.current(), Stop::No);
        assert_eq!(stopper.ask(), Stop::Graceful);
        assert_eq!(stopper.ask(), Stop::Now);
        assert_eq!(stopper.ask(), Stop::Now);
        assert_eq!(signal.current(), Stop::Now);
    }
}
