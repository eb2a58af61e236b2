//! The notation of values.

use std::borrow::Cow;

use wardian_review::ReviewedValue;

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
