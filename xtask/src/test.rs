//! `cargo xtask test`: runs every test of the workspace, and prints a summary line.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;

use crate::guests;
use crate::process;
use crate::progress::{elapsed, say};
use crate::workspace::{Purpose, Workspace};

/// The environment variable with the path of the binary for end-to-end tests.
const BINARY: &str = "WARDIAN_TEST_BINARY";
const TEST_GUESTS: &str = "WARDIAN_TEST_GUESTS";
/// The environment variable with the number of tests that a test binary runs at the same time.
const THREADS: &str = "RUST_TEST_THREADS";

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<ExitCode> {
    run_with(workspace, arguments, &[])
}

/// Runs the tests with additional environment variables.
pub(crate) fn run_with(
    workspace: &Workspace,
    arguments: &[String],
    variables: &[(&str, PathBuf)],
) -> Result<ExitCode> {
    say("==> Running the tests");
    let started = Instant::now();
    let mut cargo = workspace.cargo();
    cargo
        .args(["test", "--workspace", "--no-fail-fast"])
        .args(arguments)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .env(BINARY, workspace.host_program("wardian"))
        .env(TEST_GUESTS, guests::place(&guests::directory(workspace), Purpose::Test));
    if std::env::var_os(THREADS).is_none() {
        cargo.env(THREADS, threads().to_string());
    }
    let mut tally = Tally::default();
    let status = process::each_line(&mut cargo, |line| tally.count(line))?;
    say(&tally.closing_line(status.success(), &elapsed(started.elapsed())));
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns twice the number of processors, because many tests wait for processes, servers and timeouts.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, |processors| 2 * processors.get())
}

/// The totals of the `test result:` lines that the test binaries print.
#[derive(Default)]
struct Tally {
    binaries: u64,
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Tally {
    fn count(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else {
            return;
        };
        self.binaries += 1;
        let Some((_, counts)) = result.split_once(". ") else {
            return;
        };
        for count in counts.split("; ") {
            let Some((number, what)) = count.split_once(' ') else {
                continue;
            };
            let number: u64 = number.parse().unwrap_or(0);
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }

    fn closing_line(&self, successful: bool, time: &str) -> String {
        let verdict = if successful { "ok" } else { "FAILED" };
        format!(
            "\nall tests: {verdict}. {} passed; {} failed; {} ignored; in {} binaries, {time}",
            self.passed, self.failed, self.ignored, self.binaries
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_from_all_binaries_are_summed() {
        let mut tally = Tally::default();
        tally.count("running 3 tests");
        tally.count(
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
        );
        tally.count(
            "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s",
        );
        assert_eq!(
            tally.closing_line(false, "1.0 s"),
            "\nall tests: FAILED. 7 passed; 2 failed; 1 ignored; in 2 binaries, 1.0 s"
        );
    }
}
