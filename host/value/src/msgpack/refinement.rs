//! Encodes and decodes refinements of unknown values. A refinement is the payload of extension type
//! 12: a map with small integer keys.

use rmp::encode::{ByteBuf, write_bool, write_ext_meta, write_map_len, write_sint, write_str, write_uint};

use super::decode::Decoder;
use super::encode::write_number;
use crate::codec::{DecodeProblem, Failure};
use crate::{Bound, Refinement, Str, Type, Value, graphemes};

type Result<T> = std::result::Result<T, Failure<DecodeProblem>>;

const EXTENSION: i8 = 12;
const NULLNESS: u8 = 1;
const PREFIX: u8 = 2;
const LOWER: u8 = 3;
const UPPER: u8 = 4;
const MIN_LENGTH: u8 = 5;
const MAX_LENGTH: u8 = 6;

/// Maximum length of a payload. Terraform also rejects longer payloads.
const MAX_PAYLOAD: usize = 1024;
/// Maximum prefix length. Longer prefixes are truncated, which is allowed because refinements are
/// optional.
const MAX_PREFIX: usize = 256;

/// Writes an unknown value of the type.
pub(super) fn write(out: &mut ByteBuf, ty: &Type, refinement: Option<&Refinement>) {
    let mut facts = ByteBuf::new();
    let mut count = 0;
    if let Some(refinement) = refinement {
        let mut key = |key: u8, facts: &mut ByteBuf| {
            count += 1;
            let _ = write_uint(facts, u64::from(key));
        };
        if refinement.not_null {
            key(NULLNESS, &mut facts);
            let _ = write_bool(&mut facts, false);
        }
        match ty {
            Type::String => {
                if let Some(prefix) = refinement.prefix.as_deref().map(cut_prefix)
                    && !prefix.is_empty()
                {
                    key(PREFIX, &mut facts);
                    let _ = write_str(&mut facts, prefix);
                }
            }
            Type::Number => {
                for (code, bound) in [(LOWER, &refinement.lower), (UPPER, &refinement.upper)] {
                    if let Some(bound) = bound
                        && !bound.value.is_infinite()
                    {
                        key(code, &mut facts);
                        let _ = rmp::encode::write_array_len(&mut facts, 2);
                        write_number(&mut facts, &bound.value);
                        let _ = write_bool(&mut facts, bound.inclusive);
                    }
                }
            }
            Type::List(_) | Type::Set(_) | Type::Map(_) => {
                let lengths = [(MIN_LENGTH, refinement.min_length), (MAX_LENGTH, refinement.max_length)];
                for (code, length) in lengths {
                    let length = length.and_then(|length| i64::try_from(length).ok());
                    let stated = length.filter(|length| (code, *length) != (MIN_LENGTH, 0));
                    if let Some(length) = stated.filter(|length| *length != i64::MAX) {
                        key(code, &mut facts);
                        let _ = write_sint(&mut facts, length);
                    }
                }
            }
            Type::Dynamic | Type::Bool | Type::Object(_) | Type::Tuple(_) => {}
        }
    }
    let mut header = ByteBuf::new();
    let _ = write_map_len(&mut header, count);
    let size = header.as_slice().len() + facts.as_slice().len();
    if count == 0 || matches!(ty, Type::Dynamic) || size > MAX_PAYLOAD {
        let _ = write_ext_meta(out, 1, 0);
        let _ = rmp::encode::RmpWrite::write_u8(out, 0);
        return;
    }
    let _ = write_ext_meta(out, u32::try_from(size).unwrap_or(u32::MAX), EXTENSION);
    let _ = rmp::encode::RmpWrite::write_bytes(out, header.as_slice());
    let _ = rmp::encode::RmpWrite::write_bytes(out, facts.as_slice());
}

/// Returns the prefix without trailing characters that could combine with the next character.
fn cut_prefix(prefix: &str) -> &str {
    if prefix.len() <= MAX_PREFIX {
        return prefix;
    }
    let short = &prefix[..prefix.floor_char_boundary(MAX_PREFIX - 1)];
    graphemes(short).last().map_or("", |last| &short[..short.len() - last.len()])
}

/// Reads the current extension as an unknown value of the type.
pub(super) fn read(decoder: &mut Decoder<'_>, ty: &Type) -> Result<Value> {
    let (code, payload) = decoder.extension()?;
    if payload.len() <= 1 || code != EXTENSION || matches!(ty, Type::Dynamic) {
        return Ok(Value::unknown_exact(ty.clone()));
    }
    if payload.len() > MAX_PAYLOAD {
        return Err(DecodeProblem::Refinement("it is too long").into());
    }
    let mut payload = decoder.within(payload);
    let mut refinement = Refinement::default();
    for _ in 0..payload.map_length()? {
        match payload.integer()? {
            1 => {
                if payload.bool()? {
                    return Ok(Value::null_exact(ty.clone()));
                }
                refinement.not_null = true;
            }
            2 if matches!(ty, Type::String) => {
                refinement.prefix = Some(Str::new(payload.text()?));
            }
            key @ (3 | 4) if matches!(ty, Type::Number) => {
                if payload.array_length()? != 2 {
                    return Err(DecodeProblem::Refinement("a bound must be a number and a bool").into());
                }
                let bound = Some(Bound { value: payload.number()?, inclusive: payload.bool()? });
                if key == 3 {
                    refinement.lower = bound;
                } else {
                    refinement.upper = bound;
                }
            }
            key @ (5 | 6) if ty.is_collection() => {
                let length = usize::try_from(payload.integer()?)
                    .map_err(|_| DecodeProblem::Refinement("a length is negative"))?;
                if key == 5 {
                    refinement.min_length = Some(length).filter(|length| *length > 0);
                } else {
                    refinement.max_length = Some(length);
                }
            }
            2..=6 => return Err(DecodeProblem::Refinement("it is for a different type").into()),
            _ => payload.skip()?,
        }
    }
    check(&refinement)?;
    // A list of known length becomes a list of unknown elements, unless their number exceeds the
    // limit for the size of the input.
    let expands = matches!(ty, Type::List(_)) && refinement.not_null;
    if expands && refinement.min_length == refinement.max_length && !decoder.may_expand(refinement.max_length)
    {
        refinement.max_length = None;
    }
    Ok(Value::unknown_with(ty.clone(), refinement))
}

fn check(refinement: &Refinement) -> Result<()> {
    let bounds = refinement.lower.as_ref().zip(refinement.upper.as_ref());
    let lengths = refinement.min_length.zip(refinement.max_length);
    if bounds.is_some_and(|(lower, upper)| lower.value > upper.value)
        || lengths.is_some_and(|(min, max)| min > max)
    {
        return Err(DecodeProblem::Refinement("its bounds exclude every value").into());
    }
    Ok(())
}
