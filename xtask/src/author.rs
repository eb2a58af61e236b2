//! The commands of a provider's author, and their durations: for `bench` and `interop languages`.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::bench_table::median;
use crate::process;

const EDITS: usize = 5;
/// The lines with which `plugin dev` ends a plan and a round.
const PLANNED: &str = "Planned in ";
const WAITING: &str = "Waiting for changes.";
/// The text in the source code that an edit changes: the prefix of the IDs.
const EDITED: &str = "note-";

/// An author with a project that `plugin new` creates.
pub(crate) struct Author<'a> {
    pub(crate) wardian: &'a Path,
    /// The directory that contains the project, and the caches of the commands.
    pub(crate) directory: &'a Path,
    pub(crate) project: PathBuf,
    /// The directory of build results.
    pub(crate) results: PathBuf,
    /// The file of the resource, relative to the project.
    pub(crate) source: &'a str,
    /// Additional environment variables of each command.
    pub(crate) variables: Vec<(&'static str, OsString)>,
}

impl Author<'_> {
    /// Returns a command of Wardian.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.wardian);
        command.args(arguments).current_dir(self.directory).env("NO_COLOR", "1");
        command.env("WARDIAN_CACHE_DIR", self.directory.join("cache"));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Returns the duration of a command of Wardian.
    pub(crate) fn time(&self, arguments: &[&str]) -> Result<Duration> {
        timed(&mut self.command(arguments))
    }

    /// Applies the example with the component and the policy of the last `plugin dev`.
    pub(crate) fn apply(&self) -> Result<Duration> {
        let session = self.results.join("wardian-dev-session");
        let mut command = self.command(&["apply", "-auto-approve", "-input=false"]);
        command.current_dir(self.project.join("examples/basic"));
        command.env("TF_CLI_CONFIG_FILE", session.join("cli.tfrc"));
        command.env("XDG_CONFIG_HOME", session.join("config"));
        timed(&mut command)
    }

    /// Returns the median time from an edit to the end of the plan.
    pub(crate) fn edits(&self) -> Result<Duration> {
        let project = self.project.display().to_string();
        let mut command = self.command(&["plugin", "dev", &project, "-no-tests"]);
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
        let source = self.project.join(self.source);
        let original = fs::read_to_string(&source)?;
        if !original.contains(EDITED) {
            bail!("{} does not contain `{EDITED}`", source.display());
        }
        let mut times = Vec::new();
        for edit in 0..EDITS {
            wait_for(WAITING)?;
            let started = Instant::now();
            fs::write(&source, original.replace(EDITED, &format!("note{edit}-")))?;
            wait_for(PLANNED)?;
            times.push(started.elapsed());
        }
        fs::write(&source, original)?;
        times.sort_unstable();
        Ok(median(&times))
    }
}

/// Runs a command, and returns its duration.
pub(crate) fn timed(command: &mut Command) -> Result<Duration> {
    let started = Instant::now();
    process::output(command)?;
    Ok(started.elapsed())
}

/// A process that is killed when it is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
