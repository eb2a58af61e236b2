//! Tests of unpacking: archives of common programs, hostile archives, and copies of trees.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

mod builders;
mod copying;
mod damaged;
mod fixture;
mod full_disk;
mod hostile_tar;
mod hostile_zip;
mod round_trip;
