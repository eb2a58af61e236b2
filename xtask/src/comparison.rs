//! Measures Wardian and Terraform in one run. Both values are therefore from the same machine at
//! the same time.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::bench_table::{Row, median, megabytes};
use crate::measure::{self, Measurement};
use crate::process;

/// Wardian and, if available, Terraform.
pub(crate) struct Programs<'a> {
    pub(crate) ours: &'a Path,
    pub(crate) theirs: Option<&'a Path>,
}

impl Programs<'_> {
    pub(crate) fn initialize(&self, directory: &Path) -> Result<()> {
        if let Some(theirs) = self.theirs {
            run(theirs, directory, &["init", "-input=false"])?;
        }
        run(self.ours, directory, &["init", "-input=false"])
    }

    pub(crate) fn of_terraform(
        &self,
        runs: usize,
        directory: &Path,
        arguments: &[&str],
    ) -> Result<Option<Vec<Measurement>>> {
        self.theirs.map(|program| repeated(runs, || measured(program, directory, arguments))).transpose()
    }
}

/// Returns a row whose target is a multiple of Terraform's value in the same run.
pub(crate) fn shared(what: &str, unit: &str, ours: f64, terraform: Option<f64>, share: f64) -> Row {
    Row {
        what: what.to_owned(),
        unit: unit.to_owned(),
        ours,
        target: terraform.map(|theirs| theirs * share),
        terraform,
    }
}

pub(crate) fn wall(runs: &[Measurement]) -> f64 {
    let mut times: Vec<_> = runs.iter().map(|run| run.wall).collect();
    times.sort_unstable();
    median(&times).as_secs_f64() * 1e3
}

pub(crate) fn peak(runs: &[Measurement]) -> f64 {
    megabytes(runs.iter().map(|run| run.peak_bytes).max().unwrap_or(0))
}

pub(crate) fn repeated(
    runs: usize,
    mut once: impl FnMut() -> Result<Measurement>,
) -> Result<Vec<Measurement>> {
    (0..runs).map(|_| once()).collect()
}

fn command(program: &Path, directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory);
    process::without_settings(&mut command);
    command
}

pub(crate) fn measured(program: &Path, directory: &Path, arguments: &[&str]) -> Result<Measurement> {
    measure::once(&mut command(program, directory, arguments))
}

pub(crate) fn run(program: &Path, directory: &Path, arguments: &[&str]) -> Result<()> {
    process::output(&mut command(program, directory, arguments)).map(drop)
}

pub(crate) fn write(file: &Path, text: &str) -> Result<()> {
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory).with_context(|| format!("could not create {}", directory.display()))?;
    }
    fs::write(file, text).with_context(|| format!("could not write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_target_is_computed_from_terraforms_value() {
        assert!(shared("validate", "ms", 41.0, Some(600.0), 1.0 / 15.0).exceeds_target());
        assert!(!shared("validate", "ms", 39.0, Some(600.0), 1.0 / 15.0).exceeds_target());
        assert!(shared("validate", "ms", 39.0, None, 1.0 / 15.0).target.is_none());
    }
}
