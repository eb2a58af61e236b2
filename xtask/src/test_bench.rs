//! Measures `test` with Wardian and Terraform: plans over mocks of a small schema and of the AWS provider,
//! and the time from a change to the result with `-watch`.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::bench_table::{Row, median};
use crate::comparison::{self, Programs, peak, shared, wall, write};
use crate::interop::install_servers::platform;
use crate::interop::mirror;
use crate::measure::{self, Measurement};
use crate::mirror_settings::mirror_settings;
use crate::process;
use crate::progress::{Step, note};

const FILES: usize = 10;
const RUNS_OF_FILE: usize = 10;
const EXECUTIONS: usize = 5;
/// The targets, as fractions of Terraform's values.
const SMALL_SCHEMA_SHARE: f64 = 1.0 / 50.0;
const AWS_SHARE: f64 = 1.0 / 10.0;
const MEMORY_SHARE: f64 = 1.0 / 5.0;

const CHANGES: usize = 9;
const WATCH_MILLISECONDS: f64 = 150.0;

/// The version of the provider that Terraform receives as a native plugin.
const RANDOM_VERSION: &str = "3.7.2";

const SMALL: &str = r#"terraform {
  required_providers {
    random = {
      source = "hashicorp/random"
    }
  }
}

variable "number" {
  type = number
}

resource "random_pet" "name" {
  count  = var.number
  length = 3
}

resource "terraform_data" "record" {
  count = var.number
  input = random_pet.name[count.index].id
}

output "lengths" {
  value = random_pet.name[*].length
}
"#;

const AWS: &str = r#"terraform {
  required_providers {
    aws = {
      source = "hashicorp/aws"
    }
  }
}

data "aws_caller_identity" "current" {}

resource "aws_s3_bucket" "logs" {
  bucket = "logs"
}

resource "aws_instance" "server" {
  ami           = "ami-0"
  instance_type = "t3.micro"
  tags          = { account = data.aws_caller_identity.current.account_id }
}
"#;

const AWS_TESTS: &str = r#"mock_provider "aws" {}

run "plan" {
  command = plan
  assert {
    condition     = aws_s3_bucket.logs.bucket == "logs"
    error_message = "The bucket has another name."
  }
}

run "apply" {
  assert {
    condition     = length(aws_instance.server.id) > 0
    error_message = "The server has no ID."
  }
}
"#;

const WATCHED: &str = r#"resource "terraform_data" "item" {
  count = 100
  input = count.index
}
"#;

const WATCHED_TESTS: &str = r#"run "plan" {
  command = plan
  assert {
    condition     = terraform_data.item[99].input == 99
    error_message = "The last item has another input."
  }
}
"#;

pub(crate) fn rows(directory: &Path, ours: &Path, theirs: Option<&Path>) -> Result<Vec<Row>> {
    let step = Step::start("Measuring tests");
    let programs = Programs { ours, theirs };
    let mut rows: Vec<Row> = small(&directory.join("small"), &programs)?.into();
    match mirror() {
        Ok(mirror) => rows.extend(aws(&directory.join("aws"), &programs, &mirror)?),
        Err(reason) => note(&format!("skipped the measurements of tests of the AWS provider: {reason}")),
    }
    rows.push(watch(&directory.join("watch"), ours)?);
    step.done("measured");
    Ok(rows)
}

/// A project that installs its providers from a mirror. Each program has its own data directory.
struct Project {
    directory: PathBuf,
    settings: PathBuf,
}

impl Project {
    fn new(directory: &Path, mirror: &Path) -> Result<Self> {
        let settings = directory.join("settings.tfrc");
        write(&settings, &mirror_settings(mirror))?;
        Ok(Self { directory: directory.join("project"), settings })
    }

    fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.directory);
        process::without_settings(&mut command)
            .env("TF_CLI_CONFIG_FILE", &self.settings)
            .env("TF_DATA_DIR", self.directory.with_extension(name(program)))
            .env("WARDIAN_CACHE_DIR", self.directory.with_extension("cache"));
        command
    }

    fn tests(&self, program: &Path, executions: usize) -> Result<Vec<Measurement>> {
        process::output(&mut self.command(program, &["init", "-input=false"]))?;
        // The first execution fills the caches.
        measure::once(&mut self.command(program, &["test"]))?;
        let runs = comparison::repeated(executions, || measure::once(&mut self.command(program, &["test"])))?;
        // The programs install different packages of a provider.
        fs::remove_file(self.directory.join(".terraform.lock.hcl"))?;
        Ok(runs)
    }

    fn rows(&self, what: &str, programs: &Programs<'_>, share: f64) -> Result<[Row; 2]> {
        // Terraform takes long, and its times differ little.
        let theirs = programs.theirs.map(|program| self.tests(program, 1)).transpose()?;
        let ours = self.tests(programs.ours, EXECUTIONS)?;
        let (their_wall, their_peak) = (theirs.as_deref().map(wall), theirs.as_deref().map(peak));
        Ok([
            shared(what, "ms", wall(&ours), their_wall, share),
            shared(&format!("{what}, peak memory"), "MB", peak(&ours), their_peak, MEMORY_SHARE),
        ])
    }
}

fn name(program: &Path) -> String {
    program.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Measures plans over mocks of the provider random. Terraform starts it as a native plugin.
fn small(directory: &Path, programs: &Programs<'_>) -> Result<[Row; 2]> {
    let mirror = directory.join("mirror");
    let package = format!("registry.terraform.io/hashicorp/random/{RANDOM_VERSION}/{}", platform());
    let package = mirror.join(package);
    fs::create_dir_all(&package)?;
    let plugin = package.join(format!("terraform-provider-random_v{RANDOM_VERSION}"));
    let out = format!("-out={}", plugin.display());
    comparison::run(programs.ours, directory, &["plugin", "bundle", &out, "hashicorp/random"])?;
    write(&directory.join("project/main.tf"), SMALL)?;
    for file in 0..FILES {
        let mut text = "mock_provider \"random\" {}\n".to_owned();
        for run in 0..RUNS_OF_FILE {
            let number = run + 1;
            let _ = write!(
                text,
                "\nrun \"run_{run}\" {{\n  command = plan\n  variables {{\n    number = {number}\n  }}\n  assert {{\n    \
                 condition     = length(output.lengths) == {number}\n    error_message = \"The number \
                 differs.\"\n  }}\n}}\n"
            );
        }
        write(&directory.join(format!("project/tests/file_{file}.tftest.hcl")), &text)?;
    }
    let project = Project::new(directory, &mirror)?;
    let what = format!("tests: {} plans over mocks of small schemas", FILES * RUNS_OF_FILE);
    let rows = project.rows(&what, programs, SMALL_SCHEMA_SHARE);
    fs::remove_file(&plugin)?;
    rows
}

fn aws(directory: &Path, programs: &Programs<'_>, mirror: &Path) -> Result<[Row; 2]> {
    write(&directory.join("project/main.tf"), AWS)?;
    write(&directory.join("project/main.tftest.hcl"), AWS_TESTS)?;
    let project = Project::new(directory, mirror)?;
    project.rows("tests: plan and apply over a mock of the AWS provider", programs, AWS_SHARE)
}

/// Measures the time from a change of the module to the result of its test.
fn watch(directory: &Path, program: &Path) -> Result<Row> {
    let main = directory.join("main.tf");
    write(&main, WATCHED)?;
    write(&directory.join("main.tftest.hcl"), WATCHED_TESTS)?;
    let mut command = Command::new(program);
    command.args(["test", "-watch"]).current_dir(directory);
    process::without_settings(&mut command);
    let mut watching = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let out = watching.stdout.take().context("the program has no output")?;
    let times = changes(out, &main);
    watching.kill()?;
    watching.wait()?;
    let mut times = times?;
    times.sort_unstable();
    Ok(Row {
        what: "tests: from a change to the result, 100 resources".to_owned(),
        unit: "ms".to_owned(),
        ours: median(&times).as_secs_f64() * 1e3,
        target: Some(WATCH_MILLISECONDS),
        terraform: None,
    })
}

fn changes(out: ChildStdout, main: &Path) -> Result<Vec<Duration>> {
    let mut lines = BufReader::new(out).lines();
    let mut wait_for = |start: &str| -> Result<()> {
        for line in &mut lines {
            let line = line?;
            if line.starts_with(start) {
                return Ok(());
            }
            if line.starts_with("Failure!") {
                bail!("a watched test failed");
            }
        }
        bail!("the program ended instead of waiting for changes")
    };
    wait_for("Waiting for changes.")?;
    let mut times = Vec::with_capacity(CHANGES);
    for change in 0..CHANGES {
        // Changes come at different times of the interval in which the program looks for changes.
        thread::sleep(Duration::from_millis(100 + 7 * change as u64));
        let changed = Instant::now();
        writeln!(fs::OpenOptions::new().append(true).open(main)?, "# Change {change}.")?;
        wait_for("Success!")?;
        times.push(changed.elapsed());
        wait_for("Waiting for changes.")?;
    }
    Ok(times)
}
