//! The events that a suite reports while it runs.

use std::time::{Duration, SystemTime};

use wardian_config::{Configuration, TestFile, TestRun};
use wardian_diagnostic::Diagnostics;
use wardian_engine::Plan;
use wardian_state::State;

use crate::cleanup::LeftObject;
use crate::status::{TestCounts, TestStatus};

/// The result of a run.
pub struct RunResult<'a> {
    pub run: &'a TestRun,
    pub status: TestStatus,
    pub diagnostics: Diagnostics,
    /// The number of assertions that were false.
    pub failed_assertions: usize,
    /// The time at which the run began; [`None`] if it was not executed.
    pub started: Option<SystemTime>,
    pub elapsed: Duration,
    /// The plan or the applied state; [`None`] if the run ended before.
    pub details: Option<RunDetails>,
}

/// The plan of a run, or the state after its apply.
pub struct RunDetails {
    pub configuration: std::sync::Arc<Configuration>,
    pub schemas: wardian_engine::Schemas,
    pub plan: Plan,
    /// The state after the apply; [`None`] for a run that only plans.
    pub state: Option<State>,
}

/// A step of a suite.
pub enum TestEvent<'a> {
    /// The suite begins to execute these files.
    SuiteStarted {
        files: &'a [&'a TestFile],
    },
    FileStarted {
        file: &'a TestFile,
    },
    RunStarted {
        file: &'a TestFile,
        run: &'a TestRun,
    },
    RunCompleted {
        file: &'a TestFile,
        result: &'a RunResult<'a>,
    },
    /// The objects of the file are about to be destroyed.
    FileTearingDown {
        file: &'a TestFile,
    },
    /// The objects in the state of this run are about to be destroyed.
    RunTearingDown {
        file: &'a TestFile,
        run: &'a TestRun,
    },
    /// The objects in the state of this run were destroyed, or could not be destroyed.
    RunTornDown {
        file: &'a TestFile,
        run: &'a TestRun,
        diagnostics: &'a Diagnostics,
        /// The objects that remain.
        left: &'a [LeftObject],
    },
    FileCompleted {
        file: &'a TestFile,
        status: TestStatus,
        /// Diagnostics that belong to no single run.
        diagnostics: &'a Diagnostics,
        results: &'a [RunResult<'a>],
    },
    SuiteCompleted {
        status: TestStatus,
        counts: TestCounts,
    },
}

/// Receives the steps of a suite, in order.
pub trait TestObserver {
    fn event(&self, event: &TestEvent<'_>);
}
