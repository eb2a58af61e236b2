//! Reports the results: for each resource or plugin and step, whether both sides are equal.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

use crate::progress::say;

/// The results: rows are resources, columns are steps.
#[derive(Default)]
pub(crate) struct Report {
    steps: Vec<&'static str>,
    current: usize,
    cells: BTreeMap<String, BTreeMap<usize, bool>>,
    differences: usize,
}

impl Report {
    /// Creates a report with these steps, in this order.
    pub(crate) fn new(steps: &[&'static str]) -> Self {
        Self { steps: steps.to_vec(), ..Self::default() }
    }

    /// Starts a step. All following results belong to this step.
    pub(crate) fn step(&mut self, name: &'static str) {
        self.current = self.steps.iter().position(|step| *step == name).unwrap_or_else(|| {
            self.steps.push(name);
            self.steps.len() - 1
        });
    }

    /// Records that both sides are equal, or the difference between them.
    pub(crate) fn note(&mut self, row: &str, difference: Option<String>) {
        let step = self.current;
        let equal = self.cells.entry(row.to_owned()).or_default().entry(step).or_insert(true);
        if let Some(difference) = difference {
            *equal = false;
            let step = self.steps.get(step).copied().unwrap_or_default();
            // Results are printed immediately, because the other steps may take minutes.
            say(&format!("  {step}, {row}: {difference}"));
            self.differences += 1;
        }
    }

    /// Returns the number of differences.
    pub(crate) fn differences(&self) -> usize {
        self.differences
    }

    /// Prints the table.
    pub(crate) fn print(&self) -> ExitCode {
        let width = self.cells.keys().map(String::len).max().unwrap_or(0);
        let mut text = format!("\n{:width$}", "");
        for step in &self.steps {
            let _ = write!(text, "  {step:>9}");
        }
        for (row, cells) in &self.cells {
            let _ = write!(text, "\n{row:width$}");
            for (step, _) in self.steps.iter().enumerate() {
                let cell = match cells.get(&step) {
                    Some(true) => "equal",
                    Some(false) => "DIFFERS",
                    None => "",
                };
                let _ = write!(text, "  {cell:>9}");
            }
        }
        say(&text);
        if self.differences == 0 {
            say("all equal");
            ExitCode::SUCCESS
        } else {
            say(&format!("{} differences", self.differences()));
            ExitCode::FAILURE
        }
    }
}
