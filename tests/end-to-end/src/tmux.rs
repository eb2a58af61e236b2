//! A shell in a terminal of tmux, which interprets control sequences like a user's terminal.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::{Project, binary};

/// A shell in tmux.
#[derive(Debug)]
pub struct Tmux {
    socket: PathBuf,
}

#[expect(clippy::unwrap_used, reason = "the test has failed")]
impl Tmux {
    /// Starts a shell in a project's directory. `None` if a program is not installed; the reason is
    /// printed.
    pub fn start(project: &Project, shell: &[&str], size: (u16, u16)) -> Option<Self> {
        for program in ["tmux", shell.first()?] {
            if Command::new(program).arg("-V").stdin(Stdio::null()).output().is_err() {
                println!("skipped: {program} is not installed");
                return None;
            }
        }
        let tmux = Self { socket: project.path("tmux.socket") };
        let directory = binary().parent().unwrap().to_owned();
        let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap_or_default());
        let home = project.path("home");
        std::fs::create_dir_all(&home).unwrap();
        let mut command = tmux.command();
        command
            .args(["-f", "/dev/null", "new-session", "-d"])
            .args(["-x", &size.0.to_string(), "-y", &size.1.to_string()])
            .arg("-c")
            .arg(project.path(""))
            .args(["env", "-i", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TERM=screen-256color", "PS1=$ "])
            .arg(format!("PATH={path}"))
            .arg(format!("HOME={}", home.display()))
            .args(shell);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(tmux)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.env_remove("TMUX").env("LC_ALL", "C.UTF-8").arg("-u").arg("-S").arg(&self.socket);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command().args(arguments).output().unwrap()
    }

    /// Types text.
    pub fn types(&self, text: &str) {
        self.run(&["send-keys", "-l", "--", text]);
    }

    /// Presses keys by their names in tmux, such as `Enter`.
    pub fn press(&self, keys: &[&str]) {
        let arguments: Vec<&str> = std::iter::once("send-keys").chain(keys.iter().copied()).collect();
        self.run(&arguments);
    }

    /// Types a command line and presses Enter.
    pub fn enters(&self, line: &str) {
        self.types(line);
        self.press(&["Enter"]);
    }

    /// Returns the visible text.
    pub fn screen(&self) -> String {
        String::from_utf8_lossy(&self.run(&["capture-pane", "-p"]).stdout).into_owned()
    }

    /// Waits until the screen satisfies a condition, and returns it.
    #[track_caller]
    pub fn until(&self, expected: &str, condition: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + Duration::from_mins(2);
        loop {
            let screen = self.screen();
            if condition(&screen) {
                return screen;
            }
            assert!(Instant::now() < deadline, "not shown: {expected}\n{screen}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until the screen contains text, and returns it.
    #[track_caller]
    pub fn shows(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    pub fn resize(&self, columns: u16, rows: u16) {
        self.run(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    /// Returns whether a program uses the alternate screen.
    pub fn has_alternate_screen(&self) -> bool {
        self.run(&["display-message", "-p", "#{alternate_on}"]).stdout.starts_with(b"1")
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.command().arg("kill-server").output();
    }
}
