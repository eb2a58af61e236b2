//! Evaluates attributes, indexes and splats.

use wardian_value::{Marks, Number, Refinement, Type, Value, View, convert};

use super::{Evaluated, Evaluation};
use crate::budget::ELEMENT;
use crate::node::{Node, Step, StepKind};

impl Evaluation<'_> {
    pub(super) fn steps(&mut self, mut value: Value, steps: &[Step], node: &Node) -> Evaluated {
        for step in steps {
            let place = (step.start, step.end);
            value = match &step.kind {
                StepKind::Attribute(name) => self.attribute(&value, name, place, node)?,
                StepKind::Key(key) => self.index(&value, key, place, node)?,
                StepKind::Index(index) => {
                    let index = self.node(index)?;
                    self.index(&value, &index, place, node)?
                }
            };
        }
        Ok(value)
    }

    fn attribute(&mut self, value: &Value, name: &str, place: (usize, usize), node: &Node) -> Evaluated {
        let marks = value.marks();
        if value.is_null() {
            return Err(self
                .problem_at(
                    "Attempt to get attribute from null value",
                    "This value is null, so it has no attributes.",
                    place,
                    node,
                )
                .into());
        }
        if let Some(found) = value.get(name) {
            return Ok(found.clone().with_marks(marks));
        }
        let (summary, detail) = match value.ty() {
            Type::Dynamic => return Ok(Value::unknown(Type::Dynamic).with_marks(marks)),
            Type::Object(object) => {
                if let Some(ty) = object.attribute(name) {
                    return Ok(Value::unknown(ty.clone()).with_marks(marks));
                }
                let mut detail = format!("This object has no attribute named \"{name}\".");
                let known = object.iter().map(|(known, _)| known.as_str());
                if !self.tentative {
                    detail.push_str(&wardian_diagnostic::did_you_mean(name, known));
                }
                ("Unsupported attribute", detail)
            }
            Type::Map(element) => {
                if !value.is_known() {
                    return Ok(Value::unknown((**element).clone()).with_marks(marks));
                }
                let detail = format!("This map has no element with the key \"{name}\".");
                ("Missing map element", detail)
            }
            Type::List(element) | Type::Set(element) if matches!(&**element, Type::Object(object) if object.attribute(name).is_some()) =>
            {
                let what = if matches!(value.ty(), Type::List(_)) { "list" } else { "set" };
                let detail = format!(
                    "This is a {what} of objects, which has no attributes itself. To read \"{name}\" of one \
                     element, write an index before it; of all elements, use [*].{name} or a 'for' \
                     expression."
                );
                ("Unsupported attribute", detail)
            }
            ty if ty.is_primitive() => {
                ("Unsupported attribute", format!("A {} has no attributes.", ty.friendly_name()))
            }
            ty => (
                "Unsupported attribute",
                format!("A {} has no attributes that can be read this way.", ty.friendly_name()),
            ),
        };
        Err(self.problem_at(summary, &detail, place, node).into())
    }

    pub(super) fn index(
        &mut self,
        value: &Value,
        key: &Value,
        place: (usize, usize),
        node: &Node,
    ) -> Evaluated {
        match index(value, key, self.tentative) {
            Ok(element) => Ok(element),
            Err((summary, detail)) => Err(self.problem_at(summary, &detail, place, node).into()),
        }
    }

    /// Evaluates `source[*].each`: applies `each` to each element of a sequence. A single value is
    /// treated as a sequence of one element, and null as an empty sequence.
    pub(super) fn splat(
        &mut self,
        source: &Node,
        slot: usize,
        each: &Node,
        marker: (usize, usize),
        node: &Node,
    ) -> Evaluated {
        let value = self.node(source)?;
        let marks = value.marks();
        let value = value.unmark();
        let ty = value.ty().clone();
        let is_sequence = matches!(ty, Type::List(_) | Type::Set(_) | Type::Tuple(_));
        if value.is_null() {
            if !is_sequence {
                return Ok(Value::tuple([]).with_marks(marks));
            }
            return Err(self
                .problem_at(
                    "Splat of null value",
                    "A splat (the * symbol) cannot be applied to a null list, set or tuple.",
                    marker,
                    node,
                )
                .into());
        }
        if ty == Type::Dynamic {
            return Ok(Value::unknown(Type::Dynamic).with_marks(marks));
        }
        if !is_sequence {
            let uncertain = !value.is_known() && !value.is_definitely_not_null();
            let element = self.with_slot(slot, value, each)?;
            return Ok(if uncertain { Value::unknown(Type::Dynamic) } else { Value::tuple([element]) }
                .with_marks(marks));
        }
        let Some(elements) = value.as_elements() else {
            let result = self.unknown_splat(&value, slot, each)?;
            return Ok(result.with_marks(marks));
        };
        self.spend(elements.len(), ELEMENT, node)?;
        let elements = elements.to_vec();
        let empty = elements.is_empty();
        let mut results = Vec::with_capacity(elements.len());
        for element in elements {
            results.push(self.with_slot(slot, element, each)?);
        }
        let result = match &ty {
            Type::List(element) | Type::Set(element) if empty => {
                let element = self.element_type(element, slot, each)?;
                Value::list(element, [])
            }
            Type::List(_) | Type::Set(_) => list_or_tuple(results),
            _ => Value::tuple(results),
        };
        Ok(result.with_marks(marks))
    }

    fn with_slot(&mut self, slot: usize, value: Value, each: &Node) -> Evaluated {
        self.set_slot(slot, value);
        let result = self.node(each);
        self.slots.truncate(slot);
        result
    }

    pub(super) fn set_slot(&mut self, slot: usize, value: Value) {
        if let Some(current) = self.slots.get_mut(slot) {
            *current = value;
            return;
        }
        while self.slots.len() < slot {
            self.slots.push(Value::unknown(Type::Dynamic));
        }
        self.slots.push(value);
    }

    pub(super) fn clear_slots(&mut self, from: usize) {
        self.slots.truncate(from);
    }

    fn element_type(
        &mut self,
        element: &Type,
        slot: usize,
        each: &Node,
    ) -> Result<Type, wardian_diagnostic::Diagnostics> {
        Ok(self.with_slot(slot, Value::unknown(element.clone()), each)?.ty().clone())
    }

    fn unknown_splat(&mut self, value: &Value, slot: usize, each: &Node) -> Evaluated {
        let ty = match value.ty() {
            Type::List(element) | Type::Set(element) => Type::list(self.element_type(element, slot, each)?),
            Type::Tuple(elements) => {
                let mut types = Vec::with_capacity(elements.len());
                for element in elements.iter() {
                    types.push(self.element_type(element, slot, each)?);
                }
                Type::tuple(types)
            }
            _ => Type::Dynamic,
        };
        let mut refinement = Refinement::not_null();
        if let (Type::List(_), Some(source)) = (&ty, value.refinement()) {
            // A set with unknown elements may become smaller, but the bounds of its length also
            // apply to the list of its elements.
            refinement.min_length = source.min_length;
            refinement.max_length = source.max_length;
        }
        Ok(Value::unknown_with(ty, refinement))
    }
}

/// Returns a list if all elements have the same type. If a dynamic type causes their types to
/// differ, returns a tuple.
fn list_or_tuple(elements: Vec<Value>) -> Value {
    let Some(ty) = elements.first().map(|first| first.ty().clone()) else {
        return Value::list(Type::Dynamic, []);
    };
    if elements.iter().all(|element| *element.ty() == ty) {
        Value::list(ty, elements)
    } else {
        Value::tuple(elements)
    }
}

type IndexError = (&'static str, String);

/// Returns the element with the given key, with the marks of the collection and the key. If errors
/// may be discarded, the error does not suggest similar keys.
fn index(value: &Value, key: &Value, tentative: bool) -> Result<Value, IndexError> {
    const INVALID: &str = "Invalid index";
    let marks = value.marks() | key.inside_marks();
    if value.is_null() {
        return Err(("Attempt to index null value", "This value is null, so it has no elements.".into()));
    }
    if key.is_null() {
        return Err((INVALID, "Null cannot be used as an index.".into()));
    }
    let key = key.unmark_deep();
    let unknown = |ty: &Type| Ok(Value::unknown(ty.clone()).with_marks(marks));
    let missing = |name: &str, keys: &mut dyn Iterator<Item = &str>| {
        if marks.is_sensitive() {
            return "no key equals the given one, which is sensitive".to_owned();
        }
        let close = if tentative { None } else { wardian_diagnostic::closest(name, keys) };
        match close {
            Some(close) => format!("the key {name:?} does not exist; the most similar key is {close:?}"),
            None => format!("the key {name:?} does not exist"),
        }
    };
    let absent = |reason: &str| {
        let mut detail = "There is no element with this index".to_owned();
        if !reason.is_empty() {
            detail.push_str(": ");
            detail.push_str(reason);
        }
        detail.push('.');
        Err((INVALID, detail))
    };
    match value.ty() {
        _ if *value.ty() == Type::Dynamic || *key.ty() == Type::Dynamic => unknown(&Type::Dynamic),
        Type::List(_) | Type::Tuple(_) => {
            let element_type = value.ty().element().cloned().unwrap_or(Type::Dynamic);
            let number = match convert::convert(&key, &Type::Number) {
                Ok(number) => number,
                Err(error) => return absent(&error.to_string()),
            };
            let View::Number(number) = number.view() else { return unknown(&element_type) };
            if matches!(value.ty(), Type::List(_)) && !value.is_known() {
                return unknown(&element_type);
            }
            let at = match whole_index(number) {
                Ok(at) => at,
                Err(reason) => return absent(reason),
            };
            if let Some(elements) = value.as_elements() {
                return match elements.get(at) {
                    Some(element) => Ok(element.clone().with_marks(marks)),
                    None => absent(&too_large(elements.len())),
                };
            }
            match value.ty() {
                Type::Tuple(types) => match types.get(at) {
                    Some(ty) => unknown(ty),
                    None => absent(&too_large(types.len())),
                },
                _ => unknown(&element_type),
            }
        }
        Type::Map(_) | Type::Object(_) => {
            let key = match convert::convert(&key, &Type::String) {
                Ok(key) => key,
                Err(error) => return absent(&error.to_string()),
            };
            let element_type = value.ty().element().cloned().unwrap_or(Type::Dynamic);
            let Some(name) = key.as_str() else { return unknown(&element_type) };
            if let Some(elements) = value.as_mapping() {
                return match elements.get(name) {
                    Some(element) => Ok(element.clone().with_marks(marks)),
                    None => absent(&missing(name, &mut elements.keys().map(|key| &**key))),
                };
            }
            // The result is also unknown for objects, although the type of the attribute could be
            // determined.
            unknown(&element_type)
        }
        Type::Set(_) => set_index(),
        ty => Err((INVALID, primitive_index(ty))),
    }
}

fn set_index() -> Result<Value, IndexError> {
    Err((
        "Invalid index",
        "The elements of a set have no index or key, only their value. Use a 'for' expression, or convert \
         the set to a list."
            .into(),
    ))
}

fn primitive_index(ty: &Type) -> String {
    format!("A {} has no elements.", ty.friendly_name())
}

fn whole_index(number: &Number) -> Result<usize, &'static str> {
    let Some(at) = number.as_i64() else {
        return Err("an index must be a whole number that fits in 64 bits");
    };
    usize::try_from(at).map_err(|_| "an index cannot be negative")
}

fn too_large(length: usize) -> String {
    match length {
        0 => "there are no elements".into(),
        1 => "there is only one element, with index 0".into(),
        _ => format!("there are {length} elements, with indexes 0 to {}", length - 1),
    }
}

/// Returns the marks of two values.
pub(super) fn marks_of(a: &Value, b: &Value) -> Marks {
    a.inside_marks() | b.inside_marks()
}
