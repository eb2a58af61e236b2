//! The binary, and what is loaded into it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The program under test.
///
/// # Panics
/// Where it was not built.
pub fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("WARDIAN_TEST_BINARY") {
        return path.into();
    }
    let name = format!("wardian{}", std::env::consts::EXE_SUFFIX);
    let beside = std::env::current_exe().ok().and_then(|test| {
        let path = test.parent()?.parent()?.join(name);
        path.is_file().then_some(path)
    });
    #[expect(clippy::panic, reason = "there is nothing to test")]
    beside.unwrap_or_else(|| panic!("there is no wardian to test: run `cargo xtask build` first"))
}

/// A component for tests, where it was built.
pub fn test_guest(name: &str) -> Option<PathBuf> {
    let directory = std::env::var_os("WARDIAN_TEST_GUESTS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/guests/test"),
        PathBuf::from,
    );
    let path = directory.join(format!("{name}.wasm"));
    if path.is_file() {
        return path.canonicalize().ok();
    }
    println!("skipped: there is no {}; `cargo xtask guests` makes it", path.display());
    None
}

/// This machine's kind as packages name it: `linux_amd64`.
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

/// A command that goes on while the test does something else.
#[derive(Debug)]
pub struct Running {
    child: Child,
    lines: Receiver<String>,
    seen: String,
}

impl Running {
    pub(crate) fn new(mut child: Child) -> Self {
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

    /// Waits until a line with this text comes.
    ///
    /// # Panics
    /// Where it does not, with all that came.
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
                        panic!("no line came with {text:?}, but:\n{seen}\n{errors}");
                    }
                }
            }
        }
    }

    /// As Ctrl-C does.
    pub fn interrupt(&self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::INT);
        }
    }

    /// Whether it is over.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends it at once, as a power cut would.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for its end and returns that with all that it wrote.
    ///
    /// # Panics
    /// Where it does not end in time.
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
                    panic!("it went on for longer than {limit:?}");
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
