//! Finds the binary under test, and the components that it loads.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Returns the path of the binary under test.
///
/// # Panics
/// Panics if the binary was not built.
pub fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("WARDIAN_TEST_BINARY") {
        return path.into();
    }
    let name = format!("wardian{}", std::env::consts::EXE_SUFFIX);
    let beside = std::env::current_exe().ok().and_then(|test| {
        let path = test.parent()?.parent()?.join(name);
        path.is_file().then_some(path)
    });
    #[expect(clippy::panic, reason = "the binary under test is needed")]
    beside.unwrap_or_else(|| panic!("wardian is not built: run `cargo xtask build` first"))
}

/// Returns a test component, if it was built.
pub fn test_guest(name: &str) -> Option<PathBuf> {
    let directory = std::env::var_os("WARDIAN_TEST_GUESTS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/guests/test"),
        PathBuf::from,
    );
    let path = directory.join(format!("{name}.wasm"));
    if path.is_file() {
        return path.canonicalize().ok();
    }
    println!("skipped: {} does not exist; `cargo xtask guests` builds it", path.display());
    None
}

/// Returns this machine's platform as in package file names: `linux_amd64`.
pub fn platform() -> String {
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        os => os,
    };
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{os}_{architecture}")
}

/// A running command.
#[derive(Debug)]
pub struct Running {
    child: Child,
    lines: Receiver<String>,
    seen: String,
}

impl Running {
    pub fn new(mut child: Child) -> Self {
        let (sender, lines) = channel();
        if let Some(out) = child.stdout.take() {
            thread::spawn(move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        Self { child, lines, seen: String::new() }
    }

    /// Waits for a line that contains this text.
    ///
    /// # Panics
    /// Panics if the command exits or the wait times out before the line appears. The message
    /// contains all output.
    pub fn wait_for(&mut self, text: &str) {
        let deadline = Instant::now() + Duration::from_mins(2);
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.seen.push_str(&line);
                    self.seen.push('\n');
                    if line.contains(text) {
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    let mut errors = String::new();
                    let _ = self.child.kill();
                    if let Some(stream) = &mut self.child.stderr {
                        let _ = stream.read_to_string(&mut errors);
                    }
                    let seen = &self.seen;
                    #[expect(clippy::panic, reason = "the test has failed")]
                    {
                        panic!("no line contains {text:?}:\n{seen}\n{errors}");
                    }
                }
            }
        }
    }

    /// Sends the signal that Ctrl-C sends.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Sends the system's termination signal.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, signal);
        }
    }

    /// Returns whether the command has exited.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Kills the command immediately, to simulate a power failure.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for the command to exit, and returns its status and output.
    ///
    /// # Panics
    /// Panics if the command does not exit within the limit.
    pub fn finish(mut self, limit: Duration) -> (ExitStatus, String) {
        let deadline = Instant::now() + limit;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                for line in &self.lines {
                    self.seen.push_str(&line);
                    self.seen.push('\n');
                }
                if let Some(stream) = &mut self.child.stderr {
                    let _ = stream.read_to_string(&mut self.seen);
                }
                return (status, std::mem::take(&mut self.seen));
            }
            if Instant::now() > deadline {
                self.kill();
                #[expect(clippy::panic, reason = "the test has failed")]
                {
                    panic!("it ran for longer than {limit:?}");
                }
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
