//! The CPU time of a process and its descendants, on Linux.

use std::path::PathBuf;
use std::time::Duration;

/// Maximum number of processes of which the CPU time is added up.
const MAX_PROCESSES: usize = 10_000;

/// The unit in `/proc`, `USER_HZ`, is a hundredth of a second on every architecture that Linux
/// supports today.
const MILLISECONDS_PER_TICK: u64 = 10;

/// Returns the CPU time of all threads of a process, of its descendants, and of descendants that have
/// ended; `None` if the process has ended, or the system does not report it.
pub fn cpu_time_with_descendants(process: u32) -> Option<Duration> {
    let mut total = cpu_time(process)?;
    let mut waiting = children(process);
    let mut count = 1;
    while let Some(next) = waiting.pop() {
        count += 1;
        if count > MAX_PROCESSES {
            break;
        }
        // A process may end in the meantime.
        total += cpu_time(next).unwrap_or_default();
        waiting.extend(children(next));
    }
    Some(total)
}

fn cpu_time(process: u32) -> Option<Duration> {
    parse_stat(&std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// Parses the fields `utime`, `stime`, `cutime` and `cstime` (proc_pid_stat(5)).
fn parse_stat(stat: &str) -> Option<Duration> {
    // The name in parentheses may contain spaces and parentheses.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: u64 = fields
        .split_ascii_whitespace()
        .skip(11)
        .take(4)
        .map(|field| field.parse::<u64>().unwrap_or_default())
        .sum();
    Some(Duration::from_millis(ticks.saturating_mul(MILLISECONDS_PER_TICK)))
}

fn children(process: u32) -> Vec<u32> {
    let threads: Vec<PathBuf> = std::fs::read_dir(format!("/proc/{process}/task"))
        .map(|threads| threads.filter_map(|thread| Some(thread.ok()?.path().join("children"))).collect())
        .unwrap_or_default();
    let lists = threads.iter().filter_map(|list| std::fs::read_to_string(list).ok());
    lists
        .flat_map(|list| {
            list.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect::<Vec<_>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_follow_the_name_in_parentheses() {
        let stat = "1 (a b) c) S 2 3 4 5 6 7 8 9 10 11 100 200 300 400 20 0 1";
        assert_eq!(parse_stat(stat), Some(Duration::from_secs(10)));
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn descendants_are_included() {
        use std::os::unix::process::CommandExt as _;
        // In a group of its own, so that the test can end the subshell.
        let mut shell = std::process::Command::new("sh")
            .args(["-c", "(while :; do :; done) & wait"])
            .process_group(0)
            .spawn()
            .unwrap();
        let deadline = std::time::Instant::now() + Duration::from_mins(1);
        while cpu_time_with_descendants(shell.id()).unwrap_or_default() < Duration::from_millis(100) {
            assert!(std::time::Instant::now() < deadline, "the CPU time of the subshell is not counted");
            std::thread::sleep(Duration::from_millis(10));
        }
        let group = rustix::process::Pid::from_raw(shell.id().cast_signed()).unwrap();
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
        shell.wait().unwrap();
        assert_eq!(cpu_time_with_descendants(shell.id()), None);
    }
}
