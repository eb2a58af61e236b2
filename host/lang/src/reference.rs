//! References in expressions: the objects to which they refer, and their steps.

use std::fmt;

use wardian_diagnostic::{Diagnostic, Span};
use wardian_value::{Path, PathStep, Str};

/// The kind of object to which a resource address refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReferenceMode {
    /// `resource`.
    Managed,
    Data,
    Ephemeral,
}

/// The object to which a reference refers, as far as its names determine it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReferenceSubject {
    /// `var.name`
    Variable(Str),
    /// `local.name`
    Local(Str),
    /// `type.name`, `data.type.name`, `ephemeral.type.name`
    Resource {
        mode: ReferenceMode,
        /// The resource type, such as `aws_instance`.
        kind: Str,
        name: Str,
    },
    /// `action.type.name`
    Action {
        /// The action type, such as `aws_lambda_invoke`.
        kind: Str,
        name: Str,
    },
    /// `list.type.name`
    List {
        /// The resource type whose objects are listed.
        kind: Str,
        name: Str,
    },
    /// `module.name`
    Module(Str),
    /// `each.key`
    EachKey,
    /// `each.value`
    EachValue,
    /// `count.index`
    CountIndex,
    /// `self`
    SelfValue,
    /// `path.module`
    PathModule,
    /// `path.root`
    PathRoot,
    /// `path.cwd`
    PathCwd,
    /// `terraform.workspace`
    Workspace,
    /// `terraform.applying`
    Applying,
    /// A single name. It occurs only in template files and other text outside of modules.
    Name(Str),
}

/// A reference with the static steps that follow it.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The object to which the reference refers.
    pub subject: ReferenceSubject,
    /// The static steps after the subject. They end at the first computed index or splat.
    pub remaining: Vec<PathStep>,
    /// The span of the reference with its static steps.
    pub span: Span,
}

impl Reference {
    pub fn subject_span(&self) -> Span {
        let end = self.source_steps().and_then(|(traversal, consumed)| match consumed.checked_sub(1) {
            Some(last) => Some(traversal.steps.get(last)?.span.end),
            None => Some(traversal.root_span.end),
        });
        match end {
            Some(end) => Span { end, ..self.span.clone() },
            None => self.span.clone(),
        }
    }

    /// Returns the span of the object: the subject with its instance key, and for a module also the
    /// output.
    pub fn object_span(&self) -> Span {
        let is_key = |position: usize| {
            matches!(self.remaining.get(position), Some(PathStep::Key(_) | PathStep::Index(_)))
        };
        let is_attribute =
            |position: usize| matches!(self.remaining.get(position), Some(PathStep::Attribute(_)));
        let keys = usize::from(is_key(0));
        let count = match self.subject {
            ReferenceSubject::Resource { .. }
            | ReferenceSubject::Action { .. }
            | ReferenceSubject::List { .. } => keys,
            ReferenceSubject::Module(_) => keys + usize::from(is_attribute(keys)),
            _ => 0,
        };
        match count.checked_sub(1) {
            None => self.subject_span(),
            Some(last) => Span { end: self.step_span(last).end, ..self.span.clone() },
        }
    }

    /// Returns the span of the remaining step at a position.
    pub fn step_span(&self, position: usize) -> Span {
        let step = self
            .source_steps()
            .and_then(|(traversal, consumed)| traversal.steps.into_iter().nth(consumed + position));
        step.map_or_else(|| self.span.clone(), |step| step.span)
    }

    /// Parses the reference again, and returns it with the number of steps in the subject. The spans
    /// of individual steps are needed only for messages.
    fn source_steps(&self) -> Option<(Traversal, usize)> {
        let traversal = crate::compile::expression_at(&self.span).ok()?.as_traversal()?;
        let (_, consumed) = resolve_names(&traversal)?;
        Some((traversal, consumed))
    }
}

/// An uninterpreted sequence of names and constant indexes, for example in `depends_on`,
/// `ignore_changes`, `provider` and `moved`.
#[derive(Clone, Debug)]
pub struct Traversal {
    pub root: Str,
    pub root_span: Span,
    /// The steps after the root.
    pub steps: Vec<TraversalStep>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct TraversalStep {
    /// `.name`, `["key"]` or `[0]`.
    pub step: PathStep,
    /// The span of the step with its dot or brackets.
    pub span: Span,
}

impl Traversal {
    /// Returns the names if the traversal has no indexes: `aws.west`.
    pub fn names(&self) -> Option<Vec<&Str>> {
        let mut names = vec![&self.root];
        for step in &self.steps {
            match &step.step {
                PathStep::Attribute(name) => names.push(name),
                _ => return None,
            }
        }
        Some(names)
    }

    /// Returns the root and the steps as a path into an object, whose first step is the root.
    pub fn relative_path(&self) -> Path {
        let root = PathStep::Attribute(self.root.clone());
        let steps = self.steps.iter().map(|step| step.step.clone());
        Path::from(std::iter::once(root).chain(steps).collect::<Vec<_>>())
    }

    /// Returns the span of a step of [`Self::relative_path`].
    pub fn relative_step_span(&self, position: usize) -> Span {
        let step = position.checked_sub(1).and_then(|position| self.steps.get(position));
        step.map_or(&self.root_span, |step| &step.span).clone()
    }

    /// Interprets the names as a reference.
    ///
    /// # Errors
    ///
    /// Returns an error if the names are not a valid reference, for example `var` or `path.nothing`.
    pub fn reference(&self) -> Result<Reference, Diagnostic> {
        let (subject, consumed) = resolve_names(self).ok_or_else(|| malformed(self))?;
        Ok(Reference {
            subject,
            remaining: self.steps.iter().skip(consumed).map(|s| s.step.clone()).collect(),
            span: self.span.clone(),
        })
    }
}

/// Writes the source form: `aws_instance.web[0].id`.
impl fmt::Display for Traversal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps: Vec<PathStep> = self.steps.iter().map(|s| s.step.clone()).collect();
        write!(f, "{}{}", self.root, Path::from(steps))
    }
}

/// Writes the source form: `data.aws_ami.x`.
impl fmt::Display for ReferenceSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "var.{name}"),
            Self::Local(name) => write!(f, "local.{name}"),
            Self::Resource { mode, kind, name } => match mode {
                ReferenceMode::Managed => write!(f, "{kind}.{name}"),
                ReferenceMode::Data => write!(f, "data.{kind}.{name}"),
                ReferenceMode::Ephemeral => write!(f, "ephemeral.{kind}.{name}"),
            },
            Self::Action { kind, name } => write!(f, "action.{kind}.{name}"),
            Self::List { kind, name } => write!(f, "list.{kind}.{name}"),
            Self::Module(name) => write!(f, "module.{name}"),
            Self::EachKey => f.write_str("each.key"),
            Self::EachValue => f.write_str("each.value"),
            Self::CountIndex => f.write_str("count.index"),
            Self::SelfValue => f.write_str("self"),
            Self::PathModule => f.write_str("path.module"),
            Self::PathRoot => f.write_str("path.root"),
            Self::PathCwd => f.write_str("path.cwd"),
            Self::Workspace => f.write_str("terraform.workspace"),
            Self::Applying => f.write_str("terraform.applying"),
            Self::Name(name) => write!(f, "{name}"),
        }
    }
}

/// Writes the reference in its source form.
impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.subject, Path::from(self.remaining.clone()))
    }
}

/// Returns the subject and its number of steps after the root, or `None` if the names are not a
/// valid reference; in this case, [`malformed`] returns the reason. The two functions are separate
/// because names that are not references are common, such as `string` in the type of a variable.
pub(crate) fn resolve_names(traversal: &Traversal) -> Option<(ReferenceSubject, usize)> {
    let root: &str = &traversal.root;
    let name = attribute(traversal, 0);
    Some(match root {
        "var" => (ReferenceSubject::Variable(name?.clone()), 1),
        "local" => (ReferenceSubject::Local(name?.clone()), 1),
        "module" => (ReferenceSubject::Module(name?.clone()), 1),
        "each" | "count" | "path" | "terraform" => {
            let subject = match (root, &**name?) {
                ("each", "key") => ReferenceSubject::EachKey,
                ("each", "value") => ReferenceSubject::EachValue,
                ("count", "index") => ReferenceSubject::CountIndex,
                ("path", "module") => ReferenceSubject::PathModule,
                ("path", "root") => ReferenceSubject::PathRoot,
                ("path", "cwd") => ReferenceSubject::PathCwd,
                ("terraform", "workspace") => ReferenceSubject::Workspace,
                ("terraform", "applying") => ReferenceSubject::Applying,
                _ => return None,
            };
            (subject, 1)
        }
        "self" => (ReferenceSubject::SelfValue, 0),
        "data" | "ephemeral" | "resource" => {
            let mode = match root {
                "data" => ReferenceMode::Data,
                "ephemeral" => ReferenceMode::Ephemeral,
                _ => ReferenceMode::Managed,
            };
            let (kind, name) = (name?.clone(), attribute(traversal, 1)?.clone());
            (ReferenceSubject::Resource { mode, kind, name }, 2)
        }
        "template" | "lazy" | "arg" => return None,
        // With only one name, the reference is one to a resource of the type `action` or `list`.
        "action" | "list" if attribute(traversal, 1).is_some() => {
            let (kind, name) = (name?.clone(), attribute(traversal, 1)?.clone());
            if root == "action" {
                (ReferenceSubject::Action { kind, name }, 2)
            } else {
                (ReferenceSubject::List { kind, name }, 2)
            }
        }
        _ => {
            let (mode, kind) = (ReferenceMode::Managed, traversal.root.clone());
            (ReferenceSubject::Resource { mode, kind, name: name?.clone() }, 1)
        }
    })
}

fn attribute(traversal: &Traversal, index: usize) -> Option<&Str> {
    match traversal.steps.get(index) {
        Some(TraversalStep { step: PathStep::Attribute(name), .. }) => Some(name),
        _ => None,
    }
}

/// Returns the diagnostic for names that are not a valid reference.
pub(crate) fn malformed(traversal: &Traversal) -> Diagnostic {
    let invalid = |detail: String| Diagnostic::error("Invalid reference", detail).at(traversal.span.clone());
    let named =
        |what| invalid(format!("`{}` must be followed by a dot and the name of {what}.", traversal.root));
    let root: &str = &traversal.root;
    match root {
        "var" => named("an input variable"),
        "local" => named("a local value"),
        "module" => named("a module call"),
        "each" => misses(traversal, "`each.key` and `each.value`"),
        "count" => misses(traversal, "`count.index`"),
        "path" => misses(traversal, "`path.module`, `path.root` and `path.cwd`"),
        "terraform" => misses(traversal, "`terraform.workspace` and `terraform.applying`"),
        "data" | "ephemeral" | "resource" => {
            invalid(format!("`{root}` must be followed by a resource type and a name, each after a dot."))
        }
        "template" | "lazy" | "arg" => Diagnostic::error(
            "Reserved symbol name",
            format!("`{root}` is reserved and cannot begin a reference."),
        )
        .at(traversal.root_span.clone()),
        _ => invalid(
            "A reference to a resource needs its type and its name with a dot between them. To write a \
             string, put it in quotes."
                .to_owned(),
        ),
    }
}

fn misses(traversal: &Traversal, choices: &str) -> Diagnostic {
    let root = &traversal.root;
    let (summary, problem) = match attribute(traversal, 0) {
        Some(name) => {
            (format!("Invalid \"{root}\" attribute"), format!("`{root}` has no attribute \"{name}\"."))
        }
        None => ("Invalid reference".to_owned(), format!("`{root}` is not a value by itself.")),
    };
    let whole = &traversal.span;
    let end = traversal.steps.first().map_or(whole.end, |step| step.span.end);
    let span = Span { end, ..whole.clone() };
    Diagnostic::error(summary, format!("{problem} The valid references are: {choices}.")).at(span)
}
