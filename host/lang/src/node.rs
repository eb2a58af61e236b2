//! The compiled form of an expression.
//!
//! Names are resolved during compilation: variables of `for` expressions become slots, and every
//! other name becomes a [`Reference`] or a diagnostic that rejects the name. Positions are byte
//! offsets in the file of the [`crate::Expression`].

use std::sync::Arc;

use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_value::{Str, Value};

use crate::functions::{Body, Function, Lazy};
use crate::reference::malformed;
use crate::{Expression, Reference, Traversal};

/// One operation with its operands.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The nesting height, including this node. The parser limits the height to prevent recursion
    /// from overflowing the stack.
    pub(crate) height: u32,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Constant(Value),
    /// A template without interpolations; separate from [`Kind::Constant`] because some
    /// arguments accept quoted names.
    Quoted(Value),
    /// A variable of an enclosing `for`.
    Slot {
        slot: usize,
        name: Str,
    },
    Name(Box<Name>),
    Traverse {
        source: Arc<Node>,
        steps: Vec<Step>,
    },
    /// While `each` is evaluated, the slot contains the element.
    Splat {
        source: Arc<Node>,
        slot: usize,
        each: Arc<Node>,
        marker: (usize, usize),
    },
    Parenthesis(Arc<Node>),
    Tuple(Vec<Arc<Node>>),
    Object(Vec<Item>),
    Negate(Arc<Node>),
    Not(Arc<Node>),
    /// `a + b - c`: operators of one precedence, from left to right. The operators are in a flat
    /// list, so their number does not increase the depth.
    Chain {
        first: Arc<Node>,
        rest: Vec<Link>,
    },
    /// `a ? b : c ? d : e`: the arms are in a flat list, for the same reason.
    Conditional {
        arms: Vec<Arm>,
        otherwise: Arc<Node>,
    },
    Call(Box<Call>),
    For(Box<For>),
    Template(Vec<Part>),
    /// A template that is a single interpolation: the value's type is preserved.
    Interpolation(Arc<Node>),
    /// An expression that is embedded in the file's text in another notation. The surrounding
    /// variables are not in its scope.
    Embedded(Expression),
    /// Code that could not be parsed. Evaluating it returns the errors.
    Broken(Diagnostics),
}

/// A reference and the steps that follow it.
#[derive(Debug)]
pub(crate) struct Name {
    /// The names as written, up to the first step that is not static.
    pub(crate) traversal: Traversal,
    /// `None` if the names are not a valid reference.
    pub(crate) reference: Option<Reference>,
    pub(crate) subject_end: usize,
    /// All steps after the root, static or not.
    pub(crate) steps: Vec<Step>,
    /// The number of steps that belong to the subject.
    pub(crate) consumed: usize,
}

impl Name {
    /// Returns the reference.
    ///
    /// # Errors
    ///
    /// Returns an error if the names are not a valid reference.
    pub(crate) fn reference(&self) -> Result<&Reference, Diagnostic> {
        self.reference.as_ref().ok_or_else(|| malformed(&self.traversal))
    }
}

#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) kind: StepKind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

#[derive(Debug)]
pub(crate) enum StepKind {
    Attribute(Str),
    /// A constant index: `[0]`, `["key"]` or the legacy `.0`.
    Key(Value),
    Index(Arc<Node>),
}

/// An operator with its right operand. The left operand consists of the first operand and all
/// preceding links.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) operator: Operator,
    pub(crate) right: Arc<Node>,
}

/// `condition ? if_true :`
#[derive(Debug)]
pub(crate) struct Arm {
    pub(crate) condition: Arc<Node>,
    pub(crate) if_true: Arc<Node>,
}

#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) key: Key,
    pub(crate) value: Arc<Node>,
}

#[derive(Debug)]
pub(crate) enum Key {
    /// An unquoted name, which is used as the key.
    Name { name: Str, start: usize, end: usize },
    /// Any other expression.
    Expression(Arc<Node>),
    /// An unquoted `a.b`. It has no value, because it could be a reference or a name. Static
    /// analysis can still read it.
    Ambiguous(Arc<Node>),
}

#[derive(Debug)]
pub(crate) struct Call {
    /// The name as written, with namespaces.
    pub(crate) name: Str,
    pub(crate) name_span: (usize, usize),
    pub(crate) target: Target,
    pub(crate) arguments: Vec<Arc<Node>>,
    /// True if the last argument is followed by `...`.
    pub(crate) expands: bool,
}

impl Call {
    /// Returns the range from the name to the opening parenthesis.
    pub(crate) fn opening(&self) -> (usize, usize) {
        (self.name_span.0, self.name_span.1 + 1)
    }

    /// Returns whether the function catches errors of its arguments.
    fn catches_errors(&self) -> bool {
        matches!(self.target, Target::BuiltIn(Function { body: Body::Lazy(Lazy::Can | Lazy::Try), .. }))
    }
}

#[derive(Debug)]
pub(crate) enum Target {
    BuiltIn(&'static Function),
    Provider {
        provider: Str,
        function: Str,
    },
    /// An unknown function. The error is reported only when the call is evaluated or checked: in
    /// type constraints, `object` and `optional` are not function calls.
    Unknown,
}

#[derive(Debug)]
pub(crate) struct For {
    pub(crate) collection: Arc<Node>,
    /// The slot of the first variable; if there is a key, the value is in the next slot.
    pub(crate) slot: usize,
    pub(crate) has_key: bool,
    /// The key in the resulting object.
    pub(crate) key: Option<Arc<Node>>,
    pub(crate) value: Arc<Node>,
    pub(crate) condition: Option<Arc<Node>>,
    pub(crate) groups: bool,
}

/// A part of a template.
#[derive(Debug)]
pub(crate) enum Part {
    Literal(Str),
    Interpolation(Arc<Node>),
    If { condition: Arc<Node>, then: Vec<Part>, otherwise: Vec<Part> },
    For { collection: Arc<Node>, slot: usize, has_key: bool, body: Vec<Part> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Node {
    pub(crate) fn new(kind: Kind, start: usize, end: usize) -> Self {
        let mut below = 0;
        kind.children(&mut |child| below = below.max(child.height));
        match &kind {
            Kind::Template(parts) => below += levels(parts),
            Kind::Embedded(inner) => below = inner.node().height,
            // The arguments include the type argument of `convert`.
            Kind::Call(call) => call.arguments.iter().for_each(|each| below = below.max(each.height)),
            _ => {}
        }
        Self { kind, start, end, height: below + 1 }
    }

    /// Returns the position at which Terraform reports a value of the wrong type: the first token of
    /// a composite expression, and the text of a quoted string. `text` is the text of the file.
    pub(crate) fn beginning(&self, text: &str) -> (usize, usize) {
        let whole = (self.start, self.end);
        match &self.kind {
            Kind::Parenthesis(inner) => inner.beginning(text),
            Kind::Chain { first, .. } => first.beginning(text),
            Kind::Conditional { arms, .. } => arms.first().map_or(whole, |arm| arm.condition.beginning(text)),
            Kind::Negate(_) | Kind::Not(_) | Kind::Tuple(_) | Kind::Object(_) | Kind::For(_) => {
                (self.start, self.start + 1)
            }
            Kind::Call(call) => call.opening(),
            Kind::Splat { marker, .. } => *marker,
            Kind::Quoted(_) => self.first_literal(self.end, text).unwrap_or(whole),
            Kind::Template(parts) => {
                let sequence = |next: &Self| text.get(..next.start)?.rfind(['$', '%']);
                match parts.as_slice() {
                    [Part::Interpolation(first) | Part::If { condition: first, .. }, ..] => {
                        first.beginning(text)
                    }
                    [Part::Literal(_), next, ..] => {
                        let end = match next {
                            Part::Literal(_) => None,
                            Part::Interpolation(next)
                            | Part::If { condition: next, .. }
                            | Part::For { collection: next, .. } => sequence(next),
                        };
                        end.and_then(|end| self.first_literal(end, text)).unwrap_or(whole)
                    }
                    _ => whole,
                }
            }
            Kind::Constant(_)
            | Kind::Slot { .. }
            | Kind::Name(_)
            | Kind::Traverse { .. }
            | Kind::Interpolation(_)
            | Kind::Embedded(_)
            | Kind::Broken(_) => whole,
        }
    }

    /// Returns the position of the literal text at the start of a template, up to `limit`: for a
    /// heredoc, only its first line. `None` if the template is empty.
    fn first_literal(&self, limit: usize, text: &str) -> Option<(usize, usize)> {
        let written = text.get(self.start..limit)?;
        let (start, end) = if written.starts_with('"') {
            let closing = usize::from(limit == self.end);
            (self.start + 1, limit.checked_sub(closing)?)
        } else if written.starts_with("<<") {
            let start = self.start + written.find('\n')? + 1;
            let line = text.get(start..limit)?;
            (start, start + line.find('\n').map_or(line.len(), |at| at + 1))
        } else {
            (self.start, limit)
        };
        (start < end).then_some((start, end))
    }

    /// Like [`Node::walk`]. Also passes whether `can` or `try` catches errors of the node.
    pub(crate) fn walk_with_catch<'a>(&'a self, is_caught: bool, visit: &mut dyn FnMut(&'a Self, bool)) {
        visit(self, is_caught);
        let is_caught = is_caught || matches!(&self.kind, Kind::Call(call) if call.catches_errors());
        self.kind.children(&mut |child| child.walk_with_catch(is_caught, visit));
    }

    /// Calls `visit` for this node and all nodes below it, except embedded expressions.
    pub(crate) fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Self)) {
        visit(self);
        self.kind.children(&mut |child| child.walk(visit));
    }
}

impl Kind {
    /// Calls `visit` for each direct child.
    fn children<'a>(&'a self, visit: &mut dyn FnMut(&'a Node)) {
        match self {
            Self::Constant(_) | Self::Quoted(_) | Self::Slot { .. } | Self::Embedded(_) | Self::Broken(_) => {
            }
            Self::Name(name) => indexes(&name.steps, visit),
            Self::Traverse { source, steps } => {
                visit(source);
                indexes(steps, visit);
            }
            Self::Splat { source, each, .. } => {
                visit(source);
                visit(each);
            }
            Self::Parenthesis(inner)
            | Self::Negate(inner)
            | Self::Not(inner)
            | Self::Interpolation(inner) => visit(inner),
            Self::Tuple(items) => items.iter().for_each(|item| visit(item)),
            Self::Object(items) => {
                for item in items {
                    if let Key::Expression(key) = &item.key {
                        visit(key);
                    }
                    visit(&item.value);
                }
            }
            Self::Chain { first, rest } => {
                visit(first);
                for link in rest {
                    visit(&link.right);
                }
            }
            Self::Conditional { arms, otherwise } => {
                for arm in arms {
                    visit(&arm.condition);
                    visit(&arm.if_true);
                }
                visit(otherwise);
            }
            Self::Call(call) => call.values().iter().for_each(|argument| visit(argument)),
            Self::For(each) => {
                visit(&each.collection);
                if let Some(key) = &each.key {
                    visit(key);
                }
                visit(&each.value);
                if let Some(condition) = &each.condition {
                    visit(condition);
                }
            }
            Self::Template(parts) => of_parts(parts, visit),
        }
    }
}

fn indexes<'a>(steps: &'a [Step], visit: &mut dyn FnMut(&'a Node)) {
    for step in steps {
        if let StepKind::Index(index) = &step.kind {
            visit(index);
        }
    }
}

fn of_parts<'a>(parts: &'a [Part], visit: &mut dyn FnMut(&'a Node)) {
    for part in parts {
        match part {
            Part::Literal(_) => {}
            Part::Interpolation(inner) => visit(inner),
            Part::If { condition, then, otherwise } => {
                visit(condition);
                of_parts(then, visit);
                of_parts(otherwise, visit);
            }
            Part::For { collection, body, .. } => {
                visit(collection);
                of_parts(body, visit);
            }
        }
    }
}

/// Returns the nesting depth of the directives in a template.
fn levels(parts: &[Part]) -> u32 {
    let inside = |part: &Part| match part {
        Part::Literal(_) | Part::Interpolation(_) => 0,
        Part::If { then, otherwise, .. } => 1 + levels(then).max(levels(otherwise)),
        Part::For { body, .. } => 1 + levels(body),
    };
    parts.iter().map(inside).max().unwrap_or(0)
}

impl Call {
    /// Returns the arguments that are values: all arguments except the type argument of `convert`.
    pub(crate) fn values(&self) -> &[Arc<Node>] {
        match self.target {
            Target::BuiltIn(Function { body: Body::Lazy(Lazy::Convert), .. }) => {
                self.arguments.get(..1).unwrap_or(&[])
            }
            _ => &self.arguments,
        }
    }
}

impl Operator {
    pub(crate) const fn symbol(self) -> &'static str {
        match self {
            Self::Or => "||",
            Self::And => "&&",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}
