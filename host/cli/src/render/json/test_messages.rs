//! The JSON messages of `test`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::ser::SerializeMap;
use wardian_diagnostic::Diagnostic;
use wardian_testing::{LeftObject, TestCounts, TestStatus};

/// A message about a suite, a file or a run.
pub(crate) struct TestMessage<'a> {
    pub(crate) file: Option<&'a str>,
    pub(crate) run: Option<&'a str>,
    pub(crate) text: String,
    pub(crate) body: TestBody<'a>,
}

/// The content of a message.
pub(crate) enum TestBody<'a> {
    /// The runs of each file; [`None`] if there are none.
    Abstract(BTreeMap<&'a str, Option<Vec<&'a str>>>),
    File {
        progress: Progress,
        status: Option<TestStatus>,
    },
    Run {
        progress: Progress,
        status: Option<TestStatus>,
    },
    Diagnostic(&'a Diagnostic),
    /// The plan of a run, as a JSON document.
    Plan(serde_json::Value),
    /// The state after a run, as a JSON document.
    State(serde_json::Value),
    /// The objects that remain.
    Cleanup(&'a [LeftObject]),
    /// The objects that may remain after an interrupt.
    Summary {
        status: TestStatus,
        counts: TestCounts,
    },
}

/// The progress of a file or a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Progress {
    Starting,
    Teardown,
    Complete,
}

#[derive(Serialize)]
struct FileBody<'a> {
    path: &'a str,
    progress: Progress,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
}

#[derive(Serialize)]
struct RunBody<'a> {
    path: &'a str,
    run: &'a str,
    progress: Progress,
    /// Milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    elapsed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
}

#[derive(Serialize)]
struct CleanupBody<'a> {
    failed_resources: Vec<FailedResource<'a>>,
}

#[derive(Serialize)]
struct FailedResource<'a> {
    instance: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    deposed_key: Option<&'a str>,
}

#[derive(Serialize)]
struct SummaryBody {
    status: &'static str,
    passed: usize,
    failed: usize,
    errored: usize,
    skipped: usize,
}

impl TestMessage<'_> {
    pub(super) fn level(&self) -> &'static str {
        match &self.body {
            TestBody::Diagnostic(diagnostic) if diagnostic.is_error() => "error",
            TestBody::Diagnostic(_) => "warn",
            TestBody::Cleanup(_) => "error",
            _ => "info",
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match &self.body {
            TestBody::Abstract(_) => "test_abstract",
            TestBody::File { .. } => "test_file",
            TestBody::Run { .. } => "test_run",
            TestBody::Diagnostic(_) => "diagnostic",
            TestBody::Plan(_) => "test_plan",
            TestBody::State(_) => "test_state",
            TestBody::Cleanup(_) => "test_cleanup",
            TestBody::Summary { .. } => "test_summary",
        }
    }

    pub(super) fn serialize_entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        if let Some(file) = self.file {
            map.serialize_entry("@testfile", file)?;
        }
        if let Some(run) = self.run {
            map.serialize_entry("@testrun", run)?;
        }
        let path = self.file.unwrap_or_default();
        match &self.body {
            TestBody::Abstract(files) => map.serialize_entry("test_abstract", files),
            TestBody::File { progress, status } => {
                let status = status.map(TestStatus::as_str);
                map.serialize_entry("test_file", &FileBody { path, progress: *progress, status })
            }
            TestBody::Run { progress, status } => {
                let body = RunBody {
                    path,
                    run: self.run.unwrap_or_default(),
                    progress: *progress,
                    elapsed: status.is_none().then_some(0),
                    status: status.map(TestStatus::as_str),
                };
                map.serialize_entry("test_run", &body)
            }
            TestBody::Diagnostic(diagnostic) => map.serialize_entry("diagnostic", &diagnostic.document()),
            TestBody::Plan(document) => map.serialize_entry("test_plan", document),
            TestBody::State(document) => map.serialize_entry("test_state", document),
            TestBody::Cleanup(left) => {
                let failed_resources = left
                    .iter()
                    .map(|object| FailedResource {
                        instance: &object.address,
                        deposed_key: object.deposed.as_deref(),
                    })
                    .collect();
                map.serialize_entry("test_cleanup", &CleanupBody { failed_resources })
            }
            TestBody::Summary { status, counts } => {
                let TestCounts { passed, failed, errored, skipped } = *counts;
                let body = SummaryBody { status: status.as_str(), passed, failed, errored, skipped };
                map.serialize_entry("test_summary", &body)
            }
        }
    }
}
