//! Unit tests of a provider, without a sandbox.
//!
//! [`ProviderHarness`] plays the host: it proposes, plans and applies on the same request path
//! as a component's exports, including the encoding, and checks the provider's contract: a plan
//! honors the configuration, and a new state honors the plan. `with_mock_http` plays the servers
//! that a provider sends requests to.

mod config;
mod contract;
mod harness;
#[cfg(not(target_family = "wasm"))]
mod hcl_config;
mod proposed;

#[cfg(not(target_os = "wasi"))]
pub use crate::http::with_mock_http;
pub use config::{Config, config};
pub use harness::{HarnessError, Planned, PlannedAction, ProviderHarness, State};
#[cfg(not(target_family = "wasm"))]
pub use hcl_config::hcl;
pub use serde_json::json;
