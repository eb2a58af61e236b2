//! `cargo xtask hostile`: runs attacks on the binary, and counts them by family.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::guests;
use crate::progress::{elapsed, say};
use crate::workspace::{Purpose, Workspace};

/// The options after `hostile`.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// The binary to attack, instead of the built one.
    pub(crate) binary: Option<PathBuf>,
    /// Selects the attacks whose names contain this text.
    only: String,
    /// Whether to record the results as those of the version before the defences.
    is_recording: bool,
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
                other => bail!("`hostile` does not accept `{other}`"),
            }
        }
        if options.is_recording && options.binary.is_none() {
            bail!("--record needs --binary: the version before the defences");
        }
        Ok(options)
    }
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    say("==> Attacking the binary");
    let started = Instant::now();
    let binary = options.binary.clone().unwrap_or_else(|| workspace.host_program("wardian"));
    let mut cargo = workspace.cargo();
    // The same packages as for the other tests are selected, so that they are not compiled again.
    cargo
        .args(["test", "--workspace", "--test", "hostile", "--", "--nocapture", "every_attack_fails"])
        .env("WARDIAN_TEST_BINARY", binary)
        .env("WARDIAN_TEST_GUESTS", guests::place(&guests::directory(workspace), Purpose::Test))
        .env("WARDIAN_HOSTILE_ONLY", &options.only)
        .env("WARDIAN_HOSTILE_ALL", "1")
        .stdout(Stdio::piped());
    if options.binary.is_some() {
        cargo.env("WARDIAN_HOSTILE_REPORT", "1");
    }
    if options.is_recording {
        cargo.env("WARDIAN_HOSTILE_BEFORE", "1");
    }
    let mut child = cargo.spawn().context("could not start cargo")?;
    let out = child.stdout.take().context("cargo has no output")?;
    let mut tally = Tally::default();
    for line in BufReader::new(out).split(b'\n') {
        let line = line.context("could not read the output of cargo")?;
        let line = String::from_utf8_lossy(&line);
        say(&line);
        tally.count(&line);
    }
    let status = child.wait()?;
    say(&tally.table());
    say(&format!("{} attacks, {}", tally.sum().tried, elapsed(started.elapsed())));
    if tally.sum().tried == 0 {
        bail!("no attack was carried out");
    }
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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
            "test every_attack_fails ... FAILED",
        ] {
            tally.count(line);
        }
        assert_eq!(tally.families["links"], Counts { tried: 2, held: 1, escaped: 1, ..Counts::default() });
        assert_eq!(tally.sum(), Counts { tried: 4, held: 1, escaped: 1, errors: 1, unavailable: 1 });
    }

    #[test]
    fn recording_needs_another_binary() {
        assert!(Options::parse(&["--record".into()]).is_err());
        assert!(Options::parse(&["--only".into(), "links/".into()]).is_ok());
    }
}
