//! The parts of a configuration that no run has evaluated.

use std::collections::{BTreeMap, BTreeSet};

use wardian_config::{Condition, Configuration, Module, ModuleNode};
use wardian_diagnostic::Span;
use wardian_engine::Coverage;

/// The kind of a part of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartKind {
    /// A resource or data source.
    Resource,
    Output,
    /// A validation, a precondition, a postcondition or an assertion.
    Condition,
    /// A side of a conditional expression.
    Branch,
}

impl PartKind {
    /// Returns the word for output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Resource => "resource",
            Self::Output => "output",
            Self::Condition => "condition",
            Self::Branch => "branch",
        }
    }
}

/// A part of a configuration.
#[derive(Clone, Debug)]
pub struct CoveredPart {
    pub kind: PartKind,
    pub span: Span,
    /// Whether a run has evaluated it.
    pub is_covered: bool,
}

/// The coverage of a suite, by file and position.
#[derive(Clone, Debug, Default)]
pub struct CoverageReport {
    pub files: BTreeMap<String, Vec<CoveredPart>>,
}

impl CoverageReport {
    /// Returns the parts of configurations with whether they were evaluated. Modules that are
    /// installed from other packages are not included. Cost: O(size of the configurations).
    pub fn new<'a>(configurations: impl Iterator<Item = &'a Configuration>, coverage: &Coverage) -> Self {
        let mut report = Self::default();
        let mut seen = BTreeSet::new();
        for node in configurations.flat_map(Configuration::modules) {
            let is_installed = node.module.directory.starts_with(".terraform");
            if !is_installed && seen.insert(node.module.directory.clone()) {
                report.add_module(node, coverage);
            }
        }
        for parts in report.files.values_mut() {
            parts.sort_by_key(|part| (part.span.start, part.kind));
        }
        report
    }

    /// Returns the numbers of covered parts and of all parts of a kind.
    pub fn count(&self, kind: PartKind) -> (usize, usize) {
        let parts = self.files.values().flatten().filter(|part| part.kind == kind);
        parts.fold((0, 0), |(covered, all), part| (covered + usize::from(part.is_covered), all + 1))
    }

    fn add_module(&mut self, node: &ModuleNode, coverage: &Coverage) {
        let Module { resources, outputs, variables, checks, .. } = &*node.module;
        let mut add = |kind: PartKind, span: &Span| {
            let part = CoveredPart { kind, span: span.clone(), is_covered: coverage.contains(span) };
            self.files.entry(span.file.name().to_owned()).or_default().push(part);
        };
        let add_conditions = |add: &mut dyn FnMut(PartKind, &Span), conditions: &[Condition]| {
            for condition in conditions {
                add(PartKind::Condition, &condition.span);
            }
        };
        for resource in resources.values() {
            add(PartKind::Resource, &resource.span);
            add_conditions(&mut add, &resource.lifecycle.preconditions);
            add_conditions(&mut add, &resource.lifecycle.postconditions);
        }
        for output in outputs.values() {
            add(PartKind::Output, &output.span);
            add_conditions(&mut add, &output.preconditions);
        }
        for variable in variables.values() {
            add_conditions(&mut add, &variable.validations);
        }
        for check in checks.values() {
            add_conditions(&mut add, &check.assertions);
        }
        node.each_expression(&mut |expression| {
            expression.branches().iter().for_each(|branch| add(PartKind::Branch, branch));
        });
    }
}
