//! `wardian test -watch`: executes the tests again whenever a file changes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use wardian_engine::{Stop, StopSignal};
use wardian_printable::printable;

use crate::arguments::TestArguments;
use crate::command_context::CommandContext;
use crate::failure::Outcome;
use crate::file_watch::FileTimes;
use crate::shell::Paint;

/// The suffixes of the files that determine the result of tests.
const SUFFIXES: [&str; 12] = [
    ".tf",
    ".tf.json",
    ".tofu",
    ".tofu.json",
    ".tfvars",
    ".tfvars.json",
    ".tftest.hcl",
    ".tftest.json",
    ".tofutest.hcl",
    ".tofutest.json",
    ".tfmock.hcl",
    ".tfmock.json",
];

/// The suffixes of test files.
const TEST_SUFFIXES: [&str; 4] = [".tftest.hcl", ".tftest.json", ".tofutest.hcl", ".tofutest.json"];

/// Executes the tests until the user interrupts it. The status is that of the last execution.
pub(super) async fn watch(context: &CommandContext, arguments: &TestArguments, stop: &StopSignal) -> Outcome {
    let mut filter = arguments.filter.clone();
    let mut directories = vec![PathBuf::new(), arguments.test_directory.clone()];
    loop {
        // A file that changes while the tests are executed is noticed afterwards.
        let before = snapshot(&directories, arguments);
        let executed = super::execute(context, arguments, &filter, stop).await;
        context.app.close().await;
        let status = match executed.result {
            Ok(status) => status,
            Err(failure) => context.shell.failure(&failure),
        };
        if !executed.directories.is_empty() {
            let tests = [PathBuf::new(), arguments.test_directory.clone()];
            directories = executed.directories.into_iter().chain(tests).collect();
            directories.sort();
            directories.dedup();
        }
        context.shell.say(printable!("\n{}", context.shell.paint(Paint::Faint, "Waiting for changes.")));
        let Some(changed) = next_change(&before, &directories, arguments, stop).await else {
            return Ok(status);
        };
        filter = affected(&changed, &arguments.filter);
        context.shell.say("");
    }
}

/// Waits until a file differs from its earlier time. Returns the paths that differ; `None` after an
/// interrupt.
async fn next_change(
    before: &FileTimes,
    directories: &[PathBuf],
    arguments: &TestArguments,
    stop: &StopSignal,
) -> Option<BTreeSet<PathBuf>> {
    // The earlier times do not include directories that were added.
    let known = before.clone().or(snapshot(directories, arguments));
    known.next_change(|| snapshot(directories, arguments), || stop.current() > Stop::No).await
}

/// Returns the test files to execute after a change: the changed ones if only test files have changed,
/// otherwise those that the user selected.
fn affected(changed: &BTreeSet<PathBuf>, selected: &[String]) -> Vec<String> {
    let paths: Vec<String> = changed.iter().map(|path| path.to_string_lossy().replace('\\', "/")).collect();
    let is_test = |path: &String| TEST_SUFFIXES.iter().any(|suffix| path.ends_with(suffix));
    let is_selected = |path: &String| selected.is_empty() || selected.contains(path);
    let exists = |path: &String| Path::new(path).exists();
    if paths.iter().all(|path| is_test(path) && is_selected(path) && exists(path)) {
        return paths;
    }
    selected.to_vec()
}

fn snapshot(directories: &[PathBuf], arguments: &TestArguments) -> FileTimes {
    let mut files = FileTimes::default();
    for directory in directories {
        let listed = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        for entry in fs::read_dir(listed).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_watched = SUFFIXES.iter().any(|suffix| name.to_string_lossy().ends_with(suffix));
            if is_watched {
                files.add(directory.join(&name));
            }
        }
    }
    for (_, path) in arguments.variables.named_files().map(|named| (named.0, named.1)) {
        files.add(path);
    }
    files
}
