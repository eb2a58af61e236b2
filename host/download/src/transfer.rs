//! Downloads to files.
//!
//! A thread writes and hashes the chunks of the body that the request receives, so at most
//! [`MAX_QUEUED_CHUNKS`] chunks are held in memory.

use std::fmt::Display;
use std::io;

use bytes::Bytes;
use http::StatusCode;
use http::header::{self, HeaderMap};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use url::Url;

use crate::downloader::{Downloader, MAX_RETRIES};
use crate::error::FetchError;
use crate::exchange::{Answer, TimeBudget};
use crate::observer::ProgressReport;
use crate::part_file::{PartFile, WriteError};
use crate::printable_url;
use crate::request::Fetch;
use crate::target::{Downloaded, Target};

/// Maximum number of received chunks that wait to be written. The HTTP client's chunks have a size
/// of at most about 400 KiB.
const MAX_QUEUED_CHUNKS: usize = 4;

/// A download of one file.
pub(crate) struct Transfer<'a> {
    downloader: &'a Downloader,
    fetch: &'a Fetch,
    target: Target<'a>,
    progress: ProgressReport,
}

/// The result of an attempt, after which the partial file still exists.
enum Attempt {
    /// The body was received completely from this URL.
    Complete(Url),
    /// The server did not continue the partial file. The partial file was truncated to zero length.
    NotContinued,
    /// The server did not send the file.
    Rejected(FetchError, StatusCode, HeaderMap),
    /// The body ended before the expected size was reached.
    EndedEarly(FetchError),
    Failed(FetchError),
}

impl<'a> Transfer<'a> {
    pub(crate) fn new(downloader: &'a Downloader, fetch: &'a Fetch, target: Target<'a>) -> Self {
        let progress = ProgressReport::new(downloader.observer(), target.label);
        Self { downloader, fetch, target, progress }
    }

    pub(crate) async fn run(mut self) -> Result<Downloaded, FetchError> {
        let url = printable_url(&self.fetch.url);
        let (mut part, is_complete) = self.open(&url).await?;
        if is_complete {
            tracing::debug!(url, "an earlier process has already downloaded the complete file");
            return self.finish(part, self.fetch.url.clone()).await;
        }
        let mut retries = self.downloader.retries(self.fetch, MAX_RETRIES);
        let mut can_restart = true;
        loop {
            let (returned, attempt) = self.attempt(part).await?;
            part = returned;
            let (error, delay) = match attempt {
                Attempt::Complete(url) => {
                    let found = part.digest();
                    let Some(expected) = self.target.expected.filter(|expected| *expected != found) else {
                        return self.finish(part, url).await;
                    };
                    let url = printable_url(&url);
                    if !part.is_joined() || !std::mem::take(&mut can_restart) {
                        part.discard();
                        return Err(FetchError::DigestMismatch { url, expected, found });
                    }
                    tracing::debug!(url, "unexpected digest of the resumed download; downloading again");
                    part = restart(&url, part)?;
                    continue;
                }
                Attempt::NotContinued if std::mem::take(&mut can_restart) => continue,
                Attempt::NotContinued => {
                    let reason = "the server sent a part of the file that was not requested".to_owned();
                    return Err(FetchError::Invalid { url, reason });
                }
                Attempt::Rejected(error, status, headers) => {
                    (error, retries.after_response(status, &headers))
                }
                Attempt::EndedEarly(error) => (error, retries.next_delay()),
                Attempt::Failed(error) => {
                    let delay = retries.after_error(&error);
                    (error, delay)
                }
            };
            let Some(delay) = delay else {
                if !error.is_unreachable() && !matches!(error, FetchError::Status { .. }) {
                    part.discard();
                }
                return Err(error);
            };
            tracing::debug!(url, %error, ?delay, "repeating the download");
            tokio::time::sleep(delay).await;
        }
    }

    /// Opens the partial file, and returns whether an earlier process has received all bytes.
    async fn open(&self, url: &str) -> Result<(PartFile, bool), FetchError> {
        let (path, expected) = (self.target.path.to_owned(), self.target.expected);
        let opened = spawn_blocking(move || {
            let part = PartFile::open(&path, expected)?;
            let is_expected = part.length() > 0 && expected == Some(part.digest());
            Ok((part, is_expected))
        });
        let opened = opened.await.map_err(|error| self.thread_error(url, error))?;
        let (part, is_expected) = opened.map_err(|error| write_error(url, error))?;
        let is_complete = is_expected && self.check_size(url, part.length()).is_ok();
        Ok((part, is_complete))
    }

    /// Sends the request, and appends the body of the response to the partial file.
    ///
    /// # Errors
    /// Returns an error if the partial file cannot be written. The partial file is then removed.
    async fn attempt(&mut self, mut part: PartFile) -> Result<(PartFile, Attempt), FetchError> {
        let resume = part.resume_headers();
        let is_resumed = resume.is_some();
        let more = resume.unwrap_or_default();
        let sent = self.downloader.send(self.fetch, &more, &mut TimeBudget::new(None)).await;
        let mut answer = match sent {
            Ok(answer) => answer,
            Err(error) => return Ok((part, Attempt::Failed(error))),
        };
        let url = printable_url(&answer.url);
        let offset = match answer.status {
            StatusCode::OK => 0,
            StatusCode::PARTIAL_CONTENT if is_resumed && continues(&answer, &part) => {
                part.mark_joined();
                part.length()
            }
            StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE if is_resumed => {
                return Ok((restart(&url, part)?, Attempt::NotContinued));
            }
            status => {
                let headers = std::mem::take(&mut answer.headers);
                return Ok((part, Attempt::Rejected(FetchError::Status { url, status }, status, headers)));
            }
        };
        let announced = answer.announced_size().map(|size| size.saturating_add(offset));
        let checked = answer.check_encoding().and_then(|()| match announced {
            Some(size) => self.check_size(&url, size),
            None => Ok(()),
        });
        if let Err(error) = checked {
            return Ok((part, Attempt::Failed(error)));
        }
        self.progress.start(self.target.size.or(announced));
        self.progress.advance(offset);

        let (sender, receiver) = mpsc::channel(MAX_QUEUED_CHUNKS);
        let headers = std::mem::take(&mut answer.headers);
        let writing = spawn_blocking(move || write_chunks(part, offset, &headers, receiver));
        let received = self.receive(&mut answer, offset, sender).await;
        let part = writing.await.map_err(|error| self.thread_error(&url, error))?;
        let part = part.map_err(|error| write_error(&url, error))?;
        let attempt = match received {
            Err(error) => Attempt::Failed(error),
            Ok(()) => match self.check_size(&url, part.length()) {
                Ok(()) => Attempt::Complete(answer.url),
                Err(error) => Attempt::EndedEarly(error),
            },
        };
        Ok((part, attempt))
    }

    /// Sends the chunks of a body to the writing thread, until the body or the thread ends.
    async fn receive(
        &self,
        answer: &mut Answer,
        offset: u64,
        sender: mpsc::Sender<Bytes>,
    ) -> Result<(), FetchError> {
        let limit = self.target.size.unwrap_or(u64::MAX).min(self.target.max_bytes);
        let mut length = offset;
        while let Some(chunk) = answer.next_chunk().await? {
            length = length.saturating_add(chunk.len() as u64);
            if length > limit {
                self.check_size(&printable_url(&answer.url), length)?;
            }
            if sender.send(chunk).await.is_err() {
                // The thread ends early only if it cannot write, and returns the error.
                break;
            }
            self.progress.advance(length);
        }
        Ok(())
    }

    /// Checks the size of the file that the server announced or sent.
    fn check_size(&self, url: &str, found: u64) -> Result<(), FetchError> {
        let (url, limit) = (url.to_owned(), self.target.max_bytes);
        match self.target.size {
            Some(expected) if expected != found => Err(FetchError::SizeMismatch { url, expected, found }),
            _ if found > limit => Err(FetchError::TooLarge { url, limit }),
            _ => Ok(()),
        }
    }

    async fn finish(&self, part: PartFile, url: Url) -> Result<Downloaded, FetchError> {
        let (sha256, size, shown) = (part.digest(), part.length(), printable_url(&url));
        let finished = spawn_blocking(move || part.finish()).await;
        finished
            .map_err(|error| self.thread_error(&shown, error))?
            .map_err(|error| write_error(&shown, error))?;
        tracing::debug!(url = shown, size, %sha256, "downloaded a file");
        Ok(Downloaded { sha256, size, url })
    }

    fn thread_error(&self, url: &str, error: impl Display) -> FetchError {
        let source = io::Error::other(error.to_string());
        FetchError::Write { url: url.to_owned(), path: self.target.path.to_owned(), source }
    }
}

fn write_error(url: &str, error: WriteError) -> FetchError {
    FetchError::Write { url: url.to_owned(), path: error.path, source: error.source }
}

/// Empties a partial file.
fn restart(url: &str, mut part: PartFile) -> Result<PartFile, FetchError> {
    match part.restart() {
        Ok(()) => Ok(part),
        Err(source) => {
            part.discard();
            Err(write_error(url, part.error(source)))
        }
    }
}

/// Whether a response contains the rest of the partial file.
fn continues(answer: &Answer, part: &PartFile) -> bool {
    range_start(&answer.headers) == Some(part.length()) && part.is_continued_by(&answer.headers)
}

/// Returns the position of the first byte of a partial response.
fn range_start(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(header::CONTENT_RANGE)?.to_str().ok()?.trim();
    range.strip_prefix("bytes")?.trim_start().split_once('-')?.0.parse().ok()
}

/// Writes chunks until the channel is closed. The response begins at `offset`.
fn write_chunks(
    mut part: PartFile,
    offset: u64,
    headers: &HeaderMap,
    mut receiver: mpsc::Receiver<Bytes>,
) -> Result<PartFile, WriteError> {
    let mut write = || {
        if offset == 0 {
            part.begin(headers)?;
        }
        while let Some(chunk) = receiver.blocking_recv() {
            part.write(&chunk)?;
        }
        Ok(())
    };
    match write() {
        Ok(()) => Ok(part),
        Err(source) => {
            part.discard();
            Err(part.error(source))
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn content_range_start_is_parsed() {
        let start = |value: &'static str| {
            range_start(&HeaderMap::from_iter([(header::CONTENT_RANGE, HeaderValue::from_static(value))]))
        };
        assert_eq!(start("bytes 5-9/10"), Some(5));
        assert_eq!(start("bytes 0-9/*"), Some(0));
        for invalid in ["bytes */10", "5-9/10 bytes", "lines 5-9/10", "bytes -9/10", "bytes 5", ""] {
            assert_eq!(start(invalid), None, "{invalid}");
        }
        assert_eq!(range_start(&HeaderMap::new()), None);
    }
}
