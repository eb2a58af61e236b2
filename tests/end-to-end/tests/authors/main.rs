//! Executes the tutorial for plugin authors, `docs/authors.md`, word for word in an empty directory.
//!
//! The test builds a plugin as an author does, so it needs cargo, rustc with the target
//! `wasm32-wasip2` and the package registry. If one of them is missing, it prints the reason and is
//! skipped.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

mod tutorial;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tutorial::Part;
use wardian_end_to_end::{Project, binary, component_toolchain};

/// The file in which the shell leaves its directory for the next command.
const DIRECTORY_FILE: &str = ".directory-of-the-shell";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The environment variables of [`component_toolchain`].
type Toolchain = [(&'static str, PathBuf); 2];

/// A reader's shell.
struct Reader {
    home: Project,
    directory: PathBuf,
    toolchain: Toolchain,
}

impl Reader {
    fn new(toolchain: Toolchain) -> Self {
        let home = Project::new(&[]);
        fs::create_dir(home.path("work")).unwrap();
        // The reader has a clone of this repository in the home directory.
        fs::create_dir(home.path("home")).unwrap();
        symlink(root(), home.path("home/wardian")).unwrap();
        let directory = home.path("work");
        Self { home, directory, toolchain }
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.directory.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Runs a command and returns what it prints.
    fn run(&mut self, line: usize, command: &str) -> String {
        let file = self.home.path(DIRECTORY_FILE);
        let script = format!("exec 2>&1; {command}\ncode=$?; pwd > '{}'; exit $code", file.display());
        let mut shell = self.shell();
        let output = shell.arg("-c").arg(script).stdin(Stdio::null()).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "line {line}: `{command}` failed:\n{printed}");
        self.directory = fs::read_to_string(file).unwrap().trim_end().into();
        // The versions in this repository's lock file are those that other tests have compiled.
        if self.directory.join("Cargo.toml").exists() && !self.directory.join("Cargo.lock").exists() {
            fs::copy(root().join("Cargo.lock"), self.directory.join("Cargo.lock")).unwrap();
        }
        printed
    }

    fn shell(&self) -> Command {
        let mut path = binary().parent().unwrap().as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut shell = Command::new("bash");
        for (name, value) in self.home.command("").get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell
            .current_dir(&self.directory)
            .env("PATH", path)
            .envs(self.toolchain.clone())
            .env("CARGO_TERM_COLOR", "never")
            // The tests of the commands for authors use the same results, so libraries are compiled once.
            .env("CARGO_BUILD_BUILD_DIR", root().join("target/end-to-end/authoring"))
            .env_remove("WARDIAN_OFFLINE")
            .env_remove("CARGO_TARGET_DIR");
        shell
    }
}

#[test]
fn tutorial_works_word_for_word() {
    let Some(toolchain) = component_toolchain() else { return };
    let document = fs::read_to_string(root().join("docs/authors.md")).unwrap();
    let mut reader = Reader::new(toolchain);
    for part in tutorial::parts(&document).unwrap() {
        match part {
            Part::File { path, content } => reader.write(&path, &content),
            Part::Command { line, command, output } => {
                let printed = reader.run(line, &command);
                assert!(
                    tutorial::matches(&output, &printed),
                    "docs/authors.md:{line}: `{command}` printed:\n{printed}\nThe page has:\n{}",
                    output.join("\n")
                );
            }
        }
    }
}
