//! Builds the provider `inventory` in Rust, Go, JavaScript and Python, runs the tests of each SDK in
//! its language, runs the same acceptance suite with all four components, and measures them. Then creates
//! a project with `plugin new` in each language, and measures the commands of its author.
//!
//! Toolchains are installed below `target/interop/languages`, from the registries of Python and npm. If
//! a toolchain cannot be installed, its language is skipped, and the reason is printed.

mod bindings;
mod build;
mod measurement;
mod projects;
#[path = "../../../tests/end-to-end/tests/languages/sources.rs"]
mod sources;
mod toolchains;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use self::toolchains::Toolchains;
use crate::bench_table;
use crate::progress::say;
use crate::test;
use crate::workspace::Workspace;

/// The maximum size of a component that is kept in this repository.
const MAX_RECORDING_BYTES: u64 = 5_000_000;

/// A language of an SDK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Language {
    Rust,
    Go,
    JavaScript,
    Python,
}

impl Language {
    const ALL: [Self; 4] = [Self::Rust, Self::Go, Self::JavaScript, Self::Python];

    fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::Go => "Go",
            Self::JavaScript => "JavaScript",
            Self::Python => "Python",
        }
    }

    /// The directory of the SDK in `plugins`.
    fn sdk(self) -> &'static str {
        match self {
            Self::Rust => "sdk",
            Self::Go => "sdk-go",
            Self::JavaScript => "sdk-js",
            Self::Python => "sdk-python",
        }
    }

    /// The name in `plugin new -language`.
    fn option(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Go => "go",
            Self::JavaScript => "js",
            Self::Python => "python",
        }
    }
}

/// The arguments after `interop languages`.
pub(crate) struct Options {
    /// The binary to run. By default, the one that this command builds.
    pub(crate) binary: Option<PathBuf>,
    /// Writes the bindings of the SDKs, and nothing else.
    only_bindings: bool,
    /// The languages that are built and measured.
    languages: Vec<Language>,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self { binary: None, only_bindings: false, languages: Language::ALL.to_vec() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--binary" => options.binary = Some(value()?.into()),
                "--bindings" => options.only_bindings = true,
                "--only" => {
                    let names = value()?;
                    options.languages.retain(|language| {
                        names.split(',').any(|name| [language.name(), language.option()].contains(&name))
                    });
                    if options.languages.is_empty() {
                        bail!("--only must name languages, such as `--only go,js`, not `{names}`");
                    }
                }
                other => bail!("`interop languages` does not accept `{other}`"),
            }
        }
        Ok(options)
    }

    /// Whether Wardian and its plugins must be built.
    pub(super) fn needs_build(&self) -> bool {
        self.binary.is_none() && !self.only_bindings
    }
}

/// A component of the provider `inventory`.
struct Component {
    language: Language,
    file: PathBuf,
    /// The digest of the sources from which it was built.
    sources: String,
    build: BuildTimes,
}

/// The durations of builds.
struct BuildTimes {
    /// A build without results of earlier builds, except for downloads.
    clean: Duration,
    /// A build after a change of the provider's source code, if it differs from a clean build.
    incremental: Option<Duration>,
}

/// The directories of a run.
struct Place<'a> {
    workspace: &'a Workspace,
    /// The directory for all files of a run.
    target: &'a Path,
    /// The program `wardian`.
    wardian: &'a Path,
}

impl Place<'_> {
    /// Returns the directory of an SDK, such as `sdk-go`.
    fn sdk(&self, name: &str) -> PathBuf {
        self.workspace.root.join("plugins").join(name)
    }
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    let target = workspace.own_target().join("interop/languages");
    if options.only_bindings {
        fs::create_dir_all(&target)?;
        bindings::write(workspace, &target)?;
        return Ok(ExitCode::SUCCESS);
    }
    let components = target.join("components");
    if components.exists() {
        fs::remove_dir_all(&components)?;
    }
    fs::create_dir_all(&components)?;
    let wardian = options.binary.clone().unwrap_or_else(|| workspace.host_program("wardian"));
    let wardian =
        fs::canonicalize(&wardian).with_context(|| format!("{} does not exist", wardian.display()))?;
    let place = Place { workspace, target: &target, wardian: &wardian };
    let toolchains = Toolchains::install(&target, &options.languages)?;
    let built = build::all(&place, &toolchains, &options.languages, &components)?;
    record(&place, &built)?;
    let verdict = test::run_with(
        workspace,
        &["--test".to_owned(), "languages".to_owned()],
        &[("WARDIAN_TEST_LANGUAGES", components), ("WARDIAN_TEST_BINARY", wardian.clone())],
    )?;
    say(&measurement::table(&wardian, &target, &built)?);
    say(&projects::table(&place, &toolchains, &options.languages)?);
    Ok(verdict)
}

/// Replaces the recordings in the end-to-end tests, and the digests of their sources. A recording of the
/// same sources is kept, because the compilers do not reproduce it byte for byte, and the repository would
/// grow with each run.
fn record(place: &Place<'_>, components: &[Component]) -> Result<()> {
    let recordings = place.workspace.root.join("tests/end-to-end/tests/languages/components");
    fs::create_dir_all(&recordings)?;
    // The provider in Rust is built for every run of the tests.
    for component in components.iter().filter(|component| component.language != Language::Rust) {
        let Some(name) = component.file.file_name() else { continue };
        let bytes = fs::metadata(&component.file)?.len();
        if bytes <= MAX_RECORDING_BYTES {
            let recording = recordings.join(name);
            let sources = recording.with_extension("sources");
            let digest = format!("{}\n", component.sources);
            if !recording.exists() || fs::read_to_string(&sources).ok().as_ref() != Some(&digest) {
                fs::copy(&component.file, &recording)?;
                fs::write(&sources, digest)?;
            }
        } else {
            say(&format!("{} is not recorded, because it has {bytes} bytes", component.language.name()));
        }
    }
    Ok(())
}

/// Formats a duration for a table.
fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

/// Formats an optional duration for a table.
fn optional_seconds(time: Option<Duration>) -> String {
    time.map_or_else(|| "-".to_owned(), seconds)
}

/// Formats a size for a table.
fn megabytes(bytes: u64) -> String {
    format!("{:.2} MB", bench_table::megabytes(bytes))
}

/// Lays out rows in columns. The first column is aligned to the left, all others to the right.
fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..count).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        text.push('\n');
        for (number, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let padding = " ".repeat(width - cell.chars().count());
            let (first, second) = if number == 0 { (cell, &padding) } else { (&padding, cell) };
            text.push_str(first);
            text.push_str(second);
            text.push_str("  ");
        }
        text.truncate(text.trim_end().len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(arguments: &[&str]) -> Result<Options> {
        Options::parse(&arguments.iter().map(|argument| (*argument).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn languages_are_selected_by_both_names() {
        assert_eq!(options(&[]).unwrap().languages, Language::ALL);
        assert_eq!(options(&["--only", "js,Go"]).unwrap().languages, [Language::Go, Language::JavaScript]);
        for wrong in [&["--only", "cobol"][..], &["--only"], &["--magic"]] {
            assert!(options(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [["", "size"], ["Go", "4 MB"], ["Python", "19 MB"]];
        let rows: Vec<Vec<String>> = rows.map(|row| row.map(str::to_owned).to_vec()).to_vec();
        assert_eq!(columns(&rows), "\n         size\nGo       4 MB\nPython  19 MB");
    }
}
