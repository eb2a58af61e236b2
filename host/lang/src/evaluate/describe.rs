//! Describes the values involved in an error, without revealing sensitive values.

use std::collections::BTreeMap;

use wardian_diagnostic::ValueNote;
use wardian_value::{Number, Path, PathStep, Str, Type, Value, View};

use super::Evaluation;
use crate::node::{Kind, Name, Node, Step, StepKind};
use crate::{Expression, Resolved, Scope};

/// The property of values that causes the error. The message may reveal this property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The values themselves.
    Value,
    /// The values are not known yet.
    Unknown,
    Sensitive,
    Ephemeral,
}

/// Returns notes on all references in an expression that have a value.
pub(crate) fn value_notes(expression: &Expression, scope: &dyn Scope, cause: Cause) -> Vec<ValueNote> {
    let node = expression.node();
    Evaluation::new(expression, scope).notes(node, (node.start, node.end), cause)
}

impl Evaluation<'_> {
    /// Returns notes on the references within `node` that overlap the range `place`.
    pub(super) fn notes(&self, node: &Node, place: (usize, usize), cause: Cause) -> Vec<ValueNote> {
        let mut notes: BTreeMap<String, String> = BTreeMap::new();
        node.walk(&mut |node| {
            if node.start >= place.1 || node.end <= place.0 {
                return;
            }
            let involved = match &node.kind {
                Kind::Name(name) => self.named(node, name),
                Kind::Traverse { source, steps } => self.bound(source, steps),
                _ => None,
            };
            if let Some((traversal, value)) = involved
                && !notes.contains_key(&traversal)
                && let Some(statement) = describe(&value, cause)
            {
                notes.insert(traversal, statement);
            }
        });
        notes.into_iter().map(|(traversal, statement)| ValueNote { traversal, statement }).collect()
    }

    /// Returns the value of a name, followed by as many of its static steps as possible.
    fn named(&self, node: &Node, name: &Name) -> Option<(String, Value)> {
        let root = &name.traversal.root;
        let steps: Vec<PathStep> = name.traversal.steps.iter().map(|step| step.step.clone()).collect();
        if let Some(value) = self.scope.local(root) {
            return Some(longest(root, value, &steps));
        }
        let reference = name.reference.as_ref()?;
        let span = self.span((node.start, name.subject_end));
        let (Resolved::Whole(value) | Resolved::Element(value)) =
            self.scope.resolve(&reference.subject, None, &span).ok()?;
        let subject = reference.subject.to_string();
        Some(longest(&subject, value, steps.get(name.consumed..).unwrap_or_default()))
    }

    /// Returns an attribute or element of a variable of a `for` expression.
    fn bound(&self, source: &Node, steps: &[Step]) -> Option<(String, Value)> {
        let Kind::Slot { slot, name } = &source.kind else { return None };
        if name.is_empty() {
            return None;
        }
        let fixed: Vec<PathStep> = steps.iter().map_while(|step| fixed_step(&step.kind)).collect();
        Some(longest(name, self.slots.get(*slot)?.clone(), &fixed))
    }
}

fn fixed_step(step: &StepKind) -> Option<PathStep> {
    match step {
        StepKind::Attribute(name) => Some(PathStep::Attribute(name.clone())),
        StepKind::Key(key) => match key.view() {
            View::String(name) => Some(PathStep::Key(Str::new(name))),
            View::Number(number) => {
                number.as_i64().and_then(|at| u64::try_from(at).ok()).map(PathStep::Index)
            }
            _ => None,
        },
        StepKind::Index(_) => None,
    }
}

/// Returns the value after applying as many of the steps as possible.
fn longest(root: &str, value: Value, steps: &[PathStep]) -> (String, Value) {
    let mut current = value;
    let mut taken = 0;
    for step in steps {
        let marks = current.marks();
        let Some(next) = next(&current, step) else { break };
        current = next.with_marks(marks);
        taken += 1;
    }
    (format!("{root}{}", Path::from(steps[..taken].to_vec())), current)
}

fn next(value: &Value, step: &PathStep) -> Option<Value> {
    if value.is_known() && !value.is_null() {
        return Path::from(vec![step.clone()]).apply(value).cloned();
    }
    if value.is_known() {
        return None;
    }
    let ty = match (value.ty(), step) {
        (Type::Dynamic, _) => Type::Dynamic,
        (Type::Object(object), PathStep::Attribute(name) | PathStep::Key(name)) => {
            object.attribute(name)?.clone()
        }
        (Type::Map(element), PathStep::Attribute(_) | PathStep::Key(_))
        | (Type::List(element), PathStep::Index(_)) => (**element).clone(),
        (Type::Tuple(types), PathStep::Index(at)) => types.get(usize::try_from(*at).ok()?)?.clone(),
        _ => return None,
    };
    Some(Value::unknown(ty))
}

/// Describes a value: `is "x"`, `is list of string with 2 elements`. A sensitive or unknown value
/// is described only if being sensitive or unknown causes the error.
fn describe(value: &Value, cause: Cause) -> Option<String> {
    let marks = value.marks();
    if marks.is_sensitive() {
        return (cause == Cause::Sensitive).then(|| "has a sensitive value".into());
    }
    if marks.is_ephemeral() {
        return (cause == Cause::Ephemeral).then(|| "has an ephemeral value".into());
    }
    let name = value.ty().friendly_name();
    let count = |count: usize, what: &str| match count {
        1 => format!("with 1 {what}"),
        _ => format!("with {count} {what}s"),
    };
    Some(match value.view() {
        View::Null => "is null".into(),
        View::Unknown => match (value.ty(), cause) {
            (Type::Dynamic, Cause::Unknown) => "will be known only after apply".into(),
            (Type::Dynamic, _) => return None,
            (_, Cause::Unknown) => format!("is a {name}, known only after apply"),
            _ => format!("is a {name}"),
        },
        View::Bool(value) => format!("is {value}"),
        View::Number(value) => format!("is {}", shortened(value)),
        View::String(text) => format!("is {text:?}"),
        View::List([]) | View::Set([]) | View::Tuple([]) => format!("is empty {name}"),
        View::Map(items) if items.is_empty() => format!("is empty {name}"),
        View::List(items) | View::Set(items) | View::Tuple(items) => {
            format!("is {name} {}", count(items.len(), "element"))
        }
        View::Map(items) => format!("is {name} {}", count(items.len(), "element")),
        View::Object(attributes) => match attributes.keys().next() {
            None => "is object with no attributes".into(),
            Some(only) if attributes.len() == 1 => {
                format!("is object with 1 attribute {only:?}")
            }
            Some(_) => format!("is object {}", count(attributes.len(), "attribute")),
        },
    })
}

/// Formats a number with at most ten digits.
fn shortened(number: &Number) -> String {
    const DIGITS: i32 = 10;
    let scientific = format!("{:.9e}", number.to_f64());
    let parts = scientific.split_once('e').and_then(|(mantissa, exponent)| {
        let exponent: i32 = exponent.parse().ok()?;
        Some((mantissa.trim_end_matches('0').trim_end_matches('.'), exponent))
    });
    match parts {
        Some((mantissa, exponent)) if !(-4..DIGITS).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.abs())
        }
        Some((_, exponent)) => {
            let places = usize::try_from(DIGITS - 1 - exponent).unwrap_or(0);
            let fixed = format!("{:.places$}", number.to_f64());
            if fixed.contains('.') {
                fixed.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                fixed
            }
        }
        // Too large for a float, or infinite.
        None => number.to_string(),
    }
}
