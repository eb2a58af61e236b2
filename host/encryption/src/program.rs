//! Runs the programs of external key providers and methods.
//!
//! The program writes a header, one line of JSON with `magic` and `version`, then reads the input to
//! its end, and writes the output.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use wardian_access::{Denied, ExitStatus, FinishedProgram, ProcessAuthority, ProgramLaunch};
use wardian_process::{Command, CommandEvent, Launcher};
use wardian_state::EncryptionFailure;
use zeroize::Zeroizing;

use crate::host::EncryptionHost;

const TIME_LIMIT: Duration = Duration::from_mins(1);
/// Maximum number of bytes of a program's error output that an error message contains.
const MAX_MESSAGE_BYTES: usize = 4 << 10;
const VERSION: u64 = 1;

/// A program with its protocol.
pub(crate) struct Program<'a> {
    /// The program and its arguments.
    pub(crate) command: &'a [String],
    /// The value of `magic` in the header.
    pub(crate) magic: &'static str,
    pub(crate) max_output_bytes: usize,
}

#[derive(Deserialize)]
struct Header {
    magic: String,
    version: u64,
}

impl Program<'_> {
    /// Runs the program, and returns its output after the header.
    pub(crate) async fn run(
        &self,
        input: Vec<u8>,
        host: &EncryptionHost,
    ) -> Result<Zeroizing<Vec<u8>>, EncryptionFailure> {
        let (program, arguments) = self
            .command
            .split_first()
            .ok_or_else(|| EncryptionFailure::new("the command of the program is empty"))?;
        let failed = |problem: String| {
            EncryptionFailure::new(format!("the program \"{program}\" failed: {problem}"))
                .with_advice("check the command in the encryption configuration")
        };
        let mut command = Command::new(program, arguments.to_vec(), host.directory.clone());
        command.environment = host.program_environment();
        command.input = input;
        command.timeout = Some(TIME_LIMIT);
        let search_path = host.variable("PATH").unwrap_or_default();
        let launcher = Launcher::new(Arc::new(ConfiguredByUser), search_path.into());
        let mut process = launcher
            .start(command)
            .await
            .map_err(|error| failed(format!("it cannot be started: {error}")))?;
        let (mut output, mut message) = (Zeroizing::new(Vec::new()), Vec::new());
        let status = loop {
            match process.next_event().await {
                Some(CommandEvent::Stdout(part)) => {
                    if output.len() + part.len() > self.max_output_bytes {
                        // Dropping the process kills it.
                        let most = self.max_output_bytes;
                        return Err(failed(format!("it wrote more than {most} bytes")));
                    }
                    output.extend_from_slice(&part);
                }
                Some(CommandEvent::Stderr(part)) => {
                    let room = MAX_MESSAGE_BYTES.saturating_sub(message.len()).min(part.len());
                    message.extend_from_slice(part.get(..room).unwrap_or_default());
                }
                Some(CommandEvent::Exited(status)) => break status,
                None => break ExitStatus::Code(-1),
            }
        };
        match status {
            ExitStatus::Code(0) => self.without_header(&output).map_err(failed),
            ExitStatus::TimedOut => {
                Err(failed(format!("it ran longer than {} seconds", TIME_LIMIT.as_secs())))
            }
            ExitStatus::Code(code) => Err(failed(exit_problem(&format!("code {code}"), &message))),
            ExitStatus::Signal(signal) => Err(failed(exit_problem(&format!("signal {signal}"), &message))),
        }
    }

    fn without_header(&self, output: &[u8]) -> Result<Zeroizing<Vec<u8>>, String> {
        let end = output.iter().position(|byte| *byte == b'\n').ok_or("it wrote no header line")?;
        let (line, rest) = output.split_at(end);
        let header: Header =
            serde_json::from_slice(line).map_err(|error| format!("its header is not valid: {error}"))?;
        if header.magic != self.magic {
            return Err(format!("the \"magic\" in its header is not \"{}\"", self.magic));
        }
        if header.version != VERSION {
            return Err(format!(
                "its protocol has the version {}, but only {VERSION} is supported",
                header.version
            ));
        }
        Ok(Zeroizing::new(rest.get(1..).unwrap_or_default().to_vec()))
    }
}

fn exit_problem(status: &str, message: &[u8]) -> String {
    let message = String::from_utf8_lossy(message);
    match message.trim() {
        "" => format!("it ended with {status}"),
        message => format!("it ended with {status} and wrote: {message}"),
    }
}

/// Allows the program that the user has configured.
struct ConfiguredByUser;

impl ProcessAuthority for ConfiguredByUser {
    fn may_start(&self, _launch: &ProgramLaunch<'_>) -> Result<(), Denied> {
        Ok(())
    }

    fn may_execute(&self, _launch: &ProgramLaunch<'_>, _executable: &Path) -> Result<(), Denied> {
        Ok(())
    }

    fn finished(&self, program: &FinishedProgram) {
        tracing::debug!(program = program.program, status = ?program.status, "ran a program for encryption");
    }
}
