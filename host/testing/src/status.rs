//! The results of runs, files and suites.

use std::fmt;

/// The result of a run, a file or a suite, from the best to the worst: the result of a file is the
/// worst result of its runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TestStatus {
    /// Nothing was executed yet.
    #[default]
    Pending,
    /// It was not executed, because an earlier run failed or the suite was interrupted.
    Skip,
    Pass,
    /// An assertion was false.
    Fail,
    /// A run could not be executed as written.
    Error,
}

impl TestStatus {
    /// Returns the word for machine-readable output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Skip => "skip",
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for TestStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The numbers of runs with each result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestCounts {
    pub passed: usize,
    pub failed: usize,
    pub errored: usize,
    pub skipped: usize,
}

impl TestCounts {
    pub(crate) fn count(&mut self, status: TestStatus) {
        match status {
            TestStatus::Pending => {}
            TestStatus::Skip => self.skipped += 1,
            TestStatus::Pass => self.passed += 1,
            TestStatus::Fail => self.failed += 1,
            TestStatus::Error => self.errored += 1,
        }
    }
}
