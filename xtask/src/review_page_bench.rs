//! Measures the page and the comment of a plan with 10,000 changes.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::bench_table::{Row, megabytes};
use crate::browser::{self, Browser};
use crate::comparison::{measured, peak, repeated, wall};
use crate::process;
use crate::progress::{Step, note};
use crate::review_plans;
use crate::workspace::Workspace;

const RUNS: usize = 5;
const PAGE_MILLISECONDS: f64 = 1_000.0;
const COMMENT_MILLISECONDS: f64 = 300.0;
const PAINT_MILLISECONDS: f64 = 1_000.0;
const PEAK_MEGABYTES: f64 = 150.0;

pub(crate) fn rows(workspace: &Workspace, directory: &Path, wardian: &Path) -> Result<Vec<Row>> {
    let step = Step::start("Measuring the page and the comment of 10,000 changes");
    let place = directory.join("page");
    let plans = review_plans::write(workspace, &place)?;
    let plan = plans.iter().find(|plan| plan.name == "large").context("there is no large plan")?;
    let page = repeated(RUNS, || measured(wardian, &place, &["show", "-html", "large.json"]))?;
    let comment = repeated(RUNS, || measured(wardian, &place, &["show", "-markdown", "large.json"]))?;
    let row = |what: &str, unit: &str, ours: f64, target: f64| Row {
        what: what.to_owned(),
        unit: unit.to_owned(),
        ours,
        target: Some(target),
        terraform: None,
    };
    let mut rows = vec![
        row("page of 10,000 changes", "ms", wall(&page), PAGE_MILLISECONDS),
        row("page, peak memory", "MB", peak(&page), PEAK_MEGABYTES),
        row("comment of 10,000 changes", "ms", wall(&comment), COMMENT_MILLISECONDS),
        row("comment, peak memory", "MB", peak(&comment), PEAK_MEGABYTES),
    ];
    let file = place.join("large.html");
    let mut command = Command::new(wardian);
    command.args(["show", "-html", "large.json"]).current_dir(&place).stdout(File::create(&file)?);
    process::without_settings(&mut command);
    process::run(&mut command)?;
    rows.push(Row { target: None, ..row("page, size", "MB", megabytes(file.metadata()?.len()), 0.0) });
    match browser::missing() {
        Some(reason) => note(&format!("skipped the first paint of the page: {reason}")),
        None => {
            rows.push(row("page, first paint", "ms", first_paint(&file, plan.changes)?, PAINT_MILLISECONDS));
        }
    }
    step.done("measured");
    Ok(rows)
}

/// Returns the median time from the start of the navigation to the first paint of content.
fn first_paint(file: &Path, changes: u64) -> Result<f64> {
    let browser = Browser::start(&[])?;
    let mut times = Vec::new();
    for _ in 0..RUNS {
        browser.open(&format!("file://{}", file.display()))?;
        let count = browser.evaluate("return document.querySelectorAll('main [id^=p0c]').length;")?;
        ensure!(count.as_u64() == Some(changes), "the page contains {count} changes");
        let paint = browser.evaluate(
            "return new Promise((done) => {
               const found = () => performance.getEntriesByName('first-contentful-paint')[0];
               const poll = () => (found() ? done(found().startTime) : setTimeout(poll, 20));
               poll();
             });",
        )?;
        times.push(paint.as_f64().context("no time of the first paint")?);
    }
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().context("no measurement")
}
