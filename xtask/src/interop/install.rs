//! Compares installations of Terraform and Wardian: the same configuration with 12 modules and 4
//! providers, from the same servers on this machine, which delay each response.
//!
//! The lock files, the manifests of modules and the installed files must be equal. Then, each
//! program uses the directory that the other program created: `init` and `plan` must not change it.
//! In addition, the Python programs in `tests/interop/install` check the compatibility with
//! OpenTofu: they pull a release that Wardian pushed according to OpenTofu's rules, and lock the
//! plugin cache in the same way as OpenTofu.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::install_servers::{LATENCY_MS, Servers, configuration, description};
use super::report::Report;
use crate::measure;
use crate::oracle;
use crate::process;
use crate::progress::say;
use crate::workspace::Workspace;

const STEPS: &[&str] = &["install", "use other's", "opentofu"];

/// A program, with the directory in which it installs packages.
struct Side {
    name: &'static str,
    program: PathBuf,
    directory: PathBuf,
    environment: Vec<(&'static str, String)>,
}

/// Time and memory of one command.
struct Cost {
    name: &'static str,
    what: &'static str,
    wall: Duration,
    peak_bytes: u64,
}

pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    let terraform = match oracle::terraform() {
        Ok(found) => found,
        Err(reason) => {
            say(&format!("skipped: {reason}"));
            return Ok(ExitCode::SUCCESS);
        }
    };
    let place = workspace.own_target().join("interop/install");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(&place)?;
    let servers = Servers::start(workspace, &description(workspace, &place)?, &place)?;
    let cli_configuration = place.join("cli.tfrc");
    servers.write_cli_configuration(&cli_configuration)?;
    let environment = |name: &str| {
        vec![
            ("TF_CLI_CONFIG_FILE", cli_configuration.display().to_string()),
            ("SSL_CERT_FILE", servers.authority().to_owned()),
            ("HOME", place.join(format!("home-{name}")).display().to_string()),
            ("XDG_CACHE_HOME", place.join(format!("cache-{name}")).display().to_string()),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
        ]
    };
    let side = |name: &'static str, program: PathBuf| -> Result<Side> {
        let directory = place.join(name);
        fs::create_dir_all(&directory)?;
        fs::create_dir_all(place.join(format!("home-{name}")))?;
        fs::write(directory.join("main.tf"), configuration(&servers))?;
        Ok(Side { name, program, directory, environment: environment(name) })
    };
    let theirs = side("terraform", terraform)?;
    let ours = side("wardian", workspace.host_program("wardian"))?;
    let mut report = Report::new(STEPS);
    let mut costs = Vec::new();
    report.step("install");
    for side in [&theirs, &ours] {
        costs.push(side.timed("init, cold", &["init", "-no-color", "-input=false"], &side.directory)?);
    }
    compare(&theirs, &ours, &mut report)?;
    servers.take_request_count()?;
    costs.push(ours.timed("init, repeated", &["init", "-no-color", "-input=false"], &ours.directory)?);
    let requests = servers.take_request_count()?;
    report.note(
        "repeated init",
        (requests > 0).then(|| format!("it sent {requests} requests instead of none")),
    );
    costs.push(theirs.timed("init, repeated", &["init", "-no-color", "-input=false"], &theirs.directory)?);

    report.step("use other's");
    for (user, maker) in [(&theirs, &ours), (&ours, &theirs)] {
        report.note(
            &format!("{} in the directory of {}", user.name, maker.name),
            uses(user, &maker.directory)?,
        );
    }
    report.step("opentofu");
    opentofu(workspace, &place, &servers, &mut report);

    say(&format!("\nServers with {LATENCY_MS} ms of latency:"));
    for cost in &costs {
        say(&format!(
            "  {:<10} {:<16} {:>8.0} ms  {:>7.1} MB",
            cost.name,
            cost.what,
            cost.wall.as_secs_f64() * 1e3,
            crate::bench_table::megabytes(cost.peak_bytes)
        ));
    }
    Ok(report.print())
}

impl Side {
    fn command(&self, arguments: &[&str], directory: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(directory);
        process::without_settings(&mut command)
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    fn timed(&self, what: &'static str, arguments: &[&str], directory: &Path) -> Result<Cost> {
        let measured = measure::once(&mut self.command(arguments, directory))
            .with_context(|| format!("{} failed", self.name))?;
        Ok(Cost { name: self.name, what, wall: measured.wall, peak_bytes: measured.peak_bytes })
    }
}

/// Compares the lock files, the manifests, and the names and contents of all installed files.
fn compare(theirs: &Side, ours: &Side, report: &mut Report) -> Result<()> {
    for file in [".terraform.lock.hcl", ".terraform/modules/modules.json"] {
        let text = |side: &Side| {
            let path = side.directory.join(file);
            fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))
        };
        let (their_text, our_text) = (text(theirs)?, text(ours)?);
        report.note(
            file,
            (their_text != our_text).then(|| format!("terraform:\n{their_text}\nwardian:\n{our_text}")),
        );
    }
    let (their_files, our_files) = (files(&theirs.directory)?, files(&ours.directory)?);
    for directory in ["modules", "providers"] {
        let below = |files: &BTreeMap<String, u64>| -> BTreeMap<String, u64> {
            let prefix = format!(".terraform/{directory}/");
            files
                .iter()
                .filter(|(path, _)| path.starts_with(&prefix))
                .map(|(path, size)| (path.clone(), *size))
                .collect()
        };
        let (left, right) = (below(&their_files), below(&our_files));
        let only = |one: &BTreeMap<String, u64>, other: &BTreeMap<String, u64>| {
            one.iter()
                .filter(|(path, size)| other.get(*path) != Some(*size))
                .map(|(path, _)| path.clone())
                .collect::<Vec<_>>()
        };
        let difference = (left != right).then(|| {
            format!(
                "only in or different in terraform's directory: {:?}; in wardian's: {:?}",
                only(&left, &right),
                only(&right, &left)
            )
        });
        report.note(&format!("files of {directory}"), difference);
    }
    Ok(())
}

/// Returns all files of a directory with their sizes, except for git's own files, which only
/// Terraform retains for modules.
fn files(directory: &Path) -> Result<BTreeMap<String, u64>> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next)? {
            let entry = entry?;
            if entry.file_name() == ".git" {
                continue;
            }
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            } else {
                let path = entry.path();
                let relative = path.strip_prefix(directory)?.display().to_string();
                found.insert(relative, entry.metadata()?.len());
            }
        }
    }
    Ok(found)
}

/// Runs `init` and `plan` in a directory that another program made. Returns the changes.
fn uses(user: &Side, directory: &Path) -> Result<Option<String>> {
    let before = files(directory)?;
    let lock = fs::read(directory.join(".terraform.lock.hcl"))?;
    process::output(&mut user.command(&["init", "-no-color", "-input=false"], directory))?;
    let planned = process::output(&mut user.command(&["plan", "-no-color", "-input=false"], directory))?;
    let mut after = files(directory)?;
    // Wardian records its pins when it uses a directory for the first time.
    after.retain(|path, _| path != ".wardian.lock.hcl" || before.contains_key(path));
    if !planned.contains("4 to add") {
        return Ok(Some(format!("its plan is:\n{planned}")));
    }
    if fs::read(directory.join(".terraform.lock.hcl"))? != lock {
        return Ok(Some("it changed the lock file".to_owned()));
    }
    let changed: Vec<&String> =
        before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path)).collect();
    Ok((!changed.is_empty()).then(|| format!("it changed {changed:?}")))
}

/// Runs the programs in `tests/interop/install`. Each of them prints the checks that it made.
fn opentofu(workspace: &Workspace, place: &Path, servers: &Servers, report: &mut Report) {
    let Some(python) = process::on_path("python3") else {
        say("skipped the checks for OpenTofu: `python3` is not on PATH");
        return;
    };
    for name in ["oci_mirror.py", "plugin_cache.py"] {
        let mut command = Command::new(&python);
        command
            .arg(workspace.root.join("tests/interop/install").join(name))
            .env("WARDIAN", workspace.host_program("wardian"))
            .env("REGISTRY", servers.url("tls"))
            .env("PLAIN_REGISTRY", servers.url("plain"))
            .env("AUTHORITY", servers.authority())
            .env("COMPONENT", workspace.own_target().join("guests/null.wasm"))
            .env("PLACE", place.join(name))
            .env("PYTHONDONTWRITEBYTECODE", "1");
        process::without_settings(&mut command);
        let failed = process::output(&mut command).err().map(|error| format!("{error:#}"));
        report.note(name, failed);
    }
}
