//! Converts between the records of the WIT interface and the types of the plugin protocol.

use std::time::SystemTime;

use wardian_plugin::transport::{PluginFailure, decode_timestamp, schema_mismatch};
use wardian_plugin::{
    ClientCapabilities, DeferredReason, PluginDiagnostic, PluginDiagnostics, RawState, Severity, has_errors,
    printable,
};
use wardian_sdk::bindings::wardian::plugin::types as wit;
use wardian_value::{Path, PathStep, Type, Value, msgpack};

/// Decodes bytes as a value of a type. Empty bytes are null.
pub(super) fn decode(what: &str, bytes: &[u8], ty: &Type) -> Result<Value, PluginFailure> {
    if bytes.is_empty() {
        return Ok(Value::null(ty.clone()));
    }
    msgpack::decode(bytes, ty).map_err(|error| schema_mismatch(what, error))
}

pub(super) fn decode_optional(
    what: &str,
    bytes: Option<&[u8]>,
    ty: Option<&Type>,
) -> Result<Option<Value>, PluginFailure> {
    match (bytes, ty) {
        (None, _) => Ok(None),
        (Some(bytes), Some(ty)) => decode(what, bytes, ty).map(Some),
        (Some(_), None) => Err(PluginFailure::InvalidResponse(format!("there is no schema for {what}"))),
    }
}

/// Decodes a result, which may be absent if the call failed.
pub(super) fn decode_result(
    what: &str,
    bytes: &[u8],
    ty: &Type,
    diagnostics: &[PluginDiagnostic],
) -> Result<Option<Value>, PluginFailure> {
    if bytes.is_empty() && has_errors(diagnostics) {
        return Ok(None);
    }
    decode(what, bytes, ty).map(Some)
}

pub(super) fn diagnostics(reported: Vec<wit::Diagnostic>) -> PluginDiagnostics {
    reported
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

/// Converts a path up to the first step that is invalid.
pub(super) fn path(steps: Vec<wit::PathStep>) -> Path {
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

pub(super) fn deferred(reason: Option<wit::DeferredReason>) -> Option<DeferredReason> {
    reason.map(|reason| match reason {
        wit::DeferredReason::Unknown => DeferredReason::Unknown,
        wit::DeferredReason::ResourceConfigUnknown => DeferredReason::ResourceConfigUnknown,
        wit::DeferredReason::ProviderConfigUnknown => DeferredReason::ProviderConfigUnknown,
        wit::DeferredReason::AbsentPrerequisite => DeferredReason::AbsentPrerequisite,
    })
}

pub(super) fn capabilities(capabilities: ClientCapabilities) -> wit::ClientCapabilities {
    wit::ClientCapabilities {
        deferral_allowed: capabilities.deferral_allowed,
        write_only_attributes_allowed: capabilities.write_only_attributes_allowed,
    }
}

pub(super) fn raw_state(raw: &RawState) -> wit::RawState {
    match raw {
        RawState::Json(json) => wit::RawState::Json(json.as_bytes().to_vec()),
        RawState::Flatmap(flatmap) => {
            wit::RawState::Flatmap(flatmap.iter().map(|(k, v)| (k.clone(), v.clone())).collect())
        }
    }
}

pub(super) fn renew_at(at: Option<wit::Timestamp>) -> Result<Option<SystemTime>, PluginFailure> {
    at.map(|at| decode_timestamp(at.seconds, at.nanoseconds.into())).transpose()
}
