//! Handles requests that add existing objects to the state: imports and moves between resource
//! types.

use super::resource::raw_json;
use super::{Service, bytes, deferred, diagnostics_record, identity};
use crate::bindings::exports::wardian::plugin::provider as protocol;
use crate::check::without_write_only;
use crate::import::Import;
use crate::upgrade::MoveSource;
use crate::{Diagnostics, Object, Result};

impl Service {
    pub(crate) fn import_resource(
        &self,
        request: &protocol::ImportResourceStateRequest,
    ) -> protocol::ImportResourceStateResponse {
        let mut response = protocol::ImportResourceStateResponse {
            imported_resources: Vec::new(),
            diagnostics: Vec::new(),
            deferred: None,
        };
        let mut diagnostics = Diagnostics::new();
        if let Err(errors) = self.import(request, &mut response, &mut diagnostics) {
            diagnostics.append(errors);
        }
        response.diagnostics = diagnostics_record(diagnostics);
        response
    }

    fn import(
        &self,
        request: &protocol::ImportResourceStateRequest,
        response: &mut protocol::ImportResourceStateResponse,
        diagnostics: &mut Diagnostics,
    ) -> Result<()> {
        let resource = self.resource(&request.type_name)?;
        let ty = resource.ty();
        let schema = resource.part.identity();
        let (id, given) = match &request.target {
            protocol::ImportTarget::Id(id) => (Some(id.clone()), None),
            protocol::ImportTarget::Identity(identity) => (None, Some(identity)),
        };
        let mut call = self.call(ty)?;
        call.deferral_allowed = request.client_capabilities.deferral_allowed;
        call.identity = identity::starting(schema.as_ref(), given)?;
        let empty = resource.schema().root.empty_value();
        let mut import = Import {
            type_name: request.type_name.clone(),
            id,
            identity: if given.is_some() { call.identity.clone() } else { None },
            state: Object::new(empty, ty.clone()),
        };
        let imported = resource.part.import(&mut import, &mut call);
        diagnostics.append(std::mem::take(&mut call.diagnostics));
        imported?;
        response.deferred = deferred(&call);
        response.imported_resources.push(protocol::ImportedResource {
            type_name: request.type_name.clone(),
            state: bytes(&without_write_only(resource.schema(), import.state.as_value()), ty)?,
            identity: identity::ending(schema.as_ref(), call.identity.as_ref())?,
            private: call.private,
        });
        Ok(())
    }

    pub(crate) fn move_resource(
        &self,
        request: &protocol::MoveResourceStateRequest,
    ) -> protocol::MoveResourceStateResponse {
        let (target_state, diagnostics) = match self.moved(request) {
            Ok(state) => (state, Diagnostics::new()),
            Err(errors) => (Vec::new(), errors),
        };
        protocol::MoveResourceStateResponse {
            target_state,
            diagnostics: diagnostics_record(diagnostics),
            target_private: Vec::new(),
            target_identity: None,
        }
    }

    fn moved(&self, request: &protocol::MoveResourceStateRequest) -> Result<Vec<u8>> {
        let resource = self.resource(&request.target_type_name)?;
        let ty = resource.ty();
        let source = MoveSource {
            provider_address: request.source_provider_address.clone(),
            type_name: request.source_type_name.clone(),
            schema_version: request.source_schema_version,
            state: raw_json(&request.source_state)?,
            private: request.source_private.clone(),
        };
        let call = self.call_unconfigured(ty);
        let state = resource.part.move_state(&source, &call)?.ok_or_else(|| {
            Diagnostics::error(
                "Unable to Move Resource State",
                format!(
                    "{} does not support moving an object of {} from {}.",
                    request.target_type_name, request.source_type_name, request.source_provider_address
                ),
            )
        })?;
        bytes(&without_write_only(resource.schema(), &state), ty)
    }

    /// Returns an error, since this library neither supports generating configurations nor declares
    /// the capability.
    pub(crate) fn generate_config(type_name: &str) -> protocol::GenerateResourceConfigResponse {
        let error = Diagnostics::error(
            "Configuration Generation Not Supported",
            format!("The provider does not generate configurations of {type_name}; the host does."),
        );
        protocol::GenerateResourceConfigResponse {
            config: Vec::new(),
            diagnostics: diagnostics_record(error),
        }
    }
}
