//! Runs Terraform, if it is on PATH, to check that it can read the files that Wardian writes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::Project;
use crate::project::words;

#[derive(Debug)]
pub struct Terraform(PathBuf);

/// Returns Terraform, or prints the reason why it is missing and returns [`None`].
pub fn terraform() -> Option<Terraform> {
    let path = std::env::var_os("PATH")?;
    let name = format!("terraform{}", std::env::consts::EXE_SUFFIX);
    let found =
        std::env::split_paths(&path).map(|directory| directory.join(&name)).find(|path| path.is_file());
    if found.is_none() {
        println!("skipped: `terraform` is not on PATH");
    }
    found.map(Terraform)
}

impl Terraform {
    /// Returns the output of a command in a directory.
    ///
    /// # Panics
    /// Panics if the command fails.
    pub fn ask(&self, directory: &Path, arguments: &[&str]) -> String {
        let output = self.run(directory, arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "terraform {arguments:?} failed:\n{errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Returns the output of a command in a directory, even if the command fails.
    ///
    /// # Panics
    /// Panics if the command cannot be started.
    pub fn try_ask(&self, directory: &Path, arguments: &[&str]) -> String {
        String::from_utf8_lossy(&self.run(directory, arguments).stdout).into_owned()
    }

    /// Builds a `terraform` command with the given arguments, to be run in the project's directory.
    pub fn command(&self, project: &Project, line: &str) -> Command {
        let mut command = self.plain_command(&project.path(""));
        command.args(words(line)).env("HOME", project.path("home"));
        command
    }

    fn run(&self, directory: &Path, arguments: &[&str]) -> Output {
        let output = self.plain_command(directory).args(arguments).env("HOME", directory).output();
        #[expect(clippy::expect_used, reason = "the test has failed")]
        output.expect("terraform starts")
    }

    fn plain_command(&self, directory: &Path) -> Command {
        let mut command = Command::new(&self.0);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TF_") {
                command.env_remove(name);
            }
        }
        command.current_dir(directory).env("CHECKPOINT_DISABLE", "1");
        command
    }

    /// Runs a command on a copy of a project's state in an empty directory, since Terraform would
    /// require native providers if the directory contained the configuration.
    ///
    /// # Panics
    /// Panics if the command fails.
    pub fn ask_about_state(&self, project: &Project, arguments: &[&str]) -> String {
        let aside = project.path("aside");
        let copied = fs::create_dir_all(&aside).and_then(|()| {
            fs::copy(project.path("terraform.tfstate"), aside.join("terraform.tfstate")).map(drop)
        });
        assert!(copied.is_ok(), "{copied:?}");
        self.ask(&aside, arguments)
    }

    /// Returns a state without the members that Terraform and Wardian write differently.
    pub fn comparable(state: &str) -> Value {
        let mut state: Value = serde_json::from_str(state).unwrap_or_default();
        if let Some(object) = state.as_object_mut() {
            object.remove("terraform_version");
        }
        state
    }
}
