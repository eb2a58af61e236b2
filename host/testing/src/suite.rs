//! Executes the files of a suite, and the runs of each file.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::future::join_all;
use wardian_config::{LoadedTests, TestFile, TestRun, TestValue};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_engine::{Coverage, Stop, StopSignal};
use wardian_state::State;
use wardian_value::{Str, Type, Value};

use crate::cleanup::{self, LeftObject, LeftState, TestState};
use crate::events::{RunResult, TestEvent, TestObserver};
use crate::generated::Creations;
use crate::host::TestHost;
use crate::prepared::PreparedConfigurations;
use crate::run::{Executed, RecordedApply, RunInputs, Setup, backend_of, state_key};
use crate::status::{TestCounts, TestStatus};
use crate::variables::referenced_runs;

/// The options of a suite.
#[derive(Clone, Debug)]
pub struct TestOptions {
    /// The paths of the files to execute; all files if empty.
    pub filter: Vec<String>,
    /// The maximum number of concurrent operations of a run, at least 1.
    pub parallelism: usize,
    /// The maximum number of concurrent runs, at least 1.
    pub run_parallelism: usize,
    /// Receives the parts of the configuration that runs evaluate.
    pub coverage: Option<Arc<Coverage>>,
    /// Whether only plans over mocks are executed, because the configuration is not trusted.
    pub only_mocks: bool,
}

/// The test files of a configuration, ready to be executed.
pub struct TestSuite<'a> {
    pub tests: &'a LoadedTests,
    /// The global variable values, for each test file.
    pub globals: &'a BTreeMap<Str, BTreeMap<Str, TestValue>>,
    pub options: TestOptions,
    pub host: &'a dyn TestHost,
    pub observer: &'a dyn TestObserver,
    pub stop: StopSignal,
}

/// The result of a suite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestReport {
    pub status: TestStatus,
    pub counts: TestCounts,
    /// Whether objects remain.
    pub has_left_objects: bool,
}

impl TestSuite<'_> {
    /// Executes the selected files in the order of their paths.
    pub async fn execute(&self) -> TestReport {
        let files: Vec<&TestFile> = self.tests.files.values().filter(|file| self.is_selected(file)).collect();
        self.observer.event(&TestEvent::SuiteStarted { files: &files });
        let configurations = PreparedConfigurations::default();
        let mut report = TestReport::default();
        for file in files {
            if self.is_stopped() {
                // Only the runs of the file in which the suite was stopped are reported.
                for _ in &file.runs {
                    report.counts.count(TestStatus::Skip);
                }
                continue;
            }
            let done = FileExecution::new(self, &configurations, file).execute().await;
            report.status = report.status.max(done.status);
            report.has_left_objects |= done.has_left_objects;
            for status in done.statuses {
                report.counts.count(status);
            }
        }
        if self.is_stopped() && report.status < TestStatus::Error {
            report.status = TestStatus::Error;
        }
        configurations.close().await;
        self.observer.event(&TestEvent::SuiteCompleted { status: report.status, counts: report.counts });
        report
    }

    /// Destroys the objects that an earlier test has left. Outputs of earlier runs are unknown, because
    /// these runs are not executed again. Returns the objects that remain.
    pub async fn clean_up(&self, left: &LeftState) -> (Vec<LeftObject>, Diagnostics) {
        let unchanged = |problems: Diagnostics| (cleanup::objects(&left.state), problems);
        let found = self.tests.files.get(&*left.file).and_then(|file| {
            let run = file.runs.iter().find(|run| *run.name == *left.run)?;
            Some((file, run))
        });
        let Some((file, run)) = found else {
            let detail = format!(
                "The run \"{}\" in {} has created objects, but it no longer exists. Restore it, or destroy the \
                 objects with the tools of the service.",
                left.run, left.file
            );
            return unchanged(Diagnostic::error("Run of a left state not found", detail).into());
        };
        let configurations = PreparedConfigurations::default();
        let unknown = |run: &TestRun| (run.name.clone(), Value::unknown(Type::Dynamic));
        let earlier = file.runs.iter().take_while(|other| other.name != run.name).map(unknown);
        let globals = self.globals.get(&file.path).cloned().unwrap_or_default();
        let inputs = RunInputs {
            host: self.host,
            configurations: &configurations,
            file,
            run,
            state_key: &left.key,
            globals: &globals,
            outputs: &earlier.collect(),
            parallelism: self.options.parallelism,
            stop: &self.stop,
            coverage: None,
            only_mocks: self.options.only_mocks,
            creations: &Arc::default(),
        };
        let mut problems = Diagnostics::new();
        let destroyed = match inputs.set_up(&left.state, &mut problems).await {
            Ok((setup, _)) => {
                let (state, found) = cleanup::destroy(inputs.recorded(), &left.state, &setup).await;
                problems.extend(found);
                (cleanup::objects(&state), problems)
            }
            Err(errors) => unchanged(errors),
        };
        configurations.close().await;
        destroyed
    }

    fn is_selected(&self, file: &TestFile) -> bool {
        self.options.filter.is_empty() || self.options.filter.iter().any(|path| path == &*file.path)
    }

    fn is_stopped(&self) -> bool {
        self.stop.current() > Stop::No
    }
}

/// The result of a file.
struct FileDone {
    status: TestStatus,
    statuses: Vec<TestStatus>,
    has_left_objects: bool,
}

/// One file while it is executed.
struct FileExecution<'s, 'a> {
    suite: &'s TestSuite<'a>,
    configurations: &'s PreparedConfigurations,
    file: &'a TestFile,
    globals: BTreeMap<Str, TestValue>,
    status: TestStatus,
    results: Vec<RunResult<'a>>,
    states: BTreeMap<String, TestState<'a>>,
    /// The outputs of the executed runs.
    outputs: BTreeMap<Str, Value>,
    diagnostics: Diagnostics,
    has_left_objects: bool,
    /// The objects that mocks have created.
    creations: Arc<Creations>,
}

impl<'s, 'a> FileExecution<'s, 'a> {
    fn new(suite: &'s TestSuite<'a>, configurations: &'s PreparedConfigurations, file: &'a TestFile) -> Self {
        Self {
            suite,
            configurations,
            file,
            globals: suite.globals.get(&file.path).cloned().unwrap_or_default(),
            status: TestStatus::Pending,
            results: Vec::new(),
            states: BTreeMap::new(),
            outputs: BTreeMap::new(),
            diagnostics: suite.host.check_file(file),
            has_left_objects: false,
            creations: Arc::default(),
        }
    }

    async fn execute(mut self) -> FileDone {
        let file = self.file;
        self.observe(&TestEvent::FileStarted { file });
        let mut position = 0;
        while let Some(run) = file.runs.get(position) {
            if self.status == TestStatus::Error || self.suite.is_stopped() {
                self.skip(run);
                position += 1;
                continue;
            }
            let group = self.concurrent_group(position);
            self.execute_group(&file.runs[position..position + group], position).await;
            position += group;
        }
        self.observe(&TestEvent::FileTearingDown { file });
        self.tear_down().await;
        if self.status == TestStatus::Pending {
            self.status = TestStatus::Pass;
        }
        self.observe(&TestEvent::FileCompleted {
            file,
            status: self.status,
            diagnostics: &self.diagnostics,
            results: &self.results,
        });
        FileDone {
            status: self.status,
            statuses: self.results.iter().map(|result| result.status).collect(),
            has_left_objects: self.has_left_objects,
        }
    }

    fn observe(&self, event: &TestEvent<'_>) {
        self.suite.observer.event(event);
    }

    fn skip(&mut self, run: &'a TestRun) {
        let result = RunResult {
            run,
            status: TestStatus::Skip,
            diagnostics: Diagnostics::new(),
            failed_assertions: 0,
            started: None,
            elapsed: Duration::ZERO,
            details: None,
        };
        self.observe(&TestEvent::RunCompleted { file: self.file, result: &result });
        self.status = self.status.max(TestStatus::Skip);
        self.results.push(result);
    }

    /// Returns the number of runs, from a position, that are executed at the same time: runs that are
    /// marked as parallel, use different states, and do not refer to each other.
    fn concurrent_group(&self, position: usize) -> usize {
        let runs = &self.file.runs[position..];
        let mut keys = BTreeSet::new();
        let mut names: BTreeSet<&Str> = BTreeSet::new();
        let mut count = 0;
        for run in runs {
            let refers = referenced_runs(self.file, run).iter().any(|name| names.contains(name));
            if !run.parallel
                || refers
                || count == self.suite.options.run_parallelism
                || !keys.insert(state_key(run))
            {
                break;
            }
            names.insert(&run.name);
            count += 1;
        }
        count.max(1)
    }

    async fn execute_group(&mut self, runs: &'a [TestRun], position: usize) {
        for run in runs {
            self.observe(&TestEvent::RunStarted { file: self.file, run });
        }
        let keys: Vec<String> = runs.iter().map(state_key).collect();
        for (key, run) in keys.iter().zip(runs) {
            if let Err(problems) = self.load(key).await {
                return self.fail(run, runs, problems);
            }
        }
        let (suite, configurations, file) = (self.suite, self.configurations, self.file);
        let (globals, outputs) = (&self.globals, &self.outputs);
        let executions = runs.iter().zip(&keys).map(|(run, key)| {
            let state = self.states.get(key).map(|known| known.state.clone()).unwrap_or_default();
            let inputs = RunInputs {
                host: suite.host,
                configurations,
                file,
                run,
                state_key: key,
                globals,
                outputs,
                parallelism: suite.options.parallelism,
                stop: &suite.stop,
                coverage: suite.options.coverage.as_ref(),
                only_mocks: suite.options.only_mocks,
                creations: &self.creations,
            };
            inputs.execute(state)
        });
        let executed: Vec<Executed<'a>> = join_all(executions).await;
        for ((index, run), executed) in runs.iter().enumerate().zip(executed) {
            let Executed { result, state, setup, outputs } = executed;
            self.observe(&TestEvent::RunCompleted { file: self.file, result: &result });
            self.status = self.status.max(result.status);
            if let Some(outputs) = outputs {
                self.outputs.insert(run.name.clone(), outputs);
            }
            let known = self.states.entry(keys[index].clone()).or_insert_with(|| TestState {
                state: State::default(),
                last: None,
                kept: None,
                position: position + index,
            });
            if let Some(state) = state {
                known.state = state;
                known.last = setup.map(|setup| (run, setup));
                if run.skip_cleanup {
                    known.kept.clone_from(&known.last);
                }
                known.position = position + index;
            }
            self.results.push(result);
        }
    }

    /// Reads the state from its backend before the first run that uses it.
    async fn load(&mut self, key: &str) -> Result<(), Diagnostics> {
        let Some(backend) = backend_of(self.file, key).filter(|_| !self.states.contains_key(key)) else {
            return Ok(());
        };
        let state = self.suite.host.read_backend(backend).await?;
        self.states.insert(key.to_owned(), TestState { state, last: None, kept: None, position: 0 });
        Ok(())
    }

    /// Records that a run failed before it began, and skips the other runs of its group.
    fn fail(&mut self, failed: &TestRun, runs: &'a [TestRun], diagnostics: Diagnostics) {
        let mut diagnostics = Some(diagnostics);
        for run in runs {
            if run.name != failed.name {
                self.skip(run);
                continue;
            }
            let result = RunResult {
                run,
                status: TestStatus::Error,
                diagnostics: diagnostics.take().unwrap_or_default(),
                failed_assertions: 0,
                started: Some(SystemTime::now()),
                elapsed: Duration::ZERO,
                details: None,
            };
            self.observe(&TestEvent::RunCompleted { file: self.file, result: &result });
            self.status = TestStatus::Error;
            self.results.push(result);
        }
    }

    /// Destroys the objects of all states, beginning with the state that was changed last.
    async fn tear_down(&mut self) {
        let mut states: Vec<(String, TestState<'a>)> = std::mem::take(&mut self.states).into_iter().collect();
        states.sort_by_key(|(_, state)| std::cmp::Reverse(state.position));
        for (key, TestState { state, last, kept, .. }) in states {
            let Some((run, setup)) = last else { continue };
            let has_backend = backend_of(self.file, &key).is_some();
            if has_backend || cleanup::objects(&state).is_empty() {
                continue;
            }
            if let Some((kept_run, kept_setup)) = kept {
                self.keep(&key, &state, (run, kept_run), &kept_setup).await;
                continue;
            }
            self.observe(&TestEvent::RunTearingDown { file: self.file, run });
            // Objects are destroyed even if the suite is stopped, unless it must stop immediately.
            let stop = self.suite.stop.only_immediate();
            let apply = RecordedApply {
                host: self.suite.host,
                file: self.file,
                run,
                key: &key,
                backend: None,
                parallelism: self.suite.options.parallelism,
                stop: &stop,
            };
            let (state, diagnostics) = cleanup::destroy(apply, &state, &setup).await;
            let left: Vec<LeftObject> = cleanup::objects(&state);
            if diagnostics.has_errors() || !left.is_empty() {
                self.status = TestStatus::Error;
                self.has_left_objects |= !left.is_empty();
            }
            self.observe(&TestEvent::RunTornDown {
                file: self.file,
                run,
                diagnostics: &diagnostics,
                left: &left,
            });
        }
    }

    /// Keeps the objects of a state as the last run with `skip_cleanup` left them. If a later run has
    /// changed the state, the plan of the former run is applied again.
    async fn keep(
        &mut self,
        key: &str,
        state: &State,
        (last, kept): (&'a TestRun, &'a TestRun),
        setup: &Setup,
    ) {
        let mut problems = Diagnostics::new();
        if last.name != kept.name {
            let apply = RecordedApply {
                host: self.suite.host,
                file: self.file,
                run: kept,
                key,
                backend: None,
                parallelism: self.suite.options.parallelism,
                stop: &self.suite.stop,
            };
            problems.extend(cleanup::apply_again(apply, state, setup).await);
        }
        problems.extend(self.suite.host.keep(self.file, kept, key).err().unwrap_or_default());
        if problems.has_errors() {
            self.status = TestStatus::Error;
        }
        self.diagnostics.extend(problems);
    }
}
