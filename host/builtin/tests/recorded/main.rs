//! The engine with the real built-in provider, against answers of Terraform that
//! are recorded in `tests/data`.
//!
//! `WARDIAN_RECORD=1 cargo test -p wardian-builtin --test recorded` asks the
//! `terraform` on PATH again, and writes what it says into those files.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

mod fixture;
mod functions;
mod plans;
mod projection;
mod remote_states;
mod terraform;
