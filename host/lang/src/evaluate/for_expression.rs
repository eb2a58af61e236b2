//! `[for ...]` and `{for ...}`.

use std::collections::BTreeMap;

use wardian_value::{Marks, Number, Str, Type, Value, View, convert};

use super::{Evaluated, Evaluation};
use crate::Diagnostics;
use crate::node::{For, Node};

/// Keys and values that are iterated over.
pub(super) type Pairs = Vec<(Value, Value)>;

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

    /// What a collection has to iterate over; `None` where it is unknown.
    pub(super) fn pairs(
        &mut self,
        collection: &Value,
        source: &Node,
        node: &Node,
    ) -> Result<Option<Pairs>, Diagnostics> {
        let place = (source.start, source.end);
        if collection.is_null() {
            let detail = "Null cannot be iterated over in a 'for' expression.";
            return Err(self.problem_at("Iteration over null value", detail, place, node).into());
        }
        Ok(Some(match collection.view() {
            View::List(elements) | View::Tuple(elements) => elements
                .iter()
                .enumerate()
                .map(|(index, element)| (Value::number(Number::from(index)), element.clone()))
                .collect(),
            View::Set(elements) => {
                elements.iter().map(|element| (element.clone(), element.clone())).collect()
            }
            View::Map(elements) | View::Object(elements) => {
                elements.iter().map(|(key, element)| (Value::string(key.clone()), element.clone())).collect()
            }
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

    /// Evaluates the `if` clause once with nothing known, for its type errors.
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

    /// Whether the current element is wanted; `None` where that is unknown.
    fn includes(&mut self, each: &For, node: &Node) -> Result<(Option<bool>, Marks), Diagnostics> {
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

    fn for_list(&mut self, each: &For, pairs: Pairs, node: &Node) -> Evaluated {
        let mut marks = Marks::NONE;
        let mut known = true;
        let mut results = Vec::with_capacity(pairs.len());
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

    fn for_object(&mut self, each: &For, key: &Node, pairs: Pairs, node: &Node) -> Evaluated {
        let mut marks = Marks::NONE;
        let mut known = true;
        let mut groups: BTreeMap<Str, Vec<Value>> = BTreeMap::new();
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
            let place = (key.start, key.end);
            if key_value.is_null() {
                let detail = "A key in a 'for' expression cannot be null.";
                return Err(self.problem_at("Invalid object key", detail, place, node).into());
            }
            let name = match convert::convert(&key_value, &Type::String) {
                Ok(name) => name,
                Err(error) => {
                    let detail = format!("This cannot be a key: {error}.");
                    return Err(self.problem_at("Invalid object key", &detail, place, node).into());
                }
            };
            let value = self.node(&each.value)?;
            let Some(name) = name.as_str().map(Str::new) else {
                known = false;
                continue;
            };
            let group = groups.entry(name.clone()).or_default();
            if !each.groups && !group.is_empty() {
                let detail = format!(
                    "Two elements give the key {:?}. If several values for a key are wanted, put \
                     an ellipsis (...) behind the value expression to group them.",
                    &*name
                );
                return Err(self.problem_at("Duplicate object key", &detail, place, node).into());
            }
            group.push(value);
        }
        let result = if known {
            Value::object(groups.into_iter().map(|(name, mut group)| {
                let value = match group.pop() {
                    Some(single) if !each.groups => single,
                    Some(last) => {
                        group.push(last);
                        Value::tuple(group)
                    }
                    None => Value::tuple([]),
                };
                (name, value)
            }))
        } else {
            Value::unknown(Type::Dynamic)
        };
        Ok(result.with_marks(marks))
    }
}
