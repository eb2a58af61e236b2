//! Handles requests for ephemeral resources.

use std::time::UNIX_EPOCH;

use wardian_value::{Type, Value};

use super::{Service, bytes, checked, deferred, diagnostics_record, find, null, object};
use crate::bindings::exports::wardian::plugin::provider as protocol;
use crate::bindings::wardian::plugin::types;
use crate::ephemeral::Renew;
use crate::{Diagnostics, Result};

impl Service {
    pub(crate) fn validate_ephemeral(
        &self,
        request: &protocol::ValidateConfigRequest,
    ) -> Vec<types::Diagnostic> {
        let found = find(&self.parts.ephemeral_resources, &request.type_name, "ephemeral resource");
        diagnostics_record(match found {
            Ok(resource) => checked(resource, &request.config, request.client_capabilities, |config| {
                resource.part.validate(config)
            }),
            Err(errors) => errors,
        })
    }

    pub(crate) fn open_ephemeral(
        &self,
        request: &protocol::OpenEphemeralResourceRequest,
    ) -> protocol::OpenEphemeralResourceResponse {
        let mut response = protocol::OpenEphemeralResourceResponse {
            result: Vec::new(),
            diagnostics: Vec::new(),
            renew_at: None,
            private: Vec::new(),
            deferred: None,
        };
        let mut diagnostics = Diagnostics::new();
        if let Err(errors) = self.open(request, &mut response, &mut diagnostics) {
            diagnostics.append(errors);
        }
        response.diagnostics = diagnostics_record(diagnostics);
        response
    }

    fn open(
        &self,
        request: &protocol::OpenEphemeralResourceRequest,
        response: &mut protocol::OpenEphemeralResourceResponse,
        diagnostics: &mut Diagnostics,
    ) -> Result<()> {
        let resource = find(&self.parts.ephemeral_resources, &request.type_name, "ephemeral resource")?;
        let ty = resource.ty();
        let mut call = self.call(ty)?;
        call.deferral_allowed = request.client_capabilities.deferral_allowed;
        call.config = object(&request.config, ty, "configuration")?;
        let config = call.config.as_ref().map_or_else(|| Value::null(ty.clone()), |c| c.as_value().clone());
        let opened = resource.part.open(&config, &mut call);
        diagnostics.append(std::mem::take(&mut call.diagnostics));
        response.deferred = deferred(&call);
        // An opened resource must be closed even if its result cannot be used.
        response.private = call.private;
        if response.deferred.is_some() {
            response.result = null(ty);
            return Ok(());
        }
        let opened = opened?;
        response.renew_at = renew_at(opened.renew);
        response.result = bytes(&opened.state, ty)?;
        Ok(())
    }

    pub(crate) fn renew_ephemeral(
        &self,
        type_name: &str,
        private: Vec<u8>,
    ) -> protocol::RenewEphemeralResourceResponse {
        let mut response = protocol::RenewEphemeralResourceResponse {
            diagnostics: Vec::new(),
            renew_at: None,
            private: private.clone(),
        };
        let renewed =
            find(&self.parts.ephemeral_resources, type_name, "ephemeral resource").and_then(|resource| {
                let mut call = self.call(&Type::Dynamic)?;
                call.private = private;
                let renew = resource.part.renew(&mut call);
                response.private = call.private;
                let mut diagnostics = call.diagnostics;
                match renew {
                    Ok(renew) => response.renew_at = renew_at(renew),
                    Err(errors) => diagnostics.append(errors),
                }
                Ok(diagnostics)
            });
        response.diagnostics = diagnostics_record(renewed.unwrap_or_else(|errors| errors));
        response
    }

    pub(crate) fn close_ephemeral(&self, type_name: &str, private: Vec<u8>) -> Vec<types::Diagnostic> {
        let closed =
            find(&self.parts.ephemeral_resources, type_name, "ephemeral resource").and_then(|resource| {
                let mut call = self.call(&Type::Dynamic)?;
                call.private = private;
                let closed = resource.part.close(&mut call);
                let mut diagnostics = call.diagnostics;
                diagnostics.append(closed.err().unwrap_or_default());
                Ok(diagnostics)
            });
        diagnostics_record(closed.unwrap_or_else(|errors| errors))
    }
}

fn renew_at(renew: Renew) -> Option<types::Timestamp> {
    let Renew::At(time) = renew else { return None };
    // A time before 1970 is always in the past.
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Some(types::Timestamp {
        seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        nanoseconds: since.subsec_nanos(),
    })
}
