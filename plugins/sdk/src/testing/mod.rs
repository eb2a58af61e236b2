//! Runs unit tests of a provider without a sandbox.
//!
//! [`ProviderHarness`] replaces the host: it computes proposed states, plans and applies on the
//! same request path as a component's exports, including the encoding. It also checks the
//! provider's responses: a plan must match the configuration, and a new state must match the plan.
//! `with_mock_http` replaces the servers to which a provider sends requests, `TestClock` the clock, and
//! `CapturedLogs` retains the log.
//!
//! Acceptance tests, which plan and apply configurations with the engine, are in the crate
//! `wardian-acceptance`, which depends on this crate and on the host.

#[cfg(not(target_family = "wasm"))]
mod captured_logs;
mod config;
mod contract;
mod diagnostic_assertion;
mod harness;
mod harness_calls;
#[cfg(not(target_family = "wasm"))]
mod hcl_config;
#[cfg(not(target_family = "wasm"))]
#[doc(hidden)]
pub mod in_process;
mod proposed;
mod schema_text;
#[cfg(not(target_family = "wasm"))]
mod test_clock;
#[cfg(not(target_family = "wasm"))]
#[doc(hidden)]
pub mod value_path;

#[cfg(not(target_os = "wasi"))]
pub use crate::http::with_mock_http;
#[cfg(not(target_os = "wasi"))]
pub use crate::run::{RecordedStates, with_interruption_after, with_recorded_states};
#[cfg(not(target_family = "wasm"))]
pub use captured_logs::{CapturedLogs, LogLine};
#[cfg(not(target_family = "wasm"))]
pub(crate) use captured_logs::{capture_line, captures_log};
pub use config::{Config, config};
pub use diagnostic_assertion::assert_diagnostic;
pub use harness::{DataRead, HarnessError, Planned, PlannedAction, ProviderHarness, State};
pub use harness_calls::{ActionRun, Listed, OpenEphemeral};
#[cfg(not(target_family = "wasm"))]
pub use hcl_config::hcl;
pub use schema_text::schema_text;
pub use serde_json::json;
#[cfg(not(target_family = "wasm"))]
pub(crate) use test_clock::clock_of_thread;
#[cfg(not(target_family = "wasm"))]
pub use test_clock::{TestClock, with_clock};
