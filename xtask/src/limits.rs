//! `cargo xtask limits`: checks binary size, start-up time and number of dependencies against
//! limits. A change that raises a limit must explain the reason.

use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use crate::process;
use crate::progress::say;
use crate::workspace::Workspace;

/// Maximum size of the `wardian` binary of the dev profile, without symbols and debug information.
/// It applies to builds without incremental compilation, which are 4 MB larger than incremental ones. The
/// release profile, which is what users download, produces a binary of two thirds of that size.
/// Eight backends and the encryption of states added 6 MB, tests of configurations and state stores
/// 3 MB, most of it code of Wardian; actions, queries, reviews and the commands for authors of plugins
/// added 9 MB.
const MAX_BINARY_BYTES: u64 = 100_000_000;
/// Maximum of the median wall time of `wardian version`.
const MAX_START_UP_MICROSECONDS: u64 = 30_000;
/// Maximum number of packages from which the binary is compiled on this platform, including
/// Wardian's. Installation from registries added archives, Sigstore and nine crates of Wardian; the
/// terminal view of plans adds ratatui and crossterm, and the commands for authors of plugins add
/// wit-component and addr2line.
const MAX_DEPENDENCIES: u64 = 480;
/// Maximum number of entries in `Cargo.lock`.
const MAX_LOCKED_PACKAGES: u64 = 650;

const START_UP_RUNS: usize = 21;

struct Figure {
    name: &'static str,
    value: u64,
    limit: u64,
}

pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    let figures = [
        Figure {
            name: "binary size, stripped (bytes)",
            value: binary_bytes(workspace)?,
            limit: MAX_BINARY_BYTES,
        },
        Figure {
            name: "start-up, median (microseconds)",
            value: start_up_microseconds(workspace)?,
            limit: MAX_START_UP_MICROSECONDS,
        },
        Figure {
            name: "dependencies of the binary",
            value: dependencies(workspace)?,
            limit: MAX_DEPENDENCIES,
        },
        Figure {
            name: "packages in Cargo.lock",
            value: locked_packages(workspace)?,
            limit: MAX_LOCKED_PACKAGES,
        },
    ];
    let mut verdict = ExitCode::SUCCESS;
    for Figure { name, value, limit } in figures {
        let note = if value > limit { "  OVER THE LIMIT" } else { "" };
        say(&format!("{name:<34} {value:>12}  limit {limit:>12}{note}"));
        if value > limit {
            verdict = ExitCode::FAILURE;
        }
    }
    Ok(verdict)
}

fn binary_bytes(workspace: &Workspace) -> Result<u64> {
    let stripped = workspace.own_target().join("wardian.stripped");
    process::run(Command::new("strip").arg("-o").arg(&stripped).arg(workspace.host_program("wardian")))?;
    let bytes = std::fs::metadata(&stripped).context("strip wrote no file")?.len();
    std::fs::remove_file(&stripped)?;
    Ok(bytes)
}

fn start_up_microseconds(workspace: &Workspace) -> Result<u64> {
    let program = workspace.host_program("wardian");
    let mut times = Vec::with_capacity(START_UP_RUNS);
    for _ in 0..START_UP_RUNS {
        let started = Instant::now();
        let status = Command::new(&program)
            .arg("version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .with_context(|| format!("could not start {}", program.display()))?;
        ensure!(status.success(), "`wardian version` ended with {status}");
        times.push(u64::try_from(started.elapsed().as_micros())?);
    }
    times.sort_unstable();
    Ok(times[START_UP_RUNS / 2])
}

fn dependencies(workspace: &Workspace) -> Result<u64> {
    let tree = process::output(workspace.cargo().args([
        "tree",
        "--package=wardian-cli",
        "--edges=normal",
        "--prefix=none",
        "--format={p}",
    ]))?;
    Ok(unique_packages(&tree))
}

fn unique_packages(tree: &str) -> u64 {
    let packages: std::collections::BTreeSet<&str> =
        tree.lines().map(|line| line.trim_end_matches(" (*)")).filter(|line| !line.is_empty()).collect();
    packages.len() as u64
}

fn locked_packages(workspace: &Workspace) -> Result<u64> {
    let lock =
        std::fs::read_to_string(workspace.root.join("Cargo.lock")).context("could not read Cargo.lock")?;
    Ok(lock.lines().filter(|line| *line == "[[package]]").count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_packages_count_once() {
        assert_eq!(unique_packages("a v1.0.0\nb v1.0.0\nb v1.0.0 (*)\n\nb v2.0.0\n"), 3);
    }
}
