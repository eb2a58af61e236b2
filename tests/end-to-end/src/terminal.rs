//! A command on a pseudo-terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};
use nix::sys::termios::{LocalFlags, tcgetattr};

use crate::Project;

/// A command with its terminal.
#[derive(Debug)]
pub struct Terminal {
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    /// Output that has not been consumed yet.
    shown: Vec<u8>,
}

#[expect(clippy::unwrap_used, clippy::panic, reason = "the test has failed")]
impl Terminal {
    /// Starts a `wardian` command.
    pub fn running(line: &str, project: &Project, variables: &[(&str, &str)]) -> Self {
        let mut command = project.command(line);
        command.env("XDG_DATA_HOME", project.path("data")).envs(variables.iter().copied());
        Self::start(command, None)
    }

    /// Starts a command, on a terminal with the given numbers of columns and rows.
    pub fn start(mut command: Command, size: Option<(u16, u16)>) -> Self {
        let size =
            size.map(|(columns, rows)| Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 });
        let pair = openpty(size.as_ref(), None).unwrap();
        let inside = |file: &std::os::fd::OwnedFd| Stdio::from(file.try_clone().unwrap());
        let child = command
            .stdin(inside(&pair.slave))
            .stdout(inside(&pair.slave))
            .stderr(inside(&pair.slave))
            .spawn()
            .unwrap();
        let keyboard = File::from(pair.master);
        let mut output = keyboard.try_clone().unwrap();
        let (sender, screen) = channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { child, keyboard, screen, shown: Vec::new() }
    }

    /// Waits for text, and returns the output up to and including it.
    #[track_caller]
    pub fn until(&mut self, text: &str) -> String {
        let deadline = Instant::now() + Duration::from_mins(2);
        loop {
            let found = self.shown.windows(text.len()).position(|shown| shown == text.as_bytes());
            if let Some(at) = found {
                let shown: Vec<u8> = self.shown.drain(..at + text.len()).collect();
                return String::from_utf8_lossy(&shown).into_owned();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.screen.recv_timeout(left) {
                Ok(bytes) => self.shown.extend(bytes),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("{text:?} did not come, but: {:?}", String::from_utf8_lossy(&self.shown))
                }
            }
        }
    }

    /// Types keys.
    #[track_caller]
    pub fn type_keys(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Types keys after the command has turned off the echo, or after a second if it does not.
    #[track_caller]
    pub fn type_secret(&mut self, keys: &str) {
        let deadline = Instant::now() + Duration::from_secs(1);
        let is_shown = |keyboard: &File| tcgetattr(keyboard).unwrap().local_flags.contains(LocalFlags::ECHO);
        while is_shown(&self.keyboard) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
        }
        self.type_keys(keys);
    }

    /// Types keys, waits for text, and returns the output up to it.
    #[track_caller]
    pub fn types(&mut self, keys: &str, until: &str) -> String {
        self.type_keys(keys);
        self.until(until)
    }

    /// Sends the signal of Ctrl-C directly, because the terminal sends it only to its own session.
    pub fn interrupt(&self) {
        rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::INT,
        )
        .unwrap();
    }

    /// Types keys, and checks that the command then exits successfully.
    #[track_caller]
    pub fn ends(mut self, keys: &str) {
        self.type_keys(keys);
        let status = self.wait();
        assert!(status.success(), "{status}");
    }

    /// Waits until the command exits, and returns its status and the output that has not been
    /// consumed yet.
    #[track_caller]
    pub fn finish(mut self) -> (ExitStatus, String) {
        let status = self.wait();
        // The terminal's output ends when its last process exits. A process that the command left
        // behind must not delay the test.
        let deadline = Instant::now() + Duration::from_secs(1);
        while let Ok(bytes) = self.screen.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            self.shown.extend(bytes);
        }
        (status, String::from_utf8_lossy(&self.shown).into_owned())
    }

    #[track_caller]
    fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + Duration::from_mins(1);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the command is still running");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
