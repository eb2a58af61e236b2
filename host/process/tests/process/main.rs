//! Tests that start real programs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what the tests share is test code as well, and a panic is how a test fails"
)]

mod ends;
mod output;
mod starts;
mod support;
