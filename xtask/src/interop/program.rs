//! One of the two programs at work in a directory.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::process;

/// A program, and what its environment has besides.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) file: PathBuf,
    pub(crate) environment: Vec<(String, String)>,
}

/// How a command ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    /// Both outputs, for people.
    pub(crate) said: String,
}

impl Program {
    /// Runs a command to its end, however that is.
    pub(crate) fn try_run(&self, directory: &Path, arguments: &[&str]) -> Result<Ended> {
        let mut command = Command::new(&self.file);
        command.args(arguments).current_dir(directory).stdin(Stdio::null());
        process::without_settings(&mut command).envs(self.environment.iter().cloned());
        let output = command.output().with_context(|| format!("could not start {}", self.file.display()))?;
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = format!("{stdout}{}", String::from_utf8_lossy(&output.stderr));
        Ok(Ended { code: output.status.code(), stdout, said })
    }

    /// Runs a command that must succeed.
    pub(crate) fn run(&self, directory: &Path, arguments: &[&str]) -> Result<String> {
        let ended = self.try_run(directory, arguments)?;
        match ended.code {
            Some(0) => Ok(ended.stdout),
            _ => bail!("`{} {}` failed:\n{}", self.name, arguments.join(" "), ended.said.trim()),
        }
    }

    /// Plans into a file and returns the plan as JSON.
    pub(crate) fn plan(&self, directory: &Path, options: &[&str]) -> Result<Value> {
        let arguments = [&["plan", "-no-color", "-input=false", "-out=plan.saved"], options].concat();
        self.run(directory, &arguments)?;
        json(&self.run(directory, &["show", "-json", "plan.saved"])?)
    }

    /// Carries out the plan and returns the state that it led to.
    pub(crate) fn apply(&self, directory: &Path) -> Result<Value> {
        self.run(directory, &["apply", "-no-color", "-input=false", "plan.saved"])?;
        self.state(directory)
    }

    pub(crate) fn state(&self, directory: &Path) -> Result<Value> {
        json(&self.run(directory, &["state", "pull"])?)
    }

    /// What a plan would still change: nothing, if all is well.
    pub(crate) fn changes(&self, directory: &Path, options: &[&str]) -> Result<Option<String>> {
        let arguments = [&["plan", "-no-color", "-input=false", "-detailed-exitcode"], options].concat();
        let ended = self.try_run(directory, &arguments)?;
        match ended.code {
            Some(0) => Ok(None),
            Some(2) => Ok(Some(format!("{} still plans changes:\n{}", self.name, ended.stdout))),
            _ => bail!("`{} plan` failed:\n{}", self.name, ended.said.trim()),
        }
    }
}

fn json(text: &str) -> Result<Value> {
    serde_json::from_str(text).context("what should be JSON is not")
}
