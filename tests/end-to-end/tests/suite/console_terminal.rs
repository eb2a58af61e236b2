//! The command `console` on a terminal.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::pty::openpty;
use wardian_end_to_end::Project;

const PROMPT: &str = "> ";

/// A command with its terminal.
pub(crate) struct Terminal {
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    /// Output that has not been consumed yet.
    shown: Vec<u8>,
}

#[expect(clippy::unwrap_used, clippy::panic, reason = "the test has failed")]
impl Terminal {
    fn start(project: &Project, variables: &[(&str, &str)]) -> Self {
        Self::running("console", project, variables)
    }

    pub(crate) fn running(line: &str, project: &Project, variables: &[(&str, &str)]) -> Self {
        let pair = openpty(None, None).unwrap();
        let inside = |file: &std::os::fd::OwnedFd| Stdio::from(file.try_clone().unwrap());
        let child = project
            .command(line)
            .env("XDG_DATA_HOME", project.path("data"))
            .envs(variables.iter().copied())
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
    pub(crate) fn until(&mut self, text: &str) -> String {
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

    /// Types keys, waits for text, and returns the output up to it.
    #[track_caller]
    pub(crate) fn types(&mut self, keys: &str, until: &str) -> String {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.until(until)
    }

    /// Sends the signal of Ctrl-C, which the terminal sends only to its own session.
    pub(crate) fn interrupt(&self) {
        rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::INT,
        )
        .unwrap();
    }

    /// Types keys, and checks that the command then exits successfully.
    #[track_caller]
    pub(crate) fn ends(mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        let deadline = Instant::now() + Duration::from_mins(1);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                assert!(status.success(), "{status}");
                return;
            }
            assert!(Instant::now() < deadline, "the console is still running");
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

#[test]
fn console_evaluates_typed_expressions() {
    let project = Project::new(&[("main.tf", "locals {\n  port = 8080\n}\n")]);
    let mut terminal = Terminal::start(&project, &[("TERM", "xterm")]);
    terminal.until(PROMPT);
    assert!(terminal.types("local.port + 1\r", "8081").contains("local.port + 1"));
    terminal.until(PROMPT);
    terminal.types("[1,\r", ": ");
    terminal.types("2]\r", "[\r\n  1,\r\n  2,\r\n]\r\n");
    terminal.until(PROMPT);
    // An error does not end the console, and is shown in color.
    assert!(terminal.types("local.prt\r", "╵").contains("\u{1b}[31m"));
    terminal.until(PROMPT);
    terminal.ends("exit\r");

    let history = project.path("data/wardian/console_history");
    assert_eq!(fs::metadata(&history).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fs::read_to_string(&history).unwrap().contains("local.port + 1"));
    // In the next session, the history contains "exit", the error and the list.
    let mut terminal = Terminal::start(&project, &[("TERM", "xterm")]);
    terminal.until(PROMPT);
    terminal.types("\u{1b}[A\u{1b}[A\u{1b}[A\r", "[\r\n  1,\r\n  2,\r\n]\r\n");
    terminal.until(PROMPT);
    terminal.ends("\u{4}");
}

#[test]
fn control_c_clears_the_line_or_exits_the_console() {
    let project = Project::new(&[]);
    let mut terminal = Terminal::start(&project, &[("TERM", "xterm")]);
    terminal.until(PROMPT);
    terminal.types("f(\r", ": ");
    terminal.types("\u{3}", PROMPT);
    terminal.types("nonsense", "nonsense");
    terminal.types("\u{3}", PROMPT);
    terminal.types("20 + 22\r", "\r\n42\r\n");
    terminal.until(PROMPT);
    terminal.ends("\u{3}");
}

#[test]
fn dumb_terminal_receives_plain_text() {
    let project = Project::new(&[]);
    for variables in [[("TERM", "dumb"), ("COLUMNS", "80")], [("TERM", "xterm"), ("NO_COLOR", "1")]] {
        let mut terminal = Terminal::start(&project, &variables);
        terminal.until(PROMPT);
        let shown = terminal.types("nope.x\r", "╵");
        assert!(!shown.contains("\u{1b}[31m"), "{shown:?}");
        terminal.until(PROMPT);
        terminal.ends("exit\r");
    }
}
