//! `cargo xtask demo`: the complete life cycle of a configuration, with the real binary.
//!
//! Each command line is printed before it runs, and its effects are checked afterwards: exit
//! codes, files, state. If Terraform is on PATH, it reads the same state and must report the
//! same resources.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::progress::{Step, elapsed, say};
use crate::workspace::Workspace;
use crate::{oracle, process};

const SOURCE: &str = "tests/demo";

const PROVIDERS: [&str; 4] = ["local", "null", "random", "time"];

/// The exit code of `plan -detailed-exitcode` if there are changes.
const CHANGES: i32 = 2;

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let started = Instant::now();
    let demo = Demo::prepare(workspace)?;

    say("\n--- Create the platform");
    demo.expect(0, &["init"])?;
    demo.lock_names_all_providers()?;
    demo.expect(0, &["validate"])?;
    demo.expect(0, &["plan"])?;
    ensure!(!demo.path("terraform.tfstate").exists(), "`plan` wrote a state");
    demo.expect(0, &["apply", "-auto-approve"])?;
    let first = demo.state()?;
    ensure!(
        first.instances >= 30,
        "the state has {} resource instances, but at least 30 are expected",
        first.instances
    );
    demo.files_exist(&[
        "build/inventory.json",
        "build/RUNBOOK.md",
        "build/services/worker.conf",
        "build/secrets/database.secret",
    ])?;

    say("\n--- Plan again: no changes");
    demo.expect(0, &["plan", "-detailed-exitcode"])?;
    demo.read_state(&first)?;

    say("\n--- Change it: next-release.tfvars");
    let change = "-var-file=next-release.tfvars";
    demo.expect(CHANGES, &["plan", "-detailed-exitcode", change])?;
    demo.expect(0, &["apply", "-auto-approve", change])?;
    let second = demo.state()?;
    ensure!(
        second.serial > first.serial,
        "a change did not increase the serial of the state: it was {} and is now {}",
        first.serial,
        second.serial
    );
    ensure!(second.lineage == first.lineage, "a change altered the lineage of the state");
    demo.files_exist(&["build/services/search.conf"])?;
    demo.files_are_gone(&["build/services/worker.conf"])?;
    demo.expect(0, &["plan", "-detailed-exitcode", change])?;
    demo.terraform_agrees()?;

    say("\n--- Destroy the platform");
    demo.expect(0, &["destroy", "-auto-approve", change])?;
    let last = demo.state()?;
    ensure!(last.instances == 0, "{} resource instances remain in the state after `destroy`", last.instances);
    demo.files_are_gone(&["build/inventory.json", "build/secrets/database.secret"])?;
    let left = demo.capture(&["state", "list"])?;
    ensure!(left.is_empty(), "`state list` prints resources after `destroy`");

    say(&format!(
        "\nThe demo passed in {}. Its directory is {}.",
        elapsed(started.elapsed()),
        demo.directory.display()
    ));
    Ok(())
}

struct Demo {
    directory: PathBuf,
    wardian: PathBuf,
}

/// The content of a state file that is checked.
struct State {
    lineage: String,
    serial: u64,
    /// The number of managed resource instances, without data sources.
    instances: usize,
}

impl Demo {
    fn prepare(workspace: &Workspace) -> Result<Self> {
        let directory = workspace.own_target().join("demo");
        let step = Step::start(&format!("Copying {SOURCE} to {}", directory.display()));
        if directory.exists() {
            fs::remove_dir_all(&directory)
                .with_context(|| format!("could not empty {}", directory.display()))?;
        }
        copy_folder(&workspace.root.join(SOURCE), &directory)?;
        step.done("copied");
        Ok(Self { directory, wardian: workspace.host_program("wardian") })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn wardian(&self, arguments: &[&str]) -> Command {
        say(&format!("\n$ wardian {}", arguments.join(" ")));
        let mut command = Command::new(&self.wardian);
        command.args(arguments).current_dir(&self.directory).stdin(Stdio::null());
        process::without_settings(&mut command);
        command
    }

    fn expect(&self, code: i32, arguments: &[&str]) -> Result<()> {
        let status = process::status(&mut self.wardian(arguments))?;
        if status.code() != Some(code) {
            bail!("`wardian {}` ended with {status}; {code} was expected", arguments.join(" "));
        }
        Ok(())
    }

    /// Runs a command, and prints and returns its output.
    fn capture(&self, arguments: &[&str]) -> Result<String> {
        let text = process::output(&mut self.wardian(arguments))?;
        say(text.trim_end());
        Ok(text)
    }

    /// Runs the commands that only read the state.
    fn read_state(&self, state: &State) -> Result<()> {
        say("\n--- Read the state");
        self.expect(0, &["output"])?;
        let outputs: Value = serde_json::from_str(&self.capture(&["output", "-json"])?)
            .context("`wardian output -json` did not print JSON")?;
        ensure!(outputs["secrets"]["sensitive"] == true, "the output `secrets` is not marked as sensitive");
        let name = self.capture(&["output", "-raw", "name"])?;
        ensure!(outputs["name"]["value"] == name.as_str(), "`output -raw name` and `output -json` differ");
        let list = self.capture(&["state", "list"])?;
        let managed = list.lines().filter(|line| !is_data(line)).count();
        ensure!(
            managed == state.instances,
            "`state list` prints {managed} managed instances, but the state contains {}",
            state.instances
        );
        self.expect(0, &["state", "show", "random_pet.platform"])?;
        self.expect(0, &["show"])?;
        self.expect(0, &["providers"])?;
        self.terraform_agrees()
    }

    fn state(&self) -> Result<State> {
        let path = self.path("terraform.tfstate");
        let text = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
        state_facts(&text).with_context(|| format!("in {}", path.display()))
    }

    fn lock_names_all_providers(&self) -> Result<()> {
        let path = self.path(".terraform.lock.hcl");
        let text = fs::read_to_string(&path).with_context(|| format!("`init` left no {}", path.display()))?;
        let locked = oracle::locked_versions(&text);
        for provider in PROVIDERS {
            let address = format!("registry.terraform.io/hashicorp/{provider}");
            ensure!(locked.contains_key(&address), "the lock file does not name {address}");
        }
        Ok(())
    }

    fn terraform_agrees(&self) -> Result<()> {
        let terraform = match oracle::terraform() {
            Ok(terraform) => terraform,
            Err(reason) => {
                say(&format!("\nnot compared with Terraform: {reason}"));
                return Ok(());
            }
        };
        let list = self.capture(&["state", "list"])?;
        say("\n$ terraform state list; terraform state pull; terraform version");
        oracle::agrees_on_state(
            &terraform,
            &self.path("terraform.tfstate"),
            &self.directory.with_extension("terraform"),
            &list,
        )?;
        oracle::agrees_on_lock(&terraform, &self.directory)?;
        say("Terraform reads the same resources, state and provider versions.");
        Ok(())
    }

    fn files_exist(&self, names: &[&str]) -> Result<()> {
        for name in names {
            ensure!(self.path(name).is_file(), "{name} was not written");
        }
        Ok(())
    }

    fn files_are_gone(&self, names: &[&str]) -> Result<()> {
        for name in names {
            ensure!(!self.path(name).exists(), "{name} was not removed");
        }
        Ok(())
    }
}

fn state_facts(text: &str) -> Result<State> {
    let state: Value = serde_json::from_str(text).context("it is not JSON")?;
    ensure!(state["version"] == 4, "its version is {}, not 4", state["version"]);
    let instances = state["resources"]
        .as_array()
        .context("it has no list of resources")?
        .iter()
        .filter(|resource| resource["mode"] == "managed")
        .filter_map(|resource| resource["instances"].as_array())
        .map(Vec::len)
        .sum();
    Ok(State {
        lineage: state["lineage"].as_str().context("it has no lineage")?.to_owned(),
        serial: state["serial"].as_u64().context("it has no serial")?,
        instances,
    })
}

/// Recognizes `data.local_file.x` and `module.a.data.local_file.x`.
fn is_data(address: &str) -> bool {
    address.starts_with("data.") || address.contains(".data.")
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("could not create {}", to.display()))?;
    let entries = fs::read_dir(from).with_context(|| format!("could not read {}", from.display()))?;
    for entry in entries {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)
                .with_context(|| format!("could not copy {}", entry.path().display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_managed_instances_are_counted() {
        let state = state_facts(
            r#"{
              "version": 4, "serial": 3, "lineage": "a",
              "resources": [
                { "mode": "managed", "instances": [{}, {}] },
                { "mode": "data", "instances": [{}] }
              ]
            }"#,
        )
        .unwrap();
        assert_eq!((state.serial, state.instances), (3, 2));
    }

    #[test]
    fn invalid_state_is_an_error() {
        assert!(state_facts(r#"{ "version": 3 }"#).is_err());
    }

    #[test]
    fn data_sources_are_recognized_by_their_address() {
        assert!(is_data("data.local_file.motto"));
        assert!(is_data("module.a[\"x\"].data.local_file.motto"));
        assert!(!is_data("module.database.random_id.x"));
    }
}
