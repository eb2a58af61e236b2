//! Builds and tests a provider in Python: `componentize-py` builds the component, and CPython runs the tests
//! with the module `unittest`.
//!
//! The environment `.venv` of the project is used if it exists, and otherwise the programs in `PATH`, which
//! an activated environment precedes. The interface definitions are in the package of the SDK.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::program::Program;
use super::settings::Settings;
use super::{Project, ProjectError, SDK_WORLD};

const PYTHON: Program =
    Program { name: "python3", remedy: "install Python 3.11 or newer (https://www.python.org/downloads)" };

const COMPONENTIZE: Program = Program { name: "componentize-py", remedy: INSTALL };

const INSTALL: &str =
    "install the dependencies with `python3 -m venv .venv` and `.venv/bin/pip install --editable '.[dev]'`";

/// The module that exports the provider, if the settings name no other.
const COMPONENT: &str = "component";

/// Directories of programs in the environment, on Unix and on Windows.
const PROGRAM_DIRECTORIES: [&str; 2] = [".venv/bin", ".venv/Scripts"];

/// Prints the directory of the SDK's package, or null, and that of the installed packages.
const LOCATE: &str = "import importlib.util, json, os, sysconfig
sdk = importlib.util.find_spec('wardian_sdk')
print(json.dumps({'sdk': sdk and os.path.dirname(sdk.origin), 'packages': sysconfig.get_paths()['purelib']}))";

#[derive(Deserialize)]
struct Located {
    sdk: Option<PathBuf>,
    packages: PathBuf,
}

/// Whether a file or directory with this name is not a source.
pub(super) fn is_result(name: &str) -> bool {
    matches!(name, ".venv" | "__pycache__" | ".mypy_cache" | ".pytest_cache" | ".ruff_cache")
        || name.ends_with(".egg-info")
}

/// Builds the component.
pub(super) async fn build(project: &Project, settings: &Settings, file: &Path) -> Result<(), ProjectError> {
    let located = locate(project).await?;
    let Some(sdk) = located.sdk.filter(|sdk| sdk.join("wit").is_dir()) else {
        return Err(ProjectError::NoPackageInstalled {
            package: "wardian-sdk",
            directory: project.directory.clone(),
            remedy: INSTALL,
        });
    };
    let compiler = program(project, &COMPONENTIZE, COMPONENTIZE.name);
    let mut command = Program::command(&compiler, &project.directory, &["--wit-path"]);
    command.arg(sdk.join("wit")).args(["--world", SDK_WORLD, "componentize"]);
    command.arg(settings.component.as_deref().unwrap_or(COMPONENT));
    let own = sdk.parent().unwrap_or(&sdk);
    for directory in [&project.directory, &located.packages] {
        command.arg("--python-path").arg(directory);
    }
    if own != located.packages {
        command.arg("--python-path").arg(own);
    }
    let output = COMPONENTIZE.run(command.arg("--output").arg(file), &mut |_| ()).await?;
    output.checked(|output| ProjectError::Build { program: COMPONENTIZE.name, output }).map(drop)
}

/// Finds the packages of the project's environment.
async fn locate(project: &Project) -> Result<Located, ProjectError> {
    let python = program(project, &PYTHON, "python");
    let mut command = Program::command(&python, &project.directory, &["-c", LOCATE]);
    let output = PYTHON.run(&mut command, &mut |_| ()).await?;
    serde_json::from_str(&output.stdout)
        .map_err(|_| ProjectError::Build { program: PYTHON.name, output: output.both() })
}

/// Runs the tests, and returns their number.
pub(super) async fn test(project: &Project) -> Result<Option<usize>, ProjectError> {
    let python = program(project, &PYTHON, "python");
    let mut command = Program::command(&python, &project.directory, &["-B", "-m", "unittest"]);
    let output = PYTHON.run(&mut command, &mut |_| ()).await?;
    let output = output.checked(|output| ProjectError::Tests { program: PYTHON.name, output })?;
    Ok(run_tests(&output.stderr))
}

/// Returns the file of a program in the project's environment, or else its name.
fn program(project: &Project, program: &Program, name_in_environment: &str) -> PathBuf {
    let file = format!("{name_in_environment}{}", std::env::consts::EXE_SUFFIX);
    PROGRAM_DIRECTORIES
        .iter()
        .map(|directory| project.directory.join(directory).join(&file))
        .find(|path| path.exists())
        .unwrap_or_else(|| PathBuf::from(program.name))
}

/// Returns the number in the line `Ran 3 tests in 0.001s`.
fn run_tests(stderr: &str) -> Option<usize> {
    let summary = stderr.lines().rev().find_map(|line| line.strip_prefix("Ran "))?;
    summary.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_tests_is_read_from_the_summary() {
        let stderr = "...\n----------\nRan 3 tests in 0.001s\n\nOK\n";
        assert_eq!(run_tests(stderr), Some(3));
        assert_eq!(run_tests("Ran 1 test in 0.001s\n\nOK\n"), Some(1));
        assert_eq!(run_tests("OK\n"), None);
    }

    #[test]
    fn files_of_tools_are_not_sources() {
        for name in [".venv", "__pycache__", "terraform_provider_dns.egg-info"] {
            assert!(is_result(name), "{name}");
        }
        assert!(!is_result("component.py"));
    }
}
