//! The notation of values.

use std::borrow::Cow;

use wardian_review::{ReviewedValue, omitted_start};

/// Returns a value as text, which is not escaped. A text is in quotes.
pub fn value_text(value: &ReviewedValue) -> Cow<'_, str> {
    match value {
        ReviewedValue::Null => "null".into(),
        ReviewedValue::Unknown => "(known after apply)".into(),
        ReviewedValue::Sensitive => "(sensitive value)".into(),
        ReviewedValue::Bool(true) => "true".into(),
        ReviewedValue::Bool(false) => "false".into(),
        ReviewedValue::Number(number) => (&**number).into(),
        ReviewedValue::Text(text) => format!("\"{text}\"").into(),
        ReviewedValue::EmptyList => "[]".into(),
        ReviewedValue::EmptyMap => "{}".into(),
    }
}

/// Cuts a text to a number of characters. Returns the number of characters that were removed.
pub(crate) fn cut(text: &str, length: usize) -> (&str, usize) {
    if text.len() <= length {
        return (text, 0);
    }
    match text.char_indices().nth(length) {
        None => (text, 0),
        Some((end, _)) => {
            let (kept, rest) = text.split_at_checked(end).unwrap_or((text, ""));
            (kept, rest.chars().count())
        }
    }
}

/// A value as it is shown: without the start that it has in common with another one, and cut.
pub(crate) struct ShownValue {
    pub(crate) text: String,
    /// The number of characters that are omitted at the start.
    pub(crate) omitted: usize,
    /// The number of characters that are omitted at the end.
    pub(crate) removed: usize,
}

impl ShownValue {
    /// Returns a note about the omitted start.
    pub(crate) fn start(&self) -> String {
        if self.omitted == 0 { String::new() } else { format!("({} equal characters)...", self.omitted) }
    }

    /// Returns a note about the removed end.
    pub(crate) fn end(&self) -> String {
        if self.removed == 0 { String::new() } else { format!("... ({} more characters)", self.removed) }
    }

    pub(crate) fn new(text: &str, omitted: usize, length: usize) -> Self {
        let rest = text.char_indices().nth(omitted).map_or("", |(at, _)| text.get(at..).unwrap_or_default());
        let (kept, removed) = cut(rest, length);
        Self { text: kept.to_owned(), omitted, removed }
    }
}

/// Returns the values before and after a change with at most a number of characters. Values that differ
/// look different.
pub(crate) fn shown_values(
    before: Option<&ReviewedValue>,
    after: Option<&ReviewedValue>,
    length: usize,
) -> [Option<ShownValue>; 2] {
    let texts = [before, after].map(|value| value.map(value_text));
    let omitted = match &texts {
        [Some(before), Some(after)] => omitted_start(before, after, length),
        _ => 0,
    };
    texts.map(|text| text.map(|text| ShownValue::new(&text, omitted, length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_that_differ_look_different() {
        let value = |end: &str| ReviewedValue::Text(format!("{}{end}", "x".repeat(5_000)).into());
        let [Some(before), Some(after)] = shown_values(Some(&value("1")), Some(&value("2")), 100) else {
            panic!("a value is missing")
        };
        assert_eq!((before.omitted, before.removed), (4_971, 0));
        assert_eq!(before.text, format!("{}1\"", "x".repeat(30)));
        assert_eq!(after.text, format!("{}2\"", "x".repeat(30)));
        let [Some(only), None] = shown_values(Some(&value("1")), None, 100) else {
            panic!("a value is missing")
        };
        assert_eq!((only.text.len(), only.omitted, only.removed), (100, 0, 4_903));
    }
}
