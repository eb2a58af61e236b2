//! Shows the steps of a suite, as text or as JSON messages, and collects them for the JUnit file.

use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::sync::Arc;

use wardian_config::{TestFile, TestRun};
use wardian_diagnostic::Diagnostics;
use wardian_printable::{PrintableText, append, printable};
use wardian_testing::{LeftObject, RunResult, TestCounts, TestEvent, TestObserver, TestStatus};

use super::cleanup::described;
use super::junit::Junit;
use super::verbose;
use crate::progress::{Phase, Progress as RunProgress};
use crate::render::counted::counted;
use crate::render::json::{Message, Progress, TestBody, TestMessage};
use crate::shell::{FooterGuard, Paint, Shell};

/// Shows a suite in the shell.
pub(super) struct ShellObserver<'a> {
    shell: &'a Shell,
    verbose: bool,
    junit: RefCell<Junit>,
    progress: &'a Arc<RunProgress>,
    /// The footer while the suite runs.
    footer: RefCell<Option<FooterGuard>>,
}

impl<'a> ShellObserver<'a> {
    pub(super) fn new(shell: &'a Shell, progress: &'a Arc<RunProgress>, verbose: bool) -> Self {
        Self { shell, verbose, junit: RefCell::default(), progress, footer: RefCell::default() }
    }

    /// Writes the results in JUnit's format.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub(super) fn write_junit(&self, path: &Path) -> io::Result<()> {
        std::fs::write(path, self.junit.borrow().document())
    }

    fn message(&self, file: Option<&TestFile>, run: Option<&TestRun>, text: String, body: TestBody<'_>) {
        if self.shell.wants_messages() {
            let (file, run) = (file.map(|file| &*file.path), run.map(|run| &*run.name));
            self.shell.message(&Message::Test(TestMessage { file, run, text, body }));
        }
    }

    fn say(&self, text: PrintableText) {
        if !self.shell.is_for_programs() {
            self.shell.say(text);
        }
    }

    fn diagnostics(&self, file: &TestFile, run: Option<&TestRun>, diagnostics: &Diagnostics) {
        if !self.shell.is_for_programs() {
            self.shell.diagnostics(diagnostics);
            return;
        }
        for diagnostic in diagnostics {
            let severity = if diagnostic.is_error() { "Error" } else { "Warning" };
            let text = format!("{severity}: {}", diagnostic.summary);
            self.message(Some(file), run, text, TestBody::Diagnostic(diagnostic));
        }
    }

    fn file(&self, file: &TestFile, progress: Progress, status: Option<TestStatus>) {
        let (word, paint) = match (progress, status) {
            (Progress::Starting, _) => ("in progress", Paint::Faint),
            (Progress::Teardown, _) => ("tearing down", Paint::Faint),
            (Progress::Complete, status) => word(status.unwrap_or_default()),
        };
        let text = format!("{}... {word}", file.path);
        self.message(Some(file), None, text, TestBody::File { progress, status });
        self.say(printable!("{}... {}", &*file.path, self.shell.paint(paint, printable!("{word}"))));
    }

    fn run_completed(&self, file: &TestFile, result: &RunResult<'_>) {
        let run = result.run;
        let (word, paint) = word(result.status);
        let text = format!("  \"{}\"... {word}", run.name);
        let body = TestBody::Run { progress: Progress::Complete, status: Some(result.status) };
        self.message(Some(file), Some(run), text, body);
        let word = self.shell.paint(paint, printable!("{word}"));
        self.say(printable!("  run \"{}\"... {word}", &*run.name));
        if self.verbose
            && let Some(details) = &result.details
        {
            self.details(file, run, details);
        }
        self.diagnostics(file, Some(run), &result.diagnostics);
    }

    fn details(&self, file: &TestFile, run: &TestRun, details: &wardian_testing::RunDetails) {
        if !self.shell.is_for_programs() {
            self.shell.print(verbose::text(details, self.shell.render_options()));
            return;
        }
        let (what, body) = match verbose::document(details) {
            Ok(verbose::Document::Plan(document)) => ("plan", TestBody::Plan(document)),
            Ok(verbose::Document::State(document)) => ("state", TestBody::State(document)),
            Err(problems) => return self.diagnostics(file, Some(run), &problems),
        };
        let text = format!("-verbose flag enabled, printing {what}");
        self.message(Some(file), Some(run), text, body);
    }

    fn torn_down(&self, file: &TestFile, run: &TestRun, diagnostics: &Diagnostics, left: &[LeftObject]) {
        let product = self.shell.product();
        if self.shell.is_for_programs() {
            if !left.is_empty() {
                let text = format!(
                    "{} left some resources in state after executing {}/{}, they need to be cleaned up \
                     manually.",
                    product.name(),
                    file.path,
                    run.name
                );
                self.message(Some(file), Some(run), text, TestBody::Cleanup(left));
            }
            self.diagnostics(file, Some(run), diagnostics);
            return;
        }
        if diagnostics.has_errors() {
            let text = printable!(
                "{} encountered an error destroying resources created while executing {}/{}.",
                product.name(),
                &*file.path,
                &*run.name
            );
            self.shell.note(self.shell.wrapped(&text));
        }
        self.shell.diagnostics(diagnostics);
        if left.is_empty() {
            return;
        }
        let text = printable!(
            "{} left the following resources in state after executing {}/{}, and they need to be cleaned up \
             manually:",
            product.name(),
            &*file.path,
            &*run.name
        );
        let mut list = printable!("\n{}", self.shell.wrapped(&text));
        for object in left {
            append!(list, "\n  - {}", described(object).as_str());
        }
        self.shell.note(list);
    }

    fn suite_completed(&self, status: TestStatus, counts: TestCounts) {
        let TestCounts { passed, failed, errored, skipped } = counts;
        let word = if status <= TestStatus::Pass { "Success!" } else { "Failure!" };
        let skipped = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
        let rest = format!("{passed} passed, {} failed{skipped}", failed + errored);
        let status = if status == TestStatus::Pending { TestStatus::Pass } else { status };
        self.message(None, None, format!("{word} {rest}."), TestBody::Summary { status, counts });
        let paint = if status <= TestStatus::Pass { Paint::Success } else { Paint::Failure };
        let word = self.shell.paint(paint, printable!("{word}"));
        self.say(printable!("\n{word} {}.", rest.as_str()));
    }
}

impl TestObserver for ShellObserver<'_> {
    fn event(&self, event: &TestEvent<'_>) {
        match event {
            TestEvent::SuiteStarted { files } => {
                let runs: usize = files.iter().map(|file| file.runs.len()).sum();
                *self.footer.borrow_mut() = self.progress.begin(Phase::Test, || runs);
                let text =
                    format!("Found {} and {}", counted(files.len(), "file"), counted(runs, "run block"));
                let files = files.iter().map(|file| (&*file.path, run_names(file))).collect();
                self.message(None, None, text, TestBody::Abstract(files));
            }
            TestEvent::FileStarted { file } => self.file(file, Progress::Starting, None),
            TestEvent::RunStarted { file, run } => {
                let text = format!("  \"{}\"... in progress", run.name);
                let body = TestBody::Run { progress: Progress::Starting, status: None };
                self.message(Some(file), Some(run), text, body);
            }
            TestEvent::RunCompleted { file, result } => {
                self.progress.complete_run();
                self.run_completed(file, result);
            }
            TestEvent::FileTearingDown { file } => self.file(file, Progress::Teardown, None),
            TestEvent::RunTearingDown { file, run } => {
                let text = format!("  \"{}\"... tearing down", run.name);
                let body = TestBody::Run { progress: Progress::Teardown, status: None };
                self.message(Some(file), Some(run), text, body);
            }
            TestEvent::RunTornDown { file, run, diagnostics, left } => {
                self.torn_down(file, run, diagnostics, left);
            }
            TestEvent::FileCompleted { file, status, diagnostics, results } => {
                self.file(file, Progress::Complete, Some(*status));
                self.diagnostics(file, None, diagnostics);
                self.junit.borrow_mut().add(file, results);
            }
            TestEvent::SuiteCompleted { status, counts } => {
                self.footer.take();
                self.suite_completed(*status, *counts);
            }
        }
    }
}

/// Returns the names of a file's runs; [`None`] if there are none.
fn run_names(file: &TestFile) -> Option<Vec<&str>> {
    (!file.runs.is_empty()).then(|| file.runs.iter().map(|run| &*run.name).collect())
}

fn word(status: TestStatus) -> (&'static str, Paint) {
    match status {
        TestStatus::Pending => ("pending", Paint::Faint),
        TestStatus::Skip => ("skip", Paint::Faint),
        TestStatus::Pass => ("pass", Paint::Success),
        TestStatus::Fail | TestStatus::Error => ("fail", Paint::Failure),
    }
}
