//! Reads a scenario from its file.

use std::fs;
use std::path::{Path, PathBuf};

/// Steps in one directory. The file format:
///
/// ```text
/// The purpose of the scenario, if the name does not state it.
/// -- main.tf --
/// resource "terraform_data" "a" {}
/// -- $ apply --
/// env TF_VAR_size=2
/// input yes
/// -- main.tf --
/// -- $ plan -out=p --
/// -- remove main.tf --
/// -- copy terraform.tfstate earlier.json --
/// -- differs --
/// 1 + error main.tf:2 Reported only by Wardian # reason
/// 1 - error main.tf:2 Reported only by Terraform # reason
/// -- by hand --
/// The reason why Terraform cannot produce the answer.
/// ```
///
/// A plan that is saved as `NAME` by `-out=NAME` is shown as JSON directly after it. If a
/// configuration calls modules, `init` runs before the first command after a change, and its result
/// is not recorded.
#[derive(Debug)]
pub struct Scenario {
    /// The group and the file's name without extension.
    pub name: String,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Lines that occur only in Terraform's or only in Wardian's answer.
    pub differences: Vec<Difference>,
    /// The reason for a handwritten answer.
    pub by_hand: Option<String>,
    path: PathBuf,
}

#[derive(Debug)]
pub enum Step {
    Write { path: String, text: String },
    Remove { path: String },
    Copy { from: String, to: String },
    Command(CommandLine),
}

/// A command line, its environment variables and its input.
#[derive(Debug, Default)]
pub struct CommandLine {
    /// The arguments, separated by spaces.
    pub line: String,
    pub variables: Vec<(String, String)>,
    pub input: String,
    /// Whether the order of steps is compared, because the command performs no steps concurrently.
    pub in_order: bool,
}

/// A line that occurs only in Terraform's or only in Wardian's answer.
#[derive(Debug)]
pub struct Difference {
    /// The number of the command, from 1.
    pub command: usize,
    pub side: Side,
    pub line: String,
}

/// Terraform's or Wardian's answer, which contains a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Ours,
    Terraform,
}

impl Scenario {
    pub fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let group = path.parent().unwrap().file_name().unwrap().to_string_lossy();
        let name = format!("{group}/{}", path.file_stem().unwrap().to_string_lossy());
        let mut sections: Vec<(&str, String)> = Vec::new();
        for line in text.split_inclusive('\n') {
            let title = line.trim_end().strip_prefix("-- ").and_then(|rest| rest.strip_suffix(" --"));
            match (title, sections.last_mut()) {
                (Some(title), _) => sections.push((title, String::new())),
                (None, Some((_, content))) => content.push_str(line),
                (None, None) => {}
            }
        }
        let mut scenario =
            Self { name, steps: Vec::new(), differences: Vec::new(), by_hand: None, path: path.to_owned() };
        for (title, content) in sections {
            scenario.add(title, content);
        }
        assert!(scenario.commands().next().is_some(), "{} has no commands", scenario.name);
        scenario
    }

    fn add(&mut self, title: &str, content: String) {
        let words: Vec<&str> = title.split(' ').collect();
        match *words {
            ["$", ..] => self.steps.push(Step::Command(self.command(title[1..].trim(), &content))),
            ["differs"] => self.differences = content.lines().map(|line| self.difference(line)).collect(),
            ["by", "hand"] => self.by_hand = Some(content),
            ["remove", path] => self.steps.push(Step::Remove { path: path.to_owned() }),
            ["copy", from, to] => self.steps.push(Step::Copy { from: from.to_owned(), to: to.to_owned() }),
            [path] => self.steps.push(Step::Write { path: path.to_owned(), text: content }),
            _ => panic!("{}: what is {title:?}?", self.name),
        }
    }

    fn command(&self, line: &str, content: &str) -> CommandLine {
        let mut command = CommandLine { line: line.to_owned(), ..CommandLine::default() };
        for option in content.lines().filter(|line| !line.is_empty()) {
            match option.split_once(' ') {
                Some(("env", variable)) => {
                    let (name, value) = variable.split_once('=').unwrap();
                    command.variables.push((name.to_owned(), value.to_owned()));
                }
                Some(("input", text)) => {
                    command.input.push_str(text);
                    command.input.push('\n');
                }
                Some(("in", "order")) => command.in_order = true,
                _ => panic!("{}: what is {option:?}?", self.name),
            }
        }
        command
    }

    fn difference(&self, text: &str) -> Difference {
        let (said, reason) = text.split_once(" # ").unwrap_or((text, ""));
        assert!(!reason.is_empty(), "{}: a difference needs a reason: {text}", self.name);
        let mut parts = said.splitn(3, ' ');
        let command = parts.next().and_then(|number| number.parse().ok());
        let side = match parts.next() {
            Some("+") => Some(Side::Ours),
            Some("-") => Some(Side::Terraform),
            _ => None,
        };
        match (command, side, parts.next()) {
            (Some(command), Some(side), Some(line)) => Difference { command, side, line: line.to_owned() },
            _ => panic!("{}: a difference is a number, + or -, and a line: {text}", self.name),
        }
    }

    pub fn commands(&self) -> impl Iterator<Item = &CommandLine> {
        self.steps.iter().filter_map(|step| match step {
            Step::Command(command) => Some(command),
            _ => None,
        })
    }

    /// Returns the recorded answer, or an empty string.
    pub fn answer(&self) -> String {
        fs::read_to_string(self.answer_path()).unwrap_or_default()
    }

    /// Records an answer.
    pub fn write_answer(&self, answer: &str) {
        fs::write(self.answer_path(), answer).unwrap();
    }

    fn answer_path(&self) -> PathBuf {
        self.path.with_extension("answer")
    }
}
