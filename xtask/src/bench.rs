//! `cargo xtask bench`: what Wardian costs, against its targets and Terraform.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::guests::{self, Artefact};
use crate::measure::{self, Measurement};
use crate::progress::{Step, note, say};
use crate::workspace::{Purpose, Workspace};
use crate::{bridge_bench, engine_bench, glass_bench, language_bench, oracle, process, provisioner_bench};

/// An example of the sandbox crate that prints `name<TAB>value<TAB>unit`.
const CALLS: &str = "examples/calls";

/// What a line of [`CALLS`] may cost at most, by its name and in its unit.
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

/// What Terraform can plan without a provider to fetch.
const TEN_TERRAFORM_DATA: &str = r#"resource "terraform_data" "bench" {
  count = 10
  input = "bench"
}
"#;

pub(crate) struct Options {
    runs: usize,
    check: bool,
}

impl Options {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self { runs: 20, check: false };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--check" => options.check = true,
                "--runs" => {
                    options.runs = arguments
                        .next()
                        .and_then(|runs| runs.parse().ok())
                        .filter(|runs| *runs > 0)
                        .context("--runs needs a number above 0")?;
                }
                other => bail!("`bench` does not take `{other}`"),
            }
        }
        Ok(options)
    }
}

/// One line of the table.
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) unit: String,
    pub(crate) ours: f64,
    /// At most this, where something is aimed at.
    pub(crate) target: Option<f64>,
    pub(crate) terraform: Option<f64>,
}

impl Row {
    pub(crate) fn over(&self) -> bool {
        self.target.is_some_and(|target| self.ours > target)
    }
}

pub(crate) fn run(workspace: &Workspace, artefacts: &[Artefact], options: &Options) -> Result<ExitCode> {
    let directory = workspace.own_target().join("bench");
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    let wardian = workspace.host_program("wardian");
    let ours = plans(&wardian, &directory.join("wardian"), TEN_RANDOM_IDS, options)?;
    let terraform =
        oracle::terraform().inspect_err(|reason| note(&format!("no figures of Terraform: {reason}"))).ok();
    let theirs = match &terraform {
        Some(terraform) => Some(plans(terraform, &directory.join("terraform"), TEN_TERRAFORM_DATA, options)?),
        None => None,
    };
    let mut rows = plan_rows(&ours, theirs.as_deref());
    rows.extend(language_bench::rows(&directory.join("language"), &wardian, terraform.as_deref())?);
    rows.extend(engine_bench::rows(&directory.join("engine"), &wardian, terraform.as_deref())?);
    let place = directory.join("bridge");
    rows.extend(bridge_bench::rows(workspace, &place, &wardian, terraform.as_deref())?);
    rows.extend(provisioner_bench::rows(&directory.join("provisioners"), &wardian, terraform.as_deref())?);
    rows.extend(call_rows(workspace, artefacts)?);
    rows.extend(glass_bench::rows(&directory.join("glass"), &wardian, workspace, artefacts)?);
    rows.extend(size_rows(artefacts));

    say("");
    for line in table(&rows) {
        say(&line);
    }
    say(&format!(
        "\nPlans: whole process, {} runs each, code cache warm; Wardian plans 10 `random_id`,\n\
         Terraform 10 `terraform_data` (it has no other resource without a download).\n\
         Policies and records: the least time of processors of {} runs of each kind, in turn.",
        options.runs,
        glass_bench::RUNS
    ));
    Ok(if options.check && rows.iter().any(Row::over) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Initialises a folder with this one file in it, then plans it again and again.
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
    // The first fill the caches.
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

fn plan_rows(ours: &[Measurement], theirs: Option<&[Measurement]>) -> Vec<Row> {
    let wall = |runs: &[Measurement], pick: fn(&[Duration]) -> Duration| {
        let mut times: Vec<_> = runs.iter().map(|run| run.wall).collect();
        times.sort_unstable();
        pick(&times).as_secs_f64() * 1e3
    };
    let peak = |runs: &[Measurement]| {
        let bytes = runs.iter().map(|run| run.peak_bytes).max().unwrap_or(0);
        megabytes(bytes)
    };
    vec![
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
    ]
}

fn fastest(sorted: &[Duration]) -> Duration {
    sorted.first().copied().unwrap_or_default()
}

pub(crate) fn median(sorted: &[Duration]) -> Duration {
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

fn call_rows(workspace: &Workspace, artefacts: &[Artefact]) -> Result<Vec<Row>> {
    let program: PathBuf = workspace.host_program(CALLS);
    if !program.is_file() {
        note(&format!("no figures of single calls: there is no {}", program.display()));
        return Ok(Vec::new());
    }
    // Its resource does next to nothing, so that what is left is the cost of calls.
    let Some(guest) = artefacts.iter().find(|artefact| artefact.name == "null") else {
        note("no figures of single calls: the plugin null is not built");
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

/// A row of a line that an example printed.
pub(crate) fn call_row(line: &str, targets: &[(&str, f64, &str)]) -> Result<Row> {
    let mut parts = line.split('\t');
    let (Some(what), Some(value), Some(unit)) = (parts.next(), parts.next(), parts.next()) else {
        bail!("an example printed `{line}`, not name, value and unit with tabs between");
    };
    let target = targets
        .iter()
        .find(|(name, _, _)| *name == what)
        .map(|(_, most, in_unit)| {
            if *in_unit == unit {
                Ok(*most)
            } else {
                bail!("an example printed `{what}` in {unit}; its target is in {in_unit}")
            }
        })
        .transpose()?;
    Ok(Row {
        what: what.to_owned(),
        unit: unit.to_owned(),
        ours: value.parse().with_context(|| format!("an example printed `{value}` as a number"))?,
        target,
        terraform: None,
    })
}

fn size_rows(artefacts: &[Artefact]) -> Vec<Row> {
    let mut rows: Vec<_> = artefacts
        .iter()
        .filter(|artefact| artefact.purpose == Purpose::Embedded)
        .map(|artefact| Row {
            what: format!("plugin {}", artefact.name),
            unit: "MB".into(),
            ours: megabytes(artefact.bytes),
            target: None,
            terraform: None,
        })
        .collect();
    rows.push(Row {
        what: "embedded plugins together".into(),
        unit: "MB".into(),
        ours: megabytes(guests::embedded(artefacts)),
        target: Some(megabytes(guests::BUDGET)),
        terraform: None,
    });
    rows
}

#[expect(clippy::cast_precision_loss, reason = "sizes stay far below 2^52 bytes")]
pub(crate) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn table(rows: &[Row]) -> Vec<String> {
    let wide = rows.iter().map(|row| row.what.chars().count()).max().unwrap_or(0);
    let figure = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    let mut lines = vec![format!(
        "{:<wide$}  {:<4}  {:>9}  {:>9}  {:<4}  {:>9}",
        "", "", "wardian", "at most", "", "terraform"
    )];
    for row in rows {
        let verdict = match (row.target, row.over()) {
            (None, _) => "",
            (Some(_), false) => "ok",
            (Some(_), true) => "over",
        };
        lines.push(format!(
            "{:<wide$}  {:<4}  {:>9}  {:>9}  {:<4}  {:>9}",
            row.what,
            row.unit,
            figure(Some(row.ours)),
            figure(row.target),
            verdict,
            figure(row.terraform)
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_held_against_their_targets() {
        let row = |line: &str| call_row(line, &CALL_TARGETS);
        assert!(!row("instantiate\t12.5\tµs").unwrap().over());
        assert!(row("plan call\t20.1\tµs").unwrap().over());
        assert!(row("load\t200\tµs").unwrap().target.is_none());
        assert!(row("instantiate\t12\tms").is_err());
        assert!(row("instantiate 12").is_err());
    }

    #[test]
    fn the_table_says_which_figure_is_over() {
        let rows = [
            Row {
                what: "plan".into(),
                unit: "ms".into(),
                ours: 26.0,
                target: Some(25.0),
                terraform: Some(60.0),
            },
            Row { what: "size".into(), unit: "MB".into(), ours: 3.0, target: None, terraform: None },
        ];
        assert_eq!(
            table(&rows),
            [
                "              wardian    at most        terraform",
                "plan  ms        26.00      25.00  over      60.00",
                "size  MB         3.00          -                -",
            ]
        );
    }
}
