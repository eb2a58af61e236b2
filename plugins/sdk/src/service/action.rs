//! Handles requests for actions.

use wardian_value::Type;

use super::{Service, checked, deferred, diagnostics_record, find, object};
use crate::action::ActionSteps;
use crate::bindings::exports::wardian::plugin::provider as protocol;
use crate::bindings::wardian::plugin::types;
use crate::{Diagnostics, Object, Result};

impl Service {
    pub(crate) fn validate_action(
        &self,
        request: &protocol::ValidateConfigRequest,
    ) -> Vec<types::Diagnostic> {
        let found = find(&self.parts.actions, &request.type_name, "action");
        diagnostics_record(match found {
            Ok(action) => checked(action, &request.config, request.client_capabilities, |config| {
                action.part.validate(config)
            }),
            Err(errors) => errors,
        })
    }

    pub(crate) fn plan_action(&self, request: &protocol::ActionRequest) -> protocol::PlanActionResponse {
        let planned = find(&self.parts.actions, &request.action_type, "action").and_then(|action| {
            let mut call = self.call(&Type::Dynamic)?;
            call.deferral_allowed = request.client_capabilities.deferral_allowed;
            let config = action_config(&request.config, action.ty())?;
            call.config = Some(config.clone());
            let planned = action.part.plan(&config, &mut call);
            let put_off = deferred(&call);
            let mut diagnostics = call.diagnostics;
            diagnostics.append(planned.err().unwrap_or_default());
            Ok((diagnostics, put_off))
        });
        let (diagnostics, deferred) = planned.unwrap_or_else(|errors| (errors, None));
        protocol::PlanActionResponse { diagnostics: diagnostics_record(diagnostics), deferred }
    }

    /// Returns the steps of an action. If an error occurs before the first step, it is returned as
    /// the only step.
    pub(crate) fn invoke_action(&self, request: &protocol::ActionRequest) -> ActionSteps {
        let started = find(&self.parts.actions, &request.action_type, "action").and_then(|action| {
            let mut call = self.call(&Type::Dynamic)?;
            let config = action_config(&request.config, action.ty())?;
            call.config = Some(config.clone());
            action.part.invoke(config.as_value(), &mut call)
        });
        started.unwrap_or_else(|errors| Box::new(std::iter::once(Err(errors))))
    }
}

fn action_config(bytes: &[u8], ty: &Type) -> Result<Object> {
    object(bytes, ty, "configuration")?
        .ok_or_else(|| Diagnostics::error("Unable to read the configuration", "It is null."))
}
