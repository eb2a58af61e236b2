//! Converts between the types of `wardian-plugin` and the gRPC messages exchanged with a host, in
//! the direction opposite to the client's conversion.

use std::time::SystemTime;

use tonic::{Code, Status};
use wardian_plugin::transport::PluginFailure;
use wardian_plugin::{
    ClientCapabilities, DeferredReason, PluginDiagnostic, PluginDiagnostics, RawState, Severity,
};
use wardian_value::{Path, PathStep, Type, Value};

use crate::conversion::{decode, encode};
use crate::protocol::tfplugin as m;

/// Returns the status of an invalid request.
pub(super) fn refused(failure: &PluginFailure) -> Status {
    let text = match failure {
        PluginFailure::InvalidResponse(text) | PluginFailure::InvalidRequest(text) => text.clone(),
        other => format!("{other:?}"),
    };
    Status::new(Code::InvalidArgument, text)
}

/// Decodes a value from the host.
pub(super) fn taken(what: &str, value: Option<&m::DynamicValue>, ty: &Type) -> Result<Value, Status> {
    decode(what, value, ty).map_err(|failure| refused(&failure))
}

/// Decodes an optional value from the host.
pub(super) fn taken_if_there(
    what: &str,
    value: Option<&m::DynamicValue>,
    ty: Option<&Type>,
) -> Result<Option<Value>, Status> {
    match (value, ty) {
        (Some(value), Some(ty)) => {
            taken(what, Some(value), ty).map(|value| (!value.is_null()).then_some(value))
        }
        _ => Ok(None),
    }
}

pub(super) fn taken_identity(
    what: &str,
    identity: Option<&m::ResourceIdentityData>,
    ty: Option<&Type>,
) -> Result<Option<Value>, Status> {
    taken_if_there(what, identity.and_then(|identity| identity.identity_data.as_ref()), ty)
}

/// Encodes an optional value for the host.
pub(super) fn given(what: &str, value: Option<&Value>, ty: &Type) -> Result<Option<m::DynamicValue>, Status> {
    match value {
        None => Ok(None),
        Some(value) => encode(what, value, ty).map_err(|failure| refused(&failure)),
    }
}

pub(super) fn given_identity(
    what: &str,
    value: Option<&Value>,
    ty: Option<&Type>,
) -> Result<Option<m::ResourceIdentityData>, Status> {
    match (value, ty) {
        (Some(value), Some(ty)) => {
            Ok(Some(m::ResourceIdentityData { identity_data: given(what, Some(value), ty)? }))
        }
        _ => Ok(None),
    }
}

pub(super) fn diagnostics(reported: PluginDiagnostics) -> Vec<m::Diagnostic> {
    let one = |diagnostic: PluginDiagnostic| m::Diagnostic {
        severity: i32::from(match diagnostic.severity {
            Severity::Error => m::diagnostic::Severity::Error,
            Severity::Warning => m::diagnostic::Severity::Warning,
        }),
        summary: diagnostic.summary,
        detail: diagnostic.detail,
        attribute: diagnostic.attribute.as_ref().filter(|path| !path.is_root()).map(path),
    };
    reported.into_iter().map(one).collect()
}

pub(super) fn path(path: &Path) -> m::AttributePath {
    use m::attribute_path::step::Selector;
    let step = |step: &PathStep| m::attribute_path::Step {
        selector: Some(match step {
            PathStep::Attribute(name) => Selector::AttributeName(name.to_string()),
            PathStep::Key(key) => Selector::ElementKeyString(key.to_string()),
            PathStep::Index(index) => Selector::ElementKeyInt(i64::try_from(*index).unwrap_or(i64::MAX)),
        }),
    };
    m::AttributePath { steps: path.steps().iter().map(step).collect() }
}

pub(super) fn deferred(reason: Option<DeferredReason>) -> Option<m::Deferred> {
    let reason = match reason? {
        DeferredReason::Unknown => m::deferred::Reason::Unknown,
        DeferredReason::ResourceConfigUnknown => m::deferred::Reason::ResourceConfigUnknown,
        DeferredReason::ProviderConfigUnknown => m::deferred::Reason::ProviderConfigUnknown,
        DeferredReason::AbsentPrerequisite => m::deferred::Reason::AbsentPrereq,
    };
    Some(m::Deferred { reason: reason.into() })
}

/// Returns the capabilities of the host. A host that does not send this message, because it is
/// older, has no capabilities.
pub(super) fn capabilities(capabilities: Option<m::ClientCapabilities>) -> ClientCapabilities {
    let capabilities = capabilities.unwrap_or_default();
    ClientCapabilities {
        deferral_allowed: capabilities.deferral_allowed,
        write_only_attributes_allowed: capabilities.write_only_attributes_allowed,
    }
}

pub(super) fn raw_state(raw: Option<m::RawState>) -> Result<RawState, Status> {
    let raw = raw.ok_or_else(|| Status::new(Code::InvalidArgument, "there is no stored state"))?;
    if raw.json.is_empty() {
        return Ok(RawState::Flatmap(std::sync::Arc::new(raw.flatmap.into_iter().collect())));
    }
    let text = std::str::from_utf8(&raw.json);
    let text =
        text.map_err(|error| Status::new(Code::InvalidArgument, format!("the stored state: {error}")))?;
    Ok(RawState::Json(text.into()))
}

pub(super) fn moment(at: Option<SystemTime>) -> Option<prost_types::Timestamp> {
    at.map(Into::into)
}
