//! The progress of downloads.

use std::sync::Arc;

/// Receives the progress of downloads to files. The label, which the caller chose, identifies the
/// download. For each download that receives a response, `started` is called once, then `advanced`
/// any number of times, and finally `finished`, even if the download fails or is cancelled.
pub trait DownloadObserver: Send + Sync {
    /// Called when the first response to a download begins, with the size of the whole file if it
    /// is known.
    fn started(&self, _label: &str, _size: Option<u64>) {}

    /// Called when more data was received. `bytes` is the number of bytes of the file that are
    /// present, including the bytes of an earlier attempt. The number decreases if the file must be
    /// transferred again from its beginning.
    fn advanced(&self, _label: &str, _bytes: u64) {}

    /// Called at the end of a download.
    fn finished(&self, _label: &str) {}
}

/// Ignores progress.
impl DownloadObserver for () {}

/// Reports the progress of one download, and its end when it is dropped.
pub(crate) struct ProgressReport {
    observer: Arc<dyn DownloadObserver>,
    label: String,
    is_started: bool,
}

impl ProgressReport {
    pub(crate) fn new(observer: Arc<dyn DownloadObserver>, label: &str) -> Self {
        Self { observer, label: label.to_owned(), is_started: false }
    }

    /// Reports the start, unless it was reported.
    pub(crate) fn start(&mut self, size: Option<u64>) {
        if !self.is_started {
            self.is_started = true;
            self.observer.started(&self.label, size);
        }
    }

    pub(crate) fn advance(&self, bytes: u64) {
        self.observer.advanced(&self.label, bytes);
    }
}

impl Drop for ProgressReport {
    fn drop(&mut self) {
        if self.is_started {
            self.observer.finished(&self.label);
        }
    }
}
