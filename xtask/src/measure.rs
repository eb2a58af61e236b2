//! Measures the wall time and the peak memory of one process.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use wait4::Wait4 as _;

use crate::process;

pub(crate) struct Measurement {
    pub(crate) wall: Duration,
    /// The CPU time of the process on all processors, including kernel time.
    pub(crate) processors: Duration,
    pub(crate) peak_bytes: u64,
}

/// Runs a program to completion. The program must succeed. Its standard output is discarded; its
/// standard error is included in the error.
pub(crate) fn once(command: &mut Command) -> Result<Measurement> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let started = Instant::now();
    let mut child =
        command.spawn().with_context(|| format!("could not start `{}`", process::line(command)))?;
    let mut complaints = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_string(&mut complaints)?;
    }
    let ended = child.wait4()?;
    let wall = started.elapsed();
    if !ended.status.success() {
        bail!("`{}` ended with {}\n{}", process::line(command), ended.status, complaints.trim_end());
    }
    let processors = ended.rusage.utime + ended.rusage.stime;
    Ok(Measurement { wall, processors, peak_bytes: ended.rusage.maxrss })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn measurement_has_duration_and_peak_memory() {
        let measured = once(Command::new("sleep").arg("0.05")).unwrap();
        assert!(measured.wall >= Duration::from_millis(50));
        assert!(measured.processors < measured.wall);
        assert!(measured.peak_bytes > 100_000);
    }

    #[test]
    fn failed_program_is_not_measured() {
        let failed = once(Command::new("sh").args(["-c", "echo no >&2; exit 1"]));
        assert!(failed.err().unwrap().to_string().ends_with("\nno"));
    }
}
