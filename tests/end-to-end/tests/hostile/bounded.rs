//! Runs the binary with limits on time and memory, which protect the machine from successful
//! attacks, and measures both.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// The maximum memory of the process and its children. All of them are killed if they exceed it.
const MAX_MEMORY: u64 = 3 << 30;
/// The maximum running time, after which the process and its children are killed.
pub const MAX_TIME: Duration = Duration::from_mins(1);

/// The result of a command that ran with limits.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub out: Vec<u8>,
    pub errors: Vec<u8>,
    /// The highest resident memory of the process and its children, in bytes.
    pub peak: u64,
    pub elapsed: Duration,
    /// The CPU time of the process and its children.
    pub cpu: Duration,
    /// The limit that was exceeded, if the command was killed.
    pub killed: Option<&'static str>,
}

impl Run {
    /// Returns the complete output.
    pub fn text(&self) -> String {
        format!("{}{}", String::from_utf8_lossy(&self.out), String::from_utf8_lossy(&self.errors))
    }

    pub fn says(&self, text: &str) -> bool {
        self.text().contains(text)
    }

    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }

    /// Returns an error if the command failed.
    pub fn success(self) -> Result<Self, String> {
        if self.is_success() { Ok(self) } else { Err(format!("exit code {:?}:\n{}", self.code, self.text())) }
    }
}

/// A signal that is sent some time after the start.
#[derive(Clone, Copy)]
pub struct Kill {
    pub after: Duration,
    pub signal: Signal,
}

/// Runs a command within the limits until it ends.
pub fn run(command: Command, limit: Duration, kills: &[Kill]) -> Result<Run, String> {
    let mut child = start(command)?;
    let (out, errors) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let pid = child.id();
    let group = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or("the process has no ID")?;
    let started = Instant::now();
    let (mut peak, mut cpu, mut killed) = (0, Duration::ZERO, None);
    let mut kills = kills.to_vec();
    let status = loop {
        let use_now = usage(pid);
        peak = peak.max(use_now.0);
        cpu = cpu.max(use_now.1);
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break status;
        }
        kills.retain(|kill| {
            let is_due = started.elapsed() >= kill.after;
            if is_due {
                let _ = kill_process(group, kill.signal);
            }
            !is_due
        });
        let bound = match () {
            () if peak > MAX_MEMORY => Some("memory"),
            () if started.elapsed() > limit => Some("time"),
            () => None,
        };
        if bound.is_some() {
            killed = bound;
            let _ = kill_process_group(group, Signal::KILL);
            break child.wait().map_err(|error| error.to_string())?;
        }
        thread::sleep(Duration::from_millis(10));
    };
    let elapsed = started.elapsed();
    // A child that outlives the command would keep the pipes open.
    let _ = kill_process_group(group, Signal::KILL);
    let join = |stream: JoinHandle<Vec<u8>>| stream.join().unwrap_or_default();
    Ok(Run { code: status.code(), out: join(out), errors: join(errors), peak, elapsed, cpu, killed })
}

/// Starts a command with kernel resource limits, which apply even if this test is killed: 4 GiB of
/// data and two minutes of CPU time. Address space is not limited, because the sandbox reserves
/// much of it.
fn start(inner: Command) -> Result<Child, String> {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -d 4194304 && ulimit -t 120 && exec \"$@\"", "sh"]);
    command.arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    if let Some(directory) = inner.get_current_dir() {
        command.current_dir(directory);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("the command does not start: {error}"))
}

fn collect(stream: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.read_to_end(&mut bytes);
        }
        bytes
    })
}

/// Returns the resident memory and the CPU time of a process and its descendants.
fn usage(pid: u32) -> (u64, Duration) {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let kibibytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0)
    };
    let (mut memory, mut cpu) = (kibibytes("VmHWM:") * 1024, cpu_time(pid));
    // The kernel lists children by the thread that started them.
    for thread in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
            let (more, longer) = usage(child);
            memory += more;
            cpu += longer;
        }
    }
    (memory, cpu)
}

/// Returns the CPU time of a process and of its terminated children.
fn cpu_time(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let Some((_, fields)) = stat.rsplit_once(") ") else { return Duration::ZERO };
    // The fields utime, stime, cutime and cstime. A tick is a hundredth of a second.
    let ticks: u64 = fields.split(' ').skip(11).take(4).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
