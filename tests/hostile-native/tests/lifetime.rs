//! No process of a confined program survives the host, however the host ends.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the test has failed")]

mod support;

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use support::{Allowing, Level, Run};
use wardian_access::Scheme;

/// The variable that names the directory of the program, in the process of the host that is killed.
const DIRECTORY: &str = "WARDIAN_LIFETIME_DIRECTORY";
/// Number of hosts that are killed.
const HOSTS: u64 = 100;

/// Runs a program whose descendants try to survive it. In the process of the test itself, there is
/// nothing to do.
#[test]
fn host_of_a_program_that_forks() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let directory = Path::new(&directory);
    let name = std::fs::read_to_string(directory.join("level")).unwrap();
    let level = Level::ALL.into_iter().find(|level| level.name() == name).unwrap();
    let file = format!("file={}", directory.join("alive").display());
    let program = Path::new(env!("CARGO_BIN_EXE_wardian-hostile-native"));
    let run = Run::new(program, &["double-fork", &file, "seconds=20"]).in_directory(directory);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let allowing = Allowing::new("allowed.test", 1, Scheme::Tcp);
    runtime.block_on(run.at_level_without_waiting(level, &allowing));
}

/// Returns the processes whose arguments or environment contain a text.
fn processes_with(text: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has_text = |number: &u32| {
        ["cmdline", "environ"].into_iter().any(|file| {
            std::fs::read(format!("/proc/{number}/{file}"))
                .is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text))
        })
    };
    numbers.filter(has_text).collect()
}

/// Starts a host, kills it after a time, and returns the processes that are left a second later, or as
/// soon as there are none.
fn survivors(level: Level, after: Duration) -> Vec<u32> {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("level"), level.name()).unwrap();
    let mut host = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "host_of_a_program_that_forks"])
        .env(DIRECTORY, directory.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    thread::sleep(after);
    host.kill().unwrap();
    host.wait().unwrap();
    let killed = Instant::now();
    let mark = directory.path().display().to_string();
    loop {
        let left = processes_with(&mark);
        if left.is_empty() || killed.elapsed() > Duration::from_secs(1) {
            return left;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn descendants_end_with_a_host_that_is_killed() {
    if !support::is_supported() {
        return;
    }
    // Without confinement, the descendants survive, so the test can fail.
    let left = survivors(Level::None, Duration::from_millis(500));
    assert!(!left.is_empty());
    for process in left {
        let _ = Command::new("kill").args(["-KILL", &process.to_string()]).status();
    }
    // The moments are distributed over the start of the program, its forks and its life.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for level in Level::ALL.into_iter().filter(|level| *level >= Level::Namespaced && level.is_supported()) {
        for number in 0..HOSTS {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let after = Duration::from_micros(state % 60_000);
            let left = survivors(level, after);
            assert!(left.is_empty(), "{level:?}, host {number}, killed after {after:?}: {left:?} survived");
        }
    }
}
