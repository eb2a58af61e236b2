//! Runs the programs of build tools, and reads their output within limits.

use std::io;
use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::process::Command;

use super::ProjectError;

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
        command
    }

    /// Runs a command of this program to its end. `line` receives each line of the standard error.
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
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (stdout, stderr) = tokio::join!(read(stdout), read_lines(stderr, line));
        let status = child.wait().await.map_err(failed)?;
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
