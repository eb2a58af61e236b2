//! Tests the client against registries on the loopback interface: a fake registry, and Debian's
//! `docker-registry`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

mod authentication;
mod docker_registry;
mod fake_registry;
mod pull;
mod push;
mod referrers;
