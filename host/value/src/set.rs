//! The canonical order of set elements, in which a set is iterated, encoded and displayed. The
//! order is the same as Terraform's, so the states and plans of Wardian and Terraform are
//! byte-for-byte equal.
//!
//! Strings are ordered by their bytes, numbers by their values, and `false` precedes `true`. Known
//! elements come first, followed by unknown elements and then null. Compound elements have no
//! natural order, so they are ordered by their content rendered as text ([`render`]).

use std::cmp::Ordering;

use crate::text::go_quote;
use crate::{Value, View};

/// Sorts the elements and removes duplicates. An element that contains unknown values is never a
/// duplicate, because its values may differ.
pub(crate) fn canonicalize(elements: &mut Vec<Value>) {
    if elements.len() < 2 {
        return;
    }
    if elements.iter().all(|element| element.ty().is_primitive()) {
        elements.sort_by(compare);
    } else {
        let mut rendered: Vec<(String, Value)> = elements
            .drain(..)
            .map(|element| {
                let mut text = String::new();
                render(&element, &mut text);
                (text, element)
            })
            .collect();
        rendered.sort_by(|(a_text, a), (b_text, b)| {
            // Numbers that differ only after ten digits have the same rendering.
            rank(a).cmp(&rank(b)).then_with(|| a_text.cmp(b_text)).then_with(|| compare(a, b))
        });
        elements.extend(rendered.into_iter().map(|(_, element)| element));
    }
    elements.dedup_by(|next, kept| kept.is_wholly_known() && next == kept);
}

fn rank(value: &Value) -> u8 {
    match value.view() {
        View::Null => 2,
        View::Unknown => 1,
        _ => 0,
    }
}

/// Compares two values of the same type in a total order, element by element.
fn compare(a: &Value, b: &Value) -> Ordering {
    match (a.view(), b.view()) {
        (View::Bool(a), View::Bool(b)) => a.cmp(&b),
        (View::Number(a), View::Number(b)) => a.cmp(b),
        (View::String(a), View::String(b)) => a.cmp(b),
        (View::List(a) | View::Tuple(a) | View::Set(a), View::List(b) | View::Tuple(b) | View::Set(b)) => a
            .iter()
            .zip(b)
            .map(|(a, b)| compare(a, b))
            .find(|order| order.is_ne())
            .unwrap_or_else(|| a.len().cmp(&b.len())),
        (View::Map(a) | View::Object(a), View::Map(b) | View::Object(b)) => a
            .iter()
            .zip(b)
            .map(|((a_key, a), (b_key, b))| a_key.cmp(b_key).then_with(|| compare(a, b)))
            .find(|order| order.is_ne())
            .unwrap_or_else(|| a.len().cmp(&b.len())),
        _ => rank(a).cmp(&rank(b)),
    }
}

/// Writes the text that determines the order of compound elements.
///
/// | content | text |
/// |---|---|
/// | unknown, null | `?`, `~` |
/// | number | like C's `%g`, with at most ten digits |
/// | bool, string | `T` or `F`, Go-quoted |
/// | map | `{"key":value;...}` |
/// | list, set | `[value;...]` |
/// | object (values by name), tuple | `<value;...>` |
fn render(value: &Value, out: &mut String) {
    let sequence = |open, elements: &[Value], close, out: &mut String| {
        out.push(open);
        for element in elements {
            render(element, out);
            out.push(';');
        }
        out.push(close);
    };
    match value.view() {
        View::Unknown => out.push('?'),
        View::Null => out.push('~'),
        View::Bool(value) => out.push(if value { 'T' } else { 'F' }),
        View::Number(number) if number.is_zero() => out.push('0'),
        View::Number(number) => out.push_str(&number.to_general(Some(10))),
        View::String(text) => go_quote(text, is_printable, out),
        View::List(elements) | View::Set(elements) => sequence('[', elements, ']', out),
        View::Tuple(elements) => sequence('<', elements, '>', out),
        View::Map(elements) => {
            out.push('{');
            for (key, element) in elements {
                go_quote(key, is_printable, out);
                out.push(':');
                render(element, out);
                out.push(';');
            }
            out.push('}');
        }
        View::Object(attributes) => {
            out.push('<');
            for attribute in attributes.values() {
                render(attribute, out);
                out.push(';');
            }
            out.push('>');
        }
    }
}

/// Approximates Go's table of printable characters: all characters are printable except control
/// characters and white space.
fn is_printable(character: char) -> bool {
    !character.is_control() && !character.is_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Type;

    fn set(elements: Vec<Value>) -> Vec<Value> {
        let ty = elements[0].ty().clone();
        Value::set(ty, elements).as_elements().unwrap().to_vec()
    }

    fn pair(number: i64, text: &str) -> Value {
        Value::tuple([Value::number(number), Value::string(text)])
    }

    #[test]
    fn primitives_sort_in_natural_order() {
        let null = Value::null(Type::String);
        let unknown = Value::unknown(Type::String);
        assert_eq!(
            set(vec![null.clone(), unknown.clone(), "b".into(), "a".into(), "B".into()]),
            ["B".into(), "a".into(), "b".into(), unknown, null]
        );
        assert_eq!(set(vec![10.into(), 9.into(), (-1).into()]), [(-1).into(), 9.into(), 10.into()]);
        assert_eq!(set(vec![true.into(), false.into()]), [false.into(), true.into()]);
    }

    /// The expected order is Terraform 1.11.4's: 10, 1, 2.
    #[test]
    fn compound_elements_sort_by_rendering() {
        assert_eq!(
            set(vec![pair(2, "b"), pair(10, "a"), pair(1, "z")]),
            [pair(10, "a"), pair(1, "z"), pair(2, "b")]
        );
    }

    #[test]
    fn removes_duplicates_but_keeps_unknowns() {
        let unknown = || Value::unknown(Type::String);
        assert_eq!(set(vec!["a".into(), "a".into(), unknown(), unknown()]).len(), 3);
        assert_eq!(set(vec![pair(1, "a"), pair(2, "b"), pair(1, "a")]).len(), 2);
        let half = || Value::tuple([unknown()]);
        assert_eq!(set(vec![half(), half()]).len(), 2);
    }

    #[test]
    fn numbers_that_differ_after_ten_digits_are_distinct() {
        let long = |text| Value::tuple([Value::number(crate::Number::parse(text).unwrap())]);
        let elements = vec![long("1.00000000002"), long("1.00000000001"), long("1.00000000002")];
        assert_eq!(set(elements).len(), 2);
    }
}
