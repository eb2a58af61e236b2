//! Encodes and decodes values and timestamps for the wire.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wardian_value::{Str, Type, Value, msgpack};

use super::decoded_schema::DecodedSchema;
use super::failure::PluginFailure;
use crate::diagnostic::{PluginDiagnostic, has_errors};
use crate::schema::Function;

/// The range of timestamps in the protocol, in seconds since 1970.
const YEARS_1_TO_9999: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// Encodes a value of the given type in MessagePack.
///
/// # Errors
/// Returns an error if the value does not have that type.
pub fn encode_value(what: &str, value: &Value, ty: &Type) -> Result<Vec<u8>, PluginFailure> {
    msgpack::encode(value, ty)
        .map_err(|error| PluginFailure::InvalidRequest(format!("{what} cannot be encoded: {error}")))
}

/// Encodes a value, if there is one, as MessagePack. Errors contain the name `what`.
///
/// # Errors
/// Returns an error if the value does not have the type, or if the type is missing.
pub fn encode_optional(
    what: &str,
    value: Option<&Value>,
    ty: Option<&Type>,
) -> Result<Option<Vec<u8>>, PluginFailure> {
    match (value, ty) {
        (None, _) => Ok(None),
        (Some(value), Some(ty)) => encode_value(what, value, ty).map(Some),
        (Some(_), None) => Err(PluginFailure::InvalidRequest(format!("there is no schema for {what}"))),
    }
}

/// Decodes MessagePack as a value of a type. Empty bytes are null.
///
/// # Errors
/// Returns an error if the bytes are not a value of that type.
pub fn decode_value(what: &str, bytes: &[u8], ty: &Type) -> Result<Value, PluginFailure> {
    if bytes.is_empty() {
        return Ok(Value::null(ty.clone()));
    }
    msgpack::decode(bytes, ty).map_err(|error| schema_mismatch(what, error))
}

/// Decodes a value, if there is one.
///
/// # Errors
/// Returns an error if the bytes are not a value of the type, or if the type is missing.
pub fn decode_optional(
    what: &str,
    bytes: Option<&[u8]>,
    ty: Option<&Type>,
) -> Result<Option<Value>, PluginFailure> {
    match (bytes, ty) {
        (None, _) => Ok(None),
        (Some(bytes), Some(ty)) => decode_value(what, bytes, ty).map(Some),
        (Some(_), None) => Err(PluginFailure::InvalidResponse(format!("there is no schema for {what}"))),
    }
}

/// Decodes a result, which may be absent if the call failed.
///
/// # Errors
/// Returns an error if the bytes are not a value of that type.
pub fn decode_result(
    what: &str,
    bytes: &[u8],
    ty: &Type,
    diagnostics: &[PluginDiagnostic],
) -> Result<Option<Value>, PluginFailure> {
    if bytes.is_empty() && has_errors(diagnostics) {
        return Ok(None);
    }
    decode_value(what, bytes, ty).map(Some)
}

/// Encodes a function's arguments according to its signature. Also returns the signature.
///
/// # Errors
/// Returns an error if the provider does not have the function, or an argument does not match its
/// parameter.
pub fn encode_function_arguments<'a>(
    schema: &'a DecodedSchema,
    name: &Str,
    arguments: &[Value],
) -> Result<(&'a Function, Vec<Vec<u8>>), PluginFailure> {
    let function = schema.function(name)?;
    let encode = |(index, argument): (usize, &Value)| match function.parameter(index) {
        Some(parameter) => encode_value("an argument", argument, &parameter.ty),
        None => Err(PluginFailure::InvalidRequest(format!("there is no parameter {}", index + 1))),
    };
    let encoded = arguments.iter().enumerate().map(encode).collect::<Result<_, _>>()?;
    Ok((function, encoded))
}

/// Returns the failure for a value that could not be decoded according to its schema.
pub fn schema_mismatch(what: &str, error: impl fmt::Display) -> PluginFailure {
    PluginFailure::InvalidResponse(format!("{what} does not match its schema: {error}"))
}

/// Decodes the time at which to renew an ephemeral resource.
///
/// # Errors
/// Returns an error if the timestamp is outside of the protocol's range.
pub fn decode_timestamp(seconds: i64, nanoseconds: i64) -> Result<SystemTime, PluginFailure> {
    let below_second = u32::try_from(nanoseconds).ok().filter(|nanoseconds| *nanoseconds < 1_000_000_000);
    below_second
        .filter(|_| YEARS_1_TO_9999.contains(&seconds))
        .and_then(|below_second| {
            let whole = Duration::from_secs(seconds.unsigned_abs());
            let at = if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
            at?.checked_add(Duration::from_nanos(below_second.into()))
        })
        .ok_or_else(|| {
            PluginFailure::InvalidResponse(format!(
                "{seconds} s and {nanoseconds} ns is not a valid renewal time"
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_bytes_are_null_unless_call_failed() {
        let error = [PluginDiagnostic::error("no", "")];
        let decode = |diagnostics| decode_result("it", &[], &Type::String, diagnostics).ok();
        assert_eq!(decode(&[]), Some(Some(Value::null(Type::String))));
        assert_eq!(decode(&error), Some(None));
    }

    #[test]
    fn decode_timestamp_is_exact_before_and_after_1970() {
        let second = Duration::from_secs(1);
        let at = |seconds, nanoseconds| decode_timestamp(seconds, nanoseconds).ok();
        assert_eq!(at(1, 5), Some(UNIX_EPOCH + second + Duration::from_nanos(5)));
        assert_eq!(at(-1, 0), Some(UNIX_EPOCH - second));
    }

    #[test]
    fn decode_timestamp_rejects_invalid_timestamps() {
        for (seconds, nanoseconds) in [(0, -1), (0, 1_000_000_000), (i64::MAX, 0), (i64::MIN, 0)] {
            assert!(decode_timestamp(seconds, nanoseconds).is_err(), "{seconds} {nanoseconds}");
        }
    }
}
