//! wardian-acceptance: acceptance tests of providers that are written with `wardian-sdk`.
//!
//! An [`AcceptanceTest`] plans and applies configurations with Wardian's engine, in the test's process and
//! on a state in memory. The provider is compiled for the host, not to WebAssembly; its requests take the
//! same path as in a component. [`recorded_http`] records the HTTP requests of a test, and replays them.
//! `Sweepers` deletes the objects that failed tests left behind.
//!
//! The crate is a development dependency of providers. It may use the SDK and all crates of the host below
//! `engine`; no other crate of the workspace uses it, except in tests. The features `network` (requests to
//! real servers) and `serve` (a provider under a debugger) need more crates and are optional.
//!
//! Invariants: objects are destroyed also after a failure; a recording contains no secret of a masked
//! header, query parameter or field; a panic or an endless call of a provider is a failure of its step.
//!
//! ```
//! use wardian_acceptance::{AcceptanceTest, ExpectedDiagnostic, ExpectedAction, PlanCheck, StateCheck, Step, json};
//!
//! AcceptanceTest::new(wardian_provider_random::provider)
//!     .step(
//!         Step::apply(r#"resource "random_pet" "name" { length = 2 }"#)
//!             .expect_plan(PlanCheck::action("random_pet.name", ExpectedAction::Create))
//!             .expect_plan(PlanCheck::unknown("random_pet.name", "id"))
//!             .check(StateCheck::matches("random_pet.name", "id", "^[a-z]+-[a-z]+$")),
//!     )
//!     .step(
//!         Step::apply(r#"resource "random_pet" "name" { length = 3 }"#)
//!             .expect_plan(PlanCheck::replaced_because_of("random_pet.name", "length"))
//!             .check(StateCheck::changed("random_pet.name", "id")),
//!     )
//!     .step(
//!         Step::plan(r#"resource "random_pet" "name" { length = "two" }"#)
//!             .expect_error(ExpectedDiagnostic::containing("a number is required")),
//!     )
//!     .run();
//! ```

#![warn(missing_docs)]

mod acceptance_test;
mod environment;
mod expected_error;
mod failure;
#[cfg(feature = "network")]
mod http_client;
mod in_process;
mod plan_check;
mod provider_source;
mod query_check;
mod recording;
mod run;
mod run_events;
#[cfg(feature = "serve")]
mod serve;
mod state_check;
mod step;
mod sweepers;
mod tested_state;

pub use acceptance_test::AcceptanceTest;
pub use expected_error::ExpectedDiagnostic;
pub use failure::TestFailure;
pub use plan_check::{ExpectedAction, PlanCheck};
pub use query_check::QueryCheck;
pub use recording::{RecordedHttp, RecordingError, recorded_http};
#[cfg(feature = "serve")]
pub use serve::{DebugServerError, serve_for_debugger};
pub use state_check::StateCheck;
pub use step::Step;
pub use sweepers::{SweepFailure, Sweepers};
pub use tested_state::TestedState;
pub use wardian_sdk::testing::json;

/// The examples of the guide, which `cargo test --doc` compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/sdk-testing.md")]
struct Guide;
