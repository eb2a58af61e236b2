//! Reads a case and its recorded answer.

use std::fs;
use std::path::{Path, PathBuf};

use wardian_end_to_end::{CommandLine, Step, sections};

use crate::answer::recorded;
use crate::comparable;

/// Does not run `init` before the command.
pub const NO_INIT: &str = "no init";
/// Runs the tests only once, with the given arguments.
pub const ONE_FORMAT: &str = "one format";

/// Steps in one directory.
#[derive(Debug)]
pub struct Case {
    /// The group and the file's name without extension.
    pub name: String,
    pub steps: Vec<Step>,
    answer: PathBuf,
}

impl Case {
    pub fn read(name: String, path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let step = |(title, content): (String, String)| {
            Step::from_section(&title, &content).unwrap_or_else(|| panic!("{name}: what is {title:?}?"))
        };
        let steps: Vec<Step> = sections(&text).1.into_iter().map(step).collect();
        let case = Self { name, steps, answer: path.with_extension("answer") };
        assert!(case.commands().next().is_some(), "{} has no commands", case.name);
        for option in case.commands().flat_map(|command| &command.options) {
            assert!([NO_INIT, ONE_FORMAT].contains(&&**option), "{}: what is {option:?}?", case.name);
        }
        case
    }

    /// Returns whether the case uses the AWS provider.
    pub fn needs_aws(&self) -> bool {
        self.name.starts_with("aws/")
    }

    /// Returns Terraform's answer in comparable form.
    pub fn expected(&self) -> String {
        let text = fs::read_to_string(&self.answer);
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", self.answer.display()));
        comparable::text(&recorded(&text))
    }

    fn commands(&self) -> impl Iterator<Item = &CommandLine> {
        self.steps.iter().filter_map(|step| match step {
            Step::Command(command) => Some(command),
            _ => None,
        })
    }
}
