//! Converts between the types of `wardian-plugin` and the gRPC messages exchanged with a plugin.
//!
//! A plugin's responses are checked here for bytes that cannot be decoded as the expected type, and
//! for invalid paths and times. The engine checks whether a value is allowed at its path (unknown
//! values, changes that were not planned).

use std::time::SystemTime;

use wardian_plugin::transport::{self, PluginFailure, decode_timestamp, encode_value, schema_mismatch};
use wardian_plugin::{
    ClientCapabilities, DeferredReason, PluginDiagnostic, PluginDiagnostics, RawState, Severity, has_errors,
    printable,
};
use wardian_value::{Path, PathStep, Type, Value, json, msgpack};

use crate::protocol::tfplugin as m;

/// Encodes a value of a type for a message.
pub(crate) fn encode(what: &str, value: &Value, ty: &Type) -> Result<Option<m::DynamicValue>, PluginFailure> {
    encode_value(what, value, ty).map(|encoded| Some(dynamic_value(encoded)))
}

/// Returns a message with a value in MessagePack.
pub(crate) fn dynamic_value(encoded: Vec<u8>) -> m::DynamicValue {
    m::DynamicValue { msgpack: encoded.into(), json: bytes::Bytes::new() }
}

/// Decodes a value of a type from a response. An absent value is decoded as null.
pub(crate) fn decode(
    what: &str,
    answered: Option<&m::DynamicValue>,
    ty: &Type,
) -> Result<Value, PluginFailure> {
    let decoded = match answered {
        Some(value) if !value.msgpack.is_empty() => msgpack::decode(&value.msgpack, ty),
        Some(value) if !value.json.is_empty() => json::decode(&value.json, ty),
        Some(_) | None => return Ok(Value::null(ty.clone())),
    };
    decoded.map_err(|error| schema_mismatch(what, error))
}

fn is_nothing(value: Option<&m::DynamicValue>) -> bool {
    value.is_none_or(|value| value.msgpack.is_empty() && value.json.is_empty())
}

/// Decodes a result, which may be absent if the call failed.
pub(crate) fn decode_result(
    what: &str,
    answered: Option<&m::DynamicValue>,
    ty: &Type,
    diagnostics: &[PluginDiagnostic],
) -> Result<Option<Value>, PluginFailure> {
    if is_nothing(answered) && has_errors(diagnostics) {
        return Ok(None);
    }
    decode(what, answered, ty).map(Some)
}

pub(crate) fn encode_optional(
    what: &str,
    value: Option<&Value>,
    ty: Option<&Type>,
) -> Result<Option<m::DynamicValue>, PluginFailure> {
    Ok(transport::encode_optional(what, value, ty)?.map(dynamic_value))
}

pub(crate) fn encode_identity(
    what: &str,
    value: Option<&Value>,
    ty: Option<&Type>,
) -> Result<Option<m::ResourceIdentityData>, PluginFailure> {
    let encoded = encode_optional(what, value, ty)?;
    Ok(encoded.map(|value| m::ResourceIdentityData { identity_data: Some(value) }))
}

/// Decodes an optional identity.
pub(crate) fn decode_identity(
    what: &str,
    answered: Option<&m::ResourceIdentityData>,
    ty: Option<&Type>,
) -> Result<Option<Value>, PluginFailure> {
    let data = answered.and_then(|identity| identity.identity_data.as_ref());
    match (data, ty) {
        (data, _) if is_nothing(data) => Ok(None),
        (data, Some(ty)) => {
            let identity = decode(what, data, ty)?;
            Ok((!identity.is_null()).then_some(identity))
        }
        (_, None) => Err(PluginFailure::InvalidResponse(format!("there is no schema for {what}"))),
    }
}

/// Converts a plugin's diagnostics.
pub(crate) fn diagnostics(answered: Vec<m::Diagnostic>) -> PluginDiagnostics {
    let reported = |diagnostic: m::Diagnostic| PluginDiagnostic {
        severity: match diagnostic.severity() {
            m::diagnostic::Severity::Warning => Severity::Warning,
            // A diagnostic with an invalid severity may report a failure of the call, so it is
            // treated as an error.
            m::diagnostic::Severity::Error | m::diagnostic::Severity::Invalid => Severity::Error,
        },
        summary: printable(&diagnostic.summary),
        detail: printable(&diagnostic.detail),
        attribute: diagnostic.attribute.map(path).filter(|path| !path.is_root()),
    };
    answered.into_iter().map(reported).collect()
}

/// Converts a path up to the first step that is invalid.
pub(crate) fn path(path: m::AttributePath) -> Path {
    use m::attribute_path::step::Selector;
    let steps: Vec<PathStep> = path
        .steps
        .into_iter()
        .map_while(|step| match step.selector? {
            Selector::AttributeName(name) => Some(PathStep::Attribute(name.into())),
            Selector::ElementKeyString(key) => Some(PathStep::Key(key.into())),
            Selector::ElementKeyInt(index) => u64::try_from(index).ok().map(PathStep::Index),
        })
        .collect();
    Path::from(steps)
}

pub(crate) fn deferred(deferred: Option<m::Deferred>) -> Option<DeferredReason> {
    deferred.map(|deferred| match deferred.reason() {
        m::deferred::Reason::Unknown => DeferredReason::Unknown,
        m::deferred::Reason::ResourceConfigUnknown => DeferredReason::ResourceConfigUnknown,
        m::deferred::Reason::ProviderConfigUnknown => DeferredReason::ProviderConfigUnknown,
        m::deferred::Reason::AbsentPrereq => DeferredReason::AbsentPrerequisite,
    })
}

#[allow(clippy::unnecessary_wraps, reason = "messages have every message field as an option")]
pub(crate) fn capabilities(capabilities: ClientCapabilities) -> Option<m::ClientCapabilities> {
    Some(m::ClientCapabilities {
        deferral_allowed: capabilities.deferral_allowed,
        write_only_attributes_allowed: capabilities.write_only_attributes_allowed,
    })
}

pub(crate) fn raw_state(raw: &RawState) -> m::RawState {
    match raw {
        RawState::Json(json) => m::RawState {
            json: bytes::Bytes::copy_from_slice(json.as_bytes()),
            flatmap: std::collections::HashMap::new(),
        },
        RawState::Flatmap(flatmap) => m::RawState {
            json: bytes::Bytes::new(),
            flatmap: flatmap.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        },
    }
}

/// Converts the time at which to renew an ephemeral resource.
pub(crate) fn renew_at(at: Option<prost_types::Timestamp>) -> Result<Option<SystemTime>, PluginFailure> {
    at.map(|at| decode_timestamp(at.seconds, at.nanos.into())).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(msgpack: &'static [u8], json: &'static [u8]) -> m::DynamicValue {
        m::DynamicValue { msgpack: msgpack.into(), json: json.into() }
    }

    #[test]
    fn both_encodings_are_decoded_and_absent_value_is_null() {
        let decoded =
            |answered: Option<m::DynamicValue>| decode("it", answered.as_ref(), &Type::String).unwrap();
        assert_eq!(decoded(Some(value(b"\xa1a", b"\"b\""))), Value::string("a"));
        assert_eq!(decoded(Some(value(b"", b"\"b\""))), Value::string("b"));
        assert_eq!(decoded(Some(value(b"", b""))), Value::null(Type::String));
        assert_eq!(decoded(None), Value::null(Type::String));
        assert!(decode("it", Some(&value(b"\xc1", b"")), &Type::String).is_err());
    }

    #[test]
    fn invalid_severity_is_an_error() {
        let one =
            |severity| m::Diagnostic { severity, summary: "it\u{1b}".into(), ..m::Diagnostic::default() };
        let reported = diagnostics(vec![one(0), one(1), one(2), one(77)]);
        let errors: Vec<bool> = reported.iter().map(PluginDiagnostic::is_error).collect();
        assert_eq!(errors, [true, true, false, true]);
        assert_eq!(reported[0].summary, "it\\u{1b}");
    }

    #[test]
    fn path_is_truncated_before_impossible_step() {
        use m::attribute_path::{Step, step::Selector};
        let steps = [Selector::AttributeName("a".into()), Selector::ElementKeyInt(-1)];
        let steps = steps.into_iter().map(|selector| Step { selector: Some(selector) }).collect();
        assert_eq!(path(m::AttributePath { steps }), Path::root().attribute("a"));
    }
}
