//! Flushes groups of records in a background thread.

use std::fs::File;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Maximum time until a record is flushed to the disk.
pub(super) const SYNC_INTERVAL: Duration = Duration::from_millis(100);

/// A thread that flushes a file shortly after a request.
#[derive(Debug)]
pub(super) struct Syncing {
    requests: Option<Sender<()>>,
    failure: Arc<Mutex<Option<io::Error>>>,
    thread: Option<JoinHandle<()>>,
}

impl Syncing {
    pub(super) fn start(file: &File) -> io::Result<Self> {
        let file = file.try_clone()?;
        let (requests, asked) = channel();
        let failure = Arc::new(Mutex::new(None));
        let failed = Arc::clone(&failure);
        let thread = Builder::new().name("journal".to_owned()).spawn(move || {
            while asked.recv().is_ok() {
                // Requests are collected until the interval has ended.
                let ended = loop {
                    match asked.recv_timeout(SYNC_INTERVAL) {
                        Ok(()) => {}
                        Err(RecvTimeoutError::Timeout) => break false,
                        Err(RecvTimeoutError::Disconnected) => break true,
                    }
                };
                if ended {
                    // The owner of the file flushes it, or has removed it.
                    return;
                }
                if let Err(error) = file.sync_data() {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            }
        })?;
        Ok(Self { requests: Some(requests), failure, thread: Some(thread) })
    }

    pub(super) fn request(&self) {
        if let Some(requests) = &self.requests {
            let _ = requests.send(());
        }
    }

    /// Returns the error of an earlier flush.
    pub(super) fn check(&self) -> io::Result<()> {
        match self.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl Drop for Syncing {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
