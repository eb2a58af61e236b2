//! Tests in their full size, of which `cargo xtask test` runs a sample: random file operations of two
//! plugins (`cargo xtask hostile files`), applies that end at random moments after recorded states
//! (`cargo xtask hostile records`), and attacks of a native plugin (`cargo xtask hostile native`).

use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::progress::{elapsed, say};
use crate::workspace::{Purpose, Workspace};
use crate::{guests, process};

/// The test that simulates the operations, in `wardian-sandbox`.
const TEST: &str = "capability::filesystem::simulation::tests::no_file_is_reached_outside_of_the_grants";
/// The environment variable with the number of operations.
const OPERATIONS: &str = "WARDIAN_SIMULATED_OPERATIONS";
const DEFAULT_OPERATIONS: u64 = 10_000_000;

/// The test that ends applies, in the suite `end-to-end`.
const KILLED: &str = "recorded_states::failures_after_recorded_states_lose_and_duplicate_nothing";
/// The environment variable with the number of ended applies.
const KILLS: &str = "WARDIAN_RECORDED_KILLS";
const DEFAULT_KILLS: u64 = 300;

/// The test that attacks the host with a native program, in `wardian-hostile-native`.
const ATTACKS: &str = "attacks_succeed_only_without_confinement";

/// Returns the number of operations from the arguments after `hostile files`.
pub(crate) fn parse(arguments: &[String]) -> Result<u64> {
    let text = match arguments {
        [] => return Ok(DEFAULT_OPERATIONS),
        [option, number] if option == "--steps" => number,
        _ => bail!("`hostile files` accepts only `--steps <N>`"),
    };
    text.parse().with_context(|| format!("--steps requires a number, not `{text}`"))
}

/// Returns the number of ended applies from the arguments after `hostile records`.
pub(crate) fn parse_kills(arguments: &[String]) -> Result<u64> {
    let text = match arguments {
        [] => return Ok(DEFAULT_KILLS),
        [option, number] if option == "--kills" => number,
        _ => bail!("`hostile records` accepts only `--kills <N>`"),
    };
    text.parse().with_context(|| format!("--kills requires a number, not `{text}`"))
}

pub(crate) fn run(workspace: &Workspace, operations: u64) -> Result<ExitCode> {
    say(&format!("==> Simulating {operations} file operations of two plugins"));
    let mut cargo = test(workspace, "--lib", TEST);
    cargo.env(OPERATIONS, operations.to_string());
    run_test(&mut cargo, TEST, |line| line.starts_with("Simulated {"))
}

pub(crate) fn run_kills(workspace: &Workspace, kills: u64) -> Result<ExitCode> {
    say(&format!("==> Ending {kills} applies at random moments after recorded states"));
    let mut cargo = test(workspace, "--test=end-to-end", KILLED);
    cargo
        .env(KILLS, kills.to_string())
        .env("WARDIAN_TEST_BINARY", workspace.host_program("wardian"))
        .env("WARDIAN_TEST_GUESTS", guests::place(&guests::directory(workspace), Purpose::Test));
    run_test(&mut cargo, KILLED, |line| line.contains("failed or were killed"))
}

pub(crate) fn run_native(workspace: &Workspace) -> Result<ExitCode> {
    say("==> Attacking the confinement of native plugins");
    let mut cargo = test(workspace, "--test=attacks", ATTACKS);
    cargo.env("WARDIAN_HOSTILE_ALL", "1");
    run_test(&mut cargo, ATTACKS, |line| line.starts_with("connect-race "))
}

/// Returns the command that runs one test. It selects the same packages as the other tests, to avoid compiling
/// them again.
fn test(workspace: &Workspace, target: &str, name: &str) -> Command {
    let mut cargo = workspace.cargo();
    cargo.args(["test", "--workspace", target, "--", "--nocapture", "--exact", name]);
    cargo
}

/// Runs a test, and fails if it is skipped: no line that it prints is its result.
fn run_test(cargo: &mut Command, name: &str, is_result: impl Fn(&str) -> bool) -> Result<ExitCode> {
    let started = Instant::now();
    let mut has_run = false;
    let status = process::each_line(cargo, |line| has_run |= is_result(line))?;
    say(&elapsed(started.elapsed()));
    if status.success() && !has_run {
        bail!("{name} did not run");
    }
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_operations_is_parsed() {
        let parse = |arguments: &[&str]| {
            parse(&arguments.iter().map(|argument| (*argument).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(parse(&[]).unwrap(), DEFAULT_OPERATIONS);
        assert_eq!(parse(&["--steps", "5"]).unwrap(), 5);
        for invalid in [&["--steps"][..], &["--steps", "x"], &["--only", "5"]] {
            assert!(parse(invalid).is_err(), "{invalid:?}");
        }
    }
}
