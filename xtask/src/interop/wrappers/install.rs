//! Installs tools from the registries of Python and npm, each below `target/interop/wrappers/tools`.
//! An installed tool is reused.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::tools::{Registry, Tool};
use crate::process;
use crate::progress::say;

/// Time limit of one command of an installation.
const LIMIT: Duration = Duration::from_mins(10);

/// The programs that install tools and run drivers.
pub(crate) struct Interpreters {
    python: Option<PathBuf>,
    node: Option<PathBuf>,
    npm: Option<PathBuf>,
}

/// An installed tool.
pub(crate) struct Installed {
    /// The interpreter of the driver.
    pub(crate) interpreter: PathBuf,
    pub(crate) driver: &'static str,
    /// The directory with the tool's programs.
    pub(crate) programs: Option<PathBuf>,
}

impl Interpreters {
    pub(crate) fn find() -> Self {
        let [python, node, npm] = ["python3", "node", "npm"].map(process::on_path);
        Self { python, node, npm }
    }

    /// Returns the reason why the tool cannot be run on this machine.
    pub(crate) fn missing(&self, tool: &Tool) -> Option<&'static str> {
        match tool.registry {
            Registry::Npm if self.npm.is_none() => Some("`npm` is not on PATH"),
            Registry::Npm if self.node.is_none() => Some("`node` is not on PATH"),
            Registry::Python | Registry::None if self.python.is_none() => Some("`python3` is not on PATH"),
            Registry::Npm | Registry::Python | Registry::None => None,
        }
    }

    /// Installs a tool, unless a previous run installed it.
    pub(crate) fn install(&self, tool: &Tool, tools: &Path) -> Result<Installed> {
        let directory = tools.join(format!("{}-{}", tool.name, tool.version));
        let python = self.python.as_deref().unwrap_or(Path::new("python3"));
        match tool.registry {
            Registry::None => {
                Ok(Installed { interpreter: python.to_owned(), driver: "driver.py", programs: None })
            }
            Registry::Python => {
                let programs = directory.join("bin");
                let mut environment = Command::new(python);
                environment.args(["-m", "venv"]).arg(&directory);
                let mut packages = Command::new(programs.join("python"));
                packages.args(["-m", "pip", "install", "--disable-pip-version-check"]).args(tool.packages);
                once(tool, &directory, &version(python)?, [environment, packages])?;
                let interpreter = programs.join("python");
                Ok(Installed { interpreter, driver: "driver.py", programs: Some(programs) })
            }
            Registry::Npm => {
                let node = self.node.as_deref().unwrap_or(Path::new("node"));
                let npm = self.npm.as_deref().unwrap_or(Path::new("npm"));
                let mut packages = Command::new(npm);
                packages.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(&directory);
                packages.args(tool.packages);
                once(tool, &directory, &version(node)?, [packages])?;
                let programs = Some(directory.join("node_modules/.bin"));
                Ok(Installed { interpreter: node.to_owned(), driver: "driver.mjs", programs })
            }
        }
    }
}

fn version(interpreter: &Path) -> Result<String> {
    process::output(Command::new(interpreter).arg("--version"))
}

/// Runs the commands of an installation, unless they succeeded in a previous run with the same
/// packages and interpreter.
fn once<const N: usize>(
    tool: &Tool,
    directory: &Path,
    interpreter: &str,
    commands: [Command; N],
) -> Result<()> {
    let marker = directory.join("installed");
    let expected = format!("{interpreter}{}\n", tool.packages.join("\n"));
    if fs::read_to_string(&marker).is_ok_and(|found| found == expected) {
        return Ok(());
    }
    say(&format!("installing {} below {}", tool.packages.join(", "), directory.display()));
    if directory.exists() {
        fs::remove_dir_all(directory)?;
    }
    fs::create_dir_all(directory)?;
    let mut log = directory.to_owned().into_os_string();
    log.push(".log");
    let log = PathBuf::from(log);
    if log.exists() {
        fs::remove_file(&log)?;
    }
    for mut command in commands {
        let status = process::logged_within(&mut command, &log, LIMIT)?;
        if !status.success() {
            bail!("`{}` ended with {status}; its output is in {}", process::line(&command), log.display());
        }
    }
    fs::write(&marker, expected).with_context(|| format!("could not write {}", marker.display()))
}
