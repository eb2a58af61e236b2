//! Measures the work of a provider's author: from an empty directory to an applied example, and from an
//! edit to a plan.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use crate::author::Author;
use crate::bench_table::Row;
use crate::progress::Step;
use crate::workspace::Workspace;

/// The target for all steps of a new provider, in seconds.
const NEW_PROVIDER_SECONDS: f64 = 180.0;
/// The target from an edit to a plan, in seconds.
const EDIT_SECONDS: f64 = 2.0;

pub(crate) fn rows(workspace: &Workspace, directory: &Path, wardian: &Path) -> Result<Vec<Row>> {
    let step = Step::start("Measuring a new provider, from an empty directory");
    fs::create_dir_all(directory)?;
    let results = directory.join("target");
    let author = Author {
        wardian,
        directory,
        project: directory.join("terraform-provider-bench"),
        source: "src/note.rs",
        variables: vec![("CARGO_TARGET_DIR", results.clone().into())],
        results,
    };
    let sdk = workspace.root.join("plugins/sdk");
    let sdk_option = format!("-sdk-path={}", sdk.display());
    let mut rows = Vec::new();
    let mut total = Duration::ZERO;
    let mut add = |what: &str, time: Duration| {
        total += time;
        rows.push(row(what, time, None));
    };
    add("plugin new", author.time(&["plugin", "new", "acme/bench", &sdk_option])?);
    // The versions in the workspace's lock file have been downloaded.
    fs::copy(workspace.root.join("Cargo.lock"), author.project.join("Cargo.lock"))?;
    let project = author.project.display().to_string();
    add("plugin dev: first build and plan", author.time(&["plugin", "dev", &project, "-once", "-no-tests"])?);
    add("plugin dev: first build and run of the tests", author.time(&["plugin", "dev", &project, "-once"])?);
    add("apply the example", author.apply()?);
    rows.push(row("empty directory to applied example", total, Some(NEW_PROVIDER_SECONDS)));
    rows.push(row("edit to plan, warm", author.edits()?, Some(EDIT_SECONDS)));
    step.done("measured");
    Ok(rows)
}

fn row(what: &str, time: Duration, target: Option<f64>) -> Row {
    Row { what: what.to_owned(), unit: "s".into(), ours: time.as_secs_f64(), target, terraform: None }
}
