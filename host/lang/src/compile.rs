//! Compiles text to expressions, and names to references.

use std::sync::Arc;

use wardian_diagnostic::{Diagnostics, SourceFile, Span};
use wardian_value::{PathStep, Str};

use crate::node::{Kind, Name, Node, Step, StepKind};
use crate::reference::resolve_names;
use crate::{Expression, Reference, ReferenceSubject, Traversal, TraversalStep, syntax};

/// The interpretation of unqualified names in an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// As references to variables, resources and other objects.
    References,
    /// As variables of a template: [`ReferenceSubject::Name`].
    Plain,
}

/// Compiles the expression in a span's text. Whitespace, line breaks and comments may surround
/// it.
pub(crate) fn expression_at(span: &Span) -> Result<Expression, Diagnostics> {
    expression_in(&span.file, span.start, span.end)
}

/// Compiles an expression like [`expression_at`], from a range of a file. The file may be an
/// excerpt.
pub(crate) fn expression_in(
    file: &Arc<SourceFile>,
    from: usize,
    to: usize,
) -> Result<Expression, Diagnostics> {
    syntax::expression(file, (from, to))
}

/// Compiles a range of a file as a template without quotes or escapes. The file may be an excerpt.
pub(crate) fn template_in(
    file: &Arc<SourceFile>,
    from: usize,
    to: usize,
    names: Names,
) -> Result<Expression, Diagnostics> {
    syntax::template(file, (from, to), names)
}

/// Returns an unqualified name as an expression.
pub(crate) fn bare_name(text: &Str, span: &Span) -> Arc<Node> {
    let name = name(&span.file, text.clone(), (span.start, span.end), Vec::new(), Names::References);
    Arc::new(Node::new(Kind::Name(Box::new(name)), span.start, span.end))
}

/// Compiles a name that is not a variable of a `for` expression, with its steps.
pub(crate) fn name(
    file: &Arc<SourceFile>,
    root: Str,
    place: (usize, usize),
    steps: Vec<Step>,
    names: Names,
) -> Name {
    let span = |start, end| Span::new(file, start, end);
    let fixed: Vec<TraversalStep> = steps
        .iter()
        .map_while(|step| {
            let path_step = static_step(&step.kind)?;
            Some(TraversalStep { step: path_step, span: span(step.start, step.end) })
        })
        .collect();
    let end_of = |count: usize| match count.checked_sub(1).and_then(|last| steps.get(last)) {
        Some(step) => step.end,
        None => place.1,
    };
    let fixed_end = end_of(fixed.len());
    let traversal =
        Traversal { root, span: span(place.0, fixed_end), root_span: span(place.0, place.1), steps: fixed };
    let resolved = match names {
        Names::Plain => Some((ReferenceSubject::Name(traversal.root.clone()), 0)),
        Names::References => resolve_names(&traversal),
    };
    let consumed = resolved.as_ref().map_or(0, |(_, consumed)| *consumed);
    let subject_end = if resolved.is_some() { end_of(consumed) } else { fixed_end };
    let reference = resolved.map(|(subject, _)| Reference {
        subject,
        remaining: traversal.steps[consumed..].iter().map(|step| step.step.clone()).collect(),
        span: traversal.span.clone(),
    });
    Name { traversal, reference, subject_end, steps, consumed }
}

/// Returns a reserved word with its steps as names. A reserved word, such as `null`, has a value;
/// but in a reference to an object of the configuration, it is an ordinary name.
pub(crate) fn reserved_word(node: &Node, file: &Arc<SourceFile>) -> Option<Traversal> {
    let (root, steps) = match &node.kind {
        Kind::Traverse { source, steps } => (&**source, steps.as_slice()),
        _ => (node, &[][..]),
    };
    let text = file.text().get(root.start..root.end)?;
    if !matches!(root.kind, Kind::Constant(_)) || !matches!(text, "null" | "true" | "false") {
        return None;
    }
    let steps: Option<Vec<TraversalStep>> = steps
        .iter()
        .map(|step| {
            let span = Span::new(file, step.start, step.end);
            Some(TraversalStep { step: static_step(&step.kind)?, span })
        })
        .collect();
    Some(Traversal {
        root: Str::new(text),
        root_span: Span::new(file, root.start, root.end),
        steps: steps?,
        span: Span::new(file, node.start, node.end),
    })
}

fn static_step(kind: &StepKind) -> Option<PathStep> {
    match kind {
        StepKind::Attribute(name) => Some(PathStep::Attribute(name.clone())),
        StepKind::Key(key) => match (key.as_str(), key.as_number()) {
            (Some(text), _) => Some(PathStep::Key(text.into())),
            (_, Some(number)) => {
                number.as_i64().and_then(|index| u64::try_from(index).ok()).map(PathStep::Index)
            }
            _ => None,
        },
        StepKind::Index(_) => None,
    }
}
