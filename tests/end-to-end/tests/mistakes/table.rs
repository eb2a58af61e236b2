//! The scores of all mistakes.

use std::fmt::Write as _;

use crate::case::{Case, POINTS};
use crate::facts::Facts;

const HEAD: &str = "# Scores of messages

Wardian's messages about mistakes, and those of Terraform 1.11.4. Each message scores one point if it
points at the mistake (position), gives the cause (reason), and explains what to do (remedy). A dash
is a point that does not apply. The test `mistakes` writes this table; the mistakes are in `data`.

| mistake | | position | reason | remedy | sum | Terraform: position | reason | remedy | sum |
|---|---|---|---|---|---|---|---|---|---|
";

/// The points of a mistake. A point that does not apply is [`None`].
#[derive(Debug)]
pub struct Row {
    name: String,
    title: String,
    open: [bool; 3],
    pub ours: [Option<bool>; 3],
    theirs: [Option<bool>; 3],
}

impl Row {
    pub fn new(case: &Case, facts: &Facts) -> Self {
        Self {
            name: case.name.clone(),
            title: case.title.lines().next().unwrap_or_default().to_owned(),
            open: POINTS.map(|point| case.open.contains_key(point)),
            ours: std::array::from_fn(|index| facts.meet(&case.points[index].ours)),
            theirs: std::array::from_fn(|index| case.recorded.meet(case.points[index].theirs())),
        }
    }

    pub fn our_sum(&self) -> usize {
        sum(self.ours)
    }

    pub fn their_sum(&self) -> usize {
        sum(self.theirs)
    }
}

fn sum(points: [Option<bool>; 3]) -> usize {
    points.iter().filter(|point| **point == Some(true)).count()
}

/// Returns the table.
pub fn text(rows: &[Row]) -> String {
    let mut text = HEAD.to_owned();
    let mut totals = [[0; 4]; 2];
    for row in rows {
        write!(text, "| `{}` | {} |", row.name, row.title.replace('|', "\\|")).unwrap();
        for (side, points) in [row.ours, row.theirs].into_iter().enumerate() {
            for (index, point) in points.iter().enumerate() {
                let is_open = side == 0 && row.open[index];
                let cell = match point {
                    None => "–",
                    Some(true) => "1",
                    Some(false) if is_open => "0, open",
                    Some(false) => "0",
                };
                write!(text, " {cell} |").unwrap();
                totals[side][index] += usize::from(*point == Some(true));
            }
            let points = sum(points);
            write!(text, " {points} |").unwrap();
            totals[side][3] += points;
        }
        text.push('\n');
    }
    write!(text, "| | {} mistakes |", rows.len()).unwrap();
    for total in totals.iter().flatten() {
        write!(text, " {total} |").unwrap();
    }
    text.push('\n');
    text
}
