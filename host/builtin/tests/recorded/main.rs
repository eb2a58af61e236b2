//! Runs the engine with the built-in provider, and compares the results with Terraform's, which are
//! recorded in `tests/data`.
//!
//! `WARDIAN_RECORD=1 cargo test -p wardian-builtin --test recorded` runs the `terraform` on PATH
//! and records its results in those files.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails at the first unexpected result"
)]

mod fixture;
mod functions;
mod plans;
mod projection;
mod remote_states;
mod terraform;
