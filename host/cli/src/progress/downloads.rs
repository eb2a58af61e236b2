//! The downloads that are running, as the footer of the terminal shows them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use wardian_download::DownloadObserver;
use wardian_printable::{PrintableText, printable};

use super::running::truncated;
use crate::shell::{FooterContent, FooterGuard, Shell};

/// The time after which the footer shows a download.
const DELAY: Duration = Duration::from_secs(1);

/// The maximum number of downloads that the footer lists.
const MAX_LISTED_DOWNLOADS: usize = 5;

/// The progress of all downloads of a command.
#[derive(Debug, Default)]
pub(crate) struct DownloadProgress {
    state: Mutex<DownloadState>,
}

#[derive(Debug, Default)]
struct DownloadState {
    /// In the order in which they started.
    running: Vec<RunningDownload>,
    completed: usize,
}

#[derive(Debug)]
struct RunningDownload {
    label: String,
    size: Option<u64>,
    received: u64,
    started: Instant,
}

impl DownloadProgress {
    /// Shows a footer until the guard is dropped.
    pub(crate) fn begin(self: &Arc<Self>, shell: &Arc<Shell>) -> Option<FooterGuard> {
        shell.show_footer(Arc::clone(self) as Arc<dyn FooterContent>)
    }

    fn with_state(&self, change: impl FnOnce(&mut DownloadState)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl DownloadObserver for DownloadProgress {
    fn started(&self, label: &str, size: Option<u64>) {
        let (label, started) = (label.to_owned(), Instant::now());
        self.with_state(|state| state.running.push(RunningDownload { label, size, received: 0, started }));
    }

    fn advanced(&self, label: &str, bytes: u64) {
        self.with_state(|state| {
            if let Some(running) = state.running.iter_mut().find(|running| running.label == label) {
                running.received = bytes;
            }
        });
    }

    fn finished(&self, label: &str) {
        self.with_state(|state| {
            state.running.retain(|running| running.label != label);
            state.completed += 1;
        });
    }
}

impl FooterContent for DownloadProgress {
    fn lines(&self, columns: usize) -> Vec<PrintableText> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.lines(Instant::now(), columns)
    }
}

impl DownloadState {
    fn lines(&self, now: Instant, columns: usize) -> Vec<PrintableText> {
        let is_long = |running: &&RunningDownload| now.duration_since(running.started) >= DELAY;
        let long: Vec<&RunningDownload> = self.running.iter().filter(is_long).collect();
        if long.is_empty() {
            return Vec::new();
        }
        let total = self.completed + self.running.len();
        let mut lines = vec![printable!("Downloading: {} of {total} complete", self.completed)];
        lines.extend(long.iter().take(MAX_LISTED_DOWNLOADS).map(|running| running.line()));
        if let Some(more) = long.len().checked_sub(MAX_LISTED_DOWNLOADS).filter(|more| *more > 0) {
            lines.push(printable!("  and {more} more"));
        }
        lines.iter().map(|line| truncated(line, columns)).collect()
    }
}

impl RunningDownload {
    fn line(&self) -> PrintableText {
        let received = Megabytes(self.received);
        match self.size {
            Some(size) if size > 0 => {
                let percent = self.received.saturating_mul(100) / size;
                printable!("  {} ({received} of {} MB, {percent} %)", self.label, Megabytes(size))
            }
            _ => printable!("  {} ({received} MB)", self.label),
        }
    }
}

/// A byte count, formatted in megabytes with one decimal place.
struct Megabytes(u64);

impl std::fmt::Display for Megabytes {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tenths = self.0 / 100_000;
        write!(formatter, "{}.{}", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn footer_lists_long_downloads() {
        let progress = DownloadProgress::default();
        progress.started("hashicorp/aws v5.100.0", Some(200_000_000));
        progress.started("acme/dns v1.0.0", None);
        progress.advanced("hashicorp/aws v5.100.0", 50_000_000);
        assert!(progress.lines(80).is_empty());
        let later = Instant::now() + DELAY;
        let state = progress.state.lock().unwrap();
        let shown: Vec<String> = state.lines(later, 80).into_iter().map(PrintableText::into_string).collect();
        assert_eq!(
            shown,
            [
                "Downloading: 0 of 2 complete",
                "  hashicorp/aws v5.100.0 (50.0 of 200.0 MB, 25 %)",
                "  acme/dns v1.0.0 (0.0 MB)"
            ]
        );
        drop(state);
        progress.finished("hashicorp/aws v5.100.0");
        assert_eq!(progress.state.lock().unwrap().lines(later, 20)[0].as_str(), "Downloading: 1 of …");
    }
}
