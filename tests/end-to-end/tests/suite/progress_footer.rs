//! The running operations at the bottom of a terminal.
//!
//! The operations wait for a file, so the footer is on the screen for as long as a test needs.

use std::ffi::OsStr;
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use wardian_end_to_end::{Project, Terminal, assert_seen_text};

const RELEASE: &str = "release";

/// Two objects are created at the same time as soon as the file exists, and a third object afterwards.
const CONFIGURATION: &str = r#"
resource "terraform_data" "wait" {
  count = 2
  provisioner "local-exec" {
    command = "until test -e release; do sleep 0.1; done"
  }
}
resource "terraform_data" "next" {
  depends_on = [terraform_data.wait]
}
"#;

/// A terminal of a `tmux` server that is stopped when this value is dropped.
struct Tmux {
    project: Project,
}

#[expect(clippy::unwrap_used, reason = "the test has failed")]
impl Tmux {
    /// Starts `apply` on a terminal with this number of columns; `None` if `tmux` is missing.
    fn apply(columns: &str) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            eprintln!("skipped: tmux is not installed");
            return None;
        }
        let terminal = Self { project: Project::new(&[("main.tf", CONFIGURATION)]) };
        terminal.project.run("init").success();
        let line = format!(
            "{}; echo \"exit $?\"; sleep 600",
            shell_line(&terminal.project.command("apply -auto-approve"))
        );
        let started = terminal.tmux(&["new-session", "-d", "-x", columns, "-y", "30", &line]);
        assert!(started.status.success(), "{started:?}");
        Some(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        let socket = self.project.path("tmux");
        let mut command = Command::new("tmux");
        command.args(["-f", "/dev/null", "-S"]).arg(socket).args(arguments);
        command.current_dir(self.project.path("")).env_remove("TMUX").env_remove("NO_COLOR");
        command.output().unwrap()
    }

    /// Waits until the screen contains this text, and returns the screen.
    #[track_caller]
    fn until(&self, text: &str) -> String {
        let deadline = Instant::now() + Duration::from_mins(2);
        loop {
            let captured = self.tmux(&["capture-pane", "-p"]).stdout;
            let screen = String::from_utf8(captured).unwrap();
            if screen.contains(text) {
                return screen;
            }
            assert!(Instant::now() < deadline, "the screen does not contain {text:?}:\n{screen}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn release(&self) {
        self.project.write(RELEASE, "");
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.release();
        self.tmux(&["kill-server"]);
    }
}

/// Returns a command with its environment as a line for a shell.
fn shell_line(command: &Command) -> String {
    let quoted = |text: &OsStr| format!("'{}'", text.display());
    let mut words = vec!["env".to_owned()];
    for (name, value) in command.get_envs() {
        words.push(match value {
            Some(value) => format!("{}={}", name.display(), quoted(value)),
            None => format!("-u {}", name.display()),
        });
    }
    // `env` accepts options only before variables.
    words[1..].sort_by_key(|word| !word.starts_with("-u "));
    words.push(quoted(command.get_program()));
    words.extend(command.get_args().map(quoted));
    words.join(" ")
}

/// Returns the footer at the end of a screen. The times are replaced, and the operations are sorted,
/// because the scheduler determines their order.
#[expect(clippy::unwrap_used, reason = "the expression is valid")]
fn footer(screen: &str) -> String {
    let elapsed = regex::Regex::new(r"\b\d+m?\d*s( elapsed)?$").unwrap();
    let start = screen.find("Applying: ").unwrap_or_default();
    let mut lines: Vec<String> = screen[start..]
        .trim_end()
        .lines()
        .map(|line| elapsed.replace(line.trim_end(), "[ELAPSED]").into_owned())
        .collect();
    lines[1..].sort();
    lines.join("\n") + "\n"
}

#[test]
fn footer_shows_running_operations() {
    for columns in ["80", "60"] {
        let Some(terminal) = Tmux::apply(columns) else { return };
        let screen = terminal.until("0 of 3 complete, 2 running");
        assert_seen_text!(format!("screen_footer_{columns}"), footer(&screen));
        terminal.release();
        let screen = terminal.until("exit 0");
        assert!(screen.contains("Apply complete! Resources: 3 added"), "{screen}");
        assert!(!screen.contains("running"), "{screen}");
        assert!(!screen.contains("Applying:"), "{screen}");
    }
}

#[test]
fn footer_is_erased_before_other_output() {
    let project = Project::new(&[("main.tf", CONFIGURATION)]);
    project.run("init").success();
    let mut terminal = Terminal::running("apply -auto-approve", &project, &[("TERM", "xterm")]);
    terminal.until("Applying: 0 of 3 complete, 2 running");
    project.write(RELEASE, "");
    let rest = terminal.until("Apply complete!");
    let (footers, erased) = (rest.matches("Applying:").count(), rest.matches("\u{1b}[J").count());
    // The additional erasure is for the footer that the test waited for.
    assert_eq!(erased, footers + 1, "{rest:?}");
}

#[test]
fn footer_requires_terminal_and_full_progress() {
    for (line, variables) in
        [("apply -auto-approve -concise", ("TERM", "xterm")), ("apply -auto-approve", ("TERM", "dumb"))]
    {
        let project = Project::new(&[("main.tf", CONFIGURATION)]);
        project.run("init").success();
        let mut terminal = Terminal::running(line, &project, &[variables]);
        // A footer would appear after one second.
        thread::sleep(Duration::from_secs(2));
        project.write(RELEASE, "");
        let output = terminal.until("Apply complete!");
        assert!(!output.contains("Applying:"), "{output:?}");
        assert!(!output.contains("\u{1b}[J"), "{output:?}");
    }
}
