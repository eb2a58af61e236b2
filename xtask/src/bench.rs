//! `cargo xtask bench`: Wardian's performance, compared with the targets and with Terraform.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::bench_table::{Row, call_row, median, megabytes, table};
use crate::guests::{self, Artifact};
use crate::measure::{self, Measurement};
use crate::progress::{Step, note, say};
use crate::workspace::{Purpose, Workspace};
use crate::{
    authors_bench, backend_bench, bridge_bench, confinement_bench, engine_bench, install_bench,
    language_bench, oracle, policy_bench, process, provisioner_bench, review_page_bench, review_view_bench,
    test_bench,
};

/// The example in the sandbox crate that prints `name<TAB>value<TAB>unit`.
const CALLS: &str = "examples/calls";

/// The target of a line of [`CALLS`], by its name and in its unit.
const CALL_TARGETS: [(&str, f64, &str); 2] = [("instantiate", 50.0, "µs"), ("plan call", 20.0, "µs")];

const PLAN_MILLISECONDS: f64 = 25.0;
const PLAN_MEGABYTES: f64 = 40.0;

const TEN_RANDOM_IDS: &str = r#"terraform {
  required_providers {
    random = {
      source  = "hashicorp/random"
      version = "~> 3.7"
    }
  }
}

resource "random_id" "bench" {
  count       = 10
  byte_length = 8
}
"#;

/// A configuration that Terraform can plan without downloading a provider.
const TEN_TERRAFORM_DATA: &str = r#"resource "terraform_data" "bench" {
  count = 10
  input = "bench"
}
"#;

/// The parts of the benchmark, in their order.
const SECTIONS: [&str; 14] = [
    "plans",
    "language",
    "engine",
    "bridge",
    "confinement",
    "provisioners",
    "installation",
    "backends",
    "tests",
    "calls",
    "policy",
    "review",
    "sizes",
    "authors",
];

pub(crate) struct Options {
    runs: usize,
    check: bool,
    /// The sections to run; all if it is empty.
    only: Vec<String>,
}

impl Options {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self { runs: 20, check: false, only: Vec::new() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--check" => options.check = true,
                "--runs" => {
                    options.runs = arguments
                        .next()
                        .and_then(|runs| runs.parse().ok())
                        .filter(|runs| *runs > 0)
                        .context("--runs requires a number greater than 0")?;
                }
                "--only" => {
                    let sections = arguments.next().map_or("", String::as_str);
                    options.only = sections.split(',').map(str::to_owned).collect();
                    if !options.only.iter().all(|name| SECTIONS.contains(&name.as_str())) {
                        bail!("--only requires names from this list: {}", SECTIONS.join(","));
                    }
                }
                other => bail!("`bench` does not accept `{other}`"),
            }
        }
        Ok(options)
    }

    fn includes(&self, section: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == section)
    }
}

pub(crate) fn run(workspace: &Workspace, artifacts: &[Artifact], options: &Options) -> Result<ExitCode> {
    let directory = workspace.own_target().join("bench");
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    let wardian = workspace.host_program("wardian");
    let terraform = oracle::terraform()
        .inspect_err(|reason| note(&format!("skipped the measurements of Terraform: {reason}")))
        .ok();
    let mut rows = Vec::new();
    for section in SECTIONS.into_iter().filter(|name| options.includes(name)) {
        let place = directory.join(section);
        rows.extend(match section {
            "plans" => plan_rows(&place, &wardian, terraform.as_deref(), options)?,
            "language" => language_bench::rows(&place, &wardian, terraform.as_deref())?,
            "engine" => engine_bench::rows(&place, &wardian, terraform.as_deref())?,
            "bridge" => bridge_bench::rows(workspace, &place, &wardian, terraform.as_deref())?,
            "confinement" => confinement_bench::rows(workspace, &place, &wardian)?,
            "provisioners" => provisioner_bench::rows(&place, &wardian, terraform.as_deref())?,
            "installation" => install_bench::rows(workspace, &place, &wardian, terraform.as_deref())?,
            "backends" => backend_bench::rows(workspace, &place, &wardian, terraform.as_deref())?,
            "tests" => test_bench::rows(&place, &wardian, terraform.as_deref())?,
            "calls" => call_rows(workspace, artifacts)?,
            "policy" => policy_bench::rows(&place, &wardian, workspace, artifacts)?,
            "authors" => authors_bench::rows(workspace, &place, &wardian)?,
            "review" => {
                let mut rows = review_page_bench::rows(workspace, &place, &wardian)?;
                rows.extend(review_view_bench::rows(&place, &wardian)?);
                rows
            }
            _ => size_rows(artifacts),
        });
    }

    say("");
    for line in table(&rows) {
        say(&line);
    }
    say(&format!(
        "\nPlans: complete process, {} runs each, code cache warm; Wardian plans 10 `random_id`,\nTerraform \
         10 `terraform_data` (it has no other resource without a download).\nPolicies and audit log: \
         the minimum CPU time of {} runs of each kind, alternating.",
        options.runs,
        policy_bench::RUNS
    ));
    Ok(if options.check && rows.iter().any(Row::exceeds_target) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Initializes a directory that contains only this file, and then plans it repeatedly.
fn plans(
    program: &Path,
    directory: &Path,
    configuration: &str,
    options: &Options,
) -> Result<Vec<Measurement>> {
    let name = program.file_stem().unwrap_or_default().to_string_lossy();
    let step = Step::start(&format!("Measuring {} plans of {name}", options.runs));
    fs::create_dir_all(directory).with_context(|| format!("could not create {}", directory.display()))?;
    fs::write(directory.join("main.tf"), configuration)?;
    let command = |argument| {
        let mut command = Command::new(program);
        command.args([argument, "-input=false"]).current_dir(directory);
        process::without_settings(&mut command);
        command
    };
    process::output(&mut command("init"))?;
    let plan = || measure::once(&mut command("plan"));
    // The first runs fill the caches.
    for _ in 0..2 {
        plan()?;
    }
    let mut runs = Vec::with_capacity(options.runs);
    for _ in 0..options.runs {
        runs.push(plan()?);
    }
    step.done("measured");
    Ok(runs)
}

fn plan_rows(
    directory: &Path,
    wardian: &Path,
    terraform: Option<&Path>,
    options: &Options,
) -> Result<Vec<Row>> {
    let ours = plans(wardian, &directory.join("wardian"), TEN_RANDOM_IDS, options)?;
    let theirs = terraform
        .map(|terraform| plans(terraform, &directory.join("terraform"), TEN_TERRAFORM_DATA, options))
        .transpose()?;
    let (ours, theirs) = (ours.as_slice(), theirs.as_deref());
    let wall = |runs: &[Measurement], pick: fn(&[Duration]) -> Duration| {
        let mut times: Vec<_> = runs.iter().map(|run| run.wall).collect();
        times.sort_unstable();
        pick(&times).as_secs_f64() * 1e3
    };
    let peak = |runs: &[Measurement]| {
        let bytes = runs.iter().map(|run| run.peak_bytes).max().unwrap_or(0);
        megabytes(bytes)
    };
    Ok(vec![
        Row {
            what: "plan of 10, fastest".into(),
            unit: "ms".into(),
            ours: wall(ours, fastest),
            target: None,
            terraform: theirs.map(|runs| wall(runs, fastest)),
        },
        Row {
            what: "plan of 10, median".into(),
            unit: "ms".into(),
            ours: wall(ours, median),
            target: Some(PLAN_MILLISECONDS),
            terraform: theirs.map(|runs| wall(runs, median)),
        },
        Row {
            what: "plan of 10, peak memory".into(),
            unit: "MB".into(),
            ours: peak(ours),
            target: Some(PLAN_MEGABYTES),
            terraform: theirs.map(peak),
        },
    ])
}

fn fastest(sorted: &[Duration]) -> Duration {
    sorted.first().copied().unwrap_or_default()
}

fn call_rows(workspace: &Workspace, artifacts: &[Artifact]) -> Result<Vec<Row>> {
    let program: PathBuf = workspace.host_program(CALLS);
    if !program.is_file() {
        note(&format!("skipped the measurements of single calls: {} does not exist", program.display()));
        return Ok(Vec::new());
    }
    // The plugin's resource does almost nothing, so the measured time is mainly the cost of the
    // calls.
    let Some(guest) = artifacts.iter().find(|artifact| artifact.name == "null") else {
        note("skipped the measurements of single calls: the plugin \"null\" has not been built");
        return Ok(Vec::new());
    };
    let step = Step::start("Measuring single calls");
    let mut command = Command::new(&program);
    command
        .arg(guests::directory(workspace).join(format!("{}.wasm", guest.name)))
        .arg("null_resource")
        .current_dir(&workspace.root);
    let lines = process::output(&mut command)?;
    let rows = lines.lines().map(|line| call_row(line, &CALL_TARGETS)).collect::<Result<_>>()?;
    step.done("measured");
    Ok(rows)
}

fn size_rows(artifacts: &[Artifact]) -> Vec<Row> {
    let mut rows: Vec<_> = artifacts
        .iter()
        .filter(|artifact| artifact.purpose == Purpose::Embedded)
        .map(|artifact| Row {
            what: format!("plugin {}", artifact.name),
            unit: "MB".into(),
            ours: megabytes(artifact.bytes),
            target: None,
            terraform: None,
        })
        .collect();
    rows.push(Row {
        what: "embedded plugins together".into(),
        unit: "MB".into(),
        ours: megabytes(guests::embedded(artifacts)),
        target: Some(megabytes(guests::BUDGET)),
        terraform: None,
    });
    rows
}
