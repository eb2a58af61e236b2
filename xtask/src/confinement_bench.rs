//! Measures confined native plugins and programs in comparison with unconfined ones: the AWS
//! provider, if it is available, and the connections of a test program.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::bench_table::{Row, call_row, programs};
use crate::comparison::{shared, write};
use crate::interop::mirror;
use crate::measure;
use crate::mirror_settings::mirror_settings;
use crate::process;
use crate::progress::{Step, note};
use crate::workspace::Workspace;

/// Number of runs of each kind, which alternate.
const RUNS: usize = 9;
/// The example that prints `name<TAB>value<TAB>unit`.
const CONNECTIONS: &str = "examples/connections";
const CONNECTION_TARGETS: &[(&str, f64, &str)] = &[
    ("confinement: a connection, in addition", 0.6, "ms"),
    ("confinement: memory of the supervisor, 1,000 connections", 10.0, "MB"),
];
/// The maximum CPU time of the confined provider, as a multiple of the unconfined provider's CPU
/// time.
const SHARE: f64 = 1.05;

const OBJECTS: usize = 50;

const CONFIGURATION: &str = r#"terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.0"
    }
  }
}

provider "aws" {
  region                      = "eu-central-1"
  access_key                  = "testing"
  secret_key                  = "testing"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_region_validation      = true
  skip_requesting_account_id  = true
}
"#;

const POLICY: &str = r#"plugin "hashicorp/aws" {
  native = "confine"
}
"#;

/// Measures confined and unconfined programs. The column of Terraform contains the unconfined
/// program in Wardian.
pub(crate) fn rows(workspace: &Workspace, directory: &Path, wardian: &Path) -> Result<Vec<Row>> {
    if !cfg!(target_os = "linux") {
        note("skipped the measurements of confinement, which only Linux supports");
        return Ok(Vec::new());
    }
    let mut rows = connections(workspace)?;
    match mirror() {
        Ok(mirror) => rows.extend(aws(directory, wardian, &mirror)?),
        Err(reason) => note(&format!("skipped the measurements with the AWS provider: {reason}")),
    }
    Ok(rows)
}

fn connections(workspace: &Workspace) -> Result<Vec<Row>> {
    let Some([program, hostile]) =
        programs(workspace, [CONNECTIONS, "wardian-hostile-native"], "connections")
    else {
        return Ok(Vec::new());
    };
    let step = Step::start("Measuring confined connections");
    let mut command = Command::new(&program);
    let lines = process::output(process::without_settings(command.arg(&hostile)))?;
    let rows = lines.lines().map(|line| call_row(line, CONNECTION_TARGETS)).collect();
    step.done("measured");
    rows
}

/// One side of the comparison: the confined or the unconfined provider, in its own directory.
struct Side {
    directory: PathBuf,
    environment: Vec<(&'static str, PathBuf)>,
}

impl Side {
    fn new(place: &Path, policy: Option<&str>, mirror: &Path) -> Result<Self> {
        let directory = place.join(if policy.is_some() { "confined" } else { "unconfined" });
        let settings = directory.join("settings.tfrc");
        write(&settings, &mirror_settings(mirror))?;
        let mut configuration = CONFIGURATION.to_owned();
        for number in 0..OBJECTS {
            let _ = write!(
                configuration,
                "\nresource \"aws_sqs_queue\" \"q{number}\" {{\n  name = \"queue-{number}\"\n}}\n"
            );
        }
        write(&directory.join("main.tf"), &configuration)?;
        if let Some(policy) = policy {
            write(&directory.join("wardian.policy.hcl"), policy)?;
        }
        let environment = vec![
            ("TF_CLI_CONFIG_FILE", settings),
            ("WARDIAN_CACHE_DIR", place.join("cache")),
            ("XDG_DATA_HOME", place.join("data")),
            ("AWS_EC2_METADATA_DISABLED", "true".into()),
        ];
        Ok(Self { directory, environment })
    }

    fn command(&self, wardian: &Path, arguments: &[&str], without_cache: bool) -> Command {
        let mut command = Command::new(wardian);
        command.args(arguments).current_dir(&self.directory);
        process::without_settings(&mut command).envs(self.environment.iter().cloned());
        if without_cache {
            command.env("WARDIAN_STRICT_PLUGINS", "1");
        }
        command
    }
}

fn aws(place: &Path, wardian: &Path, mirror: &Path) -> Result<Vec<Row>> {
    let step = Step::start("Measuring the confined AWS provider");
    let sides = [Side::new(place, Some(POLICY), mirror)?, Side::new(place, None, mirror)?];
    for side in &sides {
        process::output(&mut side.command(wardian, &["init", "-no-color"], false))?;
    }
    let mut rows = Vec::new();
    for (what, arguments, without_cache) in [
        ("start and schema", &["providers", "schema", "-json"][..], true),
        ("plan of 50 objects", &["plan", "-no-color"][..], false),
    ] {
        let mut times = [f64::INFINITY; 2];
        for _ in 0..RUNS {
            for (side, least) in sides.iter().zip(&mut times) {
                let run = measure::once(&mut side.command(wardian, arguments, without_cache))?;
                *least = least.min(run.processors.as_secs_f64() * 1e3);
            }
        }
        let [confined, unconfined] = times;
        rows.push(shared(
            &format!("confinement, aws: {what}, CPU time"),
            "ms",
            confined,
            Some(unconfined),
            SHARE,
        ));
    }
    step.done("measured");
    Ok(rows)
}
