//! Backends with real servers on this machine.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

mod configuration;
mod http_faults;
mod http_requests;
mod interim_states;
mod pg;
mod postgres;
mod s3;
mod support;
