//! A directory with a configuration, in which a test runs commands.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::filters;
use crate::program::{Running, binary};

/// A temporary directory, removed when dropped.
#[derive(Debug)]
pub struct Project {
    folder: TempDir,
}

/// The visible result of a command.
#[derive(Debug, Clone)]
pub struct Seen {
    pub line: String,
    /// The exit code; [`None`] if a signal terminated the command.
    pub code: Option<i32>,
    /// Standard output, filtered.
    pub out: String,
    /// Standard error, filtered.
    pub errors: String,
}

impl Seen {
    /// Formats the result as a snapshot.
    pub fn text(&self) -> String {
        let code = self.code.map_or("none".to_owned(), |code| code.to_string());
        let mut text = format!("$ {}\nexit code: {code}\n", self.line);
        for (name, content) in [("stdout", &self.out), ("stderr", &self.errors)] {
            if !content.is_empty() {
                let _ = write!(text, "----- {name}\n{content}");
                if !content.ends_with('\n') {
                    text.push_str("⏎\n");
                }
            }
        }
        text
    }

    /// Asserts that the command succeeded.
    ///
    /// # Panics
    /// Panics if the command failed. The message contains its output.
    #[track_caller]
    pub fn success(self) -> Self {
        self.ended_with(0)
    }

    /// Like [`Seen::success`], with a different exit code.
    ///
    /// # Panics
    /// Panics if the command exited with a different code.
    #[track_caller]
    pub fn ended_with(self, code: i32) -> Self {
        assert!(self.code == Some(code), "{code} was expected:\n{}", self.text());
        self
    }
}

impl Project {
    /// Creates a directory with these files.
    ///
    /// # Panics
    /// Panics if the directory cannot be created.
    pub fn new(files: &[(&str, &str)]) -> Self {
        #[expect(clippy::expect_used, reason = "a test requires a directory")]
        let folder = tempfile::Builder::new().prefix("wardian-").tempdir().expect("a directory for the test");
        let project = Self { folder };
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    /// Copies the directory.
    ///
    /// # Panics
    /// Panics if a file cannot be copied.
    pub fn copied(&self) -> Self {
        let copy = Self::new(&[]);
        let result = copy_tree(&self.path(""), &copy.path(""));
        assert!(result.is_ok(), "the project cannot be copied: {result:?}");
        copy
    }

    /// Returns the path of a file in the directory.
    pub fn path(&self, relative: &str) -> PathBuf {
        if relative.is_empty() { self.folder.path().to_owned() } else { self.folder.path().join(relative) }
    }

    /// Writes a file and creates its parent directories.
    ///
    /// # Panics
    /// Panics if the file cannot be written.
    pub fn write(&self, relative: &str, content: impl AsRef<[u8]>) {
        let path = self.path(relative);
        let written = path
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(&path, content.as_ref()));
        assert!(written.is_ok(), "{}: {written:?}", path.display());
    }

    /// Returns a file's text; empty if it does not exist.
    pub fn read(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap_or_default()
    }

    /// Returns whether a file exists.
    pub fn has(&self, relative: &str) -> bool {
        self.path(relative).exists()
    }

    /// Returns the state file; null if there is none.
    pub fn state(&self) -> Value {
        serde_json::from_str(&self.read("terraform.tfstate")).unwrap_or_default()
    }

    /// Runs `wardian` with arguments separated by spaces.
    pub fn run(&self, line: &str) -> Seen {
        self.run_with(line, "", &[])
    }

    /// Like [`Project::run`], with standard input and environment variables.
    pub fn run_with(&self, line: &str, input: &str, variables: &[(&str, &str)]) -> Seen {
        let mut command = self.command(line);
        command.envs(variables.iter().copied());
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        #[expect(clippy::expect_used, reason = "the command is needed for the test")]
        let mut child = child.expect("wardian starts");
        if let Some(mut stdin) = child.stdin.take() {
            // A command that does not read its input may already have exited.
            let _ = stdin.write_all(input.as_bytes());
        }
        #[expect(clippy::expect_used, reason = "the command is needed for the test")]
        let output = child.wait_with_output().expect("wardian ends");
        let filtered = |bytes: &[u8]| self.filtered(&String::from_utf8_lossy(bytes));
        Seen {
            line: format!("wardian {line}").trim_end().to_owned(),
            code: output.status.code(),
            out: filtered(&output.stdout),
            errors: filtered(&output.stderr),
        }
    }

    /// Starts `wardian` and returns while it runs.
    ///
    /// # Panics
    /// Panics if `wardian` cannot be started.
    pub fn start(&self, line: &str) -> Running {
        let child =
            self.command(line).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        #[expect(clippy::expect_used, reason = "the command is needed for the test")]
        Running::new(child.expect("wardian starts"))
    }

    /// Replaces text that differs from run to run.
    pub fn filtered(&self, text: &str) -> String {
        filters::apply(text, &[(&self.path(""), "[FOLDER]")])
    }

    /// Builds a `wardian` command with the given arguments.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(binary());
        command.args(words(line)).current_dir(self.path(""));
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if ["TF_", "WARDIAN_", "XDG_", "NO_COLOR", "COLUMNS"].iter().any(|mine| name.starts_with(mine)) {
                command.env_remove(&*name);
            }
        }
        let common = common();
        command
            .env("HOME", self.path("home"))
            .env("USER", "tester")
            .env("XDG_CACHE_HOME", common.join("cache"))
            .env("XDG_DATA_HOME", common.join("data"))
            .env("XDG_DATA_DIRS", common.join("none"))
            // No test sends requests to a public registry.
            .env("WARDIAN_OFFLINE", "1");
        command
    }
}

/// Returns the directory of compiled plugins that all tests share.
fn common() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/end-to-end")
}

/// Copies the entries of a directory. Links are copied as links.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, path, target) = (entry.file_type()?, entry.path(), to.join(entry.file_name()));
        if kind.is_symlink() {
            symlink(fs::read_link(&path)?, &target)?;
        } else if kind.is_dir() {
            fs::create_dir(&target)?;
            copy_tree(&path, &target)?;
        } else {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

/// Splits a line into words like a shell. Of the shell's syntax, only `'…'` is supported.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(ToOwned::to_owned));
        }
    }
    words
}
