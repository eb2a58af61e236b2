//! Encodes values as MessagePack.

use rmp::encode::{ByteBuf, write_bin, write_map_len, write_sint, write_str};

use super::refinement;
use crate::codec::{EncodeError, EncodeProblem, Failure, index_step};
use crate::{Number, PathStep, Type, Value, View};

type Result<T> = std::result::Result<T, Failure<EncodeProblem>>;

/// Encodes a value with the type `ty`, which must be the type of the value.
///
/// # Errors
/// Returns an error if the value or a nested value is marked, or if the type of the value is not `ty`.
pub fn encode(value: &Value, ty: &Type) -> std::result::Result<Vec<u8>, EncodeError> {
    let mut out = ByteBuf::new();
    write(&mut out, value, ty)?;
    Ok(out.into_vec())
}

/// Appends the result of [`encode`] to a buffer.
///
/// # Errors
/// Returns the same errors as [`encode`]. After an error, the buffer may end with a partial value.
pub fn encode_into(out: &mut Vec<u8>, value: &Value, ty: &Type) -> std::result::Result<(), EncodeError> {
    let mut buffer = ByteBuf::from_vec(std::mem::take(out));
    let result = write(&mut buffer, value, ty);
    *out = buffer.into_vec();
    Ok(result?)
}

/// Converts a length. Lengths of more than 32 bits cannot be encoded; they do not occur, because
/// memory would be exhausted first.
fn length(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn write(out: &mut ByteBuf, value: &Value, ty: &Type) -> Result<()> {
    if !value.marks().is_empty() {
        return Err(EncodeProblem::Marked.into());
    }
    if matches!(ty, Type::Dynamic) && !matches!(value.ty(), Type::Dynamic) {
        let _ = rmp::encode::write_array_len(out, 2);
        let _ = write_bin(out, value.ty().to_json().as_bytes());
        return write(out, value, value.ty());
    }
    match (value.view(), ty) {
        (View::Null, _) => {
            let _ = rmp::encode::write_nil(out);
        }
        (View::Unknown, _) => {
            let refinement = value.refinement().filter(|_| value.ty() == ty);
            refinement::write(out, ty, refinement);
        }
        (View::Bool(value), Type::Bool) => {
            let _ = rmp::encode::write_bool(out, value);
        }
        (View::Number(number), Type::Number) => write_number(out, number),
        (View::String(text), Type::String) => {
            let _ = write_str(out, text);
        }
        (View::List(elements), Type::List(element)) | (View::Set(elements), Type::Set(element)) => {
            write_sequence(out, elements.iter().map(|value| (value, &**element)))?;
        }
        (View::Tuple(elements), Type::Tuple(types)) if elements.len() == types.len() => {
            write_sequence(out, elements.iter().zip(types.iter()))?;
        }
        (View::Map(elements), Type::Map(element)) => {
            let _ = write_map_len(out, length(elements.len()));
            for (key, value) in elements {
                let _ = write_str(out, key);
                write(out, value, element).map_err(|failure| failure.below(PathStep::Key(key.clone())))?;
            }
        }
        (View::Object(attributes), Type::Object(object)) => {
            if let Some(name) = attributes.keys().find(|name| object.attribute(name).is_none()) {
                return Err(EncodeProblem::UnexpectedAttribute(name.clone()).into());
            }
            let _ = write_map_len(out, length(object.len()));
            for (name, ty) in object.iter() {
                let Some(value) = attributes.get(name) else {
                    return Err(EncodeProblem::MissingAttribute(name.clone()).into());
                };
                let _ = write_str(out, name);
                write(out, value, ty).map_err(|failure| failure.below(PathStep::Attribute(name.clone())))?;
            }
        }
        _ => {
            let (expected, found) = (ty.to_string(), value.ty().to_string());
            return Err(EncodeProblem::WrongType { expected, found }.into());
        }
    }
    Ok(())
}

fn write_sequence<'a>(
    out: &mut ByteBuf,
    elements: impl ExactSizeIterator<Item = (&'a Value, &'a Type)>,
) -> Result<()> {
    let _ = rmp::encode::write_array_len(out, length(elements.len()));
    for (index, (value, ty)) in elements.enumerate() {
        write(out, value, ty).map_err(|failure| failure.below(index_step(index)))?;
    }
    Ok(())
}

pub(super) fn write_number(out: &mut ByteBuf, number: &Number) {
    if let Some(integer) = number.as_i64() {
        let _ = write_sint(out, integer);
        return;
    }
    let double = number.to_f64();
    let is_exact = number.is_infinite() || number.is_f64();
    let _ = if is_exact { rmp::encode::write_f64(out, double) } else { write_str(out, &number.to_string()) };
}
