//! Differences between values without a schema: outputs, attributes of any type, JSON in strings.

use wardian_value::{Value, View};

use super::alignment::{align, identities};
use super::{Content, Difference, Effect, Secrecy, Sides, keys};

/// The kinds of values that are distinguished.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Null,
    Unknown,
    Bool,
    Number,
    String,
    Sequence,
    Mapping,
}

fn kind(value: &Value) -> Kind {
    match value.view() {
        View::Null => Kind::Null,
        View::Unknown => Kind::Unknown,
        View::Bool(_) => Kind::Bool,
        View::Number(_) => Kind::Number,
        View::String(_) => Kind::String,
        View::List(_) | View::Set(_) | View::Tuple(_) => Kind::Sequence,
        View::Map(_) | View::Object(_) => Kind::Mapping,
    }
}

pub(in crate::render) fn difference(sides: Sides<'_>) -> Difference<'_> {
    let (before, after) = sides.secrecy(false);
    let shown = revealed(sides);
    if before || after {
        return secret(before, after, shown.effect);
    }
    shown
}

/// Returns the difference of a value whose sensitive mark is not stored in the value.
pub(in crate::render) fn sensitive(sides: Sides<'_>) -> Difference<'_> {
    let (before, after) = sides.secrecy(true);
    secret(before, after, revealed(sides).effect)
}

fn secret<'a>(before: bool, after: bool, inner: Effect) -> Difference<'a> {
    let secrecy = Secrecy { before, after, inner };
    Difference { effect: secrecy.effect(), replace: false, content: Content::Sensitive(secrecy) }
}

/// Returns the difference without the sensitive mark of the value itself. Marks of its parts are
/// preserved.
pub(super) fn revealed(sides: Sides<'_>) -> Difference<'_> {
    if sides.after_is_unknown() {
        let before = sides.before.filter(|value| !value.is_null());
        let effect = if before.is_some() { Effect::Update } else { Effect::Create };
        let before = before.map(|_| Box::new(difference(sides.only_before())));
        return Difference { effect, replace: false, content: Content::Unknown(before) };
    }
    let (before, after) = (sides.before.map(kind), sides.after.map(kind));
    match (before, after) {
        (Some(one), Some(other)) if one != other => {
            let both = (difference(sides.only_before()), difference(sides.only_after()));
            let content = Content::TypeChange(Box::new(both));
            Difference { effect: Effect::Update, replace: false, content }
        }
        (Some(Kind::Mapping), _) | (None, Some(Kind::Mapping)) => mapping(sides),
        (Some(Kind::Sequence), _) | (None, Some(Kind::Sequence)) => sequence(sides),
        _ => sides.scalar(false),
    }
}

fn mapping(sides: Sides<'_>) -> Difference<'_> {
    let mut effect = sides.effect();
    let attributes = keys(sides)
        .into_iter()
        .map(|key| {
            let part = difference(sides.map(|value| value.get(key)));
            effect = effect.with_part(part.effect);
            (key, part)
        })
        .collect();
    Difference { effect, replace: false, content: Content::Object { attributes, nested: false } }
}

fn sequence(sides: Sides<'_>) -> Difference<'_> {
    let (before, after) = sides.sequences();
    let mut effect = sides.effect();
    let is_object = |value: &Value| kind(value) == Kind::Mapping;
    let pairs = align(&identities(before), &identities(after), |i, j| {
        before.get(i).is_some_and(is_object) && after.get(j).is_some_and(is_object)
    });
    let elements = pairs
        .into_iter()
        .map(|(i, j)| {
            let part = difference(Sides::new(i.and_then(|i| before.get(i)), j.and_then(|j| after.get(j))));
            effect = effect.with_part(part.effect);
            part
        })
        .collect();
    Difference { effect, replace: false, content: Content::List { elements, neighbours: true } }
}
