//! Measures states in backends: plans and applies on S3 (moto) and PostgreSQL, compared with Terraform, the
//! memory for a large state, and the cost of one change in a state with many objects.
//!
//! The rows of a server that is not installed are skipped.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};

use crate::bench_table::{Row, programs};
use crate::comparison::{Programs, peak, repeated, shared, wall, write};
use crate::measure::{self, Measurement};
use crate::process;
use crate::progress::{Step, note};
use crate::workspace::Workspace;

/// The example that runs the servers.
const SERVERS: &str = "examples/servers";

const OBJECTS: u32 = 1000;
const MANY_OBJECTS: u32 = 100_000;
const RUNS: usize = 5;

/// The target for the memory of a large state, as a fraction of Terraform's.
const MEMORY_SHARE: f64 = 1.0 / 4.0;

const PLAN: &[&str] = &["plan", "-input=false"];
const APPLY: &[&str] = &["apply", "-input=false", "-auto-approve"];

/// The addresses of the running servers.
struct Servers {
    process: Child,
    s3: Option<String>,
    pg: Option<String>,
}

impl Servers {
    fn start(program: &Path) -> Result<Self> {
        let mut process = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("could not start {}", program.display()))?;
        let out = process.stdout.take().context("the servers have no output")?;
        let (mut s3, mut pg) = (None, None);
        for line in BufReader::new(out).lines() {
            let line = line?;
            match line.split_once('\t') {
                Some(("s3", address)) => s3 = Some(address.to_owned()),
                Some(("pg", address)) => pg = Some(address.to_owned()),
                _ => break,
            }
        }
        Ok(Self { process, s3, pg })
    }

    fn s3_block(&self, key: &str) -> Option<String> {
        let url = self.s3.as_ref()?;
        Some(format!(
            "terraform {{\n  backend \"s3\" {{\n    bucket = \"bench\"\n    key = \"{key}\"\n    region = \"us-east-1\"\n    \
             access_key = \"x\"\n    secret_key = \"x\"\n    endpoints = {{ s3 = \"{url}\" }}\n    use_path_style = true\n    \
             use_lockfile = true\n    skip_credentials_validation = true\n    skip_requesting_account_id = true\n    \
             skip_metadata_api_check = true\n    skip_region_validation = true\n  }}\n}}\n"
        ))
    }

    fn database_block(&self, backend: &str, schema: &str) -> Option<String> {
        let address = self.pg.as_ref()?;
        Some(format!(
            "terraform {{\n  backend \"{backend}\" {{\n    conn_str = \"{address}\"\n    schema_name = \"{schema}\"\n  }}\n}}\n"
        ))
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        // The servers end when their input is closed.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

pub(crate) fn rows(
    workspace: &Workspace,
    directory: &Path,
    ours: &Path,
    theirs: Option<&Path>,
) -> Result<Vec<Row>> {
    let Some([servers]) = programs(workspace, [SERVERS], "backends") else { return Ok(Vec::new()) };
    let step = Step::start("Measuring states in backends");
    let servers = Servers::start(&servers)?;
    let programs = Programs { ours, theirs };
    let mut rows = Vec::new();
    if servers.s3.is_some() {
        let block = |key: &str| servers.s3_block(key).unwrap_or_default();
        rows.extend(thousand(&directory.join("s3"), &programs, "s3", block)?);
        rows.extend(large(&directory.join("large"), &programs, block)?);
    } else {
        note("skipped the measurements of s3: moto_server is not installed");
    }
    if servers.pg.is_some() {
        let block = |schema: &str| servers.database_block("pg", schema).unwrap_or_default();
        rows.extend(thousand(&directory.join("pg"), &programs, "pg", block)?);
        let block = servers.database_block("postgres", "bench").unwrap_or_default();
        rows.extend(one_of_many(&directory.join("many"), ours, &block)?);
    } else {
        note("skipped the measurements of pg and postgres: PostgreSQL is not installed");
    }
    step.done("measured");
    Ok(rows)
}

fn command(program: &Path, directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory);
    process::without_settings(&mut command);
    // No request to the metadata service of a machine.
    command.env("AWS_EC2_METADATA_DISABLED", "true");
    command
}

fn measured(program: &Path, directory: &Path, arguments: &[&str]) -> Result<Measurement> {
    measure::once(&mut command(program, directory, arguments))
}

fn run(program: &Path, directory: &Path, arguments: &[&str]) -> Result<()> {
    process::output(&mut command(program, directory, arguments)).map(drop)
}

/// Writes a configuration with its backend, and initializes it.
fn prepare(program: &Path, directory: &Path, main: &str, block: &str) -> Result<()> {
    write(&directory.join("main.tf"), main)?;
    write(&directory.join("backend.tf"), block)?;
    run(program, directory, &["init", "-input=false"])
}

/// The first apply of 1,000 objects, and a plan without changes, on new states.
fn thousand(
    directory: &Path,
    programs: &Programs<'_>,
    backend: &str,
    block: impl Fn(&str) -> String,
) -> Result<Vec<Row>> {
    let main =
        format!("resource \"terraform_data\" \"a\" {{\n  count = {OBJECTS}\n  input = count.index\n}}\n");
    let of = |program: &Path, name: &str, runs: usize| -> Result<(Vec<Measurement>, Vec<Measurement>)> {
        let mut number = 0;
        let applies = repeated(runs, || {
            number += 1;
            let directory = directory.join(format!("{name}{number}"));
            prepare(program, &directory, &main, &block(&format!("{name}{number}")))?;
            measured(program, &directory, APPLY)
        })?;
        let directory = directory.join(format!("{name}1"));
        Ok((applies, repeated(runs, || measured(program, &directory, PLAN))?))
    };
    let (applies, plans) = of(programs.ours, "ours", RUNS)?;
    let theirs = programs.theirs.map(|program| of(program, "theirs", 1)).transpose()?;
    let terraform = |pick: fn(&(Vec<Measurement>, Vec<Measurement>)) -> f64| theirs.as_ref().map(pick);
    let row = |what: String, ours: f64, terraform: Option<f64>| Row {
        what,
        unit: "ms".into(),
        ours,
        target: None,
        terraform,
    };
    Ok(vec![
        row(
            format!("{backend}: apply of {OBJECTS}"),
            wall(&applies),
            terraform(|(applies, _)| wall(applies)),
        ),
        row(
            format!("{backend}: plan of {OBJECTS} without changes"),
            wall(&plans),
            terraform(|(_, plans)| wall(plans)),
        ),
    ])
}

/// The memory of a state of 200 MB.
fn large(directory: &Path, programs: &Programs<'_>, block: impl Fn(&str) -> String) -> Result<Vec<Row>> {
    let main = "variable \"v\" {\n  default = 1\n}\nlocals {\n  piece = join(\"\", [for number in range(1000) : \
                format(\"%0500d\", number)])\n}\nresource \"terraform_data\" \"a\" {\n  count = 200\n  input = \
                \"${count.index}${local.piece}\"\n}\nresource \"terraform_data\" \"b\" {\n  input = var.v\n}\n";
    let of = |program: &Path, name: &str| -> Result<(f64, f64)> {
        let directory = directory.join(name);
        prepare(program, &directory, main, &block(name))?;
        run(program, &directory, APPLY)?;
        let plan = measured(program, &directory, PLAN)?;
        let changing = [APPLY, &["-var=v=2"]].concat();
        let apply = measured(program, &directory, &changing)?;
        fs::remove_dir_all(&directory)?;
        Ok((peak(&[plan]), peak(&[apply])))
    };
    let (plan, apply) = of(programs.ours, "large-ours")?;
    let theirs = programs.theirs.map(|program| of(program, "large-theirs")).transpose()?;
    let row =
        |what: &str, ours: f64, terraform: Option<f64>| shared(what, "MB", ours, terraform, MEMORY_SHARE);
    Ok(vec![
        row("s3: plan with a state of 200 MB, peak memory", plan, theirs.map(|(plan, _)| plan)),
        row("s3: apply with a state of 200 MB, peak memory", apply, theirs.map(|(_, apply)| apply)),
    ])
}

/// A change of one of 100,000 objects, compared with the same change with a local state.
fn one_of_many(directory: &Path, program: &Path, block: &str) -> Result<Vec<Row>> {
    let main = format!(
        "variable \"v\" {{\n  default = 0\n}}\nresource \"terraform_data\" \"a\" {{\n  count = {MANY_OBJECTS}\n  input = \
         count.index == 7 ? var.v : count.index\n}}\n"
    );
    let mut value = 0;
    let mut changed = |directory: &Path| -> Result<(f64, f64)> {
        run(program, directory, APPLY)?;
        let applies = repeated(3, || {
            value += 1;
            measured(program, directory, &[APPLY, &[&*format!("-var=v={value}")]].concat())
        })?;
        let plans = repeated(3, || {
            value += 1;
            measured(program, directory, &[PLAN, &[&*format!("-var=v={value}")]].concat())
        })?;
        Ok((wall(&applies), wall(&plans)))
    };
    let (remote, local) = (directory.join("postgres"), directory.join("local"));
    prepare(program, &remote, &main, block)?;
    let (apply, plan) = changed(&remote)?;
    prepare(program, &local, &main, "")?;
    let (local_apply, local_plan) = changed(&local)?;
    let row = |what: &str, unit: &str, ours: f64| Row {
        what: format!("postgres: {what} of {MANY_OBJECTS}"),
        unit: unit.into(),
        ours,
        target: None,
        terraform: None,
    };
    Ok(vec![
        row("apply of a change of one", "ms", apply),
        row("  the same with a local state, apply", "ms", local_apply),
        row("plan of a change of one", "ms", plan),
        row("  the same with a local state, plan", "ms", local_plan),
        row(
            "  share of the apply that a local state does not take",
            "%",
            (apply - local_apply) / apply * 100.0,
        ),
    ])
}
