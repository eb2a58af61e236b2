//! Downloads for the host: the requests that Wardian itself sends to registries, mirrors and other
//! servers, and the files that it downloads from them.
//!
//! A [`Downloader`] sends requests over the HTTP client of `wardian-network`, and adds the features
//! that the host needs but plugins must not have: redirects, retries, the user's credentials
//! (including those in a netrc file), size and time limits, and downloads to files
//! ([`Downloader::download`]) that are verified while they are received and resumed after an
//! interruption.
//!
//! Invariants:
//! - credentials are sent only to the origin for which they were given, and never appear in `Debug`
//!   output, errors or logs; URLs appear there only as [`printable_url`];
//! - a redirect from https to http is never followed;
//! - a response never uses more memory than the caller's limit, and the memory of a download is
//!   independent of the file's size;
//! - a file appears under its name only when it is complete, verified and flushed to the disk, and
//!   two processes that download the same file do not write to the same partial file.
//!
//! This crate depends on no registry protocol, does not read environment variables or the home
//! directory, and writes only the files that its caller names and the partial files next to them.

pub mod advice;
mod authorization;
mod concurrency;
mod downloader;
mod error;
mod exchange;
mod netrc;
mod observer;
mod part_file;
mod printable_url;
mod request;
mod retry;
mod route;
mod target;
mod transfer;

pub use authorization::Authorization;
pub use downloader::{Downloader, DownloaderOptions, MAX_RETRIES, NetworkAccess};
pub use error::{FetchError, RedirectProblem};
pub use netrc::{Netrc, NetrcError};
pub use observer::DownloadObserver;
pub use printable_url::printable_url;
pub use request::{Fetch, Fetched, content_type_is};
pub use target::{Downloaded, Target};
