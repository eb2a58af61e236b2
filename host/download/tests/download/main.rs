//! Tests of the downloader against servers on loopback addresses, whose responses are written byte
//! by byte.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

mod fetching;
mod files;
mod full_disk;
mod redirects;
mod resuming;
mod retries;
mod server;
