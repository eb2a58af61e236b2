//! Measures `local-exec`: 200 resources with one command each, compared with starting the same
//! commands directly, with the same parallelism.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::bench_table::{Row, median};
use crate::measure;
use crate::process;
use crate::progress::Step;

const COMMANDS: usize = 200;
/// The default parallelism of Terraform and Wardian.
const AT_A_TIME: usize = 10;
const RUNS: usize = 5;
/// The target, as a multiple of the time of the commands without Wardian.
const TIMES: f64 = 1.2;

/// A command, and its target if it takes long enough to be compared.
const CASES: [(&str, Option<f64>); 2] = [("sleep 0.05", Some(TIMES)), ("true", None)];

pub(crate) fn rows(directory: &Path, wardian: &Path, terraform: Option<&Path>) -> Result<Vec<Row>> {
    let step = Step::start(&format!("Measuring {COMMANDS} resources with a command each"));
    let mut rows = Vec::new();
    for (command, target) in CASES {
        let plain = middle(|| plainly(command))?;
        let ratio = |program: &Path, name: &str| -> Result<f64> {
            let directory = directory.join(format!("{name}-{}", command.replace(' ', "-")));
            fs::create_dir_all(&directory)?;
            fs::write(directory.join("main.tf"), configuration(command))?;
            process::output(&mut prepared(program, &directory, &["init", "-input=false"]))?;
            let took = middle(|| {
                let apply = ["apply", "-auto-approve", "-input=false"];
                let took = measure::once(&mut prepared(program, &directory, &apply))?.wall;
                fs::remove_file(directory.join("terraform.tfstate"))?;
                Ok(took)
            })?;
            Ok(took.as_secs_f64() / plain.as_secs_f64())
        };
        rows.push(Row {
            what: format!("{COMMANDS} local-exec of `{command}`, commands alone {} ms", plain.as_millis()),
            unit: "x".into(),
            ours: ratio(wardian, "wardian")?,
            target,
            terraform: terraform.map(|program| ratio(program, "terraform")).transpose()?,
        });
    }
    step.done("measured");
    Ok(rows)
}

fn configuration(command: &str) -> String {
    format!(
        "resource \"terraform_data\" \"bench\" {{\n  count = {COMMANDS}\n  provisioner \"local-exec\" {{\n    \
         command = \"{command}\"\n  }}\n}}\n"
    )
}

fn prepared(program: &Path, directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory);
    process::without_settings(&mut command);
    command
}

fn middle(mut once: impl FnMut() -> Result<Duration>) -> Result<Duration> {
    // The first run fills the caches.
    once()?;
    let mut times = (0..RUNS).map(|_| once()).collect::<Result<Vec<_>>>()?;
    times.sort_unstable();
    Ok(median(&times))
}

/// Runs the commands directly.
fn plainly(command: &str) -> Result<Duration> {
    let (begun, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let started = Instant::now();
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while begun.fetch_add(1, Ordering::Relaxed) < COMMANDS {
                    let mut shell = Command::new("/bin/sh");
                    shell.args(["-c", command]).stdin(Stdio::null());
                    if !shell.output().is_ok_and(|output| output.status.success()) {
                        failed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    match failed.into_inner() {
        0 => Ok(started.elapsed()),
        failed => bail!("{failed} of {COMMANDS} runs of `{command}` failed"),
    }
}
