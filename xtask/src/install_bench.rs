//! Measures installations with Wardian and Terraform, from the same servers on this machine, which
//! delay each response: a first `init`, a repeated `init`, an `init` of a second root module, and
//! the memory for a large package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::json;

use crate::bench_table::{Row, median, megabytes};
use crate::interop::install_servers::{LATENCY_MS, Servers, configuration, description, platform};
use crate::measure::{self, Measurement};
use crate::process;
use crate::progress::Step;
use crate::workspace::Workspace;

const COLD_RUNS: usize = 3;
const WARM_RUNS: usize = 11;
/// The targets. The target for a cold `init` is a fraction of Terraform's time.
const COLD_PART: f64 = 0.5;
const REPEATED_MILLISECONDS: f64 = 30.0;
const SECOND_MILLISECONDS: f64 = 100.0;
const LARGE_PACKAGE_BYTES: u64 = 700_000_000;
const LARGE_PACKAGE_MEGABYTES: f64 = 60.0;

/// A program, with its settings for the servers.
struct Installer<'a> {
    program: &'a Path,
    place: PathBuf,
    servers: &'a Servers,
}

pub(crate) fn rows(
    workspace: &Workspace,
    directory: &Path,
    wardian: &Path,
    terraform: Option<&Path>,
) -> Result<Vec<Row>> {
    let step = Step::start("Measuring installations of 12 modules and 4 providers");
    fs::create_dir_all(directory)?;
    let servers = Servers::start(workspace, &description(workspace, directory)?, directory)?;
    let ours = Installer::new(wardian, directory.join("wardian"), &servers)?;
    let theirs = terraform
        .map(|terraform| Installer::new(terraform, directory.join("terraform"), &servers))
        .transpose()?;
    let cold = ours.cold()?;
    let their_cold = theirs.as_ref().map(Installer::cold).transpose()?;
    let repeated = ours.repeated()?;
    servers.take_request_count()?;
    ours.repeated()?;
    if servers.take_request_count()? > 0 {
        bail!("a repeated `init` sent requests");
    }
    let their_repeated = theirs.as_ref().map(Installer::repeated).transpose()?;
    let second = ours.second()?;
    let their_second = theirs.as_ref().map(Installer::second).transpose()?;
    drop(servers);
    let (peak, their_peak) = large_package(workspace, &directory.join("large"), wardian, terraform)?;
    step.done("measured");
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let row = |what: &str, unit: &str, ours, target, terraform| Row {
        what: what.to_owned(),
        unit: unit.to_owned(),
        ours,
        target,
        terraform,
    };
    Ok(vec![
        row(
            &format!("init, cold, servers with {LATENCY_MS} ms of latency"),
            "s",
            cold.as_secs_f64(),
            their_cold.map(|time| time.as_secs_f64() * COLD_PART),
            their_cold.map(|time| time.as_secs_f64()),
        ),
        row(
            "init, repeated",
            "ms",
            milliseconds(repeated),
            Some(REPEATED_MILLISECONDS),
            their_repeated.map(milliseconds),
        ),
        row(
            "init of a second root module",
            "ms",
            milliseconds(second),
            Some(SECOND_MILLISECONDS),
            their_second.map(milliseconds),
        ),
        row(
            "init of a package of 700 MB, peak memory",
            "MB",
            megabytes(peak),
            Some(LARGE_PACKAGE_MEGABYTES),
            their_peak.map(megabytes),
        ),
    ])
}

impl<'a> Installer<'a> {
    fn new(program: &'a Path, place: PathBuf, servers: &'a Servers) -> Result<Self> {
        fs::create_dir_all(place.join("home"))?;
        fs::create_dir_all(place.join("plugin-cache"))?;
        servers.write_cli_configuration(&place.join("cli.tfrc"))?;
        Ok(Self { program, place, servers })
    }

    fn init(&self, project: &str) -> Result<Measurement> {
        let mut command = Command::new(self.program);
        command.args(["init", "-input=false"]).current_dir(self.place.join(project));
        process::without_settings(&mut command)
            .env("TF_CLI_CONFIG_FILE", self.place.join("cli.tfrc"))
            .env("TF_PLUGIN_CACHE_DIR", self.place.join("plugin-cache"))
            .env("SSL_CERT_FILE", self.servers.authority())
            .env("HOME", self.place.join("home"))
            .env("XDG_CACHE_HOME", self.place.join("cache"));
        measure::once(&mut command)
    }

    /// Writes a root module without anything installed.
    fn write(&self, project: &str) -> Result<()> {
        let directory = self.place.join(project);
        if directory.exists() {
            fs::remove_dir_all(&directory)?;
        }
        fs::create_dir_all(&directory)?;
        fs::write(directory.join("main.tf"), configuration(self.servers))?;
        Ok(())
    }

    /// Returns the median time of an `init` with empty caches. The result of the last `init`
    /// remains in the directory.
    fn cold(&self) -> Result<Duration> {
        let mut times = Vec::new();
        for _ in 0..COLD_RUNS {
            for cache in ["cache", "plugin-cache"] {
                let directory = self.place.join(cache);
                if directory.exists() {
                    fs::remove_dir_all(&directory)?;
                }
            }
            fs::create_dir_all(self.place.join("plugin-cache"))?;
            self.write("first")?;
            times.push(self.init("first")?.wall);
        }
        times.sort_unstable();
        Ok(median(&times))
    }

    /// Returns the median time of an `init` in a directory that is already initialized.
    fn repeated(&self) -> Result<Duration> {
        let mut times =
            (0..WARM_RUNS).map(|_| Ok(self.init("first")?.wall)).collect::<Result<Vec<Duration>>>()?;
        times.sort_unstable();
        Ok(median(&times))
    }

    /// Returns the median time of an `init` in a second root module with the same lock files, whose
    /// packages are in the caches.
    fn second(&self) -> Result<Duration> {
        let mut times = Vec::new();
        for _ in 0..WARM_RUNS {
            self.write("second")?;
            for file in [".terraform.lock.hcl", ".wardian.lock.hcl"] {
                let from = self.place.join("first").join(file);
                if from.exists() {
                    fs::copy(from, self.place.join("second").join(file))?;
                }
            }
            times.push(self.init("second")?.wall);
        }
        times.sort_unstable();
        Ok(median(&times))
    }
}

/// Returns the peak memory of an `init` that downloads a large package.
fn large_package(
    workspace: &Workspace,
    directory: &Path,
    wardian: &Path,
    terraform: Option<&Path>,
) -> Result<(u64, Option<u64>)> {
    fs::create_dir_all(directory)?;
    let version = json!({
        "version": "1.0.0",
        "package": { "padded": LARGE_PACKAGE_BYTES },
        "platforms": [platform()],
    });
    let description = json!({ "providers": [{ "address": "acme/large", "versions": [version] }] });
    let servers = Servers::start(workspace, &description, directory)?;
    let peak = |program: &Path, name: &str| -> Result<u64> {
        let installer = Installer::new(program, directory.join(name), &servers)?;
        let project = installer.place.join("first");
        fs::create_dir_all(&project)?;
        let text = "terraform {\n  required_providers {\n    large = {\n      source = \"example.test/acme/large\"\n    }\n  \
                    }\n}\n";
        fs::write(project.join("main.tf"), text)?;
        let measured = installer.init("first")?.peak_bytes;
        fs::remove_dir_all(&installer.place)?;
        Ok(measured)
    };
    Ok((peak(wardian, "wardian")?, terraform.map(|terraform| peak(terraform, "terraform")).transpose()?))
}
