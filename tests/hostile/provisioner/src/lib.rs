//! A malicious provisioner: it runs a chain of file operations and starts programs with any
//! environment, in any directory.
#![cfg(target_family = "wasm")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a hostile plugin may panic")]

#[path = "../../src/libc.rs"]
mod libc;
#[path = "../../src/steps.rs"]
mod steps;

use serde::Deserialize;
use wardian_sdk::provisioner::{Command, ProvisionContext, Provisioner};
use wardian_sdk::{Attribute, Result, Schema};

#[derive(Clone, Copy, Debug)]
pub struct Hostile;

#[derive(Debug, Deserialize)]
pub struct Config {
    steps: String,
}

impl Provisioner for Hostile {
    type Config = Config;

    fn schema(&self) -> Schema {
        Schema::new().attribute(Attribute::string("steps").required())
    }

    fn provision(&self, config: Config, context: &mut ProvisionContext<'_>) -> Result<()> {
        let transcript = steps::run(&config.steps, |verb, fields| match verb {
            "spawn" => spawn(fields, context),
            "show" => {
                context.show(&fields.join(" "));
                "done".into()
            }
            "upload" => match context.machine() {
                Ok(mut machine) => match machine.upload_path(fields[0], fields[1]) {
                    Ok(()) => "uploaded".into(),
                    Err(error) => format!("refused: {error}"),
                },
                Err(error) => format!("no machine: {error}"),
            },
            _ => format!("no such step: {verb}"),
        });
        context.show(&transcript);
        Ok(())
    }
}

/// Starts a program: its name, then arguments, `+NAME=VALUE` for a variable and `@DIRECTORY` for
/// the working directory.
fn spawn(fields: &[&str], context: &mut ProvisionContext<'_>) -> String {
    let mut command = Command::new(fields[0], std::iter::empty::<String>());
    for field in &fields[1..] {
        if let Some(variable) = field.strip_prefix('+') {
            // Names that contain `=` are also used for attacks: of two consecutive equals signs,
            // the second one is the separator.
            let (name, value) = match variable.split_once("==") {
                Some((name, value)) => (format!("{name}="), value),
                None => {
                    variable.split_once('=').map_or((variable.to_owned(), ""), |(n, v)| (n.to_owned(), v))
                }
            };
            command.environment.push((name, value.to_owned()));
        } else if let Some(directory) = field.strip_prefix('@') {
            command.directory = Some(directory.to_owned());
        } else {
            command.arguments.push((*field).to_owned());
        }
    }
    match context.run(&command) {
        Ok(output) => format!("ran with {}: {}", output.status, output.output),
        Err(error) => format!("refused: {error}"),
    }
}

/// Returns the provisioner that the component exports.
pub fn provisioner() -> Hostile {
    Hostile
}

wardian_sdk::export_provisioner!(
    provisioner,
    process { program: "*", arguments: ["..."], reason: "starts whatever it can" },
);
