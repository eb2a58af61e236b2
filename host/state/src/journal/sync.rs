//! Flushes groups of records in a background thread.

use std::fmt;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Maximum time until a record is flushed to the disk.
pub(super) const SYNC_INTERVAL: Duration = Duration::from_millis(100);

/// Receives the result of a flush.
type Waiting = Box<dyn FnOnce(io::Result<()>) + Send>;

/// A thread that flushes a file shortly after a request, or immediately if a caller waits for it.
#[derive(Debug)]
pub(super) struct Syncing {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    /// Whether records have been written that the thread has not begun to flush.
    is_requested: AtomicBool,
    /// The callers that wait for the next flush.
    waiting: Mutex<Vec<Waiting>>,
    is_ended: AtomicBool,
    has_failed: AtomicBool,
    failure: Mutex<Option<io::Error>>,
}

impl Syncing {
    pub(super) fn start(file: &File) -> io::Result<Self> {
        let file = file.try_clone()?;
        Self::with(move || file.sync_data())
    }

    fn with(flush: impl Fn() -> io::Result<()> + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let thread = Builder::new().name("journal".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || shared.flush_until_end(flush)
        })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Requests a flush. Only the first request of a group wakes the thread.
    pub(super) fn request(&self) {
        if !self.shared.is_requested.swap(true, Ordering::Release)
            && let Some(thread) = &self.thread
        {
            thread.thread().unpark();
        }
    }

    /// Flushes the file immediately, and then calls `done`. Callers that wait at the same time share a
    /// flush.
    pub(super) fn flush_now(&self, done: Waiting) {
        self.shared.waiting().push(done);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// Returns the error of an earlier flush.
    pub(super) fn check(&self) -> io::Result<()> {
        if !self.shared.has_failed.load(Ordering::Acquire) {
            return Ok(());
        }
        self.shared.has_failed.store(false, Ordering::Release);
        match self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Shared").field("is_requested", &self.is_requested).finish_non_exhaustive()
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn flush_until_end(&self, flush: impl Fn() -> io::Result<()>) {
        while !self.is_ended.load(Ordering::Acquire) {
            if !self.is_requested.load(Ordering::Acquire) && self.waiting().is_empty() {
                thread::park();
                continue;
            }
            // Further requests join the group until the interval has ended.
            let end = Instant::now() + SYNC_INTERVAL;
            while let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
                && self.waiting().is_empty()
            {
                if self.is_ended.load(Ordering::Acquire) {
                    // The owner of the file flushes the file itself, or has removed it.
                    return;
                }
                thread::park_timeout(left);
            }
            self.is_requested.store(false, Ordering::Release);
            // The records of these callers are in the file. Those of later callers may not be.
            let waiting = std::mem::take(&mut *self.waiting());
            let result = flush();
            for done in waiting {
                done(result.as_ref().map_err(copy).copied());
            }
            if let Err(error) = result {
                *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                self.has_failed.store(true, Ordering::Release);
            }
        }
    }
}

fn copy(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

impl Drop for Syncing {
    fn drop(&mut self) {
        self.shared.is_ended.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// The time after which a test fails.
    const LIMIT: Duration = Duration::from_mins(1);

    #[test]
    fn continuous_requests_do_not_postpone_flush() {
        let (sender, flushed) = channel();
        let syncing = Syncing::with(move || sender.send(()).map_err(io::Error::other)).unwrap();
        let deadline = Instant::now() + LIMIT;
        let mut flushes = 0;
        while flushes < 2 {
            assert!(Instant::now() < deadline, "{flushes} flushes");
            syncing.request();
            thread::sleep(SYNC_INTERVAL / 20);
            flushes += flushed.try_iter().count();
        }
    }

    #[test]
    fn waiting_callers_receive_the_result_of_a_later_flush() {
        let (sender, flushed) = channel();
        let flush = move || {
            sender.send(()).map_err(io::Error::other)?;
            Err(io::Error::other("the disk is full"))
        };
        let syncing = Syncing::with(flush).unwrap();
        let (reply, replies) = channel();
        for _ in 0..3 {
            let reply = reply.clone();
            syncing.flush_now(Box::new(move |result| drop(reply.send(result))));
            let error = replies.recv_timeout(LIMIT).unwrap().unwrap_err();
            assert_eq!(error.to_string(), "the disk is full");
        }
        assert_eq!(flushed.try_iter().count(), 3);
        // The run must stop, although the callers know the error.
        while syncing.check().is_ok() {
            thread::sleep(SYNC_INTERVAL / 20);
        }
    }

    #[test]
    fn flush_error_is_returned_once() {
        let syncing = Syncing::with(|| Err(io::Error::other("the disk is full"))).unwrap();
        syncing.request();
        let deadline = Instant::now() + LIMIT;
        let error = loop {
            assert!(Instant::now() < deadline, "no flush");
            match syncing.check() {
                Ok(()) => thread::sleep(SYNC_INTERVAL / 20),
                Err(error) => break error,
            }
        };
        assert_eq!(error.to_string(), "the disk is full");
        assert!(syncing.check().is_ok());
    }
}
