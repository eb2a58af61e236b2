//! The values that an error involves, in words that reveal nothing sensitive.

use wardian_value::{PathStep, Type, Value, View};

use super::Evaluation;
use crate::node::{Kind, Name, Node};
use crate::{Resolved, ValueNote};

impl Evaluation<'_> {
    /// Notes on everything that `node` refers to and that has a value.
    pub(super) fn notes(&mut self, node: &Node) -> Vec<ValueNote> {
        let mut found: Vec<&Node> = Vec::new();
        node.walk(&mut |node| {
            if matches!(&node.kind, Kind::Name(_) | Kind::Slot { .. } | Kind::Traverse { .. }) {
                found.push(node);
            }
        });
        let mut notes: Vec<ValueNote> = Vec::new();
        for node in found {
            let (traversal, value) = match &node.kind {
                Kind::Name(name) => {
                    let Some((value, remaining)) = self.named(node, name) else { continue };
                    let path = wardian_value::Path::from(remaining);
                    let Some(part) = path.apply(&value) else { continue };
                    let marks = value.marks();
                    (name.traversal.span.text().to_owned(), part.clone().with_marks(marks))
                }
                Kind::Slot { slot, name } if !name.is_empty() => {
                    let Some(value) = self.slots.get(*slot) else { continue };
                    (name.to_string(), value.clone())
                }
                _ => continue,
            };
            if value.is_known() && *value.ty() == Type::Dynamic && !value.is_null() {
                continue;
            }
            if notes.iter().any(|note| note.traversal == traversal) {
                continue;
            }
            notes.push(ValueNote { traversal, statement: describe(&value) });
        }
        notes.sort_by(|a, b| a.traversal.cmp(&b.traversal));
        notes
    }
}

impl Evaluation<'_> {
    /// The value of a name's subject, and the fixed steps behind that.
    fn named(&self, node: &Node, name: &Name) -> Option<(Value, Vec<PathStep>)> {
        if let Some(value) = self.scope.local(&name.traversal.root) {
            return Some((value, name.traversal.steps.iter().map(|step| step.step.clone()).collect()));
        }
        let reference = name.reference.as_ref().ok()?;
        let span = self.span((node.start, name.subject_end));
        let (Resolved::Whole(value) | Resolved::Element(value)) =
            self.scope.resolve(&reference.subject, None, &span).ok()?;
        Some((value, reference.remaining.clone()))
    }
}

/// What is said of a value: `is "x"`, `is list of string with 2 elements`.
fn describe(value: &Value) -> String {
    if value.marks().is_sensitive() {
        return "has a sensitive value".into();
    }
    if value.marks().is_ephemeral() {
        return "has an ephemeral value".into();
    }
    let elements = |count: usize, what: &str| match count {
        1 => format!("with 1 {what}"),
        _ => format!("with {count} {what}s"),
    };
    let name = value.ty().friendly_name();
    match value.view() {
        View::Null => "is null".into(),
        View::Unknown if *value.ty() == Type::Dynamic => "will be known only after apply".into(),
        View::Unknown => format!("is a {name}, known only after apply"),
        View::Bool(value) => format!("is {value}"),
        View::Number(value) => format!("is {value}"),
        View::String(text) => format!("is {text:?}"),
        View::List([]) | View::Set([]) => format!("is empty {name}"),
        View::List(items) | View::Set(items) | View::Tuple(items) => {
            format!("is {name} {}", elements(items.len(), "element"))
        }
        View::Map(items) if items.is_empty() => format!("is empty {name}"),
        View::Map(items) => format!("is {name} {}", elements(items.len(), "element")),
        View::Object(attributes) if attributes.is_empty() => "is object with no attributes".into(),
        View::Object(attributes) => {
            format!("is object {}", elements(attributes.len(), "attribute"))
        }
    }
}
