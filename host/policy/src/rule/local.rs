//! Rules about this machine: files, variables, programs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::Effect;
use crate::glob::Glob;
use crate::path::is_within;
use crate::request::{Access, EnvironmentName, Extent, FileAccess, ProcessStart};

/// `allow filesystem`, `deny filesystem`.
#[derive(Clone, Debug)]
pub(crate) struct FilesystemRule {
    /// Normalised; [`None`] is any.
    pub(crate) directories: Option<Box<[PathBuf]>>,
    pub(crate) access: BTreeSet<Access>,
}

/// `allow environment`, `deny environment`.
#[derive(Clone, Debug)]
pub(crate) struct EnvironmentRule {
    pub(crate) names: Box<[Glob]>,
}

/// `allow process`, `deny process`.
#[derive(Clone, Debug)]
pub(crate) struct ProcessRule {
    pub(crate) program: Glob,
    /// [`None`] is any.
    pub(crate) arguments: Option<Arguments>,
}

/// Patterns of arguments, one for each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arguments {
    pub(crate) patterns: Box<[Glob]>,
    /// Any further arguments may follow.
    pub(crate) open: bool,
}

impl FilesystemRule {
    /// What is granted is granted with all that is below it; what is denied is denied
    /// to everything that would take it along.
    pub(crate) fn matches(&self, access: &FileAccess, effect: Effect) -> bool {
        let takes_along = effect == Effect::Deny && access.extent == Extent::Tree;
        self.access.contains(&access.access)
            && self.directories.as_ref().is_none_or(|directories| {
                directories.iter().any(|directory| {
                    is_within(&access.path, directory) || takes_along && is_within(directory, &access.path)
                })
            })
    }
}

impl EnvironmentRule {
    pub(crate) fn matches(&self, name: &EnvironmentName, effect: Effect) -> bool {
        self.names.iter().any(|pattern| pattern.matches(&name.0, effect.doubt()))
    }
}

impl ProcessRule {
    pub(crate) fn matches(&self, start: &ProcessStart, effect: Effect) -> bool {
        self.names_program(&start.program, effect)
            && self.arguments.as_ref().is_none_or(|arguments| arguments.matches(&start.arguments, effect))
    }

    /// `deny process` of a bare name is about that program wherever it is.
    fn names_program(&self, program: &str, effect: Effect) -> bool {
        let is_bare = !self.program.as_str().contains('/');
        let name = program.rsplit('/').next().unwrap_or(program);
        self.program.matches(program, effect.doubt())
            || effect == Effect::Deny && is_bare && self.program.matches(name, effect.doubt())
    }
}

impl Arguments {
    fn matches(&self, arguments: &[String], effect: Effect) -> bool {
        let enough = if self.open {
            arguments.len() >= self.patterns.len()
        } else {
            arguments.len() == self.patterns.len()
        };
        enough
            && self
                .patterns
                .iter()
                .zip(arguments)
                .all(|(pattern, argument)| argument_matches(pattern, argument, effect))
    }
}

/// A star that may be anything is not meant to be an option: `clone *` must not allow
/// `clone --upload-pack=...`.
fn argument_matches(pattern: &Glob, argument: &str, effect: Effect) -> bool {
    let is_option = effect == Effect::Allow && pattern.begins_open() && argument.starts_with('-');
    !is_option && pattern.matches(argument, effect.doubt())
}
