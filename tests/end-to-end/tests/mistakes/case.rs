//! Reads a mistake from its file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use wardian_end_to_end::{CommandLine, Step, sections};

use crate::facts::Facts;

pub const POINTS: [&str; 3] = ["position", "reason", "remedy"];

/// A mistake, and the expected content of its last command's output. The format of its file:
///
/// ```text
/// typo in the name of a variable
/// -- main.tf --
/// output "a" {
///   value = var.nmae
/// }
/// -- $ validate --
/// -- position --
/// at main.tf:2 var.nmae
/// -- reason --
/// says no variable "nmae"
/// -- reason of terraform --
/// says input variable with the name "nmae" has not been declared
/// -- remedy --
/// says Did you mean "name"\?
/// -- open --
/// remedy # the reason why the point is not met yet
/// -- terraform --
/// at main.tf:2 var.nmae
/// says Reference to undeclared input variable
/// ```
///
/// A point is met if all of its lines hold. In addition to the lines `at FILE:LINE TEXT` and
/// `says REGEX`, there are `hides REGEX`, `width COLUMNS` and `lines NUMBER` for the maximum size of
/// the output, and `none # REASON` if the point does not apply. A frame and line breaks are removed
/// from the text that `says` and `hides` search.
///
/// The section `terraform` contains recorded facts.
#[derive(Debug)]
pub struct Case {
    /// The group and the file's name without extension.
    pub name: String,
    /// The text at the start of the file.
    pub title: String,
    pub steps: Vec<Step>,
    pub points: [Point; 3],
    /// The points that are not met yet, with the reasons.
    pub open: BTreeMap<String, String>,
    /// Facts about Terraform's output.
    pub recorded: Facts,
    path: PathBuf,
    /// The text before the recorded facts, verbatim.
    before: String,
}

/// One of three points of a mistake.
#[derive(Debug, Default)]
pub struct Point {
    pub ours: Vec<Expectation>,
    /// The expectations for Terraform, if they are different.
    pub theirs: Option<Vec<Expectation>>,
}

#[derive(Debug)]
pub enum Expectation {
    /// A diagnostic has this position and marks this text; an empty text matches every mark.
    At {
        place: String,
        marked: String,
    },
    Says(Regex),
    Hides(Regex),
    Width(usize),
    Lines(usize),
    NotApplicable,
}

impl Point {
    pub fn theirs(&self) -> &[Expectation] {
        self.theirs.as_ref().unwrap_or(&self.ours)
    }

    pub fn shown(&self) -> String {
        format!("{:?}", self.ours)
    }
}

impl Case {
    pub fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let group = path.parent().unwrap().file_name().unwrap().to_string_lossy();
        let (title, sections) = sections(&text);
        let end = text.find("-- terraform --\n").unwrap_or(text.len());
        let mut case = Self {
            name: format!("{group}/{}", path.file_stem().unwrap().to_string_lossy()),
            title: title.trim().to_owned(),
            steps: Vec::new(),
            points: <[Point; 3]>::default(),
            open: BTreeMap::new(),
            recorded: Facts::default(),
            path: path.to_owned(),
            before: text[..end].to_owned(),
        };
        for (title, content) in sections {
            case.add(&title, &content);
        }
        assert!(!case.title.is_empty(), "{} has no title", case.name);
        assert!(case.commands().next().is_some(), "{} has no commands", case.name);
        for (point, name) in case.points.iter().zip(POINTS) {
            assert!(!point.ours.is_empty(), "{}: there is no {name}", case.name);
        }
        for name in case.open.keys() {
            assert!(POINTS.contains(&name.as_str()), "{}: what is {name}?", case.name);
        }
        case
    }

    fn add(&mut self, title: &str, content: &str) {
        let point = title.strip_suffix(" of terraform").unwrap_or(title);
        if let Some(index) = POINTS.iter().position(|name| *name == point) {
            let expectations = content.lines().map(|line| self.expectation(line)).collect();
            if point == title {
                self.points[index].ours = expectations;
            } else {
                self.points[index].theirs = Some(expectations);
            }
            return;
        }
        match title {
            "open" => self.open = content.lines().map(|line| self.reason(line)).collect(),
            "terraform" => self.recorded = Facts::from_record(content),
            _ => match Step::from_section(title, content) {
                Some(step) => self.steps.push(step),
                None => panic!("{}: what is {title:?}?", self.name),
            },
        }
    }

    fn reason(&self, line: &str) -> (String, String) {
        let (said, reason) = line.split_once(" # ").unwrap_or((line, ""));
        assert!(!reason.is_empty(), "{}: a reason is needed: {line}", self.name);
        (said.to_owned(), reason.to_owned())
    }

    fn expectation(&self, line: &str) -> Expectation {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        let regex = || Regex::new(rest).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        match kind {
            "at" => {
                let (place, marked) = rest.split_once(' ').unwrap_or((rest, ""));
                Expectation::At { place: place.to_owned(), marked: marked.to_owned() }
            }
            "says" => Expectation::Says(regex()),
            "hides" => Expectation::Hides(regex()),
            "width" => Expectation::Width(rest.parse().unwrap()),
            "lines" => Expectation::Lines(rest.parse().unwrap()),
            "none" => {
                self.reason(line);
                Expectation::NotApplicable
            }
            _ => panic!("{}: what is {line:?}?", self.name),
        }
    }

    pub fn commands(&self) -> impl Iterator<Item = &CommandLine> {
        self.steps.iter().filter_map(|step| match step {
            Step::Command(command) => Some(command),
            _ => None,
        })
    }

    /// Records the facts about Terraform's output on which its points depend.
    pub fn record(&mut self, facts: Facts) {
        let expectations = self.points.iter().flat_map(Point::theirs);
        let record = facts.record(&expectations.collect::<Vec<_>>());
        fs::write(&self.path, format!("{}-- terraform --\n{record}", self.before)).unwrap();
        self.recorded = Facts::from_record(&record);
    }
}
