//! Statistics of a running process: its own memory, and the processes that it starts. The values
//! are sampled, because the kernel's final statistics include child processes.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::process;

/// The sampling interval.
const INTERVAL: Duration = Duration::from_millis(3);

#[derive(Debug, Default)]
pub(crate) struct ProcessStats {
    /// The peak memory of the process itself.
    pub(crate) peak_bytes: u64,
    /// The number of child processes with the requested name.
    pub(crate) children: u32,
}

/// Runs a program that must succeed, and counts its direct children whose name has a prefix. The
/// kernel truncates names to 15 bytes.
pub(crate) fn run(command: &mut Command, children_named: &str) -> Result<ProcessStats> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut process =
        command.spawn().with_context(|| format!("could not start `{}`", process::line(command)))?;
    let mut stderr = process.stderr.take().context("a process has no standard error")?;
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stderr.read_to_end(&mut bytes).map(|_| bytes)
    });
    let id = process.id();
    let (mut peak_bytes, mut children) = (0, BTreeSet::new());
    let status = loop {
        peak_bytes = peak_bytes.max(peak_of(id).unwrap_or(0));
        children.extend(children_of(id).into_iter().filter(|child| {
            let name = fs::read_to_string(format!("/proc/{child}/comm")).unwrap_or_default();
            name.starts_with(children_named)
        }));
        if let Some(status) = process.try_wait()? {
            break status;
        }
        std::thread::sleep(INTERVAL);
    };
    let stderr = reader.join().map_err(|_| anyhow::anyhow!("the reader of standard error ended"))??;
    if !status.success() {
        bail!(
            "`{}` ended with {status}\n{}",
            process::line(command),
            String::from_utf8_lossy(&stderr).trim_end()
        );
    }
    Ok(ProcessStats { peak_bytes, children: u32::try_from(children.len())? })
}

fn peak_of(id: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

fn children_of(id: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>())
        .collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn memory_and_children_are_measured() {
        let script = "sleep 0.2 & sleep 0.2 & wait";
        let process_stats = run(Command::new("sh").args(["-c", script]), "sleep").unwrap();
        assert_eq!(process_stats.children, 2);
        assert!(process_stats.peak_bytes > 100_000);
    }

    #[test]
    fn failed_command_error_includes_stderr() {
        let failed = run(Command::new("sh").args(["-c", "echo no >&2; exit 1"]), "sleep");
        assert!(failed.unwrap_err().to_string().ends_with("\nno"));
    }
}
