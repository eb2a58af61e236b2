//! Which values of one type were there.

use std::collections::HashSet;

use wardian_value::{Value, View};

/// Wholly known values of one type. Strings and numbers, the usual case, need
/// not be compared with each other.
#[derive(Default)]
pub(super) struct Members<'v> {
    texts: HashSet<String>,
    others: Vec<&'v Value>,
}

impl<'v> Members<'v> {
    pub(super) fn of(values: &'v [Value]) -> Self {
        let mut members = Self::default();
        for value in values {
            members.insert(value);
        }
        members
    }

    /// Whether it was not there before.
    pub(super) fn insert(&mut self, value: &'v Value) -> bool {
        match text(value) {
            Some(text) => self.texts.insert(text),
            None => {
                let new = !self.others.contains(&value);
                if new {
                    self.others.push(value);
                }
                new
            }
        }
    }

    pub(super) fn contains(&self, value: &Value) -> bool {
        match text(value) {
            Some(text) => self.texts.contains(&text),
            None => self.others.contains(&value),
        }
    }
}

fn text(value: &Value) -> Option<String> {
    match value.view() {
        View::String(text) => Some(text.to_string()),
        // Equality goes by the decimal text.
        View::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
