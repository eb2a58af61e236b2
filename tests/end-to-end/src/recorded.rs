//! Compares the results of `wardian` commands with recorded results of Terraform.
//!
//! The cases of a command and Terraform's results are in one JSON file. With `WARDIAN_RECORD=1`,
//! and `terraform` on PATH, the results are recorded again.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::Project;

/// The environment variable that requests recording.
const RECORD: &str = "WARDIAN_RECORD";

/// One command line, run in a separate directory.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Case {
    /// The directory's files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    files: BTreeMap<String, String>,
    /// Commands to run first. Their results are ignored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    before: Vec<String>,
    /// Files to replace after each `apply` of these commands.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    then: BTreeMap<String, String>,
    /// The command, its arguments separated by spaces.
    line: String,
    /// Environment variables of all commands.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    variables: BTreeMap<String, String>,
    /// The command's standard input.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    input: String,
    /// The reason why the result does not match yet; empty if the result must match. A case with a
    /// reason that matches is also an error: the outdated reason must be removed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    open: String,
    #[serde(default)]
    answer: Answer,
}

/// A recorded result: the standard output of a command, and the files that it changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
struct Answer {
    code: i32,
    out: String,
    /// Files that were changed or created.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    changed: BTreeMap<String, String>,
}

/// Compares the results of all cases in a file below `tests/recorded`. Before that, `shape` removes
/// text that may differ.
///
/// # Panics
/// Panics if a result differs, or cannot be recorded.
pub fn assert_recorded(name: &str, shape: impl Fn(String) -> String) {
    assert_recorded_with_files(name, shape, |path, text| Some((path.to_owned(), text.to_owned())));
}

/// The same as [`assert_recorded`]. For each file that was changed or created, `file` returns the
/// path and text to compare, or `None` to ignore the file.
///
/// # Panics
/// Panics under the same conditions as [`assert_recorded`].
pub fn assert_recorded_with_files(
    name: &str,
    shape: impl Fn(String) -> String,
    file: impl Fn(&str, &str) -> Option<(String, String)>,
) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded").join(format!("{name}.json"));
    let text = fs::read_to_string(&path).unwrap_or_default();
    let cases: Result<Vec<Case>, _> = serde_json::from_str(&text);
    assert!(cases.is_ok(), "{}: {cases:?}", path.display());
    let mut cases = cases.unwrap_or_default();
    assert!(!cases.is_empty(), "{} has no cases", path.display());
    if std::env::var_os(RECORD).is_some() {
        for case in &mut cases {
            case.answer = case.asked_of("terraform");
        }
        let text = serde_json::to_string_pretty(&cases).unwrap_or_default();
        let written = fs::write(&path, text + "\n");
        assert!(written.is_ok(), "{}: {written:?}", path.display());
    }
    let mut wrong = Vec::new();
    for case in &cases {
        let mut seen = case.asked_of_wardian();
        let mut expected = case.answer.clone();
        seen.out = shape(seen.out);
        expected.out = shape(expected.out);
        for answer in [&mut seen, &mut expected] {
            answer.changed = answer.changed.iter().filter_map(|(path, text)| file(path, text)).collect();
        }
        if !case.open.is_empty() {
            if seen == expected {
                wrong.push(format!(
                    "wardian {}\nhas the recorded result now; remove its `open` entry",
                    case.line
                ));
            }
        } else if seen != expected {
            wrong.push(format!(
                "wardian {}\n{}\nexpected: {expected:#?}\nseen: {seen:#?}",
                case.line, case.input
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n\n"));
}

impl Case {
    fn project(&self) -> Project {
        let project = Project::new(&[]);
        for (path, text) in &self.files {
            project.write(path, text);
        }
        project
    }

    /// Writes the files of `then` if the command is an `apply`.
    fn write_then(&self, project: &Project, line: &str) {
        if line.starts_with("apply") {
            for (path, text) in &self.then {
                project.write(path, text);
            }
        }
    }

    fn asked_of_wardian(&self) -> Answer {
        let project = self.project();
        let variables: Vec<(&str, &str)> =
            self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        for line in &self.before {
            project.run_with(line, "", &variables);
            self.write_then(&project, line);
        }
        let seen = project.run_with(&self.line, &self.input, &variables);
        Answer { code: seen.code.unwrap_or(-1), out: seen.out, changed: self.changed(&project) }
    }

    /// # Panics
    /// Panics if the program cannot be run.
    fn asked_of(&self, program: &str) -> Answer {
        let project = self.project();
        let mut answer = Answer::default();
        for line in self.before.iter().chain([&self.line]) {
            let mut command = Command::new(program);
            for (name, _) in std::env::vars_os() {
                if name.to_string_lossy().starts_with("TF_") {
                    command.env_remove(name);
                }
            }
            let child = command
                .args(line.split_whitespace())
                .current_dir(project.path(""))
                .env("CHECKPOINT_DISABLE", "1")
                .env("HOME", project.path("home"))
                .env("NO_COLOR", "1")
                .envs(&self.variables)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn();
            #[expect(clippy::expect_used, reason = "the program is needed to record")]
            let mut child = child.expect("the program starts");
            if let Some(mut stdin) = child.stdin.take() {
                // A command that does not read its input may already have exited.
                let _ = stdin.write_all(self.input.as_bytes());
            }
            #[expect(clippy::expect_used, reason = "the program is needed to record")]
            let output = child.wait_with_output().expect("the program ends");
            answer.code = output.status.code().unwrap_or(-1);
            answer.out = project.filtered(&String::from_utf8_lossy(&output.stdout));
            self.write_then(&project, line);
        }
        answer.changed = self.changed(&project);
        answer
    }

    fn changed(&self, project: &Project) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        files_below(&project.path(""), "", &mut found);
        found.retain(|path, text| self.files.get(path) != Some(text));
        for text in found.values_mut() {
            *text = project.filtered(text);
        }
        found
    }
}

/// Collects the text of every file below a directory, except the files of the home directory.
fn files_below(folder: &Path, prefix: &str, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && name != "home" {
            files_below(&entry.path(), &format!("{name}/"), found);
        } else if !is_folder {
            found.insert(name, fs::read_to_string(entry.path()).unwrap_or_default());
        }
    }
}
