//! Compares stored JSON text with a type, without decoding it.

use super::reader::{Kind, Reader};
use crate::codec::{DecodeError, DecodeProblem, Failure};
use crate::{ObjectType, Type};

/// The result of comparing a stored value with a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// The value has the encoding in which [`super::encode`] stores values of the type.
    Same,
    /// Attributes are missing, or a value has another kind.
    Other,
    /// The value has attributes that the type does not have.
    Stale,
}

/// Compares a stored value with a type. Cost: one pass over the text.
///
/// # Errors
/// Returns an error if the text is not JSON or has more than [`crate::MAX_DEPTH`] levels.
pub fn fit(text: &str, ty: &Type) -> Result<Fit, DecodeError> {
    let mut reader = Reader::for_text(text);
    let fit = value(&mut reader, ty)?;
    reader.end()?;
    Ok(fit)
}

fn value(reader: &mut Reader<'_>, ty: &Type) -> Result<Fit, Failure<DecodeProblem>> {
    match (reader.peek()?, ty) {
        (Kind::Null, _) | (Kind::Bool, Type::Bool) | (Kind::Number, Type::Number) | (_, Type::Dynamic) => {
            reader.skip()?;
            Ok(Fit::Same)
        }
        (Kind::String, Type::String) => {
            reader.skip()?;
            Ok(Fit::Same)
        }
        (Kind::Object, Type::Object(object)) => attributes(reader, object),
        (Kind::Object, Type::Map(element)) => {
            reader.open()?;
            let (mut fit, mut first) = (Fit::Same, true);
            while reader.next(b'}', &mut first)? {
                reader.key()?;
                fit = fit.max(value(reader, element)?);
            }
            Ok(fit)
        }
        (Kind::Array, Type::List(_) | Type::Set(_) | Type::Tuple(_)) => elements(reader, ty),
        _ => {
            reader.skip()?;
            Ok(Fit::Other)
        }
    }
}

fn attributes(reader: &mut Reader<'_>, object: &ObjectType) -> Result<Fit, Failure<DecodeProblem>> {
    reader.open()?;
    let (mut fit, mut first, mut known) = (Fit::Same, true, 0);
    while reader.next(b'}', &mut first)? {
        let name = reader.key()?;
        match object.attribute(&name) {
            Some(ty) => {
                known += 1;
                fit = fit.max(value(reader, ty)?);
            }
            None => {
                reader.skip()?;
                fit = Fit::Stale;
            }
        }
    }
    Ok(if known < object.len() { fit.max(Fit::Other) } else { fit })
}

fn elements(reader: &mut Reader<'_>, ty: &Type) -> Result<Fit, Failure<DecodeProblem>> {
    reader.open()?;
    let (mut fit, mut first, mut index) = (Fit::Same, true, 0);
    while reader.next(b']', &mut first)? {
        let element = match ty {
            Type::List(element) | Type::Set(element) => &**element,
            Type::Tuple(types) => types.get(index).unwrap_or(&Type::Dynamic),
            _ => &Type::Dynamic,
        };
        fit = fit.max(value(reader, element)?);
        index += 1;
    }
    Ok(fit)
}
