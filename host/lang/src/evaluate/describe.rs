//! The values that an error involves, in words that reveal nothing sensitive.

use std::collections::BTreeMap;

use wardian_value::{Path, Type, Value, View};

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
        let mut notes: BTreeMap<String, ValueNote> = BTreeMap::new();
        for node in found {
            let traversal = match &node.kind {
                Kind::Name(name) => name.traversal.span.text(),
                Kind::Slot { name, .. } if !name.is_empty() => name,
                _ => continue,
            };
            if notes.contains_key(traversal) {
                continue;
            }
            let value = match &node.kind {
                Kind::Name(name) => self.named(node, name),
                Kind::Slot { slot, .. } => self.slots.get(*slot).cloned(),
                _ => None,
            };
            let Some(value) = value else { continue };
            if value.is_known() && *value.ty() == Type::Dynamic && !value.is_null() {
                continue;
            }
            let traversal = traversal.to_owned();
            notes.insert(traversal.clone(), ValueNote { traversal, statement: describe(&value) });
        }
        notes.into_values().collect()
    }
}

impl Evaluation<'_> {
    /// The value of a name with the fixed steps behind it.
    fn named(&self, node: &Node, name: &Name) -> Option<Value> {
        let (value, remaining) = match self.scope.local(&name.traversal.root) {
            Some(value) => (value, name.traversal.steps.iter().map(|step| step.step.clone()).collect()),
            None => {
                let reference = name.reference.as_ref().ok()?;
                let span = self.span((node.start, name.subject_end));
                let (Resolved::Whole(value) | Resolved::Element(value)) =
                    self.scope.resolve(&reference.subject, None, &span).ok()?;
                (value, reference.remaining.clone())
            }
        };
        let part = Path::from(remaining).apply(&value)?.clone();
        Some(part.with_marks(value.marks()))
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
