//! Runs the steps of a scenario with Terraform or Wardian.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use wardian_end_to_end::{CommandLine, Output, Program, Step};

use super::answer::{self, Files};
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
    let daemon = if scenario.needs_git_daemon { Some(GitDaemon::start(&git)?) } else { None };
    let replaced = |text: &str| {
        let text = installation.replaced(text);
        daemon.as_ref().map_or(text.clone(), |daemon| text.replace("[GIT]", &daemon.url()))
    };
    let mut results = String::new();
    for step in &scenario.steps {
        match step {
            InstallStep::Server(text) => {
                installation.server.update(content(&scenario.name, &replaced(text)));
                serve_git(&installation, &git);
            }
            InstallStep::Git { name, commits } => create_repository(&git, name, commits),
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
                results.push_str(
                    &daemon.as_ref().map_or(result.clone(), |daemon| result.replace(&daemon.url(), "[GIT]")),
                );
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

/// Removes a file, or a directory with its content. If a failed command did not create it, the
/// results of the commands show the failure.
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

/// A running `git daemon`.
struct GitDaemon {
    process: Child,
    port: u16,
}

impl GitDaemon {
    /// Starts a daemon; returns `None` if git has none.
    fn start(directory: &Path) -> Option<Self> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let mut process = Command::new("git")
            .args(["daemon", "--listen=127.0.0.1", "--export-all", "--reuseaddr"])
            .arg(format!("--port={port}"))
            .arg(format!("--base-path={}", directory.display()))
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "safe.directory")
            .env("GIT_CONFIG_VALUE_0", "*")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let started = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if !matches!(process.try_wait(), Ok(None)) || started.elapsed() > Duration::from_secs(30) {
                println!("skipped: `git daemon` does not run");
                let _ = process.kill();
                return None;
            }
            sleep(Duration::from_millis(10));
        }
        Some(Self { process, port })
    }

    fn url(&self) -> String {
        format!("git://127.0.0.1:{}", self.port)
    }
}

impl Drop for GitDaemon {
    fn drop(&mut self) {
        // `git daemon` starts another process, which ends with the signal that this one passes on.
        if let Some(id) = i32::try_from(self.process.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        }
        let _ = self.process.wait();
    }
}
