//! Compares the AWS provider in Terraform and Wardian.
//!
//! Each host has a separate server with separate objects. Both hosts run the same steps at the same
//! time. After half of the steps, they swap: each host continues with the other host's state and
//! server.
//!
//! Wardian then learns a policy for the configuration, and runs under it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::aws_learning::learnt_policy_problems;
use super::documents::{compare, plans_by_resource, states_by_resource};
use super::generated::Generated;
use super::mirror;
use super::moto::{self, Server};
use super::program::Program;
use super::report::Report;
use crate::mirror_settings::mirror_settings;
use crate::oracle;
use crate::process;
use crate::progress::say;
use crate::workspace::Workspace;

const FIRST: &[&str] = &[];
const CHANGED: &[&str] = &["-var=revision=two"];
const REPLACED: &[&str] = &["-var=revision=two", "-var=generation=second"];
const HANDED_OVER: &[&str] = &["-var=revision=three", "-var=generation=second"];

/// Resources that are removed from the state and imported again, with the attribute that is
/// their import ID.
const IMPORTED: &[(&str, &str)] = &[
    ("aws_s3_bucket.code", "id"),
    ("aws_sqs_queue.plain", "id"),
    ("aws_ssm_parameter.setting", "id"),
    ("aws_vpc.main", "id"),
    ("aws_subnet.parts[\"a\"]", "id"),
    ("aws_vpc_security_group_ingress_rule.https", "id"),
];

/// A host with its directory and server.
struct Side {
    program: Program,
    directory: PathBuf,
}

pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    let (terraform, mirror, python) = match peers() {
        Ok(found) => found,
        Err(reason) => {
            say(&format!("skipped: {reason}"));
            return Ok(ExitCode::SUCCESS);
        }
    };
    let server = moto::installed(&workspace.own_target(), &python)?;
    let (for_terraform, for_wardian) = (Server::start(&server)?, Server::start(&server)?);
    let place = workspace.own_target().join("interop/aws");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(&place)?;
    let settings = place.join("settings.tfrc");
    fs::write(&settings, mirror_settings(&mirror))?;
    let side = |name, file: &Path, server: &Server| -> Result<Side> {
        let directory = place.join(name);
        fs::create_dir(&directory)?;
        fs::copy(workspace.root.join("tests/interop/aws/main.tf"), directory.join("main.tf"))?;
        fs::write(directory.join("terraform.tfvars"), format!("endpoint = {:?}\n", server.url()))?;
        fs::write(directory.join("wardian.policy.hcl"), policy(server.port()))?;
        let environment = [
            ("TF_CLI_CONFIG_FILE", settings.display().to_string()),
            ("WARDIAN_CACHE_DIR", place.join("cache").display().to_string()),
            ("XDG_DATA_HOME", place.join("data").display().to_string()),
            ("AWS_EC2_METADATA_DISABLED", "true".to_owned()),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value)).into();
        Ok(Side { program: Program { name, file: file.to_owned(), environment }, directory })
    };
    let sides = [
        side("terraform", &terraform, &for_terraform)?,
        side("wardian", &workspace.host_program("wardian"), &for_wardian)?,
    ];
    // Wardian continues in Terraform's directory, there also with the rules of the template.
    let template = ["policy", "grant", "hashicorp/aws", "-template", "-yes", "-no-color"];
    sides[1].program.run(&sides[0].directory, &template)?;
    let for_learning = Server::start(&server)?;
    let learning = side("learning", &workspace.host_program("wardian"), &for_learning)?;
    fs::remove_file(learning.directory.join("wardian.policy.hcl"))?;
    let mut report = Report::default();
    // The provider mostly waits for the server.
    let worked = thread::scope(|scope| {
        let learnt = scope.spawn(|| learnt_policy_problems(&learning.program, &learning.directory));
        let worked = steps(&sides, &mut report);
        begin(&mut report, "learn");
        let learnt = learnt.join().map_err(|_| anyhow::anyhow!("the thread that learns panicked"))?;
        report.note("(policy)", learnt.map(|problems| (!problems.is_empty()).then(|| problems.join("\n")))?);
        worked
    });
    let code = report.print();
    worked.map(|()| code)
}

/// Returns the policy under which Wardian runs the provider: the server is the only host that it may
/// reach.
fn policy(port: u16) -> String {
    format!(
        r#"plugin "hashicorp/aws" {{
  native = "confine"

  allow network {{
    schemes   = ["http"]
    hosts     = ["127.0.0.1"]
    ports     = [{port}]
    addresses = ["loopback"]
  }}
}}
"#
    )
}

/// Finds Terraform, the mirror with the provider, and Python.
fn peers() -> Result<(PathBuf, PathBuf, PathBuf)> {
    let terraform = oracle::terraform()?;
    let mirror = mirror()?;
    let python = process::on_path("python3").context("`python3` is not on PATH")?;
    Ok((terraform, mirror, python))
}

fn steps([terraform, wardian]: &[Side; 2], report: &mut Report) -> Result<()> {
    let generated = Generated::new()?;
    let sides = [terraform, wardian];
    both(sides, |side| side.program.run(&side.directory, &["init", "-no-color", "-input=false"]))?;
    for (step, options) in [("create", FIRST), ("update", CHANGED), ("replace", REPLACED)] {
        begin(report, step);
        changed(sides, options, report, &generated)?;
        if step == "create" {
            begin(report, "re-plan");
            settled(sides, options, report)?;
        }
    }
    // Each host continues with the other's state and server.
    let swapped = [
        &Side { program: terraform.program.clone(), directory: wardian.directory.clone() },
        &Side { program: wardian.program.clone(), directory: terraform.directory.clone() },
    ];
    begin(report, "hand over");
    both(swapped, |side| side.program.run(&side.directory, &["init", "-no-color", "-input=false"]))?;
    settled(swapped, REPLACED, report)?;
    changed(swapped, HANDED_OVER, report, &generated)?;
    begin(report, "import");
    let states = both(swapped, imported)?;
    compare(&states, states_by_resource, "", report, &generated);
    // An import does not restore values that exist only in the configuration.
    changed(swapped, HANDED_OVER, report, &generated)?;
    settled(swapped, HANDED_OVER, report)?;
    begin(report, "destroy");
    changed(swapped, &[HANDED_OVER, &["-destroy"]].concat(), report, &generated)
}

fn begin(report: &mut Report, step: &'static str) {
    say(&format!("aws: {step}"));
    report.step(step);
}

/// Runs the same steps on both sides concurrently.
fn both<T: Send>(sides: [&Side; 2], work: impl Fn(&Side) -> Result<T> + Sync) -> Result<[T; 2]> {
    let work = &work;
    let (left, right) = thread::scope(|scope| {
        let right = scope.spawn(move || work(sides[1]));
        (work(sides[0]), right.join())
    });
    let right = right.map_err(|_| anyhow::anyhow!("the thread of one program panicked"))?;
    Ok([left?, right?])
}

fn changed(sides: [&Side; 2], options: &[&str], report: &mut Report, generated: &Generated) -> Result<()> {
    let plans = both(sides, |side| side.program.plan(&side.directory, options))?;
    compare(&plans, plans_by_resource, "", report, generated);
    let states = both(sides, |side| side.program.apply(&side.directory))?;
    compare(&states, states_by_resource, "", report, generated);
    Ok(())
}

fn settled(sides: [&Side; 2], options: &[&str], report: &mut Report) -> Result<()> {
    for changes in both(sides, |side| side.program.changes(&side.directory, options))? {
        report.note("(plan)", changes);
    }
    Ok(())
}

/// Removes some resources from the state and imports them again.
fn imported(side: &Side) -> Result<Value> {
    let state = states_by_resource(&side.program.state(&side.directory)?);
    for (address, attribute) in IMPORTED {
        let id = state.get(*address).and_then(|object| object["attributes"][attribute].as_str());
        let id = id.with_context(|| format!("{address} has no {attribute}"))?.to_owned();
        side.program.run(&side.directory, &["state", "rm", address])?;
        let import = [&["import", "-no-color", "-input=false"], HANDED_OVER, &[address, &id]].concat();
        side.program.run(&side.directory, &import)?;
    }
    side.program.state(&side.directory)
}
