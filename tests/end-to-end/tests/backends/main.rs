//! Every backend with real servers on this machine, and with Terraform as the second client.
//!
//! A backend whose server is not installed is skipped, and the reason is printed; so are the tests
//! with Terraform if it is not on the `PATH`. `cargo xtask interop backends` installs moto and runs
//! these tests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

mod concurrent_runs;
mod encryption;
mod faults;
mod migrations;
mod servers;
mod turns;
mod versions;
