//! The compiled form of an expression.
//!
//! Names are resolved when it is made: variables of `for` expressions became
//! slots, everything else a [`Reference`] or the diagnostic that says why it is
//! none. Positions are bytes in the file that the [`crate::Expression`] holds.

use std::sync::Arc;

use wardian_value::{Str, Value};

use crate::functions::Function;
use crate::{Diagnostic, Diagnostics, Expression, Reference, Traversal};

/// One operation with its operands.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Constant(Value),
    /// A template without interpolations; apart from [`Kind::Constant`] because
    /// some arguments accept quoted names.
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
    /// The element is in the slot while `each` is evaluated.
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
    /// `a + b - c`: operators of one precedence, from left to right. Flat, so that
    /// its length is no depth.
    Chain {
        first: Arc<Node>,
        rest: Vec<Link>,
    },
    /// `a ? b : c ? d : e`: flat, as above.
    Conditional {
        arms: Vec<Arm>,
        otherwise: Arc<Node>,
    },
    Call(Box<Call>),
    For(Box<For>),
    Template(Vec<Part>),
    /// A template that is one interpolation: its value keeps its type.
    Interpolation(Arc<Node>),
    /// An expression in another form of the file's text. Nothing around it gives
    /// it variables.
    Embedded(Expression),
    /// What could not be compiled: an error for whoever wants its value.
    Broken(Diagnostics),
}

/// A reference and what follows it.
#[derive(Debug)]
pub(crate) struct Name {
    /// As written, up to the first step that is not static.
    pub(crate) traversal: Traversal,
    pub(crate) reference: Result<Reference, Diagnostic>,
    /// The place of the subject alone.
    pub(crate) subject_end: usize,
    /// All steps behind the root, static or not.
    pub(crate) steps: Vec<Step>,
    /// How many of them belong to the subject.
    pub(crate) consumed: usize,
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

/// An operator with its right operand; the left one is all that stands before.
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
    /// A bare name is itself.
    Name { name: Str, start: usize, end: usize },
    /// Any other expression.
    Expression(Arc<Node>),
    /// A bare `a.b`, which has no value: it could be meant as a reference or as a
    /// name. Who only looks at what is written may read it.
    Ambiguous(Arc<Node>),
}

#[derive(Debug)]
pub(crate) struct Call {
    /// As written, with namespaces.
    pub(crate) name: Str,
    pub(crate) name_span: (usize, usize),
    pub(crate) target: Target,
    pub(crate) arguments: Vec<Arc<Node>>,
    /// The last argument is followed by `...`.
    pub(crate) expands: bool,
}

#[derive(Debug)]
pub(crate) enum Target {
    BuiltIn(&'static Function),
    Provider { provider: Str, function: Str },
    Unknown(Diagnostic),
}

#[derive(Debug)]
pub(crate) struct For {
    pub(crate) collection: Arc<Node>,
    /// The slot of the first variable; the value is in the next one where there
    /// is a key.
    pub(crate) slot: usize,
    pub(crate) has_key: bool,
    /// For an object.
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
    /// Calls `visit` for this node and every node below it, but for what is
    /// embedded.
    pub(crate) fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Self)) {
        visit(self);
        match &self.kind {
            Kind::Constant(_) | Kind::Quoted(_) | Kind::Slot { .. } | Kind::Embedded(_) | Kind::Broken(_) => {
            }
            Kind::Name(name) => walk_steps(&name.steps, visit),
            Kind::Traverse { source, steps } => {
                source.walk(visit);
                walk_steps(steps, visit);
            }
            Kind::Splat { source, each, .. } => {
                source.walk(visit);
                each.walk(visit);
            }
            Kind::Parenthesis(inner)
            | Kind::Negate(inner)
            | Kind::Not(inner)
            | Kind::Interpolation(inner) => inner.walk(visit),
            Kind::Tuple(items) => items.iter().for_each(|item| item.walk(visit)),
            Kind::Object(items) => {
                for item in items {
                    if let Key::Expression(key) = &item.key {
                        key.walk(visit);
                    }
                    item.value.walk(visit);
                }
            }
            Kind::Chain { first, rest } => {
                first.walk(visit);
                rest.iter().for_each(|link| link.right.walk(visit));
            }
            Kind::Conditional { arms, otherwise } => {
                for arm in arms {
                    arm.condition.walk(visit);
                    arm.if_true.walk(visit);
                }
                otherwise.walk(visit);
            }
            Kind::Call(call) => call.arguments.iter().for_each(|argument| argument.walk(visit)),
            Kind::For(each) => {
                each.collection.walk(visit);
                if let Some(key) = &each.key {
                    key.walk(visit);
                }
                each.value.walk(visit);
                if let Some(condition) = &each.condition {
                    condition.walk(visit);
                }
            }
            Kind::Template(parts) => walk_parts(parts, visit),
        }
    }
}

fn walk_steps<'a>(steps: &'a [Step], visit: &mut dyn FnMut(&'a Node)) {
    for step in steps {
        if let StepKind::Index(index) = &step.kind {
            index.walk(visit);
        }
    }
}

fn walk_parts<'a>(parts: &'a [Part], visit: &mut dyn FnMut(&'a Node)) {
    for part in parts {
        match part {
            Part::Literal(_) => {}
            Part::Interpolation(inner) => inner.walk(visit),
            Part::If { condition, then, otherwise } => {
                condition.walk(visit);
                walk_parts(then, visit);
                walk_parts(otherwise, visit);
            }
            Part::For { collection, body, .. } => {
                collection.walk(visit);
                walk_parts(body, visit);
            }
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
