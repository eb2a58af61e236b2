//! The table of measurements that `cargo xtask bench` prints.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::progress::note;
use crate::workspace::Workspace;

/// A row of the table.
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) unit: String,
    pub(crate) ours: f64,
    /// The maximum, if the row has a target.
    pub(crate) target: Option<f64>,
    pub(crate) terraform: Option<f64>,
}

impl Row {
    pub(crate) fn exceeds_target(&self) -> bool {
        self.target.is_some_and(|target| self.ours > target)
    }
}

pub(crate) fn median(sorted: &[Duration]) -> Duration {
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// Returns the paths of the host's programs that a measurement needs; [`None`], with a note, if one of
/// them does not exist.
pub(crate) fn programs<const N: usize>(
    workspace: &Workspace,
    names: [&str; N],
    measured: &str,
) -> Option<[PathBuf; N]> {
    let programs = names.map(|name| workspace.host_program(name));
    let absent = programs.iter().find(|file| !file.is_file());
    if let Some(absent) = absent {
        note(&format!("skipped the measurements of {measured}: {} does not exist", absent.display()));
        return None;
    }
    Some(programs)
}

/// Parses a line that an example printed.
pub(crate) fn call_row(line: &str, targets: &[(&str, f64, &str)]) -> Result<Row> {
    let mut parts = line.split('\t');
    let (Some(what), Some(value), Some(unit)) = (parts.next(), parts.next(), parts.next()) else {
        bail!("an example printed `{line}`, which is not a name, a value and a unit, separated by tabs");
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
        ours: value.parse().with_context(|| format!("an example printed `{value}` instead of a number"))?,
        target,
        terraform: None,
    })
}

#[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^52 bytes")]
pub(crate) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

pub(crate) fn table(rows: &[Row]) -> Vec<String> {
    let wide = rows.iter().map(|row| row.what.chars().count()).max().unwrap_or(0);
    let figure = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    let mut lines = vec![format!(
        "{:<wide$}  {:<4}  {:>9}  {:>9}  {:<4}  {:>9}",
        "", "", "wardian", "at most", "", "terraform"
    )];
    for row in rows {
        let verdict = match (row.target, row.exceeds_target()) {
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

    const TARGETS: [(&str, f64, &str); 2] = [("instantiate", 50.0, "µs"), ("plan call", 20.0, "µs")];

    #[test]
    fn call_row_over_its_target_is_detected() {
        let row = |line: &str| call_row(line, &TARGETS);
        assert!(!row("instantiate\t12.5\tµs").unwrap().exceeds_target());
        assert!(row("plan call\t20.1\tµs").unwrap().exceeds_target());
        assert!(row("load\t200\tµs").unwrap().target.is_none());
        assert!(row("instantiate\t12\tms").is_err());
        assert!(row("instantiate 12").is_err());
    }

    #[test]
    fn table_marks_rows_over_target() {
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
