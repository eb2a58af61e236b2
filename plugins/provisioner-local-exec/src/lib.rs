//! The provisioner `local-exec`: runs a command on the machine that runs Wardian.
//!
//! It has the arguments of Terraform's provisioner and uses only one host operation, running
//! programs.

mod quoted;

use std::collections::BTreeMap;

use serde::Deserialize;
use wardian_sdk::provisioner::{Command, ProvisionContext, Provisioner, SpawnError};
use wardian_sdk::{Attribute, Diagnostics, Result, Schema, Type};

use quoted::Quoted;

/// The summary of every error diagnostic.
const SUMMARY: &str = "local-exec provisioner error";

/// The default interpreter.
const SHELL: [&str; 2] = ["/bin/sh", "-c"];

#[derive(Clone, Copy, Debug)]
pub struct LocalExec;

#[derive(Debug, Deserialize)]
pub struct Config {
    command: Option<String>,
    environment: Option<BTreeMap<String, Option<String>>>,
    interpreter: Option<Vec<Option<String>>>,
    quiet: Option<bool>,
    working_dir: Option<String>,
}

impl Provisioner for LocalExec {
    type Config = Config;

    fn schema(&self) -> Schema {
        Schema::new()
            .attribute(Attribute::string("command").required())
            .attribute(Attribute::map("environment", Type::String).optional())
            .attribute(Attribute::list("interpreter", Type::String).optional())
            .attribute(Attribute::bool("quiet").optional())
            .attribute(Attribute::string("working_dir").optional())
    }

    fn provision(&self, config: Config, context: &mut ProvisionContext<'_>) -> Result<()> {
        let Some(text) = config.command.as_deref().filter(|text| !text.is_empty()) else {
            let detail = "The \"command\" argument is empty or null.";
            return Err(Diagnostics::error("Invalid local-exec provisioner command", detail));
        };
        let words = words(&config, text);
        if config.quiet == Some(true) {
            context.show("Executing: (not shown, as quiet is set)");
        } else {
            context.show(&format!("Executing: {}", Quoted(&words)));
        }
        let mut words = words.into_iter();
        let mut command = Command::new(words.next().unwrap_or_default(), words);
        command.directory = config.working_dir.clone().filter(|directory| !directory.is_empty());
        let set = config.environment.into_iter().flatten();
        command.environment = set.filter_map(|(name, value)| Some((name, value?))).collect();
        let output = context.run(&command).map_err(|problem| not_run(text, &problem))?;
        if output.is_success() {
            return Ok(());
        }
        let detail = format!("The command '{text}' failed with {}. Output: {}", output.status, output.output);
        Err(Diagnostics::error(SUMMARY, detail))
    }
}

/// Returns the program and all its arguments.
fn words(config: &Config, command: &str) -> Vec<String> {
    let named: Vec<String> = config.interpreter.iter().flatten().flatten().cloned().collect();
    let interpreter = if named.is_empty() { SHELL.map(str::to_owned).to_vec() } else { named };
    interpreter.into_iter().chain([command.to_owned()]).collect()
}

fn not_run(command: &str, problem: &SpawnError) -> Diagnostics {
    let detail = match problem {
        SpawnError::Denied(why) => format!("Policy does not allow the command '{command}': {why}."),
        SpawnError::NotFound(why) | SpawnError::Failed(why) => {
            format!("The command '{command}' could not be run: {why}.")
        }
    };
    Diagnostics::error(SUMMARY, detail)
}

/// Returns the provisioner that the component exports.
pub fn provisioner() -> LocalExec {
    LocalExec
}

wardian_sdk::export_provisioner!(provisioner);

#[cfg(test)]
mod tests;
