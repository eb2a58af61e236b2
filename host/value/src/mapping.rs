//! The elements of a map or the attributes of an object, sorted by key in one block of memory.
//! Objects are small and numerous, so this takes a third of the memory of a B-tree.

use std::collections::{BTreeMap, btree_map};
use std::sync::Arc;

use crate::{Str, Value};

/// A reference to the elements of a map, or to the attributes of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mapping<'a>(&'a [(Str, Value)]);

impl<'a> Mapping<'a> {
    pub(crate) fn new(entries: &'a [(Str, Value)]) -> Self {
        Self(entries)
    }

    /// Returns the value of a key. Cost: O(log n).
    pub fn get(self, key: &str) -> Option<&'a Value> {
        if self.0.len() <= MAX_LINEAR {
            // Names of attributes have different lengths, so most comparisons are of lengths only.
            return self.0.iter().find(|(known, _)| known.as_str() == key).map(|(_, value)| value);
        }
        position(self.0, key).ok().and_then(|index| self.0.get(index)).map(|(_, value)| value)
    }

    /// Returns whether the mapping has a key. Cost: O(log n).
    pub fn contains_key(self, key: &str) -> bool {
        position(self.0, key).is_ok()
    }

    /// Returns the number of keys.
    pub fn len(self) -> usize {
        self.0.len()
    }

    /// Returns true if there are no keys.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Returns the keys with their values, sorted.
    pub fn iter(self) -> MappingIter<'a> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// Returns the keys, sorted.
    pub fn keys(self) -> impl DoubleEndedIterator<Item = &'a Str> + ExactSizeIterator + Clone {
        self.0.iter().map(|(key, _)| key)
    }

    /// Returns the values in the order of their keys.
    pub fn values(self) -> impl DoubleEndedIterator<Item = &'a Value> + ExactSizeIterator + Clone {
        self.0.iter().map(|(_, value)| value)
    }

    /// Returns a copy that can be changed. The values are shared.
    pub fn to_map(self) -> BTreeMap<Str, Value> {
        self.0.iter().cloned().collect()
    }
}

/// Iterates over a mapping.
pub type MappingIter<'a> =
    std::iter::Map<std::slice::Iter<'a, (Str, Value)>, fn(&(Str, Value)) -> (&Str, &Value)>;

impl<'a> IntoIterator for Mapping<'a> {
    type Item = (&'a Str, &'a Value);
    type IntoIter = MappingIter<'a>;

    fn into_iter(self) -> MappingIter<'a> {
        self.iter()
    }
}

/// The number of entries up to which comparing a key with each of them is faster than a binary search.
const MAX_LINEAR: usize = 8;

/// Returns the position of a key in sorted entries.
pub(crate) fn position(entries: &[(Str, Value)], key: &str) -> Result<usize, usize> {
    entries.binary_search_by(|(known, _)| known.as_str().cmp(key))
}

/// Collects entries in any order. If keys are sorted, which is most common, each entry is only
/// appended.
#[derive(Default)]
pub(crate) struct Entries {
    sorted: Vec<(Str, Value)>,
    /// All entries, after a key was added out of order; empty before.
    map: BTreeMap<Str, Value>,
}

/// Maximum number of attributes for which memory is allocated before they are decoded.
const MAX_RESERVED: usize = 32;

impl Entries {
    /// Returns no entries yet, with memory for the attributes of an object: `count` can be wrong.
    pub(crate) fn for_attributes(count: usize) -> Self {
        Self::with_capacity(count.min(MAX_RESERVED))
    }

    fn with_capacity(count: usize) -> Self {
        Self { sorted: Vec::with_capacity(count), map: BTreeMap::new() }
    }

    /// Adds an entry, or replaces the value of a key. Returns whether the key was already present.
    pub(crate) fn insert(&mut self, key: Str, value: Value) -> bool {
        if self.map.is_empty() {
            if self.sorted.last().is_none_or(|(last, _)| *last < key) {
                self.sorted.push((key, value));
                return false;
            }
            self.map = std::mem::take(&mut self.sorted).into_iter().collect();
        }
        self.map.insert(key, value).is_some()
    }

    pub(crate) fn contains_key(&self, key: &str) -> bool {
        position(&self.sorted, key).is_ok() || self.map.contains_key(key)
    }

    pub(crate) fn len(&self) -> usize {
        self.sorted.len() + self.map.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.sorted.iter_mut().map(|(_, value)| value).chain(self.map.values_mut())
    }

    pub(crate) fn build(self) -> Arc<[(Str, Value)]> {
        if self.map.is_empty() { self.sorted.into() } else { self.map.into_iter().collect() }
    }
}

impl IntoIterator for Entries {
    type Item = (Str, Value);
    type IntoIter = std::iter::Chain<std::vec::IntoIter<(Str, Value)>, btree_map::IntoIter<Str, Value>>;

    fn into_iter(self) -> Self::IntoIter {
        self.sorted.into_iter().chain(self.map)
    }
}

impl FromIterator<(Str, Value)> for Entries {
    fn from_iter<I: IntoIterator<Item = (Str, Value)>>(entries: I) -> Self {
        let entries = entries.into_iter();
        let mut collected = Self::with_capacity(entries.size_hint().0);
        for (key, value) in entries {
            collected.insert(key, value);
        }
        collected
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn mapping_agrees_with_map(keys in proptest::collection::vec("[a-d]{0,2}", 0..12)) {
            let entry = |(index, key): (usize, &String)| (Str::new(key), Value::number(index as u64));
            let expected: BTreeMap<Str, Value> = keys.iter().enumerate().map(entry).collect();
            let mut entries = Entries::default();
            for (index, key) in keys.iter().enumerate() {
                let was_present = entries.contains_key(key);
                prop_assert_eq!(entries.insert(Str::new(key), Value::number(index as u64)), was_present);
            }
            prop_assert_eq!(entries.len(), expected.len());
            let built = entries.build();
            let mapping = Mapping::new(&built);
            prop_assert_eq!(mapping.to_map(), expected.clone());
            prop_assert!(mapping.iter().eq(expected.iter()));
            for key in ["", "a", "bc", "zz"] {
                prop_assert_eq!(mapping.get(key), expected.get(key));
                prop_assert_eq!(mapping.contains_key(key), expected.contains_key(key));
            }
        }
    }
}
