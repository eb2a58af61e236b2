//! The provisioner `remote-exec`: scripts on the machine that is provisioned.
//!
//! It takes what Terraform's own takes. Each script is written there, run, and removed,
//! whatever came of it; only its user may read it. It asks the host for the connection, and
//! for the files that the scripts are.

mod scripts;

use serde::Deserialize;
use wardian_sdk::provisioner::{Ended, Machine, Platform, Provisioner, RemoteError, Telling, Work};
use wardian_sdk::{Attribute, Diagnostics, Object, Result, Schema, Type};

use scripts::{Scripts, collect};

/// What is said of every failure.
const SUMMARY: &str = "remote-exec provisioner error";

/// What runs a script that does not say so itself.
const SHEBANG: &str = "#!/bin/sh\n";

/// The mode of a script there.
const SCRIPT_MODE: u32 = 0o700;

/// The provisioner.
#[derive(Clone, Copy, Debug)]
pub struct RemoteExec;

/// What the block says.
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
        let told = match set.as_slice() {
            [_] => return Ok(()),
            [] => "There is nothing to run. Set one of inline, script and scripts.".to_owned(),
            several => {
                format!("Of inline, script and scripts one is set, and here {} are.", several.join(" and "))
            }
        };
        Err(Diagnostics::error("Invalid remote-exec provisioner configuration", told))
    }

    fn provision(&self, config: Config, work: &mut Work<'_>) -> Result<()> {
        let mut machine = work.machine().map_err(not_done)?;
        let platform = machine.platform().map_err(not_done)?;
        // Before anything runs: what cannot be read must not show in the midst of it.
        let scripts = collect(config, &|path| std::fs::read(path)).map_err(|problem| failed(&problem))?;
        machine.connect(Telling::Shown).map_err(not_done)?;
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
    let path = machine.script_path().map_err(not_done)?;
    let text = match platform {
        Platform::Unix if !text.starts_with(b"#!") => [SHEBANG.as_bytes(), &text].concat(),
        _ => text,
    };
    let word = word(&path, platform);
    let ran = placed(machine, platform, &path, &text).and_then(|()| machine.run(&word));
    // What remains there would tell whoever looks what was run. That it could not be
    // removed is no failure of what it did.
    let _ = match platform {
        Platform::Unix => machine.run_quietly(&format!("rm -f {word}")),
        Platform::Windows => machine.run_quietly(&format!("del /q {}", word.replace('/', "\\"))),
    };
    let Ended { ending, .. } = ran.map_err(not_done)?;
    if ending.is_success() {
        return Ok(());
    }
    Err(failed(&format!("the script {name}, which ran there as {path:?}, ended with {ending}")))
}

/// Writes a script there, for its user alone.
fn placed(machine: &mut Machine<'_>, platform: Platform, path: &str, text: &[u8]) -> Result<(), RemoteError> {
    machine.upload(path, text, Some(SCRIPT_MODE))?;
    if platform == Platform::Windows {
        return Ok(());
    }
    // One that was there keeps the mode that it had.
    let changed = machine.run_quietly(&format!("chmod {SCRIPT_MODE:04o} {}", word(path, platform)))?;
    if changed.is_success() {
        return Ok(());
    }
    let said = changed.output.trim();
    Err(RemoteError::Failed(format!("{path:?} cannot be made executable there ({}): {said}", changed.ending)))
}

/// A path as one word for the shell there.
fn word(path: &str, platform: Platform) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:\\".contains(c);
    match platform {
        _ if path.chars().all(is_plain) => path.to_owned(),
        Platform::Unix => format!("'{}'", path.replace('\'', r"'\''")),
        // A quotation mark is in no path there.
        Platform::Windows => format!("\"{}\"", path.replace('"', "")),
    }
}

fn failed(what: &str) -> Diagnostics {
    Diagnostics::error(SUMMARY, format!("Not all of it was done: {what}."))
}

fn not_done(problem: RemoteError) -> Diagnostics {
    match problem {
        RemoteError::Denied(why) => {
            Diagnostics::error(SUMMARY, format!("Policy does not let it run there: {why}."))
        }
        problem => failed(&problem.to_string()),
    }
}

/// The provisioner of the component.
pub fn provisioner() -> RemoteExec {
    RemoteExec
}

wardian_sdk::export_provisioner!(provisioner);

#[cfg(test)]
mod tests;
