//! What an expression refers to.

use std::fmt;

use wardian_diagnostic::{Diagnostic, Span};
use wardian_value::{PathStep, Str};

/// Which kind of object a resource address names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceMode {
    /// `resource`.
    Managed,
    /// `data`.
    Data,
    /// `ephemeral`.
    Ephemeral,
}

/// The object that a reference names, as far as names alone tell.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// `var.name`
    Variable(Str),
    /// `local.name`
    Local(Str),
    /// `type.name`, `data.type.name`, `ephemeral.type.name`
    Resource {
        /// Managed, data or ephemeral.
        mode: ResourceMode,
        /// The resource type: `aws_instance`.
        kind: Str,
        /// The name in the configuration.
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
    /// A bare name; only in template files and other text outside of modules.
    Name(Str),
}

/// A reference with the steps that follow it and are known without evaluation.
#[derive(Clone, Debug)]
pub struct Reference {
    /// What is named.
    pub subject: Subject,
    /// Static steps behind it; they end at the first computed index or splat.
    pub remaining: Vec<PathStep>,
    /// The text of the reference with its static steps.
    pub span: Span,
}

impl Reference {
    /// Where the subject itself is written.
    pub fn subject_span(&self) -> Span {
        match self.written().and_then(|(steps, consumed)| Some(steps.get(consumed.checked_sub(1)?)?.span.end))
        {
            Some(end) => Span { end, ..self.span.clone() },
            None => self.span.clone(),
        }
    }

    /// Where one of the remaining steps is written, by its position.
    pub fn step_span(&self, position: usize) -> Span {
        match self.written().and_then(|(steps, consumed)| steps.into_iter().nth(consumed + position)) {
            Some(step) => step.span,
            None => self.span.clone(),
        }
    }

    /// The steps as they are written and how many of them the subject takes up.
    /// They are read again: places of single steps are for messages only.
    fn written(&self) -> Option<(Vec<TraversalStep>, usize)> {
        let traversal = crate::compile::expression_at(&self.span).ok()?.as_traversal()?;
        let (_, consumed) = resolve_names(&traversal)?;
        Some((traversal.steps, consumed))
    }
}

/// Names and constant indexes in a row, not interpreted: what `depends_on`,
/// `ignore_changes`, `provider` and `moved` hold.
#[derive(Clone, Debug)]
pub struct Traversal {
    /// The first name.
    pub root: Str,
    /// Its place.
    pub root_span: Span,
    /// What follows.
    pub steps: Vec<TraversalStep>,
    /// The whole.
    pub span: Span,
}

/// One step of a [`Traversal`].
#[derive(Clone, Debug)]
pub struct TraversalStep {
    /// `.name`, `["key"]` or `[0]`.
    pub step: PathStep,
    /// The step with its dot or brackets.
    pub span: Span,
}

impl Traversal {
    /// The names as text where there are only names: `aws.west`.
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

    /// Interprets the names as a reference.
    ///
    /// # Errors
    ///
    /// Where the names do not form one: `var` alone, `path.nothing`.
    pub fn reference(&self) -> Result<Reference, Diagnostic> {
        let (subject, consumed) = resolve_names(self).ok_or_else(|| malformed(self))?;
        Ok(Reference {
            subject,
            remaining: self.steps.iter().skip(consumed).map(|s| s.step.clone()).collect(),
            span: self.span.clone(),
        })
    }
}

/// As it is written: `aws_instance.web[0].id`.
impl fmt::Display for Traversal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps: Vec<PathStep> = self.steps.iter().map(|s| s.step.clone()).collect();
        write!(f, "{}{}", self.root, wardian_value::Path::from(steps))
    }
}

/// As it is written: `data.aws_ami.x`.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "var.{name}"),
            Self::Local(name) => write!(f, "local.{name}"),
            Self::Resource { mode, kind, name } => match mode {
                ResourceMode::Managed => write!(f, "{kind}.{name}"),
                ResourceMode::Data => write!(f, "data.{kind}.{name}"),
                ResourceMode::Ephemeral => write!(f, "ephemeral.{kind}.{name}"),
            },
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

/// The reference as it is written.
impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.subject, wardian_value::Path::from(self.remaining.clone()))
    }
}

/// The subject and how many steps behind the root it takes up; none where the names
/// form no reference, which [`malformed`] explains. Apart from that, since a name that
/// is no reference is common: `string` in the type of a variable.
pub(crate) fn resolve_names(traversal: &Traversal) -> Option<(Subject, usize)> {
    let root: &str = &traversal.root;
    let name = attribute(traversal, 0);
    Some(match root {
        "var" => (Subject::Variable(name?.clone()), 1),
        "local" => (Subject::Local(name?.clone()), 1),
        "module" => (Subject::Module(name?.clone()), 1),
        "each" | "count" | "path" | "terraform" => {
            let subject = match (root, &**name?) {
                ("each", "key") => Subject::EachKey,
                ("each", "value") => Subject::EachValue,
                ("count", "index") => Subject::CountIndex,
                ("path", "module") => Subject::PathModule,
                ("path", "root") => Subject::PathRoot,
                ("path", "cwd") => Subject::PathCwd,
                ("terraform", "workspace") => Subject::Workspace,
                ("terraform", "applying") => Subject::Applying,
                _ => return None,
            };
            (subject, 1)
        }
        "self" => (Subject::SelfValue, 0),
        "data" | "ephemeral" | "resource" => {
            let mode = match root {
                "data" => ResourceMode::Data,
                "ephemeral" => ResourceMode::Ephemeral,
                _ => ResourceMode::Managed,
            };
            let (kind, name) = (name?.clone(), attribute(traversal, 1)?.clone());
            (Subject::Resource { mode, kind, name }, 2)
        }
        "template" | "lazy" | "arg" => return None,
        _ => {
            let (mode, kind) = (ResourceMode::Managed, traversal.root.clone());
            (Subject::Resource { mode, kind, name: name?.clone() }, 1)
        }
    })
}

fn attribute(traversal: &Traversal, index: usize) -> Option<&Str> {
    match traversal.steps.get(index) {
        Some(TraversalStep { step: PathStep::Attribute(name), .. }) => Some(name),
        _ => None,
    }
}

/// Why names form no reference.
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
            invalid(format!("`{root}` must be followed by a resource type and a name, both behind dots."))
        }
        "template" | "lazy" | "arg" => Diagnostic::error(
            "Reserved symbol name",
            format!("`{root}` is reserved and cannot begin a reference."),
        )
        .at(traversal.root_span.clone()),
        _ => invalid(
            "A reference to a resource needs its type and its name with a dot between them. \
             If this was meant as text, put it in quotes."
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
        None => ("Invalid reference".to_owned(), format!("`{root}` stands for nothing by itself.")),
    };
    let span = traversal.steps.first().map_or(&traversal.span, |step| &step.span);
    Diagnostic::error(summary, format!("{problem} What it offers: {choices}.")).at(span.clone())
}
