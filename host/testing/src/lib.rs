//! Tests of configurations: executes the runs of test files, with mocks and overrides, and reports
//! their results.
//!
//! The crate decides the order of runs, the states that they share, and their results. The engine
//! plans and applies; the [`TestHost`] provides configurations, plugins and storage, and the
//! [`TestObserver`] shows what happens. The crate writes to no terminal and opens no file.
//!
//! Invariants: a state that a run created is destroyed at the end of its file, or the objects that
//! remain are reported; a mocked provider receives no requests except for schemas, validations and
//! functions; a configuration is validated once, not once for each run.

mod assertions;
mod cleanup;
mod comparison;
mod computed;
mod coverage;
mod events;
mod expectations;
mod generated;
mod host;
mod mock;
mod overrides;
mod prepared;
mod run;
mod status;
mod suite;
mod variables;

pub use cleanup::{LeftObject, LeftState, objects};
pub use coverage::{CoverageReport, CoveredPart, PartKind};
pub use events::{RunDetails, RunResult, TestEvent, TestObserver};
pub use host::{StateRecorder, TestHost};
pub use status::{TestCounts, TestStatus};
pub use suite::{TestOptions, TestReport, TestSuite};
