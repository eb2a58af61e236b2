//! Handles requests for identities.

use super::{Service, bytes, diagnostics_record, find};
use crate::bindings::exports::wardian::plugin::provider as protocol;
use crate::bindings::wardian::plugin::types;
use crate::{Diagnostics, IdentitySchema, Object, Result};

impl Service {
    pub(crate) fn identity_schemas(&self) -> protocol::IdentitySchemas {
        let schemas = self
            .parts
            .resources
            .iter()
            .filter_map(|(name, resource)| Some((name.clone(), identity_record(&resource.part.identity()?))))
            .collect();
        protocol::IdentitySchemas { schemas, diagnostics: Vec::new() }
    }

    pub(crate) fn upgrade_identity(
        &self,
        request: &protocol::UpgradeResourceIdentityRequest,
    ) -> protocol::UpgradeResourceIdentityResponse {
        let (upgraded_identity, diagnostics) = match self.upgraded_identity(request) {
            Ok(identity) => (identity, Diagnostics::new()),
            Err(errors) => (Vec::new(), errors),
        };
        protocol::UpgradeResourceIdentityResponse {
            upgraded_identity,
            diagnostics: diagnostics_record(diagnostics),
        }
    }

    /// Retains the attributes of the stored identity that are still in the schema. This is
    /// sufficient for all identities that this library can define.
    fn upgraded_identity(&self, request: &protocol::UpgradeResourceIdentityRequest) -> Result<Vec<u8>> {
        let resource = find(&self.parts.resources, &request.type_name, "resource")?;
        let identity = resource.part.identity().ok_or_else(|| {
            Diagnostics::error("No identity", format!("{} has no identity.", request.type_name))
        })?;
        let types::RawState::Json(json) = &request.raw_identity else {
            return Err(Diagnostics::error("Unable to read the stored identity", "It is not JSON."));
        };
        let json = serde_json::from_slice(json)
            .map_err(|error| Diagnostics::error("Unable to read the stored identity", error.to_string()))?;
        let ty = identity.ty();
        bytes(&crate::stored::from_json(&json, &ty)?, &ty)
    }
}

fn identity_record(identity: &IdentitySchema) -> protocol::IdentitySchema {
    protocol::IdentitySchema {
        version: identity.version,
        attributes: identity
            .attributes
            .iter()
            .map(|attribute| protocol::IdentityAttribute {
                name: attribute.name.clone(),
                type_: attribute.ty.to_json(),
                required_for_import: attribute.required_for_import,
                optional_for_import: !attribute.required_for_import,
                description: attribute.description.clone(),
            })
            .collect(),
    }
}

/// Returns the identity at the start of a call: the identity from the host, or an identity with
/// null attributes. Returns `None` for resources without an identity schema.
pub(super) fn starting(schema: Option<&IdentitySchema>, known: Option<&Vec<u8>>) -> Result<Option<Object>> {
    let Some(schema) = schema else { return Ok(None) };
    let ty = schema.ty();
    let known = match known {
        Some(known) => super::object(known, &ty, "identity")?,
        None => None,
    };
    Ok(Some(known.unwrap_or_else(|| Object::with_nulls(ty))))
}

/// Returns the identity at the end of a call; `None` if no attribute is set.
pub(super) fn ending(schema: Option<&IdentitySchema>, identity: Option<&Object>) -> Result<Option<Vec<u8>>> {
    let (Some(schema), Some(identity)) = (schema, identity) else { return Ok(None) };
    let is_set =
        identity.as_value().as_mapping().is_some_and(|parts| parts.values().any(|part| !part.is_null()));
    if is_set { bytes(identity.as_value(), &schema.ty()).map(Some) } else { Ok(None) }
}
