//! `wardian test`: executes the tests of the configuration.

mod cleanup;
mod coverage;
mod junit;
mod observer;
mod verbose;
mod watch;

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use wardian_app::protected_files::NamedFile;
use wardian_app::test_suite::ConfigurationTests;
use wardian_app::testing::AppTestHost;
use wardian_app::untrusted::{self, ConfigurationTrust};
use wardian_app::variable_files;
use wardian_config::{Configuration, LoadedTests, Module, TestValue, VariableInputs, global_test_values};
use wardian_diagnostic::{Diagnostic, system_reason};
use wardian_engine::{Coverage, StopSignal};
use wardian_testing::{CoverageReport, TestOptions, TestStatus, TestSuite};
use wardian_value::Str;

use crate::arguments::TestArguments;
use crate::command_context::CommandContext;
use crate::command_spec::{CommandSpec, InvalidOptions};
use crate::failure::{Failure, Outcome, Status};
use crate::interrupt;
use crate::shell::{OutputKind, ViewOptions};
use crate::variables;

use observer::ShellObserver;

#[async_trait(?Send)]
impl CommandSpec for TestArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn output_kind(&self) -> OutputKind {
        if self.json { OutputKind::JsonMessages } else { OutputKind::Report }
    }

    fn trust(&self) -> ConfigurationTrust {
        self.trust.level()
    }

    fn audit_log(&self) -> Option<&Path> {
        self.audit.audit_log.as_deref()
    }

    fn named_files(&self) -> Vec<NamedFile> {
        self.variables.named_files().collect()
    }

    fn check(&self) -> Result<(), InvalidOptions> {
        if self.cloud_run.is_some() {
            return Err(InvalidOptions::new(
                "Option -cloud-run is not supported",
                "Tests run on this machine. Remove -cloud-run.",
            ));
        }
        Ok(())
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &TestArguments) -> Outcome {
    if context.app.confinement.is_some() {
        let written = arguments.junit_xml.iter().chain(&arguments.coverage_out);
        written.into_iter().try_for_each(|path| untrusted::check_written(path))?;
    }
    let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !arguments.test_directory.components().all(is_inside) {
        let detail = "The test directory is a relative path below the current directory, without \"..\".";
        return Err(Failure::error("Invalid testing directory", detail));
    }
    let stop = interrupt::listen(&context.shell)?;
    if arguments.watch {
        return watch::watch(context, arguments, &stop).await;
    }
    execute(context, arguments, &arguments.filter, &stop).await.result
}

/// A suite that was executed.
struct Executed {
    result: Outcome,
    /// The directories of the configuration and of its tests; empty if these could not be read.
    directories: Vec<PathBuf>,
}

/// Loads the configuration and its test files, and executes the test files with these paths.
async fn execute(
    context: &CommandContext,
    arguments: &TestArguments,
    filter: &[String],
    stop: &StopSignal,
) -> Executed {
    let loaded = context.app.configuration_with_tests(Some(&arguments.test_directory));
    let (configuration, tests) = match loaded {
        Ok(loaded) => loaded,
        Err(error) => return Executed { result: Err(error.into()), directories: Vec::new() },
    };
    let directories = tests.with_root(&configuration).flat_map(Configuration::modules);
    let directories = directories.map(|node| node.module.directory.clone()).collect();
    let result = execute_loaded(context, arguments, filter, stop, configuration, &tests).await;
    Executed { result, directories }
}

async fn execute_loaded(
    context: &CommandContext,
    arguments: &TestArguments,
    filter: &[String],
    stop: &StopSignal,
    configuration: Arc<Configuration>,
    tests: &ConfigurationTests,
) -> Outcome {
    let left = context.app.left_test_records().await?;
    let is_cleanup = arguments.words.first().is_some_and(|word| word == "cleanup");
    if !is_cleanup {
        cleanup::check_nothing_left(&left)?;
    }
    let globals = globals(context, arguments, &configuration.root().module, &tests.files)?;
    let root = Arc::clone(&configuration);
    let host = AppTestHost::new(&context.app, root, &tests.modules, arguments.parallelism)?;
    let observer = ShellObserver::new(&context.shell, arguments.verbose);
    let measures = arguments.coverage || arguments.coverage_out.is_some();
    let coverage = measures.then(Arc::<Coverage>::default);
    let suite = TestSuite {
        tests: &tests.files,
        globals: &globals,
        options: TestOptions {
            filter: filter.to_vec(),
            parallelism: arguments.parallelism,
            run_parallelism: arguments.run_parallelism,
            coverage: coverage.clone(),
            only_mocks: context.app.confinement.is_some(),
        },
        host: &host,
        observer: &observer,
        stop: stop.clone(),
    };
    if is_cleanup {
        return cleanup::clean_up(context, &suite, &left, arguments.repair).await;
    }
    let report = suite.execute().await;
    host.finish();
    if let Some(path) = &arguments.junit_xml {
        let written = observer.write_junit(path);
        written.map_err(|error| unwritable("JUnit file", path, &error))?;
    }
    if let Some(coverage) = coverage {
        let report = CoverageReport::new(tests.with_root(&configuration), &coverage);
        if arguments.coverage {
            coverage::print(&context.shell, &report);
        }
        if let Some(path) = &arguments.coverage_out {
            let written = coverage::write(path, &report);
            written.map_err(|error| unwritable("coverage file", path, &error))?;
        }
    }
    Ok(if report.status <= TestStatus::Pass { Status::Success } else { Status::Failed })
}

fn unwritable(what: &str, path: &Path, error: &io::Error) -> Failure {
    let detail = format!("{}: {}.", path.display(), system_reason(error));
    Failure::from(Diagnostic::error(format!("The {what} \"{}\" cannot be written", path.display()), detail))
}

/// Returns the global variable values of each test file. Variable files in the test directory apply
/// only to the test files there.
fn globals(
    context: &CommandContext,
    arguments: &TestArguments,
    module: &Module,
    tests: &LoadedTests,
) -> Outcome<BTreeMap<Str, BTreeMap<Str, TestValue>>> {
    let inputs = variables::inputs(&arguments.variables, &context.app.environment)?;
    let of_root = global_test_values(module, &inputs)?;
    let mut by_directory: BTreeMap<&str, BTreeMap<Str, TestValue>> = BTreeMap::new();
    let mut globals = BTreeMap::new();
    for path in tests.files.keys() {
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        if !by_directory.contains_key(directory) {
            let mut values = of_root.clone();
            if !directory.is_empty() {
                let files = variable_files::automatic(Path::new(directory))?;
                let inputs = VariableInputs { automatic_files: files, ..VariableInputs::default() };
                values.extend(global_test_values(module, &inputs)?);
            }
            by_directory.insert(directory, values);
        }
        globals.insert(path.clone(), by_directory[directory].clone());
    }
    Ok(globals)
}
