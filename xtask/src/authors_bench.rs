//! Measures the work of a provider's author: from an empty directory to an applied example, and from an
//! edit to a plan.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::bench_table::{Row, median};
use crate::process;
use crate::progress::Step;
use crate::workspace::Workspace;

/// The target for all steps of a new provider, in seconds.
const NEW_PROVIDER_SECONDS: f64 = 180.0;
/// The target from an edit to a plan, in seconds.
const EDIT_SECONDS: f64 = 2.0;
const EDITS: usize = 5;
/// The lines with which `plugin dev` ends a plan and a round.
const PLANNED: &str = "Planned in ";
const WAITING: &str = "Waiting for changes.";

pub(crate) fn rows(workspace: &Workspace, directory: &Path, wardian: &Path) -> Result<Vec<Row>> {
    let step = Step::start("Measuring a new provider, from an empty directory");
    fs::create_dir_all(directory)?;
    let author = Author { wardian, directory, project: directory.join("terraform-provider-bench") };
    let sdk = workspace.root.join("plugins/sdk");
    let sdk_option = format!("-sdk-path={}", sdk.display());
    let mut rows = Vec::new();
    let mut total = 0.0;
    let mut add = |what: &str, seconds: f64| {
        total += seconds;
        rows.push(row(what, seconds, None));
    };
    add("plugin new", author.time(&["plugin", "new", "acme/bench", &sdk_option])?);
    // The versions in the workspace's lock file have been downloaded.
    fs::copy(workspace.root.join("Cargo.lock"), author.project.join("Cargo.lock"))?;
    let project = author.project.display().to_string();
    add("plugin dev: first build and plan", author.time(&["plugin", "dev", &project, "-once", "-no-tests"])?);
    add("plugin dev: first build and run of the tests", author.time(&["plugin", "dev", &project, "-once"])?);
    add("apply the example", author.apply()?);
    rows.push(row("empty directory to applied example", total, Some(NEW_PROVIDER_SECONDS)));
    rows.push(row("edit to plan, warm", author.edits(&project)?, Some(EDIT_SECONDS)));
    step.done("measured");
    Ok(rows)
}

fn row(what: &str, seconds: f64, target: Option<f64>) -> Row {
    Row { what: what.to_owned(), unit: "s".into(), ours: seconds, target, terraform: None }
}

struct Author<'a> {
    wardian: &'a Path,
    directory: &'a Path,
    project: PathBuf,
}

impl Author<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.wardian);
        command.args(arguments).current_dir(self.directory).env("NO_COLOR", "1");
        command.env("WARDIAN_CACHE_DIR", self.directory.join("cache"));
        command.env("CARGO_TARGET_DIR", self.directory.join("target"));
        command
    }

    /// Returns the duration of a command in seconds.
    fn time(&self, arguments: &[&str]) -> Result<f64> {
        let started = Instant::now();
        process::output(&mut self.command(arguments))?;
        Ok(started.elapsed().as_secs_f64())
    }

    fn apply(&self) -> Result<f64> {
        let session = self.directory.join("target/wardian-dev-session");
        let mut command = self.command(&["apply", "-auto-approve", "-input=false"]);
        command.current_dir(self.project.join("examples/basic"));
        command.env("TF_CLI_CONFIG_FILE", session.join("cli.tfrc"));
        command.env("XDG_CONFIG_HOME", session.join("config"));
        let started = Instant::now();
        process::output(&mut command)?;
        Ok(started.elapsed().as_secs_f64())
    }

    /// Returns the median time from an edit to the end of the plan, in seconds.
    fn edits(&self, project: &str) -> Result<f64> {
        let mut command = self.command(&["plugin", "dev", project, "-no-tests"]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
        let mut running = Killed(child);
        let output = running.0.stdout.take().context("the command has no output")?;
        let mut lines = BufReader::new(output).lines();
        let mut wait_for = |text: &str| -> Result<()> {
            for line in &mut lines {
                if line?.contains(text) {
                    return Ok(());
                }
            }
            bail!("`plugin dev` ended before it printed `{text}`")
        };
        let source = self.project.join("src/note.rs");
        let original = fs::read_to_string(&source)?;
        let mut times = Vec::new();
        for edit in 0..EDITS {
            wait_for(WAITING)?;
            let started = Instant::now();
            fs::write(&source, original.replace("\"note-{}\"", &format!("\"note{edit}-{{}}\"")))?;
            wait_for(PLANNED)?;
            times.push(started.elapsed());
        }
        times.sort_unstable();
        Ok(median(&times).as_secs_f64())
    }
}

/// A process that is killed when it is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
