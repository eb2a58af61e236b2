//! Backends with real servers on this machine.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

mod azurerm;
mod configuration;
mod gcs;
mod http_faults;
mod http_requests;
mod interim_states;
mod pg;
mod s3;
mod support;
