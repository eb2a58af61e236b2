//! The provisioner `remote-exec`: runs scripts on the provisioned machine.
//!
//! It has the arguments of Terraform's provisioner. Each script is uploaded, run, and removed, even
//! if it fails. Only the login user can read the uploaded file. The host provides the connection
//! and the local script files.

mod scripts;

use serde::Deserialize;
use wardian_sdk::provisioner::{
    CommandOutput, ConnectionOutput, Machine, Platform, ProvisionContext, Provisioner, RemoteError,
};
use wardian_sdk::{Attribute, Diagnostics, Object, Result, Schema, Type};

use scripts::{Scripts, collect};

/// The summary of every error diagnostic.
const SUMMARY: &str = "remote-exec provisioner error";

/// The first line of a script without its own shebang.
const SHEBANG: &str = "#!/bin/sh\n";

const SCRIPT_MODE: u32 = 0o700;

#[derive(Clone, Copy, Debug)]
pub struct RemoteExec;

#[derive(Debug, Default, Deserialize)]
pub struct Config {
    inline: Option<Vec<Option<String>>>,
    script: Option<String>,
    scripts: Option<Vec<Option<String>>>,
}

impl Provisioner for RemoteExec {
    type Config = Config;

    fn schema(&self) -> Schema {
        Schema::new()
            .attribute(Attribute::list("inline", Type::String).optional())
            .attribute(Attribute::string("script").optional())
            .attribute(Attribute::list("scripts", Type::String).optional())
    }

    fn validate(&self, config: &Object) -> Result<()> {
        let is_set = |name: &&str| config.as_value().get(name).is_some_and(|value| !value.is_null());
        let set: Vec<&str> = ["inline", "script", "scripts"].into_iter().filter(is_set).collect();
        let detail = match set.as_slice() {
            [_] => return Ok(()),
            [] => "There is nothing to run. Set one of inline, script and scripts.".to_owned(),
            several => {
                format!(
                    "Only one of inline, script and scripts can be set, but {} are.",
                    several.join(" and ")
                )
            }
        };
        Err(Diagnostics::error("Invalid remote-exec provisioner configuration", detail))
    }

    fn provision(&self, config: Config, context: &mut ProvisionContext<'_>) -> Result<()> {
        let mut machine = context.machine().map_err(machine_failure)?;
        let platform = machine.platform().map_err(machine_failure)?;
        // All scripts are read before the first one runs, to report an unreadable file before
        // anything changes.
        let scripts = collect(config, &|path| std::fs::read(path)).map_err(|problem| failure(&problem))?;
        machine.connect(ConnectionOutput::Shown).map_err(machine_failure)?;
        match scripts {
            Scripts::Inline(text) => run(&mut machine, platform, text.into_bytes(), "inline"),
            Scripts::Files(files) => {
                files.into_iter().try_for_each(|(name, text)| run(&mut machine, platform, text, &name))
            }
        }
    }
}

/// Runs one script.
fn run(machine: &mut Machine<'_>, platform: Platform, text: Vec<u8>, name: &str) -> Result<()> {
    let path = machine.script_path().map_err(machine_failure)?;
    let text = match platform {
        Platform::Unix if !text.starts_with(b"#!") => [SHEBANG.as_bytes(), &text].concat(),
        _ => text,
    };
    let word = word(&path, platform);
    let result = upload_script(machine, platform, &path, &text).and_then(|()| machine.run(&word));
    // A script that is not removed reveals the commands, but the run still succeeds.
    let _ = match platform {
        Platform::Unix => machine.run_quietly(&format!("rm -f {word}")),
        Platform::Windows => machine.run_quietly(&format!("del /q {}", word.replace('/', "\\"))),
    };
    let CommandOutput { status, .. } = result.map_err(machine_failure)?;
    if status.is_success() {
        return Ok(());
    }
    Err(failure(&format!("the script {name}, uploaded to {path:?}, failed with {status}")))
}

/// Uploads a script that only the login user can read.
fn upload_script(
    machine: &mut Machine<'_>,
    platform: Platform,
    path: &str,
    text: &[u8],
) -> Result<(), RemoteError> {
    machine.upload(path, text, Some(SCRIPT_MODE))?;
    if platform == Platform::Windows {
        return Ok(());
    }
    // A file that already existed has kept its mode.
    let changed = machine.run_quietly(&format!("chmod {SCRIPT_MODE:04o} {}", word(path, platform)))?;
    if changed.is_success() {
        return Ok(());
    }
    let output = changed.output.trim();
    Err(RemoteError::Failed(format!("{path:?} cannot be made executable ({}): {output}", changed.status)))
}

/// Quotes a path as one word for the remote shell.
fn word(path: &str, platform: Platform) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:\\".contains(c);
    match platform {
        _ if path.chars().all(is_plain) => path.to_owned(),
        Platform::Unix => format!("'{}'", path.replace('\'', r"'\''")),
        // Windows paths cannot contain quotation marks.
        Platform::Windows => format!("\"{}\"", path.replace('"', "")),
    }
}

fn failure(what: &str) -> Diagnostics {
    Diagnostics::error(SUMMARY, format!("Not all steps completed: {what}."))
}

fn machine_failure(problem: RemoteError) -> Diagnostics {
    match problem {
        RemoteError::Denied(why) => {
            Diagnostics::error(SUMMARY, format!("Policy does not allow this connection: {why}."))
        }
        problem => failure(&problem.to_string()),
    }
}

/// Returns the provisioner that the component exports.
pub fn provisioner() -> RemoteExec {
    RemoteExec
}

wardian_sdk::export_provisioner!(provisioner);

#[cfg(test)]
mod tests;
