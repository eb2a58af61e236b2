//! A provider under test, without a sandbox.
//!
//! [`ProviderHarness`] plays the host: it proposes, plans and applies through the
//! same request path as a component's exports, bytes included, and holds the
//! provider to its contract: a plan honours the configuration, an apply honours
//! the plan. `answer_requests` plays the servers that a provider speaks with.

mod config;
mod contract;
mod harness;
mod proposed;

#[cfg(not(target_os = "wasi"))]
pub use crate::http::answer_requests;
pub use config::{Config, config};
pub use harness::{Action, Failed, Planned, ProviderHarness, State};
pub use serde_json::json;
