//! Credentials helpers: programs that store tokens elsewhere, for example in a password manager.
//!
//! | command | input | output |
//! |---|---|---|
//! | `PROGRAM ARGUMENTS get HOST` | | `{"token":"..."}`, or `{}` if there is no token |
//! | `PROGRAM ARGUMENTS store HOST` | `{"token":"..."}` | |
//! | `PROGRAM ARGUMENTS forget HOST` | | |
//!
//! `HOST` is in Punycode. The user specifies the program in the CLI configuration, so no further
//! authorization is required. The program runs in a separate session, so it cannot use the
//! terminal.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use wardian_access::{Denied, ExitStatus, FinishedProgram, ProcessAuthority, ProgramLaunch};
use wardian_process::{Command, CommandEvent, Launcher, ProcessError};

use super::HelperError;
use super::error::HelperProblem;
use crate::access_token::AccessToken;
use crate::service_host::ServiceHost;

/// Default time limit of a helper. Some helpers wait for the user.
const TIME_LIMIT: Duration = Duration::from_mins(1);
const MAX_OUTPUT_BYTES: usize = 128 << 10;
const MAX_MESSAGE_BYTES: usize = 4 << 10;

/// A credentials helper.
#[derive(Clone)]
pub struct CredentialsProgram {
    /// The name in the CLI configuration.
    pub name: String,
    /// The path of the program `terraform-credentials-NAME`.
    pub path: PathBuf,
    /// Arguments that precede the command.
    pub arguments: Vec<String>,
    /// The working directory, an absolute path.
    pub directory: PathBuf,
    /// The complete environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Time after which the program is killed.
    pub time_limit: Duration,
}

/// Omits arguments and environment, which may contain secrets.
impl fmt::Debug for CredentialsProgram {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CredentialsProgram")
            .field("name", &self.name)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl CredentialsProgram {
    /// Creates a helper without arguments and environment, and with the default time limit.
    pub fn new(name: impl Into<String>, path: impl Into<PathBuf>, directory: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            path: path.into(),
            arguments: Vec::new(),
            directory: directory.into(),
            environment: Vec::new(),
            time_limit: TIME_LIMIT,
        }
    }

    /// Returns the token of a host, if the helper has one.
    pub(super) async fn token(&self, host: &ServiceHost) -> Result<Option<AccessToken>, HelperError> {
        let failed = |problem| self.failure("get", host, problem);
        let output = self.run("get", host, Vec::new()).await?;
        let Ok(Value::Object(found)) = serde_json::from_slice(&output) else {
            return Err(failed(HelperProblem::Output));
        };
        match found.get("token") {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(token)) => {
                AccessToken::new(token).map(Some).map_err(|error| failed(HelperProblem::Token(error)))
            }
            Some(_) => Err(failed(HelperProblem::Output)),
        }
    }

    pub(super) async fn store(&self, host: &ServiceHost, token: &AccessToken) -> Result<(), HelperError> {
        let input = serde_json::json!({ "token": token.reveal() }).to_string();
        self.run("store", host, input.into_bytes()).await.map(|_| ())
    }

    pub(super) async fn forget(&self, host: &ServiceHost) -> Result<(), HelperError> {
        self.run("forget", host, Vec::new()).await.map(|_| ())
    }

    /// Runs the helper and returns its output.
    async fn run(
        &self,
        action: &'static str,
        host: &ServiceHost,
        input: Vec<u8>,
    ) -> Result<Vec<u8>, HelperError> {
        self.communicate(action, host, input).await.map_err(|problem| self.failure(action, host, problem))
    }

    async fn communicate(
        &self,
        action: &str,
        host: &ServiceHost,
        input: Vec<u8>,
    ) -> Result<Vec<u8>, HelperProblem> {
        let program = self.path.to_str().ok_or_else(|| {
            HelperProblem::Start(ProcessError::InvalidName(self.path.to_string_lossy().into_owned()))
        })?;
        let mut arguments = self.arguments.clone();
        arguments.extend([action.to_owned(), host.as_ascii().to_owned()]);
        let mut command = Command::new(program, arguments, self.directory.clone());
        command.environment.clone_from(&self.environment);
        command.input = input;
        command.timeout = Some(self.time_limit);
        let launcher = Launcher::new(Arc::new(ConfiguredByUser), OsString::new());
        let mut process = launcher.start(command).await.map_err(HelperProblem::Start)?;
        let (mut output, mut message) = (Vec::new(), Vec::new());
        while let Some(event) = process.next_event().await {
            match event {
                CommandEvent::Stdout(part) if output.len() + part.len() > MAX_OUTPUT_BYTES => {
                    // Dropping the process kills it.
                    return Err(HelperProblem::TooMuchOutput(MAX_OUTPUT_BYTES));
                }
                CommandEvent::Stdout(part) => output.extend_from_slice(&part),
                CommandEvent::Stderr(part) => {
                    let room = MAX_MESSAGE_BYTES.saturating_sub(message.len()).min(part.len());
                    message.extend_from_slice(part.get(..room).unwrap_or_default());
                }
                CommandEvent::Exited(ExitStatus::Code(0)) => return Ok(output),
                CommandEvent::Exited(ExitStatus::TimedOut) => {
                    return Err(HelperProblem::Timeout(self.time_limit));
                }
                CommandEvent::Exited(ExitStatus::Code(code)) => {
                    return Err(exit_problem(format!("code {code}"), &message));
                }
                CommandEvent::Exited(ExitStatus::Signal(signal)) => {
                    return Err(exit_problem(format!("signal {signal}"), &message));
                }
            }
        }
        Err(exit_problem("an unknown status".to_owned(), &message))
    }

    fn failure(&self, action: &'static str, host: &ServiceHost, problem: HelperProblem) -> HelperError {
        HelperError { program: self.path.clone(), action, host: host.clone(), problem }
    }
}

fn exit_problem(status: String, message: &[u8]) -> HelperProblem {
    HelperProblem::Exit { status, message: String::from_utf8_lossy(message).trim().to_owned() }
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
        tracing::debug!(program = program.program, status = ?program.status, "ran a credentials helper");
    }
}
