//! Acceptance tests of two providers, and the messages of failed tests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

mod cloud;
mod failures;
mod lists_and_actions;
mod recordings;
#[cfg(feature = "serve")]
mod served;
mod steps;
