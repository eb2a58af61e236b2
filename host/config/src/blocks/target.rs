//! Parses addresses in `moved`, `removed` and `import` blocks.

use wardian_address::ResourceMode;
use wardian_diagnostic::{Diagnostic, Span};
use wardian_lang::{Traversal, TraversalStep};
use wardian_value::{PathStep, Str};

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
                let detail = format!(
                    "\"{keyword}\" begins another kind of reference. If it is the type of a resource, write \
                     resource.{keyword}."
                );
                return Err(invalid(detail, &traversal.root_span));
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

struct Steps<'a> {
    traversal: &'a Traversal,
    next: usize,
}

impl<'a> Steps<'a> {
    fn step(&self) -> Option<&'a TraversalStep> {
        self.traversal.steps.get(self.next)
    }

    fn attribute(&mut self, after: &str, what: &str) -> Result<Str, Diagnostic> {
        match self.step() {
            Some(TraversalStep { step: PathStep::Attribute(name), .. }) => {
                self.next += 1;
                Ok(name.clone())
            }
            _ => Err(invalid(
                format!("\"{after}\" must be followed by a dot and {what}."),
                &self.traversal.span,
            )),
        }
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

fn invalid(detail: impl Into<String>, span: &Span) -> Diagnostic {
    Diagnostic::error("Invalid address", detail).at(span.clone())
}
