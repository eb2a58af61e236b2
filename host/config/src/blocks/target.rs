//! Parses addresses in `moved`, `removed` and `import` blocks, and in test files.

use std::fmt;

use wardian_address::ResourceMode;
use wardian_diagnostic::{Diagnostic, Span};
use wardian_lang::{Traversal, TraversalStep};
use wardian_value::{Path, PathStep, Str};

/// A module or a resource, or instances of it, relative to the module that contains the block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The modules in the address, each with its instance key.
    pub modules: Vec<(Str, Option<PathStep>)>,
    /// The resource in the last module; `None` if the address is a module.
    pub resource: Option<TargetResource>,
}

/// A resource in an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetResource {
    pub mode: ResourceMode,
    pub type_name: Str,
    pub name: Str,
    pub key: Option<PathStep>,
}

/// Whether a resource type may have the name of a reference keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keywords {
    /// A resource type with such a name must follow `resource.`.
    Refused,
    /// The keyword is accepted as a resource type.
    Taken,
}

/// Keywords of references to other kinds of objects.
const KEYWORDS: [&str; 7] = ["var", "local", "path", "terraform", "each", "count", "self"];

/// Names that cannot begin a reference.
const RESERVED_ROOTS: [&str; 3] = ["template", "lazy", "arg"];

impl Target {
    /// Parses an address.
    pub(super) fn parse(traversal: &Traversal, keywords: Keywords) -> Result<Self, Diagnostic> {
        let mut names = Steps { traversal, next: 0 };
        let mut modules = Vec::new();
        let mut root = Some(traversal.root.clone());
        while root.as_deref() == Some("module") {
            let name = names.attribute("module", "the name of a module call")?;
            modules.push((name, names.key()));
            root = names.next_name()?;
        }
        let Some(root) = root else {
            return Ok(Self { modules, resource: None });
        };
        let (mode, type_name) = match &*root {
            "data" => (ResourceMode::Data, names.attribute(&root, "the type of a data source")?),
            "ephemeral" => (ResourceMode::Ephemeral, names.attribute(&root, "a resource type")?),
            "resource" => (ResourceMode::Managed, names.attribute(&root, "a resource type")?),
            keyword if keywords == Keywords::Refused && KEYWORDS.contains(&keyword) => {
                return Err(invalid(reserved(keyword), &traversal.root_span));
            }
            _ => (ResourceMode::Managed, root),
        };
        let name = names.attribute(&type_name, "the name of the resource")?;
        let key = names.key();
        if names.step().is_some() {
            let detail =
                "The address must end with the resource's name, or with an instance key in brackets.";
            return Err(invalid(detail, &traversal.span));
        }
        Ok(Self { modules, resource: Some(TargetResource { mode, type_name, name, key }) })
    }
}

impl Target {
    /// Parses an address in a test file. An error is reported at the part of the address that is
    /// invalid.
    pub(crate) fn parse_in_test(traversal: &Traversal) -> Result<Self, Diagnostic> {
        let mut steps = Steps { traversal, next: 0 };
        let mut modules = Vec::new();
        let mut root = traversal.root.clone();
        let mut root_span = &traversal.root_span;
        while &*root == "module" {
            let place = steps.step().map_or(root_span, |step| &step.span);
            let name = steps.name().ok_or_else(|| {
                let detail = "\"module\" must be followed by a dot and the name of a module call.";
                Diagnostic::error("Invalid address operator", detail).at(place.clone())
            })?;
            modules.push((name, steps.key()));
            let Some(step) = steps.step() else {
                return Ok(Self { modules, resource: None });
            };
            root_span = &step.span;
            root = steps.name().ok_or_else(|| {
                let detail = "A module is followed by a dot and a resource or another module.";
                Diagnostic::error("Invalid address operator", detail).at(root_span.clone())
            })?;
        }
        let mode = match &*root {
            "data" => Some(ResourceMode::Data),
            "ephemeral" => Some(ResourceMode::Ephemeral),
            "resource" => Some(ResourceMode::Managed),
            _ => None,
        };
        let rest = Span { start: root_span.start, ..traversal.span.clone() };
        if mode.is_none() && (KEYWORDS.contains(&&*root) || RESERVED_ROOTS.contains(&&*root)) {
            return Err(invalid(reserved(&root), &rest));
        }
        let incomplete = "A resource needs its type and its name with a dot between them.";
        let (type_name, missing_name) = match (mode, steps.step()) {
            (None, _) => (root, rest),
            (Some(_), None) => return Err(invalid(incomplete, root_span)),
            (Some(_), Some(step)) => {
                let name = steps.name().ok_or_else(|| invalid(incomplete, &step.span))?;
                (name, step.span.clone())
            }
        };
        let place = steps.step().map_or(&missing_name, |step| &step.span);
        let name = steps.name().ok_or_else(|| invalid(incomplete, place))?;
        let key = steps.key();
        if let Some(step) = steps.step() {
            let detail =
                "The address must end with the resource's name, or with an instance key in brackets.";
            // An attribute can be mistaken for a key.
            let after = if key.is_none() { traversal.steps.get(steps.next + 1) } else { None };
            return Err(invalid(detail, &after.unwrap_or(step).span));
        }
        let mode = mode.unwrap_or(ResourceMode::Managed);
        Ok(Self { modules, resource: Some(TargetResource { mode, type_name, name, key }) })
    }
}

/// Writes the source form: `module.a[0].data.b.c["d"]`.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = |key: &Option<PathStep>| Path::from(key.iter().cloned().collect::<Vec<_>>());
        for (position, (name, instance)) in self.modules.iter().enumerate() {
            let dot = if position == 0 { "" } else { "." };
            write!(f, "{dot}module.{name}{}", key(instance))?;
        }
        let Some(resource) = &self.resource else { return Ok(()) };
        if !self.modules.is_empty() {
            f.write_str(".")?;
        }
        match resource.mode {
            ResourceMode::Managed => {}
            ResourceMode::Data => f.write_str("data.")?,
            ResourceMode::Ephemeral => f.write_str("ephemeral.")?,
        }
        write!(f, "{}.{}{}", resource.type_name, resource.name, key(&resource.key))
    }
}

struct Steps<'a> {
    traversal: &'a Traversal,
    next: usize,
}

impl<'a> Steps<'a> {
    fn step(&self) -> Option<&'a TraversalStep> {
        self.traversal.steps.get(self.next)
    }

    fn name(&mut self) -> Option<Str> {
        match self.step() {
            Some(TraversalStep { step: PathStep::Attribute(name), .. }) => {
                self.next += 1;
                Some(name.clone())
            }
            _ => None,
        }
    }

    fn attribute(&mut self, after: &str, what: &str) -> Result<Str, Diagnostic> {
        self.name().ok_or_else(|| {
            invalid(format!("\"{after}\" must be followed by a dot and {what}."), &self.traversal.span)
        })
    }

    /// Returns the next name if the address continues.
    fn next_name(&mut self) -> Result<Option<Str>, Diagnostic> {
        match self.step() {
            None => Ok(None),
            Some(_) => self.attribute("a module", "a resource").map(Some),
        }
    }

    fn key(&mut self) -> Option<PathStep> {
        match self.step() {
            Some(TraversalStep { step: step @ (PathStep::Key(_) | PathStep::Index(_)), .. }) => {
                self.next += 1;
                Some(step.clone())
            }
            _ => None,
        }
    }
}

fn reserved(keyword: &str) -> String {
    format!(
        "\"{keyword}\" begins another kind of reference. If it is the type of a resource, write \
         resource.{keyword}."
    )
}

fn invalid(detail: impl Into<String>, span: &Span) -> Diagnostic {
    Diagnostic::error("Invalid address", detail).at(span.clone())
}
