//! A set of values, to find duplicates.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use wardian_value::{Value, View};

/// A set of wholly known values. Only values with equal hashes are compared with each other, so the
/// cost is linear in the number of values.
#[derive(Default)]
pub(super) struct Members<'v> {
    by_digest: HashMap<u64, Vec<&'v Value>>,
}

impl<'v> Members<'v> {
    pub(super) fn from_values(values: &'v [Value]) -> Self {
        let mut members = Self::default();
        for value in values {
            members.insert(value);
        }
        members
    }

    /// Adds a value, and returns true if the set did not contain it.
    pub(super) fn insert(&mut self, value: &'v Value) -> bool {
        let alike = self.by_digest.entry(digest(value)).or_default();
        let new = !alike.contains(&value);
        if new {
            alike.push(value);
        }
        new
    }

    pub(super) fn contains(&self, value: &Value) -> bool {
        self.by_digest.get(&digest(value)).is_some_and(|alike| alike.contains(&value))
    }
}

fn digest(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    add(value, &mut hasher);
    hasher.finish()
}

fn add(value: &Value, hasher: &mut DefaultHasher) {
    match value.view() {
        View::Null | View::Unknown => hasher.write_u8(0),
        View::Bool(truth) => truth.hash(hasher),
        // Equal numbers have the same text.
        View::Number(number) => number.to_string().hash(hasher),
        View::String(text) => text.as_str().hash(hasher),
        View::List(items) | View::Set(items) | View::Tuple(items) => {
            hasher.write_usize(items.len());
            for item in items {
                add(item, hasher);
            }
        }
        View::Map(items) | View::Object(items) => {
            hasher.write_usize(items.len());
            for (key, item) in items {
                key.as_str().hash(hasher);
                add(item, hasher);
            }
        }
    }
}
