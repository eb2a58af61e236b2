//! Runs the programs of build tools, and reads their output within limits.

use std::io;
use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::process::Command;

use super::ProjectError;
use super::process_group::{ProcessGroup, isolate};

/// Maximum size of the output of one program that is kept.
const MAX_OUTPUT_BYTES: u64 = 64 << 20;

/// Maximum length of one line that is reported as progress.
const MAX_LINE_BYTES: usize = 64 << 10;

/// A program that authors install.
pub(super) struct Program {
    pub(super) name: &'static str,
    /// The way to install the program, after a semicolon.
    pub(super) remedy: &'static str,
}

/// The output of a program.
pub(super) struct ProgramOutput {
    pub(super) is_success: bool,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl ProgramOutput {
    /// Returns the output of a program that succeeded, and otherwise an error with both streams.
    pub(super) fn checked(self, failed: impl FnOnce(String) -> ProjectError) -> Result<Self, ProjectError> {
        if self.is_success { Ok(self) } else { Err(failed(self.both())) }
    }

    /// Returns the standard output and standard error, without empty lines between and around them.
    pub(super) fn both(&self) -> String {
        let parts = [self.stdout.trim(), self.stderr.trim()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

impl Program {
    /// Returns a command that runs in the project's directory. `path` is the file of the program, or
    /// its name, which is searched in `PATH`.
    pub(super) fn command(path: &Path, directory: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(path);
        command.args(arguments).current_dir(directory).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        isolate(&mut command);
        command
    }

    /// Runs a command of this program to its end. `line` receives each line of the standard error. If the
    /// future is dropped, the program and its processes are killed.
    pub(super) async fn run(
        &self,
        command: &mut Command,
        line: &mut (dyn FnMut(&str) + Send),
    ) -> Result<ProgramOutput, ProjectError> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => ProjectError::NoProgram { program: self.name, remedy: self.remedy },
            _ => ProjectError::Program { program: self.name, source: error },
        };
        let mut child = command.spawn().map_err(failed)?;
        let group = ProcessGroup::from_child(&child);
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (stdout, stderr) = tokio::join!(read(stdout), read_lines(stderr, line));
        let status = child.wait().await.map_err(failed)?;
        group.has_ended();
        Ok(ProgramOutput {
            is_success: status.success(),
            stdout: String::from_utf8_lossy(&stdout.map_err(failed)?).into_owned(),
            stderr: stderr.map_err(failed)?,
        })
    }
}

/// Reads a stream to its end, and keeps the first part of it.
async fn read(stream: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        (&mut stream).take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes).await?;
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    }
    Ok(bytes)
}

/// Reads a stream line by line, and keeps the first part of it.
async fn read_lines(
    stream: Option<impl AsyncRead + Unpin>,
    progress: &mut (dyn FnMut(&str) + Send),
) -> io::Result<String> {
    let mut text = String::new();
    let Some(stream) = stream else { return Ok(text) };
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        let limit = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
        if (&mut stream).take(limit).read_until(b'\n', &mut line).await? == 0 {
            return Ok(text);
        }
        let shown = String::from_utf8_lossy(&line);
        progress(shown.trim_end());
        if u64::try_from(text.len()).is_ok_and(|length| length < MAX_OUTPUT_BYTES) {
            text.push_str(&shown);
        }
    }
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]
mod tests {
    use std::time::Duration;

    use super::*;

    const SHELL: Program = Program { name: "sh", remedy: "install it" };

    /// Returns whether a process with this number exists and has not ended.
    fn is_running(number: &str) -> bool {
        let status = std::process::Command::new("ps").args(["-o", "stat=", "-p", number]).output().unwrap();
        let status = String::from_utf8_lossy(&status.stdout);
        !status.trim().is_empty() && !status.trim().starts_with('Z')
    }

    #[tokio::test]
    async fn processes_of_a_dropped_program_end() {
        let directory = tempfile::tempdir().unwrap();
        let script = "sleep 600 & echo $! > number.new; mv number.new number; wait";
        let mut command = Program::command(Path::new("sh"), directory.path(), &["-c", script]);
        let mut progress = |_: &str| ();
        let file = directory.path().join("number");
        let number = {
            let run = SHELL.run(&mut command, &mut progress);
            let started = async {
                loop {
                    if let Ok(number) = std::fs::read_to_string(&file) {
                        return number.trim().to_owned();
                    }
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            tokio::select! {
                _ = run => panic!("the program waits for its process"),
                number = started => number,
            }
        };
        for _ in 0..500 {
            if !is_running(&number) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the process {number} is running");
    }
}
