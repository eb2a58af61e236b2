//! Runs unit tests of a provider without a sandbox.
//!
//! [`ProviderHarness`] replaces the host: it computes proposed states, plans and applies on the
//! same request path as a component's exports, including the encoding. It also checks the
//! provider's responses: a plan must match the configuration, and a new state must match the plan.
//! `with_mock_http` replaces the servers to which a provider sends requests.

mod config;
mod contract;
mod harness;
#[cfg(not(target_family = "wasm"))]
mod hcl_config;
mod proposed;

#[cfg(not(target_os = "wasi"))]
pub use crate::http::with_mock_http;
#[cfg(not(target_os = "wasi"))]
pub use crate::run::{RecordedStates, with_interruption_after, with_recorded_states};
pub use config::{Config, config};
pub use harness::{HarnessError, Planned, PlannedAction, ProviderHarness, State};
#[cfg(not(target_family = "wasm"))]
pub use hcl_config::hcl;
pub use serde_json::json;
