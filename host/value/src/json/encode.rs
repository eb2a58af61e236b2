//! Encodes typed values as JSON text.

use super::writer::{Escapes, write_string};
use crate::codec::{EncodeError, EncodeProblem, Failure, index_step};
use crate::{Number, PathStep, Type, Value, View};

type Result<T> = std::result::Result<T, Failure<EncodeProblem>>;

/// Encodes a value in the JSON encoding of state files and the plugin protocol: all attributes of
/// objects, keys sorted, numbers in full without exponent, and `{"value":V,"type":T}` for dynamic
/// types.
///
/// # Errors
/// Returns an error if the value or a nested value is marked, unknown or infinite, or if the type
/// of the value is not `ty`.
pub fn encode(value: &Value, ty: &Type) -> std::result::Result<String, EncodeError> {
    let mut out = String::new();
    encode_into(&mut out, value, ty, Escapes::Html)?;
    Ok(out)
}

/// Appends the result of [`encode`] to a string, with the given escapes.
///
/// # Errors
/// Returns the same errors as [`encode`]. After an error, the string may end with a partial value.
pub fn encode_into(
    out: &mut String,
    value: &Value,
    ty: &Type,
    escapes: Escapes,
) -> std::result::Result<(), EncodeError> {
    Ok(Encoder { out, escapes }.value(value, ty)?)
}

struct Encoder<'a> {
    out: &'a mut String,
    escapes: Escapes,
}

impl Encoder<'_> {
    fn string(&mut self, text: &str) {
        write_string(text, self.escapes, self.out);
    }

    fn value(&mut self, value: &Value, ty: &Type) -> Result<()> {
        if !value.marks().is_empty() {
            return Err(EncodeProblem::Marked.into());
        }
        match (value.view(), ty) {
            (View::Unknown, _) => return Err(EncodeProblem::Unknown.into()),
            // The type of a null must also be stored if any type is allowed.
            (_, Type::Dynamic) if !matches!(value.ty(), Type::Dynamic) => {
                self.out.push_str("{\"value\":");
                self.value(value, value.ty())?;
                self.out.push_str(",\"type\":");
                value.ty().write_json(self.out);
                self.out.push('}');
            }
            (View::Null, _) => self.out.push_str("null"),
            (View::Bool(value), Type::Bool) => self.out.push_str(if value { "true" } else { "false" }),
            (View::Number(number), Type::Number) => self.number(number)?,
            (View::String(text), Type::String) => self.string(text),
            (View::List(elements), Type::List(element)) | (View::Set(elements), Type::Set(element)) => {
                self.sequence(elements.iter().map(|value| (value, &**element)))?;
            }
            (View::Tuple(elements), Type::Tuple(types)) if elements.len() == types.len() => {
                self.sequence(elements.iter().zip(types.iter()))?;
            }
            (View::Map(elements), Type::Map(element)) => {
                self.out.push('{');
                for (index, (key, value)) in elements.iter().enumerate() {
                    self.key(index, key);
                    self.value(value, element)
                        .map_err(|failure| failure.below(PathStep::Key(key.clone())))?;
                }
                self.out.push('}');
            }
            (View::Object(attributes), Type::Object(object)) => {
                if let Some(name) = attributes.keys().find(|name| object.attribute(name).is_none()) {
                    return Err(EncodeProblem::UnexpectedAttribute(name.clone()).into());
                }
                self.out.push('{');
                for (index, (name, ty)) in object.iter().enumerate() {
                    let Some(value) = attributes.get(name) else {
                        return Err(EncodeProblem::MissingAttribute(name.clone()).into());
                    };
                    self.key(index, name);
                    self.value(value, ty)
                        .map_err(|failure| failure.below(PathStep::Attribute(name.clone())))?;
                }
                self.out.push('}');
            }
            _ => {
                let (expected, found) = (ty.to_string(), value.ty().to_string());
                return Err(EncodeProblem::WrongType { expected, found }.into());
            }
        }
        Ok(())
    }

    fn number(&mut self, number: &Number) -> Result<()> {
        use std::fmt::Write as _;
        if number.is_infinite() {
            return Err(EncodeProblem::Infinite.into());
        }
        let _ = write!(self.out, "{number}");
        Ok(())
    }

    fn key(&mut self, index: usize, key: &str) {
        if index > 0 {
            self.out.push(',');
        }
        self.string(key);
        self.out.push(':');
    }

    fn sequence<'v>(&mut self, elements: impl Iterator<Item = (&'v Value, &'v Type)>) -> Result<()> {
        self.out.push('[');
        for (index, (value, ty)) in elements.enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.value(value, ty).map_err(|failure| failure.below(index_step(index)))?;
        }
        self.out.push(']');
        Ok(())
    }
}

/// Returns the value as a JSON document, for machine-readable output. Marks are ignored: the caller
/// determines which values may be shown. An unknown value becomes null, and an infinite number
/// becomes a string.
pub fn to_json_value(value: &Value) -> serde_json::Value {
    match value.view() {
        View::Null | View::Unknown => serde_json::Value::Null,
        View::Bool(value) => value.into(),
        View::Number(number) => {
            let text = number.to_string();
            match text.parse() {
                Ok(number) => serde_json::Value::Number(number),
                Err(_) => text.into(),
            }
        }
        View::String(text) => text.as_str().into(),
        View::List(elements) | View::Set(elements) | View::Tuple(elements) => {
            elements.iter().map(to_json_value).collect()
        }
        View::Map(elements) | View::Object(elements) => {
            elements.iter().map(|(key, value)| (key.as_str().to_owned(), to_json_value(value))).collect()
        }
    }
}
