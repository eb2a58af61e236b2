//! Reads a case from its file.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use wardian_end_to_end::{Step, sections};

use crate::answer::{Answer, NOWHERE};

/// One configuration and its expected diagnostics. The format of its file:
///
/// ```text
/// The purpose of the case, if the name does not state it.
/// -- main.tf --
/// output "a" {
///   value = var.a
/// }
/// -- provider example/acme 1.2.3 --
/// { "resource_schemas": {} }
/// -- answer --
/// invalid
/// error main.tf:2 Reference to undeclared input variable
/// -- differs --
/// + warning main.tf:1 Reported only by Wardian # reason
/// - error main.tf:2 Reported only by Terraform # reason
/// ```
#[derive(Debug)]
pub struct Case {
    /// The file's name without extension.
    pub name: String,
    /// The paths and contents of the files.
    pub files: Vec<(String, String)>,
    /// Mock providers.
    pub providers: Vec<Step>,
    /// Terraform's diagnostics.
    pub answer: Answer,
    /// Lines that only Terraform or only Wardian reports.
    pub differences: Vec<Difference>,
    path: PathBuf,
    /// The text before the recorded answer, verbatim.
    before: String,
    /// The text after the recorded answer, verbatim.
    behind: String,
}

/// A line that only Terraform or only Wardian reports.
#[derive(Debug)]
pub enum Difference {
    /// A line that only Wardian reports.
    Added(String),
    /// A line that only Terraform reports.
    Left(String),
}

impl Case {
    pub fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let mut case = Self {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            files: Vec::new(),
            providers: Vec::new(),
            answer: Answer::default(),
            differences: Vec::new(),
            path: path.to_owned(),
            before: String::new(),
            behind: String::new(),
        };
        let (before, sections) = sections(&text);
        case.before = before;
        for (title, content) in sections {
            match &*title {
                "answer" => case.answer = Answer::from_record(&content),
                "differs" => {
                    case.differences = content.lines().map(difference).collect();
                    case.behind = format!("-- differs --\n{content}");
                }
                _ => {
                    let _ = write!(case.before, "-- {title} --\n{content}");
                    match Step::from_section(&title, &content) {
                        Some(provider @ Step::Provider { .. }) => case.providers.push(provider),
                        _ => case.files.push((title, content)),
                    }
                }
            }
        }
        assert!(!case.files.is_empty(), "{} has no files", case.name);
        case
    }

    /// Writes the case with a new answer.
    pub fn rewrite(&self, answer: &Answer) {
        fs::write(&self.path, format!("{}-- answer --\n{answer}{}", self.before, self.behind)).unwrap();
    }

    /// Returns the difference between an answer and the expected answer.
    pub fn compare(&self, ours: &Answer) -> Option<String> {
        let mut expected = self.answer.lines.clone();
        let mut report = String::new();
        for difference in &self.differences {
            match difference {
                Difference::Added(line) => expected.push(line.clone()),
                Difference::Left(line) => match expected.iter().position(|known| known == line) {
                    Some(index) => drop(expected.remove(index)),
                    None => writeln!(report, "  not in the answer: {line}").unwrap(),
                },
            }
        }
        if ours.verdict != self.answer.verdict {
            writeln!(report, "  the verdict is: {}", ours.verdict).unwrap();
        }
        let mut rest = ours.lines.clone();
        for line in &expected {
            match rest.iter().position(|said| is_same(line, said)) {
                Some(index) => drop(rest.remove(index)),
                None => writeln!(report, "  missing: {line}").unwrap(),
            }
        }
        for line in rest {
            writeln!(report, "  too much: {line}").unwrap();
        }
        (!report.is_empty()).then_some(report)
    }
}

/// Returns whether two lines are equal. A position that Terraform does not report is not a
/// difference.
fn is_same(expected: &str, said: &str) -> bool {
    let placeless = || {
        let (severity, rest) = said.split_once(' ')?;
        let (_, summary) = rest.split_once(' ')?;
        Some(format!("{severity} {NOWHERE} {summary}"))
    };
    expected == said || placeless().is_some_and(|said| said == expected)
}

fn difference(line: &str) -> Difference {
    let (said, reason) = line.split_once(" # ").unwrap_or((line, ""));
    assert!(!reason.is_empty(), "a difference needs a reason: {line}");
    match said.split_at_checked(2) {
        Some(("+ ", said)) => Difference::Added(said.to_owned()),
        Some(("- ", said)) => Difference::Left(said.to_owned()),
        _ => panic!("a difference begins with + or -: {line}"),
    }
}
