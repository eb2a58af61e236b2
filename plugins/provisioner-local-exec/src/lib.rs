//! The provisioner `local-exec`: a command on the machine that the run takes place on.
//!
//! It takes what Terraform's own takes, and asks the host for one thing: to run programs.

mod quoted;

use std::collections::BTreeMap;

use serde::Deserialize;
use wardian_sdk::provisioner::{Command, NotRun, Provisioner, Work};
use wardian_sdk::{Attribute, Diagnostics, Result, Schema, Type};

use quoted::Quoted;

/// What is said of every failure.
const SUMMARY: &str = "local-exec provisioner error";

/// What runs commands where nothing else is named.
const SHELL: [&str; 2] = ["/bin/sh", "-c"];

/// The provisioner.
#[derive(Clone, Copy, Debug)]
pub struct LocalExec;

/// What the block says.
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

    fn provision(&self, config: Config, work: &mut Work<'_>) -> Result<()> {
        let Some(text) = config.command.as_deref().filter(|text| !text.is_empty()) else {
            let told = "There is nothing to run: the argument command is empty, or null.";
            return Err(Diagnostics::error("Invalid local-exec provisioner command", told));
        };
        let words = words(&config, text);
        if config.quiet == Some(true) {
            work.show("Executing: (not shown, as quiet is set)");
        } else {
            work.show(&format!("Executing: {}", Quoted(&words)));
        }
        let mut words = words.into_iter();
        let mut command = Command::new(words.next().unwrap_or_default(), words);
        command.directory = config.working_dir.clone().filter(|directory| !directory.is_empty());
        let set = config.environment.into_iter().flatten();
        command.environment = set.filter_map(|(name, value)| Some((name, value?))).collect();
        let ended = work.run(&command).map_err(|problem| not_run(text, &problem))?;
        if ended.is_success() {
            return Ok(());
        }
        let told = format!("The command '{text}' failed with {}. Output: {}", ended.ending, ended.output);
        Err(Diagnostics::error(SUMMARY, told))
    }
}

/// The program and all its arguments.
fn words(config: &Config, command: &str) -> Vec<String> {
    let named: Vec<String> = config.interpreter.iter().flatten().flatten().cloned().collect();
    let interpreter = if named.is_empty() { SHELL.map(str::to_owned).to_vec() } else { named };
    interpreter.into_iter().chain([command.to_owned()]).collect()
}

fn not_run(command: &str, problem: &NotRun) -> Diagnostics {
    let told = match problem {
        NotRun::Denied(why) => format!("Policy does not let the command '{command}' run: {why}."),
        NotRun::NotFound(why) | NotRun::Failed(why) => {
            format!("The command '{command}' could not be run: {why}.")
        }
    };
    Diagnostics::error(SUMMARY, told)
}

/// The provisioner of the component.
pub fn provisioner() -> LocalExec {
    LocalExec
}

wardian_sdk::export_provisioner!(provisioner);

#[cfg(test)]
mod tests;
