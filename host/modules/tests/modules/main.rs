//! Tests against servers on the loopback interface, and against git, hg, sshd, moto and terraform if
//! they are installed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

mod archives;
mod buckets;
mod concurrency;
mod fixture;
mod git;
mod hostile;
mod mercurial;
mod pins;
mod programs;
mod registry;
mod reinstall;
mod repositories;
mod server;
mod terraform;
