//! Programs that return the credentials of a user, as the kubeconfig file of the user specifies.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value as Json, json};
use tokio::sync::Mutex;
use wardian_access::{Denied, ExitStatus, FinishedProgram, ProcessAuthority, ProgramLaunch};
use wardian_process::{Command, CommandEvent, Launcher};
use wardian_value::Value;

use super::kubeconfig::text_in;

/// Time limit of a program. Some wait for the user.
const TIME_LIMIT: Duration = Duration::from_mins(1);
const MAX_OUTPUT_BYTES: usize = 1 << 20;
const MAX_MESSAGE_BYTES: usize = 4 << 10;
/// A token is replaced this long before it expires.
const MARGIN_SECONDS: i64 = 30;

/// A program with its arguments, and the token that it has returned.
#[derive(Clone)]
pub(super) struct ExecPlugin {
    version: String,
    program: String,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    directory: PathBuf,
    token: Arc<Mutex<Option<Token>>>,
}

#[derive(Clone)]
struct Token {
    text: String,
    expires: Option<Timestamp>,
}

/// Omits arguments and environment, which may contain secrets.
impl fmt::Debug for ExecPlugin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ExecPlugin").field("program", &self.program).finish_non_exhaustive()
    }
}

/// Allows the program in the user's kubeconfig file.
struct ConfiguredByUser;

impl ProcessAuthority for ConfiguredByUser {
    fn may_start(&self, _launch: &ProgramLaunch<'_>) -> Result<(), Denied> {
        Ok(())
    }

    fn may_execute(&self, _launch: &ProgramLaunch<'_>, _executable: &Path) -> Result<(), Denied> {
        Ok(())
    }

    fn finished(&self, program: &FinishedProgram) {
        tracing::debug!(program = program.program, status = ?program.status, "ran a program for credentials");
    }
}

impl ExecPlugin {
    /// Returns the program of a user entry. Relative paths are relative to the file's directory.
    pub(super) fn new(exec: &Value, directory: &Path) -> Result<Self, String> {
        let required = |member: &str| {
            text_in(exec, member).ok_or_else(|| format!("an \"exec\" entry has no \"{member}\""))
        };
        let arguments = exec.get("args").and_then(Value::as_elements).unwrap_or_default();
        let variables = exec.get("env").and_then(Value::as_elements).unwrap_or_default();
        let variable =
            |entry: &Value| Some((text_in(entry, "name")?, text_in(entry, "value").unwrap_or_default()));
        Ok(Self {
            version: required("apiVersion")?,
            program: required("command")?,
            arguments: arguments.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            environment: variables.iter().filter_map(variable).collect(),
            directory: directory.to_owned(),
            token: Arc::default(),
        })
    }

    /// Returns the token, for which the program runs if there is none or it expires soon.
    pub(super) async fn token(&self, variables: &[(OsString, OsString)]) -> Result<String, String> {
        let mut known = self.token.lock().await;
        let now = Timestamp::now().as_second();
        if let Some(token) = &*known
            && token.expires.is_none_or(|expires| expires.as_second() - MARGIN_SECONDS > now)
        {
            return Ok(token.text.clone());
        }
        let output = self
            .run(variables)
            .await
            .map_err(|reason| format!("the program {} of the kubeconfig file {reason}", self.program))?;
        let token = parse(&output).map_err(|reason| {
            format!("the output of the program {} of the kubeconfig file {reason}", self.program)
        })?;
        let text = token.text.clone();
        *known = Some(token);
        Ok(text)
    }

    /// Forgets a token that the service has rejected.
    pub(super) async fn forget(&self) {
        *self.token.lock().await = None;
    }

    async fn run(&self, variables: &[(OsString, OsString)]) -> Result<Vec<u8>, String> {
        let info = json!({
            "apiVersion": self.version, "kind": "ExecCredential", "spec": { "interactive": false },
        });
        let program = if self.program.contains('/') {
            self.directory.join(self.program.trim_start_matches("./")).to_string_lossy().into_owned()
        } else {
            self.program.clone()
        };
        let mut command = Command::new(program, self.arguments.clone(), self.directory.clone());
        command.environment = variables.to_vec();
        let own = self.environment.iter().map(|(name, value)| (name.into(), value.into()));
        command.environment.extend(own);
        command.environment.push(("KUBERNETES_EXEC_INFO".into(), info.to_string().into()));
        command.timeout = Some(TIME_LIMIT);
        let path = variables.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
        let launcher = Launcher::new(Arc::new(ConfiguredByUser), path.unwrap_or_default());
        let mut process =
            launcher.start(command).await.map_err(|error| format!("cannot be started: {error}"))?;
        let (mut output, mut message) = (Vec::new(), Vec::new());
        while let Some(event) = process.next_event().await {
            match event {
                CommandEvent::Stdout(part) if output.len() + part.len() > MAX_OUTPUT_BYTES => {
                    return Err(format!("printed more than {MAX_OUTPUT_BYTES} bytes"));
                }
                CommandEvent::Stdout(part) => output.extend_from_slice(&part),
                CommandEvent::Stderr(part) => {
                    let room = MAX_MESSAGE_BYTES.saturating_sub(message.len()).min(part.len());
                    message.extend_from_slice(part.get(..room).unwrap_or_default());
                }
                CommandEvent::Exited(ExitStatus::Code(0)) => return Ok(output),
                CommandEvent::Exited(status) => {
                    let message = String::from_utf8_lossy(&message).trim().to_owned();
                    return Err(format!("ended with {status:?}: {message}"));
                }
            }
        }
        Err("ended with an unknown status".to_owned())
    }
}

fn parse(output: &[u8]) -> Result<Token, String> {
    let output: Json = serde_json::from_slice(output).map_err(|_| "is not JSON".to_owned())?;
    let text = |member: &str| output.pointer(&format!("/status/{member}")).and_then(Json::as_str);
    let Some(token) = text("token").filter(|token| !token.is_empty()) else {
        return Err("contains no token; client certificates of programs are not supported".to_owned());
    };
    let expires = text("expirationTimestamp").map(|text| text.parse::<Timestamp>());
    let expires = expires.transpose().map_err(|_| "contains an invalid time of expiration".to_owned())?;
    Ok(Token { text: token.to_owned(), expires })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_parsed() {
        let token =
            parse(br#"{"status":{"token":"t","expirationTimestamp":"2030-01-01T00:00:00Z"}}"#).unwrap();
        assert_eq!((&*token.text, token.expires.unwrap().as_second()), ("t", 1_893_456_000));
        for bad in
            ["", "{}", r#"{"status":{"token":""}}"#, r#"{"status":{"token":"t","expirationTimestamp":"x"}}"#]
        {
            assert!(parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
