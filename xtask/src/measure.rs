//! Wall time and peak memory of one process.
//!
//! The system keeps the peak memory of a process's children as one maximum over
//! all of them, so each measured program is started by a fresh `xtask measure`,
//! which has no other child.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::process;

pub(crate) struct Measurement {
    pub(crate) wall: Duration,
    pub(crate) peak_bytes: u64,
}

/// Runs `program` in `directory` as its own process and measures it.
pub(crate) fn once(directory: &Path, program: &Path, arguments: &[&str]) -> Result<Measurement> {
    let own = std::env::current_exe().context("could not find xtask's own program")?;
    let answer = process::output(
        Command::new(own).arg("measure").arg(program).args(arguments).current_dir(directory),
    )?;
    let (nanoseconds, bytes) = answer
        .trim_end()
        .split_once('\t')
        .context("`xtask measure` answered something else than two numbers")?;
    Ok(Measurement { wall: Duration::from_nanos(nanoseconds.parse()?), peak_bytes: bytes.parse()? })
}

/// The other side: `xtask measure PROGRAM ARGUMENTS...`.
pub(crate) fn child(words: &[String]) -> Result<ExitCode> {
    let Some((program, arguments)) = words.split_first() else {
        bail!("`measure` needs a program");
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    let started = Instant::now();
    let status = process::status(&mut command)?;
    let wall = started.elapsed();
    if !status.success() {
        bail!("{program} ended with {status}");
    }
    crate::progress::say(&format!("{}\t{}", wall.as_nanos(), peak_of_children()?));
    Ok(ExitCode::SUCCESS)
}

#[cfg(unix)]
fn peak_of_children() -> Result<u64> {
    use nix::sys::resource::{UsageWho, getrusage};

    let peak = u64::try_from(getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss())?;
    // Apple counts in bytes, the others in units of 1024.
    Ok(if cfg!(target_vendor = "apple") { peak } else { peak * 1024 })
}

#[cfg(not(unix))]
fn peak_of_children() -> Result<u64> {
    bail!("peak memory is measured on Unix only")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_ran_has_a_peak() {
        let status = Command::new("true").status().unwrap();
        assert!(status.success());
        assert!(peak_of_children().unwrap() > 100_000);
    }
}
