//! Asking a run to end.

use tokio::sync::watch;

/// How soon a run shall end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// When it is done.
    #[default]
    No,
    /// When what is in flight is done.
    Graceful,
    /// Now; what is in flight is given up.
    Now,
}

/// The side that asks.
#[derive(Clone, Debug)]
pub struct Stopper(watch::Sender<Stop>);

/// The side that is asked.
#[derive(Clone, Debug)]
pub struct StopSignal(watch::Receiver<Stop>);

/// Both sides.
pub fn stop_channel() -> (Stopper, StopSignal) {
    let (sender, receiver) = watch::channel(Stop::No);
    (Stopper(sender), StopSignal(receiver))
}

impl Stopper {
    /// Asks once more: the first time for an orderly end, then for an end now.
    /// Returns what is asked for now.
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
    /// A signal that never comes.
    pub fn never() -> Self {
        stop_channel().1
    }

    /// What is asked for.
    pub fn current(&self) -> Stop {
        *self.0.borrow()
    }

    /// Waits until more than `seen` is asked for; forever where nobody can ask any
    /// more.
    pub async fn beyond(&mut self, seen: Stop) -> Stop {
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
    fn asking_twice_means_now() {
        let (stopper, signal) = stop_channel();
        assert_eq!(signal.current(), Stop::No);
        assert_eq!(stopper.ask(), Stop::Graceful);
        assert_eq!(stopper.ask(), Stop::Now);
        assert_eq!(stopper.ask(), Stop::Now);
        assert_eq!(signal.current(), Stop::Now);
    }
}
