//! Between the protocol's own types and what crosses to a component.
//!
//! What a component answers is checked here: bytes that are no value of the type
//! they should have, paths and moments that cannot be. Whether an answer is
//! allowed at its place (unknown values, changes that were not planned) is the
//! engine's to check.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wardian_plugin::{
    ClientCapabilities, DeferredReason, PluginDiagnostic, PluginDiagnostics, RawState, Severity, has_errors,
};
use wardian_value::{Path, PathStep, Type, Value, msgpack};

use crate::bindings::wardian::plugin::types as wit;
use crate::failure::Failure;
use crate::output::printable;

/// What a timestamp of the protocol can be, in seconds since 1970.
const YEARS_1_TO_9999: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// A value of a type, as bytes.
pub(crate) fn encode(what: &str, value: &Value, ty: &Type) -> Result<Vec<u8>, Failure> {
    msgpack::encode(value, ty)
        .map_err(|error| Failure::BadRequest(format!("{what} cannot be encoded: {error}")))
}

/// Bytes as a value of a type; none are a null.
pub(crate) fn decode(what: &str, bytes: &[u8], ty: &Type) -> Result<Value, Failure> {
    if bytes.is_empty() {
        return Ok(Value::null(ty.clone()));
    }
    msgpack::decode(bytes, ty)
        .map_err(|error| Failure::BadAnswer(format!("{what} is not what its schema says: {error}")))
}

pub(crate) fn encode_optional(
    what: &str,
    value: Option<&Value>,
    ty: Option<&Type>,
) -> Result<Option<Vec<u8>>, Failure> {
    match (value, ty) {
        (None, _) => Ok(None),
        (Some(value), Some(ty)) => encode(what, value, ty).map(Some),
        (Some(_), None) => Err(Failure::BadRequest(format!("there is no schema for {what}"))),
    }
}

pub(crate) fn decode_optional(
    what: &str,
    bytes: Option<&[u8]>,
    ty: Option<&Type>,
) -> Result<Option<Value>, Failure> {
    match (bytes, ty) {
        (None, _) => Ok(None),
        (Some(bytes), Some(ty)) => decode(what, bytes, ty).map(Some),
        (Some(_), None) => Err(Failure::BadAnswer(format!("there is no schema for {what}"))),
    }
}

/// A result that is absent where the call failed without one.
pub(crate) fn decode_result(
    what: &str,
    bytes: &[u8],
    ty: &Type,
    diagnostics: &[PluginDiagnostic],
) -> Result<Option<Value>, Failure> {
    if bytes.is_empty() && has_errors(diagnostics) {
        return Ok(None);
    }
    decode(what, bytes, ty).map(Some)
}

pub(crate) fn diagnostics(answered: Vec<wit::Diagnostic>) -> PluginDiagnostics {
    answered
        .into_iter()
        .map(|diagnostic| PluginDiagnostic {
            severity: match diagnostic.severity {
                wit::Severity::Error => Severity::Error,
                wit::Severity::Warning => Severity::Warning,
            },
            summary: printable(&diagnostic.summary),
            detail: printable(&diagnostic.detail),
            attribute: diagnostic.attribute.map(path),
        })
        .collect()
}

/// A path, as far as its steps can lead anywhere.
pub(crate) fn path(steps: Vec<wit::PathStep>) -> Path {
    let steps: Vec<PathStep> = steps
        .into_iter()
        .map_while(|step| match step {
            wit::PathStep::AttributeName(name) => Some(PathStep::Attribute(name.into())),
            wit::PathStep::ElementKeyString(key) => Some(PathStep::Key(key.into())),
            wit::PathStep::ElementKeyInt(index) => u64::try_from(index).ok().map(PathStep::Index),
        })
        .collect();
    Path::from(steps)
}

pub(crate) fn deferred(reason: Option<wit::DeferredReason>) -> Option<DeferredReason> {
    reason.map(|reason| match reason {
        wit::DeferredReason::Unknown => DeferredReason::Unknown,
        wit::DeferredReason::ResourceConfigUnknown => DeferredReason::ResourceConfigUnknown,
        wit::DeferredReason::ProviderConfigUnknown => DeferredReason::ProviderConfigUnknown,
        wit::DeferredReason::AbsentPrerequisite => DeferredReason::AbsentPrerequisite,
    })
}

pub(crate) fn capabilities(capabilities: ClientCapabilities) -> wit::ClientCapabilities {
    wit::ClientCapabilities {
        deferral_allowed: capabilities.deferral_allowed,
        write_only_attributes_allowed: capabilities.write_only_attributes_allowed,
    }
}

pub(crate) fn raw_state(raw: &RawState) -> wit::RawState {
    match raw {
        RawState::Json(json) => wit::RawState::Json(json.as_bytes().to_vec()),
        RawState::Flatmap(flatmap) => {
            wit::RawState::Flatmap(flatmap.iter().map(|(k, v)| (k.clone(), v.clone())).collect())
        }
    }
}

pub(crate) fn moment(at: Option<wit::Timestamp>) -> Result<Option<SystemTime>, Failure> {
    let Some(at) = at else { return Ok(None) };
    let moment = (YEARS_1_TO_9999.contains(&at.seconds) && at.nanoseconds < 1_000_000_000)
        .then_some(())
        .and_then(|()| {
            let whole = Duration::from_secs(at.seconds.unsigned_abs());
            if at.seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) }
        })
        .and_then(|whole| whole.checked_add(Duration::from_nanos(at.nanoseconds.into())));
    match moment {
        Some(moment) => Ok(Some(moment)),
        None => Err(Failure::BadAnswer(format!(
            "{} s and {} ns is no moment at which to renew",
            at.seconds, at.nanoseconds
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_ends_before_a_step_that_leads_nowhere() {
        let steps = vec![
            wit::PathStep::AttributeName("a".into()),
            wit::PathStep::ElementKeyInt(-1),
            wit::PathStep::AttributeName("b".into()),
        ];
        assert_eq!(path(steps), Path::root().attribute("a"));
    }

    #[test]
    fn moments_before_and_after_1970_are_exact_and_impossible_ones_are_refused() {
        let at = |seconds, nanoseconds| moment(Some(wit::Timestamp { seconds, nanoseconds }));
        let second = Duration::from_secs(1);
        assert_eq!(at(1, 5).unwrap(), Some(UNIX_EPOCH + second + Duration::from_nanos(5)));
        assert_eq!(at(-1, 0).unwrap(), Some(UNIX_EPOCH - second));
        assert_eq!(moment(None).unwrap(), None);
        assert!(at(0, 1_000_000_000).is_err());
        assert!(at(i64::MAX, 0).is_err());
        assert!(at(i64::MIN, 0).is_err());
    }

    #[test]
    fn no_bytes_are_null_unless_the_call_failed() {
        let error = [PluginDiagnostic::error("no", "")];
        let null = Value::null(Type::String);
        assert_eq!(decode_result("it", &[], &Type::String, &[]).unwrap(), Some(null));
        assert_eq!(decode_result("it", &[], &Type::String, &error).unwrap(), None);
    }
}
