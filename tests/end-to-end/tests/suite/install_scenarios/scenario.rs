//! Reads a scenario from its file.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use std::fs;
use std::path::{Path, PathBuf};

use wardian_end_to_end::{Step, sections};
use wardian_registry_server::ServerDescription;

use crate::install_setup::{GitCommit, usual_content};

/// Commands in one directory. The format is the same as in the suite `scenarios`, with additional
/// sections:
///
/// ```text
/// The purpose of the scenario, if the name does not state it.
/// -- server --
/// {"providers": [{"address": "acme/fake", "versions": [{"version": "1.0.0"}]}]}
/// -- git net --
/// [{"files": {"main.tf": ""}, "tag": "v1.0.0"}]
/// -- place packed mirror example.test acme/fake 1.0.0 --
/// -- main.tf --
/// module "net" {
///   source = "git::[PLAIN]/git/net.git"
/// }
/// -- $ init --
/// env TF_PLUGIN_CACHE_DIR=[FOLDER]/cache
/// -- needs git-daemon --
/// -- hg zone --
/// [{"files": {"main.tf": ""}, "tag": "v1.0.0"}]
/// -- differs --
/// 1 + error Reported only by Wardian # reason
/// 1 - error Reported only by Terraform # reason
/// ```
///
/// `server` defines or replaces the content of the server; all other members have the values of
/// [`usual_content`]. `place` writes a package of the server to a filesystem mirror, `packed` or
/// `unpacked`. `git` creates a repository, which is available as `file://[FOLDER]/git/NAME.git`,
/// `[PLAIN]/git/NAME.git`, and with `needs git-daemon` as `[GIT]/NAME.git`. `hg` creates a
/// Mercurial repository in `[FOLDER]/hg/NAME`. With `needs sshd`, `[SSH]` is an SSH address of this
/// machine that accepts the key `[SSH_KEY]`. With `needs moto`, `[S3]` is an object store, in which
/// `object BUCKET KEY PATH` stores a file of the project, or the server's file `[FILES]/PATH`. The
/// CLI configuration is `home/cli.tfrc`.
#[derive(Debug)]
pub(super) struct InstallScenario {
    /// The group and the file's name without extension.
    pub(super) name: String,
    pub(super) steps: Vec<InstallStep>,
    pub(super) differences: Vec<InstallDifference>,
    /// Programs that must run: `git-daemon`, `sshd`, `moto`.
    pub(super) needs: Vec<String>,
    path: PathBuf,
}

#[derive(Debug)]
pub(super) enum InstallStep {
    /// A step that other suites also support.
    Usual(Step),
    /// The content of the server, with placeholders for addresses.
    Server(String),
    Repository {
        is_git: bool,
        name: String,
        commits: Vec<GitCommit>,
    },
    Object {
        bucket: String,
        key: String,
        file: String,
    },
    Place {
        is_packed: bool,
        directory: String,
        host: String,
        address: String,
        version: String,
    },
    CreateDirectory(String),
}

/// A line that occurs only in Terraform's or only in Wardian's answer.
#[derive(Debug)]
pub(super) struct InstallDifference {
    /// The number of the command, from 1.
    pub(super) command: usize,
    pub(super) is_ours: bool,
    pub(super) line: String,
}

impl InstallScenario {
    pub(super) fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let group = path.parent().unwrap().file_name().unwrap().to_string_lossy();
        let name = format!("{group}/{}", path.file_stem().unwrap().to_string_lossy());
        let mut scenario = Self {
            name,
            steps: Vec::new(),
            differences: Vec::new(),
            needs: Vec::new(),
            path: path.to_owned(),
        };
        for (title, content) in sections(&text).1 {
            scenario.add(&title, content);
        }
        let has_command =
            scenario.steps.iter().any(|step| matches!(step, InstallStep::Usual(Step::Command(_))));
        assert!(has_command, "{} has no commands", scenario.name);
        scenario
    }

    fn add(&mut self, title: &str, content: String) {
        let words: Vec<&str> = title.split(' ').collect();
        let step = match words[..] {
            ["differs"] => {
                self.differences = content.lines().map(|line| self.difference(line)).collect();
                return;
            }
            ["needs", program] => {
                self.needs.push(program.to_owned());
                return;
            }
            ["server"] => InstallStep::Server(content),
            ["git" | "hg", name] => {
                let commits = serde_json::from_str(&content);
                let commits = commits.unwrap_or_else(|error| panic!("{}: {title}: {error}", self.name));
                InstallStep::Repository { is_git: words[0] == "git", name: name.to_owned(), commits }
            }
            ["object", bucket, key, file] => {
                InstallStep::Object { bucket: bucket.to_owned(), key: key.to_owned(), file: file.to_owned() }
            }
            ["create", directory] => InstallStep::CreateDirectory(directory.to_owned()),
            ["place", form, directory, host, address, version] => InstallStep::Place {
                is_packed: form == "packed",
                directory: directory.to_owned(),
                host: host.to_owned(),
                address: address.to_owned(),
                version: version.to_owned(),
            },
            _ => match Step::from_section(title, &content) {
                Some(step) => InstallStep::Usual(step),
                None => panic!("{}: what is {title:?}?", self.name),
            },
        };
        self.steps.push(step);
    }

    fn difference(&self, text: &str) -> InstallDifference {
        let (line, reason) = text.split_once(" # ").unwrap_or((text, ""));
        assert!(!reason.is_empty(), "{}: a difference needs a reason: {text}", self.name);
        let mut parts = line.splitn(3, ' ');
        let command = parts.next().and_then(|number| number.parse().ok());
        match (command, parts.next(), parts.next()) {
            (Some(command), Some(side @ ("+" | "-")), Some(line)) => {
                InstallDifference { command, is_ours: side == "+", line: line.to_owned() }
            }
            _ => panic!("{}: a difference is a number, + or -, and a line: {text}", self.name),
        }
    }

    /// Returns the recorded answer, or an empty string.
    pub(super) fn answer(&self) -> String {
        fs::read_to_string(self.path.with_extension("answer")).unwrap_or_default()
    }

    pub(super) fn write_answer(&self, answer: &str) {
        fs::write(self.path.with_extension("answer"), answer).unwrap();
    }
}

/// Returns the content of a server from a section: the usual content, in which the section's
/// members replace the members of the same names.
pub(super) fn content(name: &str, text: &str) -> ServerDescription {
    let described: ServerDescription =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error} in\n{text}"));
    let usual = usual_content();
    ServerDescription {
        providers: if described.providers.is_empty() { usual.providers } else { described.providers },
        modules: if described.modules.is_empty() { usual.modules } else { described.modules },
        ..described
    }
}
