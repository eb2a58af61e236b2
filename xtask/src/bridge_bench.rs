//! Measures native plugins in Wardian, and Wardian's plugins in native hosts: the AWS provider in
//! Terraform and Wardian, a call through the bridge, and the start of a served plugin.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::bench_table::{Row, call_row, megabytes, programs};
use crate::comparison::{self, shared, wall, write};
use crate::interop::mirror;
use crate::measure;
use crate::mirror_settings::mirror_settings;
use crate::process;
use crate::process_stats::{self, ProcessStats};
use crate::progress::{Step, note};
use crate::workspace::Workspace;

const RUNS: usize = 5;

/// The example in the crate of the native test plugin that prints `name<TAB>value<TAB>unit`.
const ROUND_TRIPS: &str = "examples/round_trips";

/// The target of a line of [`ROUND_TRIPS`], by its name and in its unit.
const ROUND_TRIP_TARGETS: &[(&str, f64, &str)] =
    &[("bridge: plan call", 300.0, "µs"), ("start-up overhead of serving", 10.0, "ms")];

/// The name of the provider's processes, as truncated by the kernel.
const PROCESSES: &str = "terraform-provi";

const PROVIDER: &str = r#"terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.0"
    }
  }
}
"#;

/// Measures the AWS provider, if it is available, and the bridge without it.
pub(crate) fn rows(
    workspace: &Workspace,
    directory: &Path,
    wardian: &Path,
    terraform: Option<&Path>,
) -> Result<Vec<Row>> {
    let mut rows = round_trips(workspace, directory, wardian)?;
    match mirror() {
        Ok(mirror) => rows.extend(aws(directory, wardian, terraform, &mirror)?),
        Err(reason) => note(&format!("skipped the measurements with the AWS provider: {reason}")),
    }
    Ok(rows)
}

fn round_trips(workspace: &Workspace, directory: &Path, wardian: &Path) -> Result<Vec<Row>> {
    let Some([program, fake]) = programs(workspace, [ROUND_TRIPS, "wardian-native-plugin"], "the bridge")
    else {
        return Ok(Vec::new());
    };
    let step = Step::start("Measuring the bridge");
    fs::create_dir_all(directory)?;
    let served = directory.join("terraform-provider-null_v1.0.0");
    let out = format!("-out={}", served.display());
    comparison::run(wardian, directory, &["plugin", "bundle", &out, "hashicorp/null"])?;
    let mut command = Command::new(&program);
    command.args([&fake, &served]).current_dir(directory);
    let lines = process::output(process::without_settings(&mut command))?;
    fs::remove_file(&served)?;
    let rows = lines.lines().map(|line| call_row(line, ROUND_TRIP_TARGETS)).collect();
    step.done("measured");
    rows
}

/// Terraform and Wardian, with the provider from a mirror.
struct Bench<'a> {
    wardian: &'a Path,
    terraform: Option<&'a Path>,
    environment: Vec<(&'static str, PathBuf)>,
}

impl Bench<'_> {
    fn command(&self, program: &Path, directory: &Path, name: &str) -> Command {
        let mut command = Command::new(program);
        command.args([name, "-no-color"]).current_dir(directory);
        process::without_settings(&mut command).envs(self.environment.iter().cloned());
        command
    }

    /// Creates a directory with a configuration that Terraform and Wardian have initialized.
    fn prepared(&self, place: &Path, name: &str, regions: &[&str]) -> Result<PathBuf> {
        let directory = place.join(name);
        write(&directory.join("main.tf"), &aliases(regions))?;
        for program in self.terraform.into_iter().chain([self.wardian]) {
            process::output(&mut self.command(program, &directory, "init"))?;
        }
        Ok(directory)
    }

    fn wall(&self, program: &Path, directory: &Path, command: &str) -> Result<f64> {
        let once = || measure::once(&mut self.command(program, directory, command));
        // The first run fills the caches.
        once()?;
        Ok(wall(&comparison::repeated(RUNS, once)?))
    }

    fn process_stats(&self, program: &Path, directory: &Path, command: &str) -> Result<ProcessStats> {
        process_stats::run(&mut self.command(program, directory, command), PROCESSES)
    }

    /// Returns a row with the values of Terraform and Wardian. The target is a multiple of
    /// Terraform's value.
    fn row(&self, what: &str, unit: &str, share: f64, take: impl Fn(&Path) -> Result<f64>) -> Result<Row> {
        let terraform = self.terraform.map(&take).transpose()?;
        Ok(shared(what, unit, take(self.wardian)?, terraform, share))
    }
}

fn aws(directory: &Path, wardian: &Path, terraform: Option<&Path>, mirror: &Path) -> Result<Vec<Row>> {
    let step = Step::start("Measuring with the AWS provider");
    let settings = directory.join("settings.tfrc");
    write(&settings, &mirror_settings(mirror))?;
    let environment = vec![
        ("TF_CLI_CONFIG_FILE", settings),
        ("WARDIAN_CACHE_DIR", directory.join("cache")),
        ("XDG_DATA_HOME", directory.join("data")),
        ("AWS_EC2_METADATA_DISABLED", "true".into()),
    ];
    let bench = Bench { wardian, terraform, environment };
    let one = bench.prepared(directory, "one", &["eu-central-1"])?;
    let mut rows = Vec::new();
    for command in ["validate", "plan"] {
        rows.push(
            bench
                .row(&format!("aws: {command}"), "ms", 0.25, |program| bench.wall(program, &one, command))?,
        );
        rows.push(bench.row(
            &format!("aws: {command}, memory of the main process"),
            "MB",
            0.2,
            |program| Ok(megabytes(bench.process_stats(program, &one, command)?.peak_bytes)),
        )?);
    }
    let regions: Vec<String> = (1..=10).map(|number| format!("eu-central-{number}")).collect();
    let regions: Vec<&str> = regions.iter().map(String::as_str).collect();
    for (what, regions, most) in
        [("ten aliases", regions.as_slice(), 10.0), ("ten equal aliases", &["eu-central-1"; 10], 1.0)]
    {
        let place = bench.prepared(directory, &what.replace(' ', "-"), regions)?;
        rows.push(Row {
            what: format!("aws: plan of {what}, processes"),
            unit: String::new(),
            ours: f64::from(bench.process_stats(wardian, &place, "plan")?.children),
            target: Some(most),
            terraform: None,
        });
    }
    step.done("measured");
    Ok(rows)
}

/// Returns a configuration with one alias for each region, and one resource for each alias.
fn aliases(regions: &[&str]) -> String {
    let mut text = PROVIDER.to_owned();
    for (number, region) in regions.iter().enumerate() {
        let _ = write!(
            text,
            r#"
provider "aws" {{
  alias                       = "a{number}"
  region                      = "{region}"
  access_key                  = "testing"
  secret_key                  = "testing"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_region_validation      = true
  skip_requesting_account_id  = true
}}

resource "aws_sqs_queue" "q{number}" {{
  provider = aws.a{number}
  name     = "queue-{number}"
}}
"#
        );
    }
    text
}
