//! Runs the steps of a scenario with Terraform or Wardian.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use std::fs;
use std::path::Path;
use std::time::Duration;

use wardian_end_to_end::{CommandLine, Output, Program, Step};

use super::answer::{self, Files};
use super::programs::{Programs, create_mercurial_repository};
use super::scenario::{InstallScenario, InstallStep, content};
use crate::install_setup::{Installation, create_repository, output_within, usual_content};

/// The time limit of a command.
const LIMIT: Duration = Duration::from_mins(2);

/// Runs all steps and returns the results of the commands; `None` if a program is missing.
pub(super) fn all_steps(program: &Program, scenario: &InstallScenario) -> Option<String> {
    let installation = Installation::new(usual_content(), &[]);
    let git = installation.project.path("git");
    fs::create_dir_all(&git).unwrap();
    serve_git(&installation, &git);
    let programs = Programs::start(&scenario.needs, &git)?;
    let replaced = |text: &str| programs.replaced(&installation.replaced(text));
    let mut results = String::new();
    for step in &scenario.steps {
        match step {
            InstallStep::Server(text) => {
                installation.server.update(content(&scenario.name, &replaced(text)));
                serve_git(&installation, &git);
            }
            InstallStep::Repository { is_git: true, name, commits } => create_repository(&git, name, commits),
            InstallStep::Repository { name, commits, .. } => {
                create_mercurial_repository(&installation.project.path("hg"), name, commits)?;
            }
            InstallStep::Object { bucket, key, file } => {
                let content = match file.strip_prefix("[FILES]/") {
                    Some(path) => installation.server.file(path).unwrap(),
                    None => fs::read(installation.project.path(file)).unwrap(),
                };
                programs.store(bucket, key, &content);
            }
            InstallStep::Place { is_packed, directory, host, address, version } => {
                installation.place(directory, host, address, version, *is_packed);
            }
            InstallStep::CreateDirectory(path) => {
                fs::create_dir_all(installation.project.path(path)).unwrap();
            }
            InstallStep::Usual(Step::Command(command)) => {
                let before = Files::read(&installation);
                let output = run(program, &installation, command, &replaced);
                let after = Files::read(&installation);
                let result = answer::of_command(&installation, &command.line, &output, &before, &after);
                results.push_str(&programs.named(&result));
            }
            InstallStep::Usual(Step::Write { path, text, encoding }) => {
                let step = Step::Write { path: replaced(path), text: replaced(text), encoding: *encoding };
                step.change_files(&installation.project);
            }
            InstallStep::Usual(Step::Remove { path }) => remove(&installation.project.path(&replaced(path))),
            InstallStep::Usual(step) => step.change_files(&installation.project),
        }
    }
    Some(results)
}

/// Removes a file, or a directory with its content. A missing file is not an error: if a failed
/// command did not create it, the results of the commands show the failure.
fn remove(path: &Path) {
    if path.symlink_metadata().is_err() {
        return;
    }
    let is_directory = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    let removed = if is_directory { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    assert!(removed.is_ok(), "{}: {removed:?}", path.display());
}

/// Adds the directory of repositories to the content of the server.
fn serve_git(installation: &Installation, git: &Path) {
    let mut description = installation.server.description();
    description.git = Some(git.to_owned());
    installation.server.update(description);
}

fn run(
    program: &Program,
    installation: &Installation,
    command: &CommandLine,
    replaced: &impl Fn(&str) -> String,
) -> Output {
    let mut process = program.command(&installation.project, &replaced(&command.line));
    process
        .env("NO_COLOR", "1")
        .env("XDG_CACHE_HOME", installation.cache.path())
        .envs(installation.variables());
    for (name, value) in &command.variables {
        process.env(name, replaced(value));
    }
    let line = &command.line;
    output_within(process, &command.input, LIMIT)
        .unwrap_or_else(|| panic!("`{line}` ran for longer than {} s", LIMIT.as_secs()))
}
