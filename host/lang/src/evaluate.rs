//! Evaluates compiled expressions.
//!
//! Each operation follows the same order: evaluate the operands (all of them, to find as many
//! errors as possible), remove their marks, compute, and add the marks of all operands to the
//! result.

mod call;
mod conditional;
mod describe;
mod for_expression;
mod operators;
mod partial;
mod steps;
mod template;

use std::sync::{Arc, OnceLock};

use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile, Span};
use wardian_value::{Marks, Str, Type, Value, convert};

use crate::budget::{Budget, ELEMENT, ENTRY, Exceeded};
use crate::node::{Item, Key, Kind, Name, Node, StepKind};
use crate::{Expression, ReferenceSubject, Resolved, Scope};

pub(crate) use call::check_call;
pub use describe::Cause;
pub(crate) use describe::value_notes;
pub(crate) use template::safe_prefix;

/// Returns the diagnostic for a key that is an unquoted `a.b`.
pub(crate) fn ambiguous_key(file: &Arc<SourceFile>, key: &Node) -> Diagnostic {
    Diagnostic::error(
        "Ambiguous attribute key",
        "To use this expression as a reference, put it in parentheses; to use the text as the key, quote it.",
    )
    .at(Span::new(file, key.start, key.end))
}

type Evaluated = Result<Value, Diagnostics>;

/// An evaluation in progress.
pub(crate) struct Evaluation<'a> {
    pub(crate) scope: &'a dyn Scope,
    pub(crate) file: &'a Arc<SourceFile>,
    /// The current values of the variables of `for` expressions and splats.
    slots: Vec<Value>,
    meter: Meter<'a>,
    /// True if errors may be discarded, for example for each element of a large collection. In this
    /// case, messages are created without the parts that are expensive to compute.
    tentative: bool,
    /// True while the type of an expression that could not be evaluated is being determined.
    is_partial: bool,
    /// Whether the sides of conditionals that determine the result are recorded.
    records: bool,
}

pub(crate) fn evaluate(expression: &Expression, scope: &dyn Scope) -> Evaluated {
    let mut evaluation = Evaluation::new(expression, scope);
    let result = evaluation.node(expression.node());
    if let Some(budget) = scope.budget() {
        budget.record(evaluation.meter.spent);
    }
    result
}

/// The bytes that an evaluation has produced.
#[derive(Clone, Copy)]
struct Meter<'a> {
    budget: &'a Budget,
    /// The number of bytes spent so far.
    spent: u64,
}

/// Returns the budget of evaluations that are not part of a run. Nothing is recorded in it.
fn default_budget() -> &'static Budget {
    static BUDGET: OnceLock<Budget> = OnceLock::new();
    BUDGET.get_or_init(Budget::default)
}

impl<'a> Evaluation<'a> {
    fn new(expression: &'a Expression, scope: &'a dyn Scope) -> Self {
        let budget = match scope.budget() {
            Some(budget) => budget,
            None => default_budget(),
        };
        let meter = Meter { budget, spent: 0 };
        Self {
            scope,
            file: expression.file(),
            slots: Vec::new(),
            meter,
            tentative: false,
            is_partial: false,
            records: scope.records_evaluated(),
        }
    }
}

impl Evaluation<'_> {
    pub(crate) fn node(&mut self, node: &Node) -> Evaluated {
        match &node.kind {
            Kind::Constant(value) | Kind::Quoted(value) => Ok(value.clone()),
            Kind::Slot { slot, .. } => {
                Ok(self.slots.get(*slot).cloned().unwrap_or_else(|| Value::unknown(Type::Dynamic)))
            }
            Kind::Name(name) => self.name(node, name),
            Kind::Traverse { source, steps } => {
                let value = self.node(source)?;
                self.steps(value, steps, node)
            }
            Kind::Splat { source, slot, each, marker } => {
                let value = self.splat(source, *slot, each, *marker, node)?;
                self.checked(value, node)
            }
            Kind::Parenthesis(inner) | Kind::Interpolation(inner) => self.node(inner),
            Kind::Tuple(items) => {
                let items = self.all(items)?;
                self.spend(items.len(), ELEMENT, node)?;
                self.checked(Value::tuple(items), node)
            }
            Kind::Object(items) => {
                self.spend(items.len(), ENTRY, node)?;
                let value = self.object(items)?;
                self.checked(value, node)
            }
            Kind::Negate(operand) => self.negate(operand),
            Kind::Not(operand) => self.not(operand),
            Kind::Chain { first, rest } => self.chain(first, rest, node),
            Kind::Conditional { arms, otherwise } => self.conditional(arms, otherwise, node),
            Kind::Call(call) => {
                let value = self.call(call, node)?;
                self.record_secret(&value);
                Ok(value)
            }
            Kind::For(each) => {
                let value = self.for_expression(each, node)?;
                self.checked(value, node)
            }
            Kind::Template(parts) => self.template(parts, node),
            Kind::Embedded(inner) => {
                let (tentative, is_partial, meter) = (self.tentative, self.is_partial, self.meter);
                let mut evaluation = Evaluation {
                    scope: self.scope,
                    file: inner.file(),
                    slots: Vec::new(),
                    meter,
                    tentative,
                    is_partial,
                    records: self.records,
                };
                let result = evaluation.node(inner.node());
                self.meter.spent = evaluation.meter.spent;
                result
            }
            Kind::Broken(problems) => Err(problems.clone()),
        }
    }

    /// Reports a sensitive string that is part of a larger one or derived from one: a plugin that
    /// receives the larger string may print only the part.
    fn record_secret(&self, value: &Value) {
        if !value.marks().is_empty() && value.as_str().is_some() {
            self.scope.record_secret(value);
        }
    }

    /// Counts parts that the evaluation produces.
    fn spend(&mut self, parts: usize, bytes: u64, node: &Node) -> Result<(), Diagnostics> {
        let parts = u64::try_from(parts).unwrap_or(u64::MAX);
        self.meter.spent = self.meter.spent.saturating_add(parts.saturating_mul(bytes));
        self.check_limit(node)
    }

    /// Counts a value whose parts may all be new.
    fn spend_value(&mut self, value: &Value, node: &Node) -> Result<(), Diagnostics> {
        self.spend(1, value.expanded_size(), node)
    }

    /// Returns a new value if its size with all its parts is within the limit.
    fn checked(&mut self, value: Value, node: &Node) -> Evaluated {
        if self.meter.budget.is_too_large(&value) {
            return Err(self.over_limit(Exceeded::Value, node));
        }
        Ok(value)
    }

    fn over_limit(&self, exceeded: Exceeded, node: &Node) -> Diagnostics {
        self.meter.budget.diagnostic(exceeded).at(self.span((node.start, node.end))).into()
    }

    fn all(&mut self, nodes: &[Arc<Node>]) -> Result<Vec<Value>, Diagnostics> {
        let mut problems = Diagnostics::new();
        let mut values = Vec::with_capacity(nodes.len());
        for node in nodes {
            let value = self.node(node);
            values.extend(problems.collect(value));
        }
        problems.into_result(values)
    }

    fn name(&mut self, node: &Node, name: &Name) -> Evaluated {
        if let Some(value) = self.scope.local(&name.traversal.root) {
            return self.steps(value, &name.steps, node);
        }
        let reference = name.reference()?;
        let mut steps = &name.steps[name.consumed..];
        let indexable = matches!(
            reference.subject,
            ReferenceSubject::Resource { .. }
                | ReferenceSubject::Module(_)
                | ReferenceSubject::Action { .. }
                | ReferenceSubject::List { .. }
        );
        let mut index = None;
        let mut marks = Marks::NONE;
        if indexable && let Some(first) = steps.first() {
            index = match &first.kind {
                StepKind::Attribute(_) => None,
                StepKind::Key(key) => Some(key.clone()),
                StepKind::Index(inner) => Some(self.node(inner)?),
            };
            if let Some(value) = &mut index {
                marks = value.marks();
                *value = value.clone().unmark();
            }
        }
        // The scope receives only an index that it can use; the general path reports null and
        // unknown indexes.
        let usable = index.as_ref().filter(|index| index.is_known() && !index.is_null());
        let place = (node.start, name.subject_end);
        let resolved = self.scope.resolve(&reference.subject, usable, &self.span(place))?;
        let value = match (resolved, index) {
            (Resolved::Element(value), Some(_)) => {
                steps = &steps[1..];
                value.with_marks(marks)
            }
            (Resolved::Element(value) | Resolved::Whole(value), None) => value,
            (Resolved::Whole(value), Some(index)) => {
                let first = &steps[0];
                steps = &steps[1..];
                self.index(&value, &index.with_marks(marks), (first.start, first.end), node)?
            }
        };
        if steps.is_empty() { Ok(value) } else { self.steps(value, steps, node) }
    }

    fn object(&mut self, items: &[Item]) -> Evaluated {
        let mut problems = Diagnostics::new();
        let mut attributes: Vec<(Str, Value)> = Vec::with_capacity(items.len());
        let mut marks = Marks::NONE;
        let mut known = true;
        for item in items {
            let key = match &item.key {
                Key::Name { name, .. } => Some(name.clone()),
                Key::Expression(node) => {
                    let key = self.object_key(node, &mut marks, &mut known);
                    problems.collect(key).flatten()
                }
                Key::Ambiguous(node) => {
                    problems.push(ambiguous_key(self.file, node));
                    None
                }
            };
            let value = self.node(&item.value);
            if let (Some(value), Some(key)) = (problems.collect(value), key) {
                attributes.push((key, value));
            }
        }
        problems.into_result(())?;
        Ok(if known { Value::object(attributes) } else { Value::unknown(Type::Dynamic) }.with_marks(marks))
    }

    /// Returns a computed key, or `None` if it is unknown.
    fn object_key(
        &mut self,
        node: &Node,
        marks: &mut Marks,
        known: &mut bool,
    ) -> Result<Option<Str>, Diagnostics> {
        let key = self.node(node)?;
        if key.is_null() {
            return Err(self.problem("Null value as key", "A key cannot be null.", node).into());
        }
        *marks |= key.inside_marks();
        match convert::convert(&key.unmark_deep(), &Type::String) {
            Ok(key) => {
                *known &= key.is_known();
                Ok(key.as_str().map(Str::new))
            }
            Err(error) => Err(self
                .problem("Incorrect key type", &format!("This value cannot be used as a key: {error}."), node)
                .into()),
        }
    }

    pub(crate) fn span(&self, (start, end): (usize, usize)) -> Span {
        Span::new(self.file, start, end)
    }

    /// Returns an error about a node, with the values of its references.
    fn problem(&mut self, summary: &str, detail: &str, node: &Node) -> Diagnostic {
        self.problem_at(summary, detail, (node.start, node.end), node)
    }

    fn problem_at(&mut self, summary: &str, detail: &str, place: (usize, usize), node: &Node) -> Diagnostic {
        let mut diagnostic = Diagnostic::error(summary, detail).at(self.span(place));
        if !self.tentative {
            diagnostic.values = self.notes(node, place, Cause::Value);
        }
        diagnostic
    }
}
