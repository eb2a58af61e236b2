//! `wardian test`: executes the tests of the configuration.

mod cleanup;
mod junit;
mod observer;
mod verbose;

use std::collections::BTreeMap;
use std::path::Path;

use async_trait::async_trait;
use wardian_app::protected_files::NamedFile;
use wardian_app::testing::AppTestHost;
use wardian_app::untrusted::ConfigurationTrust;
use wardian_app::variable_files;
use wardian_config::{LoadedTests, Module, TestValue, VariableInputs, global_test_values};
use wardian_diagnostic::{Diagnostic, system_reason};
use wardian_testing::{TestOptions, TestStatus, TestSuite};
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
    let stop = interrupt::listen(&context.shell)?;
    let (configuration, tests) = context.app.configuration_with_tests(Some(&arguments.test_directory))?;
    let left = context.app.left_test_records().await?;
    let is_cleanup = arguments.words.first().is_some_and(|word| word == "cleanup");
    if !is_cleanup {
        cleanup::check_nothing_left(&left)?;
    }
    let globals = globals(context, arguments, &configuration.root().module, &tests.files)?;
    let host = AppTestHost::new(&context.app, configuration, &tests.modules, arguments.parallelism)?;
    let observer = ShellObserver::new(&context.shell, arguments.verbose);
    let suite = TestSuite {
        tests: &tests.files,
        globals: &globals,
        options: TestOptions {
            filter: arguments.filter.clone(),
            parallelism: arguments.parallelism,
            run_parallelism: arguments.run_parallelism,
        },
        host: &host,
        observer: &observer,
        stop,
    };
    if is_cleanup {
        return cleanup::clean_up(context, &suite, &left, arguments.repair).await;
    }
    let report = suite.execute().await;
    host.finish();
    if let Some(path) = &arguments.junit_xml
        && let Err(error) = observer.write_junit(path)
    {
        let detail = format!("{}: {}.", path.display(), system_reason(&error));
        let summary = format!("The JUnit file \"{}\" cannot be written", path.display());
        return Err(Failure::from(Diagnostic::error(summary, detail)));
    }
    Ok(if report.status <= TestStatus::Pass { Status::Success } else { Status::Failed })
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
