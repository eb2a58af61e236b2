//! Runs Terraform or Wardian.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::process;

/// Terraform or Wardian, with additional environment variables.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) file: PathBuf,
    pub(crate) environment: Vec<(String, String)>,
}

pub(crate) struct CommandResult {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    /// Standard output and standard error, for error messages.
    pub(crate) transcript: String,
}

impl Program {
    /// Runs a command that may fail.
    pub(crate) fn try_run(&self, directory: &Path, arguments: &[&str]) -> Result<CommandResult> {
        let mut command = Command::new(&self.file);
        command.args(arguments).current_dir(directory).stdin(Stdio::null());
        process::without_settings(&mut command).envs(self.environment.iter().cloned());
        let output = command.output().with_context(|| format!("could not start {}", self.file.display()))?;
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let transcript = format!("{stdout}{}", String::from_utf8_lossy(&output.stderr));
        Ok(CommandResult { code: output.status.code(), stdout, transcript })
    }

    /// Runs a command that must succeed.
    pub(crate) fn run(&self, directory: &Path, arguments: &[&str]) -> Result<String> {
        let result = self.try_run(directory, arguments)?;
        match result.code {
            Some(0) => Ok(result.stdout),
            _ => bail!("`{} {}` failed:\n{}", self.name, arguments.join(" "), result.transcript.trim()),
        }
    }

    /// Writes a plan to a file, and returns the plan as JSON.
    pub(crate) fn plan(&self, directory: &Path, options: &[&str]) -> Result<Value> {
        let arguments = [&["plan", "-no-color", "-input=false", "-out=plan.saved"], options].concat();
        self.run(directory, &arguments)?;
        json(&self.run(directory, &["show", "-json", "plan.saved"])?)
    }

    /// Applies the plan and returns the resulting state.
    pub(crate) fn apply(&self, directory: &Path) -> Result<Value> {
        self.run(directory, &["apply", "-no-color", "-input=false", "plan.saved"])?;
        self.state(directory)
    }

    pub(crate) fn state(&self, directory: &Path) -> Result<Value> {
        json(&self.run(directory, &["state", "pull"])?)
    }

    /// Returns the changes that another plan contains; no changes are expected.
    pub(crate) fn changes(&self, directory: &Path, options: &[&str]) -> Result<Option<String>> {
        let arguments = [&["plan", "-no-color", "-input=false", "-detailed-exitcode"], options].concat();
        let result = self.try_run(directory, &arguments)?;
        match result.code {
            Some(0) => Ok(None),
            Some(2) => Ok(Some(format!("{} still plans changes:\n{}", self.name, result.stdout))),
            _ => bail!("`{} plan` failed:\n{}", self.name, result.transcript.trim()),
        }
    }
}

fn json(text: &str) -> Result<Value> {
    serde_json::from_str(text).context("the output is not JSON")
}
