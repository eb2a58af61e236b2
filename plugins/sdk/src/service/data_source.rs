//! Handles requests for data sources.

use wardian_value::Value;

use super::{Service, bytes, checked, deferred, diagnostics_record, find, null, object};
use crate::bindings::exports::wardian::plugin::provider as protocol;
use crate::bindings::wardian::plugin::types;
use crate::context::Call;
use crate::{Diagnostics, Result};

impl Service {
    pub(crate) fn validate_data_source(
        &self,
        request: &protocol::ValidateConfigRequest,
    ) -> Vec<types::Diagnostic> {
        let found = find(&self.parts.data_sources, &request.type_name, "data source");
        diagnostics_record(match found {
            Ok(source) => checked(source, &request.config, request.client_capabilities, |config| {
                source.part.validate(config)
            }),
            Err(errors) => errors,
        })
    }

    pub(crate) fn read_data_source(
        &self,
        request: &protocol::ReadDataSourceRequest,
    ) -> protocol::ReadDataSourceResponse {
        let mut diagnostics = Diagnostics::new();
        let mut put_off = None;
        let answer = self.data_source_answer(request, &mut diagnostics, &mut put_off);
        let state = answer.unwrap_or_else(|errors| {
            diagnostics.append(errors);
            Vec::new()
        });
        protocol::ReadDataSourceResponse {
            state,
            diagnostics: diagnostics_record(diagnostics),
            deferred: put_off,
        }
    }

    fn data_source_answer(
        &self,
        request: &protocol::ReadDataSourceRequest,
        diagnostics: &mut Diagnostics,
        put_off: &mut Option<types::DeferredReason>,
    ) -> Result<Vec<u8>> {
        let source = find(&self.parts.data_sources, &request.type_name, "data source")?;
        let ty = source.ty();
        let mut call: Call = self.call(ty)?;
        call.deferral_allowed = request.client_capabilities.deferral_allowed;
        call.provider_meta = self.meta(&request.provider_meta)?;
        call.config = object(&request.config, ty, "configuration")?;
        let config = call.config.as_ref().map_or_else(|| Value::null(ty.clone()), |c| c.as_value().clone());
        let state = source.part.read(&config, &mut call);
        diagnostics.append(std::mem::take(&mut call.diagnostics));
        *put_off = deferred(&call);
        if put_off.is_some() {
            return Ok(null(ty));
        }
        bytes(&state?, ty)
    }
}
