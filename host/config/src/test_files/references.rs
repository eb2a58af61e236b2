//! Interprets the static references of a run: expected failures and the addresses of plan options.

use std::fmt;

use wardian_address::ResourceMode;
use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Traversal, TraversalStep};
use wardian_value::{Path, PathStep, Str};

use super::{TestPlanAddresses, TestPlanOptions};
use crate::blocks::Target;

/// An object with conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckableObject {
    Variable(Str),
    Output(Str),
    Check(Str),
    Resource {
        mode: ResourceMode,
        type_name: Str,
        name: Str,
        /// The key of one instance; `None` for all instances.
        key: Option<PathStep>,
    },
}

/// An item of `expect_failures`.
#[derive(Clone, Debug)]
pub struct ExpectedFailure {
    pub object: CheckableObject,
    pub span: Span,
}

/// Writes the source form: `output.a`.
impl fmt::Display for CheckableObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "var.{name}"),
            Self::Output(name) => write!(f, "output.{name}"),
            Self::Check(name) => write!(f, "check.{name}"),
            Self::Resource { mode, type_name, name, key } => {
                let prefix = match mode {
                    ResourceMode::Managed => "",
                    ResourceMode::Data => "data.",
                    ResourceMode::Ephemeral => "ephemeral.",
                };
                let key = Path::from(key.iter().cloned().collect::<Vec<_>>());
                write!(f, "{prefix}{type_name}.{name}{key}")
            }
        }
    }
}

impl ExpectedFailure {
    /// Interprets a reference. Attributes of the object are ignored.
    pub(super) fn parse(traversal: &Traversal) -> Result<Self, Diagnostic> {
        let name = |position: usize| attribute(traversal, position);
        let root: &str = &traversal.root;
        let (object, length) = match root {
            "var" => (CheckableObject::Variable(named(traversal)?), 1),
            "output" => (CheckableObject::Output(named(traversal)?), 1),
            "check" => (CheckableObject::Check(named(traversal)?), 1),
            "self" => return Err(not_checkable(traversal, 0)),
            "local" | "path" | "terraform" | "each" | "count" | "run" => {
                named(traversal)?;
                return Err(not_checkable(traversal, 1));
            }
            "module" => {
                named(traversal)?;
                let is_key = |step: &TraversalStep| !matches!(step.step, PathStep::Attribute(_));
                let keys = usize::from(traversal.steps.get(1).is_some_and(is_key));
                let output = usize::from(name(1 + keys).is_some());
                return Err(not_checkable(traversal, 1 + keys + output));
            }
            "data" | "ephemeral" | "resource" => {
                let mode = match root {
                    "data" => ResourceMode::Data,
                    "ephemeral" => ResourceMode::Ephemeral,
                    _ => ResourceMode::Managed,
                };
                let (Some(type_name), Some(resource)) = (name(0), name(1)) else {
                    let detail = format!(
                        "\"{root}\" must be followed by a resource type and a name, each after a dot."
                    );
                    return Err(invalid(detail, &traversal.span));
                };
                resource_at(traversal, mode, type_name, resource, 2)
            }
            _ => {
                let Some(resource) = name(0) else {
                    let detail = "A reference to a resource needs its type and its name with a dot between \
                                  them.";
                    return Err(invalid(detail, &traversal.span));
                };
                resource_at(traversal, ResourceMode::Managed, traversal.root.clone(), resource, 1)
            }
        };
        Ok(Self { object, span: first_steps(traversal, length) })
    }
}

/// Returns a resource or, if a key follows its name, an instance of it; and the number of steps.
fn resource_at(
    traversal: &Traversal,
    mode: ResourceMode,
    type_name: Str,
    name: Str,
    length: usize,
) -> (CheckableObject, usize) {
    let key = traversal.steps.get(length).map(|step| &step.step);
    let key = key.filter(|step| matches!(step, PathStep::Key(_) | PathStep::Index(_))).cloned();
    let length = length + usize::from(key.is_some());
    (CheckableObject::Resource { mode, type_name, name, key }, length)
}

fn attribute(traversal: &Traversal, position: usize) -> Option<Str> {
    match &traversal.steps.get(position)?.step {
        PathStep::Attribute(name) => Some(name.clone()),
        _ => None,
    }
}

/// Returns the name after the root.
fn named(traversal: &Traversal) -> Result<Str, Diagnostic> {
    attribute(traversal, 0).ok_or_else(|| {
        let detail = format!("\"{}\" must be followed by a dot and a name.", traversal.root);
        let span = traversal.steps.first().map_or(&traversal.root_span, |step| &step.span);
        invalid(detail, span)
    })
}

fn first_steps(traversal: &Traversal, count: usize) -> Span {
    let last = count.checked_sub(1).and_then(|last| traversal.steps.get(last));
    let end = last.map_or(&traversal.root_span, |step| &step.span).end;
    Span { end, ..traversal.span.clone() }
}

fn not_checkable(traversal: &Traversal, length: usize) -> Diagnostic {
    let span = first_steps(traversal, length);
    let detail = format!(
        "{} has no conditions that can fail. Only variables, outputs, checks, resources and data sources of \
         the module under test can be expected to fail.",
        span.text()
    );
    Diagnostic::error("Invalid `expect_failures` reference", detail).at(span)
}

fn invalid(detail: impl Into<String>, span: &Span) -> Diagnostic {
    Diagnostic::error("Invalid reference", detail).at(span.clone())
}

impl Default for TestPlanOptions {
    fn default() -> Self {
        Self { mode: super::TestPlanMode::Normal, refresh: true, replace: Vec::new(), targets: Vec::new() }
    }
}

impl TestPlanOptions {
    /// Parses the addresses.
    ///
    /// # Errors
    /// Returns every invalid address.
    pub fn addresses(&self) -> Result<TestPlanAddresses, Diagnostics> {
        let mut problems = Diagnostics::new();
        let mut addresses = TestPlanAddresses::default();
        for traversal in &self.targets {
            addresses.targets.extend(problems.collect(Target::parse_in_test(traversal)));
        }
        for traversal in &self.replace {
            let Some(target) = problems.collect(Target::parse_in_test(traversal)) else { continue };
            match &target.resource {
                Some(resource) if resource.mode == ResourceMode::Managed => addresses.replace.push(target),
                Some(_) => {
                    let summary = "Can only target managed resources for forced replacements.";
                    let detail = format!("{target} is not a managed resource.");
                    problems.push(Diagnostic::error(summary, detail).at(traversal.span.clone()));
                }
                None => {
                    let detail = "The address of a resource is required here, not that of a module.";
                    problems.push(Diagnostic::error("Invalid address", detail).at(traversal.span.clone()));
                }
            }
        }
        problems.into_result(addresses)
    }
}
