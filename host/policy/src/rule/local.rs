//! Rules for access to this machine: files, environment variables and programs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use wardian_access::{
    AccessExtent, EnvironmentName, FileAccess, FileOperation, ProcessStart, ProtectedClasses, is_within,
};

use super::{Effect, ProgramVariables};
use crate::glob::Glob;

/// `allow filesystem`, `deny filesystem`.
#[derive(Clone, Debug)]
pub(crate) struct FilesystemRule {
    /// Normalized; [`None`] matches every directory.
    pub(crate) directories: Option<Box<[PathBuf]>>,
    pub(crate) access: BTreeSet<FileOperation>,
    /// The classes of protected files that a grant includes. A denial with classes applies only to
    /// files of these classes.
    pub(crate) protected: ProtectedClasses,
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
    /// [`None`] matches all arguments.
    pub(crate) arguments: Option<Arguments>,
    /// [`None`] matches everything; a rule that allows always has patterns.
    pub(crate) environment: Option<ProgramVariables>,
}

/// Patterns for arguments by position.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arguments {
    pub(crate) patterns: Box<[Glob]>,
    /// Whether any number of additional arguments may follow.
    pub(crate) allows_more: bool,
}

impl FilesystemRule {
    /// A grant includes everything below a directory, except for protected files of other
    /// classes; a denial also applies to accesses that include the denied directory.
    pub(crate) fn matches(&self, access: &FileAccess, classes: ProtectedClasses, effect: Effect) -> bool {
        let includes_denied = effect == Effect::Deny && access.includes_descendants();
        let matches_classes = match effect {
            Effect::Allow => {
                access.extent() == AccessExtent::Metadata
                    || classes.against(access.operation()).is_subset(self.protected)
            }
            Effect::Deny => self.protected.is_empty() || !classes.intersection(self.protected).is_empty(),
        };
        matches_classes
            && self.access.contains(&access.operation())
            && self.directories.as_ref().is_none_or(|directories| {
                directories.iter().any(|directory| {
                    is_within(access.path(), directory)
                        || includes_denied && is_within(directory, access.path())
                })
            })
    }
}

impl EnvironmentRule {
    pub(crate) fn matches(&self, name: &EnvironmentName, effect: Effect) -> bool {
        self.names.iter().any(|pattern| pattern.matches(name.as_str(), effect.on_undecidable()))
    }
}

impl ProcessRule {
    pub(crate) fn matches(&self, start: &ProcessStart, effect: Effect) -> bool {
        let is_reliable = start.replaceable_file().is_none() || self.trusts_replaceable_file(start.program());
        (effect == Effect::Deny || is_reliable)
            && self.names_program(start.program(), effect)
            && self.arguments.as_ref().is_none_or(|arguments| arguments.matches(start.arguments(), effect))
            && self.environment.as_ref().is_none_or(|names| names.matches(start.variables(), effect))
    }

    /// Returns whether a rule that allows a program also allows it if plugins may write its file.
    /// That is the case only if the rule names the file or grants every program.
    fn trusts_replaceable_file(&self, program: &str) -> bool {
        self.program.literal().is_some() && program.starts_with('/')
            || grants_all_programs(&self.program, self.arguments.as_ref())
    }

    /// `deny process` with a bare name applies to that program in any directory.
    fn names_program(&self, program: &str, effect: Effect) -> bool {
        let is_bare = !self.program.as_str().contains('/');
        let name = program.rsplit('/').next().unwrap_or(program);
        self.program.matches(program, effect.on_undecidable())
            || effect == Effect::Deny && is_bare && self.program.matches(name, effect.on_undecidable())
    }
}

/// Whether a rule that allows grants every program with any arguments, and hence arbitrary code.
pub(crate) fn grants_all_programs(program: &Glob, arguments: Option<&Arguments>) -> bool {
    program.as_str() == "**"
        && arguments.is_some_and(|arguments| arguments.patterns.is_empty() && arguments.allows_more)
}

impl Arguments {
    fn matches(&self, arguments: &[String], effect: Effect) -> bool {
        let enough = if self.allows_more {
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

/// A wildcard at the start does not match options in a rule that allows: `clone *` must not
/// allow `clone --upload-pack=...`.
fn argument_matches(pattern: &Glob, argument: &str, effect: Effect) -> bool {
    let is_option = effect == Effect::Allow && pattern.starts_with_wildcard() && argument.starts_with('-');
    !is_option && pattern.matches(argument, effect.on_undecidable())
}
