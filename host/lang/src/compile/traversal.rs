//! Names and the steps behind them.

use std::sync::Arc;

use hcl_edit::expr::{Expression as Syntax, Traversal as TraversalSyntax, TraversalOperator};
use hcl_edit::{Decorated, Ident, Span as _};
use wardian_value::{Number, PathStep, Str, Type, Value};

use super::Compiler;
use crate::node::{Kind, Name, Node, Step, StepKind};
use crate::reference::resolve_names;
use crate::{Reference, Span, Subject, Traversal, TraversalStep};

/// Each splat nests the rest of a traversal once more.
const MOST_SPLATS: usize = 64;

type Operators<'s> = &'s [Decorated<TraversalOperator>];

impl Compiler<'_> {
    pub(super) fn traversal(&mut self, traversal: &TraversalSyntax, place: (usize, usize)) -> Node {
        self.refuse_legacy_chain(&traversal.operators);
        if traversal.operators.iter().filter(|operator| is_splat(operator)).count() > MOST_SPLATS {
            let detail = format!("At most {MOST_SPLATS} splats may follow each other.");
            self.problem("Expression too long", &detail, place);
            return Node { kind: Kind::Constant(Value::null(Type::Dynamic)), start: place.0, end: place.1 };
        }
        if let Syntax::Variable(name) = &traversal.expr {
            return self.name(name, &traversal.operators, place);
        }
        let source = self.compile(&traversal.expr);
        self.steps_behind(source, &traversal.operators)
    }

    /// `a.0.1` reads like a number, so that it is not allowed.
    fn refuse_legacy_chain(&mut self, operators: Operators<'_>) {
        for pair in operators.windows(2) {
            if let (TraversalOperator::LegacyIndex(first), TraversalOperator::LegacyIndex(second)) =
                (pair[0].value(), pair[1].value())
            {
                let detail = format!(
                    "Two indexes behind each other cannot be written with dots. Write \
                     [{}][{}] instead.",
                    **first, **second
                );
                let place = (self.bytes(pair[0].span()).0, self.bytes(pair[1].span()).1);
                self.problem("Invalid legacy index syntax", &detail, place);
            }
        }
    }

    /// A bare name, and what follows it.
    pub(super) fn name(
        &mut self,
        name: &Decorated<Ident>,
        operators: Operators<'_>,
        place: (usize, usize),
    ) -> Node {
        let root: Str = name.as_str().into();
        let root_place = (place.0, place.0 + name.as_str().len());
        if let Some(slot) = self.slot_of(&root) {
            let kind = Kind::Slot { slot, name: root };
            let source = Node { kind, start: root_place.0, end: root_place.1 };
            return self.steps_behind(source, operators);
        }
        let plain = operators.iter().position(is_splat).map_or(operators, |splat| &operators[..splat]);
        let steps: Vec<Step> = plain.iter().map(|operator| self.step(operator)).collect();
        let end = steps.last().map_or(root_place.1, |step| step.end);
        let mut node =
            self::name(root, self.span(root_place), steps, self.span((root_place.0, end)), self.plain_names);
        node.start = place.0;
        node.end = end;
        self.steps_behind(node, &operators[plain.len()..])
    }

    /// Puts steps behind a node. A splat takes what follows it into itself.
    fn steps_behind(&mut self, source: Node, operators: Operators<'_>) -> Node {
        if operators.is_empty() {
            return source;
        }
        let Some(splat) = operators.iter().position(is_splat) else {
            return self.plain_steps(source, operators);
        };
        let source = self.plain_steps(source, &operators[..splat]);
        let rest = &operators[splat + 1..];
        // `.*` takes attributes only; an index behind it applies to the result.
        let taken = match operators[splat].value() {
            TraversalOperator::AttrSplat(_) => {
                rest.iter().position(|operator| !is_attribute(operator)).unwrap_or(rest.len())
            }
            _ => rest.len(),
        };
        let marker = self.bytes(operators[splat].span());
        let slot = self.variables.len();
        self.variables.push(None);
        let element =
            Node { kind: Kind::Slot { slot, name: Str::new("") }, start: source.start, end: marker.1 };
        let each = self.steps_behind(element, &rest[..taken]);
        self.variables.truncate(slot);
        let end = each.end;
        let start = source.start;
        let kind = Kind::Splat { source: Arc::new(source), slot, each: Arc::new(each), marker };
        let result = Node { kind, start, end };
        self.steps_behind(result, &rest[taken..])
    }

    fn plain_steps(&mut self, source: Node, operators: Operators<'_>) -> Node {
        if operators.is_empty() {
            return source;
        }
        let steps: Vec<Step> = operators.iter().map(|operator| self.step(operator)).collect();
        let start = source.start;
        let end = steps.last().map_or(source.end, |step| step.end);
        Node { kind: Kind::Traverse { source: Arc::new(source), steps }, start, end }
    }

    fn step(&mut self, operator: &Decorated<TraversalOperator>) -> Step {
        let (start, end) = self.bytes(operator.span());
        let kind = match operator.value() {
            TraversalOperator::GetAttr(name) => StepKind::Attribute(name.as_str().into()),
            TraversalOperator::LegacyIndex(index) => StepKind::Key(Value::number(Number::from(**index))),
            TraversalOperator::Index(index) => {
                let node = self.shared(index);
                match &node.kind {
                    Kind::Constant(value) if value.as_number().is_some() => StepKind::Key(value.clone()),
                    Kind::Quoted(value) => StepKind::Key(value.clone()),
                    _ => StepKind::Index(node),
                }
            }
            // Callers have taken splats out.
            TraversalOperator::AttrSplat(_) | TraversalOperator::FullSplat(_) => {
                StepKind::Attribute(Str::new("*"))
            }
        };
        Step { kind, start, end }
    }
}

/// A name that is no variable of a `for`, with its steps.
pub(super) fn name(root: Str, root_span: Span, steps: Vec<Step>, span: Span, plain_names: bool) -> Node {
    let file = Arc::clone(&root_span.file);
    let fixed: Vec<TraversalStep> = steps
        .iter()
        .map_while(|step| {
            let path_step = static_step(&step.kind)?;
            Some(TraversalStep { step: path_step, span: Span::new(&file, step.start, step.end) })
        })
        .collect();
    let fixed_end = fixed.last().map_or(root_span.end, |step| step.span.end);
    let traversal =
        Traversal { root, span: Span::new(&file, root_span.start, fixed_end), root_span, steps: fixed };
    let resolved =
        if plain_names { Ok((Subject::Name(traversal.root.clone()), 0)) } else { resolve_names(&traversal) };
    let consumed = resolved.as_ref().map_or(0, |(_, consumed)| *consumed);
    let subject_end = match traversal.steps[..consumed].last() {
        Some(step) => step.span.end,
        None if resolved.is_ok() => traversal.root_span.end,
        None => fixed_end,
    };
    let reference = resolved.map(|(subject, _)| Reference {
        subject,
        remaining: traversal.steps[consumed..].iter().map(|step| step.step.clone()).collect(),
        span: traversal.span.clone(),
    });
    let name = Name { traversal, reference, subject_end, steps, consumed };
    Node { kind: Kind::Name(Box::new(name)), start: span.start, end: span.end }
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

/// Whether it is names and constant indexes only.
pub(super) fn is_fixed(traversal: &TraversalSyntax) -> bool {
    let fixed = |operator: &Decorated<TraversalOperator>| match operator.value() {
        TraversalOperator::GetAttr(_) | TraversalOperator::LegacyIndex(_) => true,
        TraversalOperator::Index(index) => matches!(index, Syntax::Number(_) | Syntax::String(_)),
        TraversalOperator::AttrSplat(_) | TraversalOperator::FullSplat(_) => false,
    };
    matches!(&traversal.expr, Syntax::Variable(_)) && traversal.operators.iter().all(fixed)
}

fn is_splat(operator: &Decorated<TraversalOperator>) -> bool {
    matches!(operator.value(), TraversalOperator::AttrSplat(_) | TraversalOperator::FullSplat(_))
}

fn is_attribute(operator: &Decorated<TraversalOperator>) -> bool {
    matches!(operator.value(), TraversalOperator::GetAttr(_) | TraversalOperator::LegacyIndex(_))
}
