//! The Azure CLI, which issues tokens for the user who is logged in.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use wardian_access::{Denied, ExitStatus, FinishedProgram, ProcessAuthority, ProgramLaunch};
use wardian_process::{Command, CommandEvent, DescendantPolicy, Launcher, ProcessError};

use crate::host::BackendHost;
use crate::oauth::AccessToken;

const PROGRAM: &str = "az";
const TIME_LIMIT: Duration = Duration::from_mins(1);
const MAX_OUTPUT_BYTES: usize = 1 << 20;
const MAX_MESSAGE_CHARACTERS: usize = 300;

/// Runs the program. `Debug` output does not contain its environment.
pub(super) struct AzureCli {
    launcher: Launcher,
    directory: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

impl std::fmt::Debug for AzureCli {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("AzureCli").finish_non_exhaustive()
    }
}

impl AzureCli {
    pub(super) fn new(host: &BackendHost) -> Self {
        let environment = host.variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let search_path = host.variable("PATH").unwrap_or_default();
        Self {
            launcher: Launcher::new(Arc::new(OnlyAzureCli), search_path.into()),
            directory: host.directory.clone(),
            environment,
        }
    }

    /// Requests a token for a scope. Without a tenant, it is the tenant of the user's subscription.
    ///
    /// # Errors
    /// Returns the reason if the program issues no token.
    pub(super) async fn token(&self, scope: &str, tenant: Option<&str>) -> Result<AccessToken, String> {
        let mut arguments = vec!["account", "get-access-token", "--scope", scope];
        arguments.extend(tenant.into_iter().flat_map(|tenant| ["--tenant", tenant]));
        let response = self.run(&arguments).await?;
        let value = response.get("accessToken").and_then(Value::as_str).filter(|token| !token.is_empty());
        let expires = response.get("expires_on").and_then(Value::as_i64);
        Ok(AccessToken {
            value: value.ok_or("the Azure CLI returned no access token")?.to_owned(),
            expires: expires.and_then(|seconds| Timestamp::from_second(seconds).ok()),
        })
    }

    /// Returns the ID of the user's subscription.
    ///
    /// # Errors
    /// Returns the reason if there is none.
    pub(super) async fn subscription(&self) -> Result<String, String> {
        let account = self.run(&["account", "show"]).await?;
        let id = account.get("id").and_then(Value::as_str).map(str::to_owned);
        id.ok_or_else(|| "the Azure CLI returned no subscription".to_owned())
    }

    async fn run(&self, arguments: &[&str]) -> Result<Value, String> {
        let arguments = arguments.iter().chain(&["-o=json"]).map(|argument| (*argument).to_owned());
        let directory =
            if self.directory.is_absolute() { self.directory.clone() } else { PathBuf::from("/") };
        let mut command = Command::new(PROGRAM, arguments.collect(), directory);
        command.environment.clone_from(&self.environment);
        command.timeout = Some(TIME_LIMIT);
        command.descendants = DescendantPolicy::Kill;
        let mut child = self.launcher.start(command).await.map_err(|error| match error {
            ProcessError::NotFound { .. } => {
                "the Azure CLI (az) was not found on PATH; install it and run `az login`, or configure other credentials"
                    .to_owned()
            }
            error => format!("the Azure CLI could not be run: {error}"),
        })?;
        let (mut output, mut messages) = (Vec::new(), Vec::new());
        loop {
            match child.next_event().await {
                Some(CommandEvent::Stdout(bytes)) => output.extend(bytes),
                Some(CommandEvent::Stderr(bytes)) => messages.extend(bytes),
                Some(CommandEvent::Exited(ExitStatus::Code(0))) => {
                    return serde_json::from_slice(&output)
                        .map_err(|_| "the output of the Azure CLI is not JSON".to_owned());
                }
                Some(CommandEvent::Exited(ExitStatus::TimedOut)) => {
                    return Err(format!("the Azure CLI ran for more than {} seconds", TIME_LIMIT.as_secs()));
                }
                Some(CommandEvent::Exited(_)) | None => {
                    let text = String::from_utf8_lossy(&messages);
                    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                    let text: String = text.chars().take(MAX_MESSAGE_CHARACTERS).collect();
                    return Err(format!("the Azure CLI failed: {text}; run `az login`"));
                }
            }
            if output.len().max(messages.len()) > MAX_OUTPUT_BYTES {
                return Err(format!("the Azure CLI printed more than {MAX_OUTPUT_BYTES} bytes"));
            }
        }
    }
}

/// An authority that allows only the Azure CLI.
struct OnlyAzureCli;

impl OnlyAzureCli {
    fn check(launch: &ProgramLaunch<'_>) -> Result<(), Denied> {
        if launch.program == PROGRAM { Ok(()) } else { Err(Denied::new("backends run only the Azure CLI")) }
    }
}

impl ProcessAuthority for OnlyAzureCli {
    fn may_start(&self, launch: &ProgramLaunch<'_>) -> Result<(), Denied> {
        Self::check(launch)
    }

    fn may_execute(&self, launch: &ProgramLaunch<'_>, _executable: &Path) -> Result<(), Denied> {
        Self::check(launch)
    }

    fn finished(&self, program: &FinishedProgram) {
        tracing::debug!(status = ?program.status, duration = ?program.duration, "the Azure CLI ended");
    }
}
