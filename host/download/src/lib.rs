//! Downloads for the host: the requests that Wardian itself sends to registries, mirrors and other
//! servers, and the files that it downloads from them.
//!
//! A [`Downloader`] sends requests over the HTTP client of `wardian-network`, and adds what the
//! host needs and plugins must not have: redirects, retries, credentials of the user (also from a
//! netrc file), limits of size and time, and downloads to files ([`Downloader::download`]) that are
//! verified while they are received and resumed after an interruption.
//!
//! Invariants:
//! - credentials are sent only to the origin for which they were given, and never appear in `Debug`
//!   output, errors or logs; URLs appear there only as [`printable_url`];
//! - a redirect never leads from https to http;
//! - no response needs more memory than the caller's limit, and a download needs an amount that is
//!   independent of the size of the file;
//! - a file appears under its name only when it is complete, verified and flushed to the disk, and
//!   two processes that download the same file do not write to the same partial file.
//!
//! This crate depends on no registry protocol, reads no environment variables and no home
//! directory, and writes only the files that its caller names, and partial files next to them.

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
pub use error::{FetchError, RedirectProblem, status_advice};
pub use netrc::{Netrc, NetrcError};
pub use observer::DownloadObserver;
pub use printable_url::printable_url;
pub use request::{Fetch, Fetched, content_type_is};
pub use target::{Downloaded, Target};
