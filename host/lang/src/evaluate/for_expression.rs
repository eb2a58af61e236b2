//! Evaluates `[for ...]` and `{for ...}`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::iter::Enumerate;
use std::slice;

use wardian_diagnostic::Diagnostics;
use wardian_value::{MappingIter, Marks, Number, Str, Type, Value, View, convert};

use super::{Evaluated, Evaluation};
use crate::budget::{ELEMENT, ENTRY};
use crate::node::{For, Node};

/// An iterator over the keys and values of a collection.
pub(super) enum Pairs<'v> {
    Indexed(Enumerate<slice::Iter<'v, Value>>),
    /// Elements of a set are their own keys.
    Set(slice::Iter<'v, Value>),
    Keyed(MappingIter<'v>),
}

impl Iterator for Pairs<'_> {
    type Item = (Value, Value);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Indexed(elements) => {
                let (index, element) = elements.next()?;
                Some((Value::number(Number::from(index)), element.clone()))
            }
            Self::Set(elements) => elements.next().map(|element| (element.clone(), element.clone())),
            Self::Keyed(elements) => {
                let (key, element) = elements.next()?;
                Some((Value::string(key.clone()), element.clone()))
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Indexed(elements) => elements.size_hint(),
            Self::Set(elements) => elements.size_hint(),
            Self::Keyed(elements) => elements.size_hint(),
        }
    }
}

impl Evaluation<'_> {
    pub(super) fn for_expression(&mut self, each: &For, node: &Node) -> Evaluated {
        let collection = self.node(&each.collection)?;
        let marks = collection.marks();
        let Some(pairs) = self.pairs(&collection, &each.collection, node)? else {
            self.check_condition(each, node)?;
            return Ok(Value::unknown(Type::Dynamic).with_marks(marks));
        };
        let result = match &each.key {
            Some(key) => self.for_object(each, key, pairs, node),
            None => self.for_list(each, pairs, node),
        };
        self.clear_slots(each.slot);
        Ok(result?.with_marks(marks))
    }

    /// Returns the pairs of a collection, or `None` if it is unknown.
    pub(super) fn pairs<'v>(
        &mut self,
        collection: &'v Value,
        source: &Node,
        node: &Node,
    ) -> Result<Option<Pairs<'v>>, Diagnostics> {
        let place = (source.start, source.end);
        if collection.is_null() {
            let detail = "Null cannot be iterated over in a 'for' expression.";
            return Err(self.problem_at("Iteration over null value", detail, place, node).into());
        }
        Ok(Some(match collection.view() {
            View::List(elements) | View::Tuple(elements) => Pairs::Indexed(elements.iter().enumerate()),
            View::Set(elements) => Pairs::Set(elements.iter()),
            View::Map(elements) | View::Object(elements) => Pairs::Keyed(elements.iter()),
            View::Unknown if !collection.ty().is_primitive() => return Ok(None),
            _ => {
                let detail = format!(
                    "A {} cannot be iterated over in a 'for' expression.",
                    collection.ty().friendly_name()
                );
                return Err(self
                    .problem_at("Iteration over non-iterable value", &detail, place, node)
                    .into());
            }
        }))
    }

    pub(super) fn set_pair(&mut self, slot: usize, has_key: bool, pair: (Value, Value)) {
        if has_key {
            self.set_slot(slot, pair.0);
            self.set_slot(slot + 1, pair.1);
        } else {
            self.set_slot(slot, pair.1);
        }
    }

    /// Evaluates the `if` clause once with unknown values, to report its type errors.
    fn check_condition(&mut self, each: &For, node: &Node) -> Result<(), Diagnostics> {
        if each.condition.is_some() {
            let unknown = Value::unknown(Type::Dynamic);
            self.set_pair(each.slot, each.has_key, (unknown.clone(), unknown));
            let result = self.includes(each, node);
            self.clear_slots(each.slot);
            result?;
        }
        Ok(())
    }

    /// Returns whether the current element is included, or `None` if that is unknown.
    pub(super) fn includes(&mut self, each: &For, node: &Node) -> Result<(Option<bool>, Marks), Diagnostics> {
        let Some(condition) = &each.condition else { return Ok((Some(true), Marks::NONE)) };
        let value = self.node(condition)?;
        let place = (condition.start, condition.end);
        if value.is_null() {
            let detail = "The 'if' clause is null. It must be true or false.";
            return Err(self.problem_at("Condition is null", detail, place, node).into());
        }
        let marks = value.inside_marks();
        match convert::convert(&value, &Type::Bool) {
            Ok(value) => Ok((value.as_bool(), marks)),
            Err(error) => {
                let detail = format!("The 'if' clause must be a bool: {error}.");
                Err(self.problem_at("Invalid 'for' condition", &detail, place, node).into())
            }
        }
    }

    fn for_list(&mut self, each: &For, pairs: Pairs<'_>, node: &Node) -> Evaluated {
        let mut marks = Marks::NONE;
        let mut known = true;
        let length = pairs.size_hint().0;
        self.spend(length, ELEMENT, node)?;
        let mut results = Vec::with_capacity(length);
        for pair in pairs {
            self.set_pair(each.slot, each.has_key, pair);
            let (included, condition_marks) = self.includes(each, node)?;
            marks |= condition_marks;
            match included {
                Some(true) => results.push(self.node(&each.value)?),
                Some(false) => {}
                None => known = false,
            }
        }
        Ok(if known { Value::tuple(results) } else { Value::unknown(Type::Dynamic) }.with_marks(marks))
    }

    fn for_object(&mut self, each: &For, key: &Node, pairs: Pairs<'_>, node: &Node) -> Evaluated {
        let mut marks = Marks::NONE;
        let mut known = true;
        self.spend(pairs.size_hint().0, ENTRY, node)?;
        // If the expression groups values (`...`), only `groups` is used, and otherwise only
        // `single`.
        let mut groups: BTreeMap<Str, Vec<Value>> = BTreeMap::new();
        let mut single: BTreeMap<Str, Value> = BTreeMap::new();
        for pair in pairs {
            self.set_pair(each.slot, each.has_key, pair);
            let (included, condition_marks) = self.includes(each, node)?;
            marks |= condition_marks;
            match included {
                Some(true) => {}
                Some(false) => continue,
                None => {
                    known = false;
                    continue;
                }
            }
            let key_value = self.node(key)?;
            marks |= key_value.inside_marks();
            let name = self.for_key(&key_value, key, node)?;
            let value = self.node(&each.value)?;
            let Some(name) = name else {
                known = false;
                continue;
            };
            if each.groups {
                groups.entry(name).or_default().push(value);
                continue;
            }
            let Entry::Vacant(place) = single.entry(name) else {
                return Err(self.duplicate_key(&key_value, key, node));
            };
            place.insert(value);
        }
        let result = match (known, each.groups) {
            (false, _) => Value::unknown(Type::Dynamic),
            (true, false) => Value::object(single),
            (true, true) => {
                Value::object(groups.into_iter().map(|(name, group)| (name, Value::tuple(group))))
            }
        };
        Ok(result.with_marks(marks))
    }

    /// Returns the key as text, or `None` if it is unknown.
    fn for_key(&mut self, value: &Value, key: &Node, node: &Node) -> Result<Option<Str>, Diagnostics> {
        const SUMMARY: &str = "Invalid object key";
        if let View::String(name) = value.view() {
            return Ok(Some(name.clone()));
        }
        let place = (key.start, key.end);
        if value.is_null() {
            let detail = "A key in a 'for' expression cannot be null.";
            return Err(self.problem_at(SUMMARY, detail, place, node).into());
        }
        if !value.is_known() {
            return Ok(None);
        }
        match convert::convert(value, &Type::String) {
            Ok(name) => Ok(name.as_str().map(Str::new)),
            Err(error) => {
                let detail = format!("This value cannot be used as a key: {error}.");
                Err(self.problem_at(SUMMARY, &detail, place, node).into())
            }
        }
    }

    fn duplicate_key(&mut self, value: &Value, key: &Node, node: &Node) -> Diagnostics {
        let which = match value.as_str().filter(|_| !value.marks().is_sensitive()) {
            Some(name) => format!("the key {name:?}"),
            None => "the same key".to_owned(),
        };
        let detail = format!(
            "Two elements have {which}. To allow several values for a key, write an ellipsis (...) after \
             the value expression to group them."
        );
        self.problem_at("Duplicate object key", &detail, (key.start, key.end), node).into()
    }
}
