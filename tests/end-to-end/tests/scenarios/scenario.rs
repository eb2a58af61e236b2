//! Reads a scenario from its file.

use std::fs;
use std::path::PathBuf;

use wardian_end_to_end::{CommandLine, Step, sections};

/// The option that makes a command perform no steps concurrently. The order of such a command's
/// steps is compared.
pub const IN_ORDER: &str = "in order";

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
/// configuration calls modules or a mock provider is installed, `init` runs before the first command
/// after a change, and its result is not recorded.
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
    pub fn read(name: String, path: PathBuf) -> Self {
        let text = fs::read_to_string(&path).unwrap();
        let mut scenario = Self { name, steps: Vec::new(), differences: Vec::new(), by_hand: None, path };
        for (title, content) in sections(&text).1 {
            scenario.add(&title, content);
        }
        assert!(scenario.commands().next().is_some(), "{} has no commands", scenario.name);
        for option in scenario.commands().flat_map(|command| &command.options) {
            assert!(option == IN_ORDER, "{}: what is {option:?}?", scenario.name);
        }
        scenario
    }

    fn add(&mut self, title: &str, content: String) {
        match title {
            "differs" => self.differences = content.lines().map(|line| self.difference(line)).collect(),
            "by hand" => self.by_hand = Some(content),
            _ => match Step::from_section(title, &content) {
                Some(step) => self.steps.push(step),
                None => panic!("{}: what is {title:?}?", self.name),
            },
        }
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
