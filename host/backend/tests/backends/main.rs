//! Backends with real servers on this machine.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

mod azurerm;
mod configuration;
mod consul;
mod gcs;
mod http_faults;
mod http_requests;
mod interim_states;
mod kubernetes;
mod pg;
mod postgres;
mod remote;
mod s3;
mod support;
mod terraform;
