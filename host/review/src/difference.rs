//! The differences between the values of an object before and after a change.
//!
//! The result is flat: one entry for each attribute, element or key that differs. Nulls are treated as
//! absent, except for elements of lists. A difference is masked if either side is sensitive.
//! Texts that contain JSON are compared as JSON, unless only their notation or null members differ.
//! Nesting is limited by the parser of the document.

use std::collections::HashMap;
use std::hash::Hash;

use serde_json::Value;

use crate::text_pool::TextPool;
use crate::value::{AttributeChange, AttributePath, PathPart, ReviewedValue, write_path};

/// Maximum length of a text that is compared as JSON.
const MAX_JSON_TEXT_LENGTH: usize = 1 << 20;

/// The values of an object, and which of their parts are unknown or sensitive, as documents of the
/// same structure.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sides<'a> {
    pub(crate) before: Option<&'a Value>,
    pub(crate) after: Option<&'a Value>,
    pub(crate) unknown: Option<&'a Value>,
    pub(crate) before_sensitive: Option<&'a Value>,
    pub(crate) after_sensitive: Option<&'a Value>,
}

impl<'a> Sides<'a> {
    fn name(self, name: &str) -> Self {
        self.part(|value| value.get(name), |value| value.get(name))
    }

    fn elements(self, before: Option<usize>, after: Option<usize>) -> Self {
        self.part(|value| value.get(before?), |value| value.get(after?))
    }

    fn part(
        self,
        before: impl Fn(&'a Value) -> Option<&'a Value>,
        after: impl Fn(&'a Value) -> Option<&'a Value>,
    ) -> Self {
        // The parts of a sensitive value are sensitive.
        let sensitive = |side: Option<&'a Value>, part: &dyn Fn(&'a Value) -> Option<&'a Value>| {
            side.and_then(|side| if is_true(Some(side)) { Some(side) } else { part(side) })
        };
        Self {
            before: self.before.and_then(&before),
            after: self.after.and_then(&after),
            unknown: self.unknown.and_then(&after),
            before_sensitive: sensitive(self.before_sensitive, &before),
            after_sensitive: sensitive(self.after_sensitive, &after),
        }
    }

    fn is_unknown(self) -> bool {
        is_true(self.unknown)
    }

    fn is_sensitive(self) -> bool {
        is_true(self.before_sensitive) || is_true(self.after_sensitive)
    }

    fn only_before(self) -> Self {
        Self { after: None, unknown: None, after_sensitive: None, ..self }
    }

    fn only_after(self) -> Self {
        Self { before: None, before_sensitive: None, ..self }
    }
}

fn is_true(value: Option<&Value>) -> bool {
    matches!(value, Some(Value::Bool(true)))
}

fn present(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}

/// The differences of an object.
pub(crate) struct ObjectDifference {
    pub(crate) attributes: Box<[AttributeChange]>,
    /// The number of unchanged attributes at the top level.
    pub(crate) unchanged: u32,
    pub(crate) forced_by: Box<[AttributePath]>,
}

/// Returns the differences between the sides of an object. `replace_paths` are paths as in the document.
pub(crate) fn object_difference(
    sides: Sides<'_>,
    replace_paths: &[Vec<Value>],
    pool: &mut TextPool,
) -> ObjectDifference {
    let mut walk = Walk::new(replace_paths, pool);
    let mut unchanged = 0;
    if sides.is_sensitive() {
        walk.value(sides);
    } else {
        for name in names(sides) {
            let found = walk.found.len();
            let part = sides.name(name);
            walk.path.push(PathPart::Name(name));
            walk.attribute(part);
            walk.path.pop();
            let is_present = present(part.before).is_some() || present(part.after).is_some();
            unchanged += u32::from(found == walk.found.len() && is_present);
        }
    }
    let forced_by = replace_paths.iter().map(|path| walk.replace_path(path)).collect();
    ObjectDifference { attributes: walk.found.into_boxed_slice(), unchanged, forced_by }
}

/// Returns the differences of a value with a name, such as an output.
pub(crate) fn value_difference(name: &str, sides: Sides<'_>, pool: &mut TextPool) -> Box<[AttributeChange]> {
    let mut walk = Walk::new(&[], pool);
    walk.path.push(PathPart::Name(name));
    walk.attribute(sides);
    walk.found.into_boxed_slice()
}

/// Returns the names of all attributes, sorted.
fn names<'a>(sides: Sides<'a>) -> Vec<&'a str> {
    let keys = |side: Option<&'a Value>| side.and_then(Value::as_object).into_iter().flatten();
    let mut names: Vec<&'a str> = keys(sides.before)
        .chain(keys(sides.after))
        .chain(keys(sides.unknown))
        .map(|(name, _)| name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

struct Walk<'a, 'b> {
    path: Vec<PathPart<'a>>,
    found: Vec<AttributeChange>,
    replace_paths: &'b [Vec<Value>],
    pool: &'b mut TextPool,
    text: String,
    pattern: String,
}

impl<'a, 'b> Walk<'a, 'b> {
    fn new(replace_paths: &'b [Vec<Value>], pool: &'b mut TextPool) -> Self {
        Self {
            path: Vec::new(),
            found: Vec::new(),
            replace_paths,
            pool,
            text: String::new(),
            pattern: String::new(),
        }
    }

    /// Compares an attribute or a value of a map, whose nulls are treated as absent.
    fn attribute(&mut self, sides: Sides<'a>) {
        self.value(Sides { before: present(sides.before), after: present(sides.after), ..sides });
    }

    fn value(&mut self, sides: Sides<'a>) {
        let is_unknown = sides.is_unknown();
        if sides.is_sensitive() {
            let was = sides.before.is_some();
            let becomes = sides.after.is_some() || is_unknown;
            let sensitivity = is_true(sides.before_sensitive) != is_true(sides.after_sensitive);
            let differs = is_unknown || sides.before != sides.after || (was && becomes && sensitivity);
            if differs && (was || becomes) {
                let masked = |is_present: bool| is_present.then_some(ReviewedValue::Sensitive);
                self.push(masked(was), masked(becomes));
            }
            return;
        }
        if is_unknown {
            match sides.before {
                None => self.push(None, Some(ReviewedValue::Unknown)),
                Some(before) => match self.leaf(before) {
                    Some(leaf) => self.push(Some(leaf), Some(ReviewedValue::Unknown)),
                    // A container that becomes unknown: its elements would hide the other attributes.
                    None => {
                        let before = if sides.before_sensitive.is_some_and(contains_true) {
                            ReviewedValue::Sensitive
                        } else {
                            ReviewedValue::Text(compact(before).into())
                        };
                        self.push(Some(before), Some(ReviewedValue::Unknown));
                    }
                },
            }
            return;
        }
        match (sides.before, sides.after) {
            (None, None) => {
                // Parts of an absent value can be unknown.
                if sides.unknown.is_some_and(contains_true) {
                    self.parts_of_unknown(sides);
                }
            }
            (Some(Value::String(before)), Some(Value::String(after))) if before != after => {
                self.texts(before, after);
            }
            (Some(before), Some(after)) if is_container(before) && kind(before) == kind(after) => {
                self.containers(sides, before, after);
            }
            (Some(before), Some(after)) => {
                if before != after {
                    if is_container(before) || is_container(after) {
                        self.value(sides.only_before());
                        self.value(sides.only_after());
                    } else {
                        let (before, after) = (self.leaf(before), self.leaf(after));
                        self.push(before, after);
                    }
                }
            }
            (Some(before), None) => match self.leaf(before) {
                Some(leaf) => self.push(Some(leaf), None),
                None => self.one_side(sides, before),
            },
            (None, Some(after)) => match self.leaf(after) {
                Some(leaf) => self.push(None, Some(leaf)),
                None => self.one_side(sides, after),
            },
        }
    }

    fn containers(&mut self, sides: Sides<'a>, before: &'a Value, after: &'a Value) {
        let has_unknown = sides.unknown.is_some_and(contains_true);
        if before == after && !has_unknown && sides.before_sensitive == sides.after_sensitive {
            return;
        }
        let is_same_before_change = self.found.len();
        match (before.as_array(), after.as_array()) {
            (Some(before), Some(after)) => self.lists(sides, before, after),
            _ => self.maps(sides),
        }
        // An empty container that appears or vanishes has no elements that differ.
        if self.found.len() == is_same_before_change && before != after && !has_unknown {
            let (before, after) = (self.leaf(before), self.leaf(after));
            if before.is_some() || after.is_some() {
                self.push(before, after);
            }
        }
    }

    fn one_side(&mut self, sides: Sides<'a>, container: &'a Value) {
        match container {
            Value::Array(elements) => {
                let is_before = sides.before.is_some();
                for index in 0..elements.len() {
                    let part = if is_before {
                        sides.elements(Some(index), None)
                    } else {
                        sides.elements(None, Some(index))
                    };
                    self.at(PathPart::Index(index), part);
                }
            }
            _ => self.maps(sides),
        }
    }

    fn parts_of_unknown(&mut self, sides: Sides<'a>) {
        match sides.unknown {
            Some(Value::Array(elements)) => {
                for index in 0..elements.len() {
                    self.at(PathPart::Index(index), sides.elements(None, Some(index)));
                }
            }
            Some(Value::Object(_)) => self.maps(sides),
            _ => {}
        }
    }

    fn maps(&mut self, sides: Sides<'a>) {
        for name in names(sides) {
            self.path.push(PathPart::Name(name));
            self.attribute(sides.name(name));
            self.path.pop();
        }
    }

    fn at(&mut self, part: PathPart<'a>, sides: Sides<'a>) {
        self.path.push(part);
        self.value(sides);
        self.path.pop();
    }

    /// Compares lists. Equal elements are matched even if their positions differ, because the document
    /// does not distinguish lists from sets. The cost is linear in the size of the lists.
    fn lists(&mut self, sides: Sides<'a>, before: &'a [Value], after: &'a [Value]) {
        let is_known =
            |index: usize| !sides.unknown.and_then(|unknown| unknown.get(index)).is_some_and(contains_true);
        let sensitive = |side: Option<&'a Value>, index: usize| {
            side.and_then(|side| side.get(index)).filter(|part| contains_true(part))
        };
        let before_sensitive = |index: usize| sensitive(sides.before_sensitive, index);
        let after_sensitive = |index: usize| sensitive(sides.after_sensitive, index);
        let equal = |one: usize, other: usize| {
            is_known(other)
                && before.get(one) == after.get(other)
                && before_sensitive(one) == after_sensitive(other)
        };
        let shorter = before.len().min(after.len());
        let start = (0..shorter).take_while(|index| equal(*index, *index)).count();
        let end = (0..shorter - start)
            .take_while(|offset| equal(before.len() - 1 - offset, after.len() - 1 - offset))
            .count();
        let mut old: Vec<usize> = (start..before.len() - end).collect();
        let mut new: Vec<usize> = (start..after.len() - end).collect();
        // The text of an element, and of its sensitive parts.
        let text = |element: Option<&Value>, sensitive: Option<&Value>| {
            element.map(|element| (compact(element), sensitive.map(compact)))
        };
        Self::remove_equal_elements(
            &mut old,
            &mut new,
            |index| text(before.get(index), before_sensitive(index)),
            |index| text(after.get(index), after_sensitive(index)).filter(|_| is_known(index)),
        );
        let has_same_length = old.len() == new.len();
        let mut old = old.into_iter().peekable();
        let mut new = new.into_iter().peekable();
        while let (Some(one), Some(other)) = (old.peek().copied(), new.peek().copied()) {
            let is_pair = has_same_length
                || (before.get(one).is_some_and(is_container) && after.get(other).is_some_and(is_container));
            if !is_pair {
                break;
            }
            old.next();
            new.next();
            self.at(PathPart::Index(other), sides.elements(Some(one), Some(other)));
        }
        for index in old {
            self.at(PathPart::Index(index), sides.elements(Some(index), None).only_before());
        }
        for index in new {
            self.at(PathPart::Index(index), sides.elements(None, Some(index)).only_after());
        }
    }

    /// Removes elements that occur on both sides. Elements without a text are different from all others. If
    /// only the order of the elements differs, no element is removed.
    fn remove_equal_elements<T: Eq + Hash>(
        old: &mut Vec<usize>,
        new: &mut Vec<usize>,
        old_text: impl Fn(usize) -> Option<T>,
        new_text: impl Fn(usize) -> Option<T>,
    ) {
        if old.is_empty() || new.is_empty() {
            return;
        }
        let mut unmatched: HashMap<T, Vec<usize>> = HashMap::new();
        for index in new.iter().copied().rev() {
            if let Some(text) = new_text(index) {
                unmatched.entry(text).or_default().push(index);
            }
        }
        let mut matched = Vec::new();
        let mut rest = Vec::new();
        for index in old.iter().copied() {
            let found = old_text(index).and_then(|text| unmatched.get_mut(&text)?.pop());
            match found {
                Some(other) => matched.push(other),
                None => rest.push(index),
            }
        }
        if rest.is_empty() && matched.len() == new.len() {
            return;
        }
        matched.sort_unstable();
        *old = rest;
        new.retain(|index| matched.binary_search(index).is_err());
    }

    fn texts(&mut self, before: &'a str, after: &'a str) {
        let parsed = |text: &str| -> Option<Value> {
            let is_candidate =
                text.len() <= MAX_JSON_TEXT_LENGTH && text.trim_start().starts_with(['{', '[']);
            is_candidate.then(|| serde_json::from_str(text).ok()).flatten()
        };
        if let (Some(old), Some(new)) = (parsed(before), parsed(after))
            && kind(&old) == kind(&new)
            && old != new
        {
            let mut inner = Walk::new(self.replace_paths, self.pool);
            inner.path.clone_from(&self.path);
            inner.value(Sides { before: Some(&old), after: Some(&new), ..Sides::default() });
            // Documents that differ only in members that are null have no such differences.
            if !inner.found.is_empty() {
                self.found.append(&mut inner.found);
                return;
            }
        }
        let (before, after) = (self.pool.text(before), self.pool.text(after));
        self.push(Some(ReviewedValue::Text(before)), Some(ReviewedValue::Text(after)));
    }

    /// Returns a value without elements; `None` for a container with elements.
    fn leaf(&mut self, value: &Value) -> Option<ReviewedValue> {
        Some(match value {
            Value::Null => ReviewedValue::Null,
            Value::Bool(value) => ReviewedValue::Bool(*value),
            Value::Number(number) => ReviewedValue::Number(self.pool.text(number.as_str())),
            Value::String(text) => ReviewedValue::Text(self.pool.text(text)),
            Value::Array(elements) if elements.is_empty() => ReviewedValue::EmptyList,
            Value::Object(elements) if elements.is_empty() => ReviewedValue::EmptyMap,
            Value::Array(_) | Value::Object(_) => return None,
        })
    }

    fn push(&mut self, before: Option<ReviewedValue>, after: Option<ReviewedValue>) {
        write_path(&self.path, &mut self.text, &mut self.pattern);
        let path = AttributePath { text: self.pool.text(&self.text), pattern: self.pool.text(&self.pattern) };
        let forces_replacement = self.replace_paths.iter().any(|steps| self.is_below(steps));
        self.found.push(AttributeChange { path, before, after, forces_replacement });
    }

    /// Whether the current path is the path in the document, begins with it, or is a part of it.
    fn is_below(&self, steps: &[Value]) -> bool {
        !steps.is_empty()
            && self.path.iter().zip(steps).all(|(part, step)| match part {
                PathPart::Name(name) => step.as_str() == Some(name),
                PathPart::Index(index) => {
                    step.as_u64().is_none_or(|step| usize::try_from(step) == Ok(*index))
                }
            })
    }

    fn replace_path(&mut self, steps: &[Value]) -> AttributePath {
        let parts: Vec<PathPart<'_>> = steps
            .iter()
            .filter_map(|step| match step {
                Value::String(name) => Some(PathPart::Name(name)),
                Value::Number(index) => Some(PathPart::Index(usize::try_from(index.as_u64()?).ok()?)),
                _ => None,
            })
            .collect();
        write_path(&parts, &mut self.text, &mut self.pattern);
        AttributePath { text: self.pool.text(&self.text), pattern: self.pool.text(&self.pattern) }
    }
}

fn compact(value: &Value) -> String {
    value.to_string()
}

fn is_container(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Object(_))
}

fn kind(value: &Value) -> u8 {
    match value {
        Value::Array(_) => 1,
        Value::Object(_) => 2,
        _ => 0,
    }
}

/// Whether any part of a document about unknown or sensitive parts is true.
fn contains_true(value: &Value) -> bool {
    match value {
        Value::Bool(value) => *value,
        Value::Array(elements) => elements.iter().any(contains_true),
        Value::Object(elements) => elements.values().any(contains_true),
        _ => false,
    }
}
