//! `cargo xtask hostile`: runs attacks on the binary, and counts them by family.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::progress::{elapsed, say};
use crate::workspace::{Purpose, Workspace};
use crate::{guests, process};

/// The table of costs, in the workspace.
const COSTS: &str = "tests/end-to-end/tests/hostile/costs.md";

/// The options after `hostile`.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// The binary to attack. By default, the binary that this command builds.
    pub(crate) binary: Option<PathBuf>,
    /// Selects the attacks whose names contain this text.
    only: String,
    /// Whether to record the results as the results of the version without defences.
    is_recording: bool,
    /// Whether to compare the cost of attacks for this version and for that binary.
    pub(crate) is_comparing_costs: bool,
    /// The number of minutes for which random components are tried instead of the attacks.
    minutes: Option<u32>,
}

impl Options {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--binary" => {
                    let path = PathBuf::from(value()?);
                    let found = path.canonicalize();
                    options.binary = Some(found.with_context(|| format!("there is no {}", path.display()))?);
                }
                "--only" => options.only.clone_from(value()?),
                "--record" => options.is_recording = true,
                "--components-for" => {
                    let minutes = value()?;
                    let parsed = minutes.parse();
                    options.minutes =
                        Some(parsed.with_context(|| format!("{minutes} is not a number of minutes"))?);
                }
                "--costs" => options.is_comparing_costs = true,
                other => bail!("`hostile` does not accept `{other}`"),
            }
        }
        if (options.is_recording || options.is_comparing_costs) && options.binary.is_none() {
            bail!("--record and --costs need --binary: the version before the defences");
        }
        Ok(options)
    }
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    say("==> Attacking the binary");
    let started = Instant::now();
    if options.is_comparing_costs {
        return compare_costs(workspace, options);
    }
    if let Some(minutes) = options.minutes {
        let mut cargo = test(workspace, options);
        cargo.arg("random_components").env("WARDIAN_HOSTILE_MINUTES", minutes.to_string());
        let status = cargo.status().context("could not start cargo")?;
        return Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let (tally, is_success) = attack(workspace, options)?;
    say(&tally.table());
    say(&format!("{} attacks, {}", tally.sum().tried, elapsed(started.elapsed())));
    Ok(if is_success { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Attacks another version and this version, and writes the costs of each attack to the table.
fn compare_costs(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    let only = "exhaustion/".to_owned();
    let (before, _) = attack(
        workspace,
        &Options { only: only.clone(), binary: options.binary.clone(), ..Options::default() },
    )?;
    let (now, is_success) = attack(workspace, &Options { only, ..Options::default() })?;
    let mut rows = String::new();
    for (name, cost) in &now.costs {
        let before = before.costs.get(name).map_or("another result, in before.txt", String::as_str);
        writeln!(rows, "| {name} | {before} | {cost} |")?;
    }
    let path = workspace.root.join(COSTS);
    let head = "# Costs of hostile components, packages and expressions\n\n\
                The peak resident memory and the CPU time of the command that reads the input, from\n\
                `cargo xtask hostile --costs --binary PATH`. A command is killed at 3 GiB, and an expression's\n\
                after 25 s. The bound of each row is 512 MiB and 30 s. A command that ends before the first\n\
                measurement, after about 10 ms, is listed with 0 MiB.\n\n\
                | input | before the defences | now |\n|---|---|---|\n";
    std::fs::write(&path, format!("{head}{rows}"))
        .with_context(|| format!("could not write {}", path.display()))?;
    say(&format!("Wrote {} costs to {COSTS}", now.costs.len()));
    Ok(if is_success { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the command that runs tests of the hostile suite. The caller appends the names of the
/// tests.
fn test(workspace: &Workspace, options: &Options) -> Command {
    let binary = options.binary.clone().unwrap_or_else(|| workspace.host_program("wardian"));
    let mut cargo = workspace.cargo();
    // Selects the same packages as the other tests, to avoid compiling them again.
    cargo
        .args(["test", "--workspace", "--test", "hostile", "--", "--nocapture"])
        .env("WARDIAN_TEST_BINARY", binary)
        .env("WARDIAN_TEST_GUESTS", guests::place(&guests::directory(workspace), Purpose::Test));
    cargo
}

/// Runs attacks, and returns their verdicts and whether the test passed.
fn attack(workspace: &Workspace, options: &Options) -> Result<(Tally, bool)> {
    let mut cargo = test(workspace, options);
    cargo
        .arg("every_attack_fails")
        .env("WARDIAN_HOSTILE_ONLY", &options.only)
        .env("WARDIAN_HOSTILE_ALL", "1");
    if options.binary.is_some() {
        cargo.env("WARDIAN_HOSTILE_REPORT", "1");
    }
    if options.is_recording {
        cargo.env("WARDIAN_HOSTILE_BEFORE", "1");
    }
    let mut tally = Tally::default();
    let status = process::each_line(&mut cargo, |line| tally.count(line))?;
    if tally.sum().tried == 0 {
        bail!("no attack was run");
    }
    Ok((tally, status.success()))
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    tried: u32,
    held: u32,
    escaped: u32,
    errors: u32,
    unavailable: u32,
}

/// The verdicts of each family.
#[derive(Debug, Default)]
struct Tally {
    families: BTreeMap<String, Counts>,
    /// The costs of attacks by name.
    costs: BTreeMap<String, String>,
}

impl Tally {
    fn count(&mut self, line: &str) {
        let mut words = line.split(' ');
        let (Some("attack"), Some(name), Some(verdict)) = (words.next(), words.next(), words.next()) else {
            return;
        };
        let Some((family, _)) = name.split_once('/') else { return };
        let counts = self.families.entry(family.to_owned()).or_default();
        counts.tried += 1;
        match verdict {
            "held" => counts.held += 1,
            "ESCAPED" => counts.escaped += 1,
            "unavailable" => counts.unavailable += 1,
            _ => counts.errors += 1,
        }
        // The fourth word is the elapsed time.
        if let Some(cost) = line.splitn(5, ' ').nth(4).filter(|detail| detail.contains(" MiB, ")) {
            self.costs.insert(name.to_owned(), cost.to_owned());
        }
    }

    fn sum(&self) -> Counts {
        self.families.values().fold(Counts::default(), |sum, counts| Counts {
            tried: sum.tried + counts.tried,
            held: sum.held + counts.held,
            escaped: sum.escaped + counts.escaped,
            errors: sum.errors + counts.errors,
            unavailable: sum.unavailable + counts.unavailable,
        })
    }

    fn table(&self) -> String {
        let row = |name: &str, counts: &Counts| {
            let Counts { tried, held, escaped, errors, unavailable } = counts;
            format!("{name:<16}{tried:>8}{held:>8}{escaped:>10}{unavailable:>13}{errors:>8}\n")
        };
        let mut table = format!(
            "\n{:<16}{:>8}{:>8}{:>10}{:>13}{:>8}\n",
            "family", "tried", "held", "escaped", "unavailable", "errors"
        );
        for (name, counts) in &self.families {
            table.push_str(&row(name, counts));
        }
        table + &row("all", &self.sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_counted_by_family() {
        let mut tally = Tally::default();
        for line in [
            "attack links/a held 0.1s ",
            "attack links/b ESCAPED 0.1s a file was read",
            "attack states/a error 0.1s not built",
            "attack states/b unavailable 0.1s no namespace",
            "attack links/c held 1.1s 12 MiB, 0.9 s",
            "test every_attack_fails ... FAILED",
        ] {
            tally.count(line);
        }
        assert_eq!(tally.families["links"], Counts { tried: 3, held: 2, escaped: 1, ..Counts::default() });
        assert_eq!(tally.costs["links/c"], "12 MiB, 0.9 s");
        assert_eq!(tally.sum(), Counts { tried: 5, held: 2, escaped: 1, errors: 1, unavailable: 1 });
    }

    #[test]
    fn recording_requires_a_specified_binary() {
        assert!(Options::parse(&["--record".into()]).is_err());
        assert!(Options::parse(&["--only".into(), "links/".into()]).is_ok());
    }
}
