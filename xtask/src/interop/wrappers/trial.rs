//! Runs a driver with one program as `terraform`, in a temporary directory.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::install::Installed;
use super::tools::Tool;
use crate::mirror_settings::mirror_settings;
use crate::process;

/// Time limit of one driver. The drivers also limit each process that they start.
const LIMIT: Duration = Duration::from_mins(5);
/// The end of a line that Wardian logs after each command.
const COMMAND_LOGGED: &str = "wardian::command: close";
/// The embedded plugins of the configurations.
const PLUGINS: &[&str] = &["local", "null", "random", "time"];
/// The number of lines of a driver's output that are printed if the driver fails.
const LINES: usize = 40;

/// The program that tools run as `terraform`, with the environment of its runs.
pub(crate) struct Peer {
    /// The directory with the links to the program, which is the first directory on PATH.
    links: PathBuf,
    environment: Vec<(&'static str, PathBuf)>,
    /// Whether the number of commands in the log is checked.
    is_wardian: bool,
}

/// The results of a driver.
pub(crate) struct Outcome {
    pub(crate) steps: Vec<String>,
    pub(crate) checks: u64,
    /// The number of times that the tool or the driver ran Wardian.
    pub(crate) commands: usize,
    /// The values that do not depend on the program.
    pub(crate) values: Value,
    pub(crate) time: Duration,
}

/// A directory that is removed when dropped, or by a later run if a signal ended this process.
pub(crate) struct Temporary(pub(crate) PathBuf);

/// The name of a temporary directory, before the ID of its process.
const TEMPORARY: &str = "wardian-wrappers-";

impl Temporary {
    pub(crate) fn new() -> Result<Self> {
        let place = std::env::temp_dir();
        for entry in fs::read_dir(&place).with_context(|| format!("could not read {}", place.display()))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let id = name.strip_prefix(TEMPORARY).and_then(|id| id.parse::<u32>().ok());
            if id.is_some_and(|id| !process::is_running(id)) {
                // Another user's directory cannot be removed.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let directory = place.join(format!("{TEMPORARY}{}", std::process::id()));
        fs::create_dir_all(&directory)
            .with_context(|| format!("could not create {}", directory.display()))?;
        Ok(Self(directory.canonicalize()?))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Peer {
    /// Wardian under the names `terraform` and `tofu`.
    pub(crate) fn wardian(binary: &Path, place: &Path, caches: &Path) -> Result<Self> {
        let environment = vec![
            ("WARDIAN_CACHE_DIR", caches.join("cache")),
            // Contains the key that authenticates the cache.
            ("XDG_DATA_HOME", caches.join("data")),
        ];
        Ok(Self { links: links(binary, &place.join("wardian"))?, environment, is_wardian: true })
    }

    /// Terraform, also under the name `tofu`, with the embedded plugins as native plugins.
    pub(crate) fn terraform(terraform: &Path, wardian: &Path, place: &Path) -> Result<Self> {
        let platform: Value =
            serde_json::from_str(&process::output(Command::new(wardian).args(["version", "-json"]))?)?;
        let platform = platform["platform"].as_str().context("Wardian does not report a platform")?;
        let mirror = place.join("mirror");
        for name in PLUGINS {
            let directory = mirror.join(format!("registry.terraform.io/hashicorp/{name}/1.0.0/{platform}"));
            fs::create_dir_all(&directory)?;
            let plugin = directory.join(format!("terraform-provider-{name}_v1.0.0"));
            let script = format!("#!/bin/sh\nexec '{}' serve hashicorp/{name}\n", wardian.display());
            fs::write(&plugin, script)?;
            fs::set_permissions(&plugin, fs::Permissions::from_mode(0o755))?;
        }
        let settings = place.join("settings.tfrc");
        fs::write(&settings, mirror_settings(&mirror))?;
        let environment = vec![("TF_CLI_CONFIG_FILE", settings)];
        Ok(Self { links: links(terraform, &place.join("terraform"))?, environment, is_wardian: false })
    }

    /// Runs the driver of a tool. `sources` contains the drivers.
    pub(crate) fn run(
        &self,
        tool: &Tool,
        installed: &Installed,
        sources: &Path,
        place: &Path,
    ) -> Result<Outcome> {
        if place.exists() {
            fs::remove_dir_all(place)?;
        }
        let [project, home, temporary] = ["project", "home", "tmp"].map(|name| place.join(name));
        copy(&sources.join("configuration"), &project)?;
        for directory in [&home, &temporary] {
            fs::create_dir_all(directory)?;
        }
        let (log, transcript, results) = (place.join("log"), place.join("transcript"), place.join("outcome"));
        let mut command = Command::new(&installed.interpreter);
        process::without_settings(&mut command)
            .arg(sources.join(tool.name).join(installed.driver))
            .current_dir(&project)
            .env("PATH", self.path(installed)?)
            .env("HOME", &home)
            .env("TMPDIR", &temporary)
            .env("PYTHONPATH", sources)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("OUTCOME", &results)
            // tftest removes TF_LOG from the environment.
            .env("TF_LOG_CORE", "info")
            .env("TF_LOG_PATH", &log)
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        for name in ["PYTHONHOME", "VIRTUAL_ENV", "PYTEST_ADDOPTS", "NODE_OPTIONS", "WARDIAN_OUTPUT"] {
            command.env_remove(name);
        }
        let started = Instant::now();
        let status = process::logged_within(&mut command, &transcript, LIMIT);
        let time = started.elapsed();
        let text = String::from_utf8_lossy(&fs::read(&transcript).unwrap_or_default()).into_owned();
        let lines: Vec<&str> = text.trim_end().lines().collect();
        let shown = lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default().join("\n");
        let status = status.with_context(|| format!("the driver did not exit\n{shown}"))?;
        if !status.success() {
            let reason = lines.iter().rfind(|line| line.starts_with("FAILED")).copied();
            bail!("{}\n{shown}", reason.unwrap_or("the driver failed"));
        }
        let text = fs::read_to_string(&results).context("the driver did not write an outcome")?;
        let outcome: Value = serde_json::from_str(&text).context("the outcome is not JSON")?;
        let logged = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
        let commands = logged.lines().filter(|line| line.contains(COMMAND_LOGGED)).count();
        if self.is_wardian && commands == 0 {
            bail!("Wardian's log contains no command: the driver ran another program");
        }
        let steps = outcome["steps"].as_array().context("the outcome has no steps")?;
        let checks = outcome["checks"].as_u64().unwrap_or_default();
        if checks == 0 {
            bail!("the driver checked nothing");
        }
        Ok(Outcome {
            steps: steps.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            checks,
            commands,
            values: outcome["values"].clone(),
            time,
        })
    }

    fn path(&self, installed: &Installed) -> Result<OsString> {
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let directories = std::iter::once(self.links.clone())
            .chain(installed.programs.clone())
            .chain(std::env::split_paths(&inherited));
        std::env::join_paths(directories).context("a directory on PATH contains a colon")
    }
}

/// Creates a directory with links to the program.
fn links(program: &Path, directory: &Path) -> Result<PathBuf> {
    fs::create_dir_all(directory)?;
    for name in ["terraform", "tofu"] {
        symlink(program, directory.join(name))
            .with_context(|| format!("could not create a link in {}", directory.display()))?;
    }
    Ok(directory.to_owned())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("could not read {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
