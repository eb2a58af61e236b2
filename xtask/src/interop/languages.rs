//! Builds the provider `inventory` in Rust, Go, JavaScript and Python, runs the tests of each SDK in
//! its language, runs the same acceptance suite with all four components, and measures them.
//!
//! Toolchains are installed below `target/interop/languages`, from the registries of Python and npm. If
//! a toolchain cannot be installed, its language is skipped, and the reason is printed.

mod build;
mod measurement;
mod toolchains;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use self::toolchains::Toolchains;
use crate::progress::say;
use crate::workspace::{Purpose, Workspace};
use crate::{guests, test};

/// The maximum size of a component that is kept in this repository.
const MAX_RECORDING_BYTES: u64 = 5_000_000;

/// The arguments after `interop languages`.
pub(crate) struct Options {
    /// The binary to run. By default, the one that this command builds.
    pub(crate) binary: Option<PathBuf>,
    /// Writes the bindings of the SDKs, and nothing else.
    only_bindings: bool,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self { binary: None, only_bindings: false };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--binary" => {
                    options.binary = Some(arguments.next().context("--binary needs a value")?.into());
                }
                "--bindings" => options.only_bindings = true,
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

/// A component, and the time in which it was built.
struct Component {
    language: &'static str,
    file: PathBuf,
    build: Option<Duration>,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    let target = workspace.own_target().join("interop/languages");
    let components = target.join("components");
    fs::create_dir_all(&components)?;
    let toolchains = Toolchains::install(&target)?;
    if options.only_bindings {
        build::write_bindings(workspace, &toolchains, &target)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut built = Vec::new();
    let rust = guests::place(&guests::directory(workspace), Purpose::Test).join("inventory.wasm");
    if rust.is_file() {
        let file = components.join("rust.wasm");
        fs::copy(&rust, &file)?;
        built.push(Component { language: "Rust", file, build: None });
    } else {
        say(&format!("skipped Rust: {} does not exist; `cargo xtask guests` builds it", rust.display()));
    }
    built.extend(build::all(workspace, &toolchains, &target, &components)?);
    record(workspace, &built)?;
    let binary = options.binary.clone().unwrap_or_else(|| workspace.host_program("wardian"));
    let verdict = test::run_with(
        workspace,
        &["--test".to_owned(), "languages".to_owned()],
        &[("WARDIAN_TEST_LANGUAGES", components), ("WARDIAN_TEST_BINARY", binary.clone())],
    )?;
    say(&measurement::table(&binary, &target, &built)?);
    Ok(verdict)
}

/// Replaces the recordings in the end-to-end tests.
fn record(workspace: &Workspace, components: &[Component]) -> Result<()> {
    let recordings = workspace.root.join("tests/end-to-end/tests/languages/components");
    fs::create_dir_all(&recordings)?;
    for component in components.iter().filter(|component| component.language != "Rust") {
        let Some(name) = component.file.file_name() else { continue };
        let bytes = fs::metadata(&component.file)?.len();
        if bytes <= MAX_RECORDING_BYTES {
            fs::copy(&component.file, recordings.join(name))?;
        } else {
            say(&format!("{} is not recorded, because it has {bytes} bytes", component.language));
        }
    }
    Ok(())
}

/// Returns a path as text, for arguments that contain more than the path.
fn text(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))
}
