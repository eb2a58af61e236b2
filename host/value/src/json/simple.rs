//! Encodes and decodes JSON without a type: `jsonencode`, `jsondecode`, `*.tfvars.json`.

use std::collections::BTreeMap;

use super::encode::encode_into;
use super::reader::{Kind, Reader};
use super::writer::Escapes;
use crate::codec::{DecodeError, DecodeProblem, EncodeError, Failure, index_step};
use crate::{Number, PathStep, Str, Type, Value};

/// Encodes a value as plain JSON, according to its own type. The result does not show whether an
/// array was a list, a set or a tuple.
///
/// # Errors
/// Returns an error if the value or a nested value is marked, unknown or infinite.
pub fn encode_simple(value: &Value) -> Result<String, EncodeError> {
    let mut out = String::new();
    if value.is_null() {
        out.push_str("null");
    } else {
        encode_into(&mut out, value, value.ty(), Escapes::Html)?;
    }
    Ok(out)
}

/// Decodes any JSON: objects become objects, arrays become tuples, null becomes a null without a
/// type, and numbers keep all digits.
///
/// # Errors
/// Returns an error if the text is not JSON, has more than [`crate::MAX_DEPTH`] levels, has more
/// than [`crate::MAX_VALUES`] values, or repeats a key with values of different types. (If the
/// types are equal, the last value is used.)
pub fn decode_simple(text: impl AsRef<[u8]>) -> Result<Value, DecodeError> {
    let mut reader = Reader::new(text.as_ref())?;
    let value = read(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Returns the type of the value that [`decode_simple`] returns.
///
/// # Errors
/// Returns the same errors as [`decode_simple`].
pub fn implied_type(text: impl AsRef<[u8]>) -> Result<Type, DecodeError> {
    Ok(decode_simple(text)?.ty().clone())
}

fn read(reader: &mut Reader<'_>) -> Result<Value, Failure<DecodeProblem>> {
    reader.budget.spend(1)?;
    match reader.peek()? {
        Kind::Null => {
            reader.null()?;
            Ok(Value::null_exact(Type::Dynamic))
        }
        Kind::Bool => Ok(Value::bool(reader.bool()?)),
        Kind::Number => Ok(Value::number(Number::parse(reader.number()?)?)),
        Kind::String => Ok(Value::string(&*reader.string()?)),
        Kind::Array => {
            reader.open()?;
            let (mut elements, mut first) = (Vec::new(), true);
            while reader.next(b']', &mut first)? {
                let element = read(reader);
                elements.push(element.map_err(|failure| failure.below(index_step(elements.len())))?);
            }
            Ok(Value::tuple(elements))
        }
        Kind::Object => {
            reader.open()?;
            let (mut attributes, mut first) = (BTreeMap::<Str, Value>::new(), true);
            while reader.next(b'}', &mut first)? {
                let name = Str::new(&reader.key()?);
                let value =
                    read(reader).map_err(|failure| failure.below(PathStep::Attribute(name.clone())))?;
                if attributes.get(&name).is_some_and(|before| before.ty() != value.ty()) {
                    return Err(DecodeProblem::Duplicate(name).into());
                }
                attributes.insert(name, value);
            }
            Ok(Value::object(attributes))
        }
    }
}
