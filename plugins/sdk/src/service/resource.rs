//! Handles requests for managed resources: validate, upgrade, read, plan, apply.

use std::rc::Rc;

use serde_json::Value as Json;
use wardian_value::{Path, Type, Value};

use super::wire::path_record;
use super::{Service, bytes, checked, deferred, diagnostics_record, find, identity, null, object, value};
use crate::bindings::exports::wardian::plugin::provider as protocol;
use crate::bindings::wardian::plugin::types;
use crate::check::without_write_only;
use crate::context::Call;
use crate::provider::WithSchema;
use crate::resource::{AnyResource, Plan};
use crate::{Diagnostics, Object, Result, plan};

pub(super) type Resource = WithSchema<dyn AnyResource>;

/// Validation and upgrades.
impl Service {
    pub(super) fn resource(&self, type_name: &str) -> Result<&Resource> {
        find(&self.parts.resources, type_name, "resource")
    }

    pub(crate) fn validate_resource(
        &self,
        request: &protocol::ValidateConfigRequest,
    ) -> Vec<types::Diagnostic> {
        diagnostics_record(match self.resource(&request.type_name) {
            Ok(resource) => checked(resource, &request.config, request.client_capabilities, |config| {
                resource.part.validate(config)
            }),
            Err(errors) => errors,
        })
    }

    pub(crate) fn upgrade_state(
        &self,
        request: &protocol::UpgradeResourceStateRequest,
    ) -> protocol::UpgradeResourceStateResponse {
        let (upgraded_state, diagnostics) = match self.upgraded(request) {
            Ok(state) => (state, Diagnostics::new()),
            Err(errors) => (Vec::new(), errors),
        };
        protocol::UpgradeResourceStateResponse {
            upgraded_state,
            diagnostics: diagnostics_record(diagnostics),
        }
    }

    fn upgraded(&self, request: &protocol::UpgradeResourceStateRequest) -> Result<Vec<u8>> {
        let resource = self.resource(&request.type_name)?;
        let (ty, current) = (resource.ty(), resource.schema().version_number());
        let json = raw_json(&request.raw_state)?;
        let state = if request.version == current {
            crate::stored::from_json(&json, ty)?
        } else {
            let upgraders = resource.part.state_upgraders();
            let Some(upgrader) = upgraders.iter().find(|upgrader| upgrader.from == request.version) else {
                return Err(Diagnostics::error(
                    "Unable to upgrade the stored state",
                    format!(
                        "The state of {} was stored with schema version {}. This provider has version \
                         {current} and cannot upgrade from the stored version.",
                        request.type_name, request.version
                    ),
                ));
            };
            (upgrader.run)(&json, ty)?
        };
        bytes(&without_write_only(resource.schema(), &state), ty)
    }
}

/// Reading.
impl Service {
    pub(crate) fn read_resource(
        &self,
        request: &protocol::ReadResourceRequest,
    ) -> protocol::ReadResourceResponse {
        let mut response = protocol::ReadResourceResponse {
            new_state: request.current_state.clone(),
            diagnostics: Vec::new(),
            private: request.private.clone(),
            deferred: None,
            new_identity: request.current_identity.clone(),
        };
        let mut diagnostics = Diagnostics::new();
        if let Err(errors) = self.read(request, &mut response, &mut diagnostics) {
            diagnostics.append(errors);
        }
        response.diagnostics = diagnostics_record(diagnostics);
        response
    }

    fn read(
        &self,
        request: &protocol::ReadResourceRequest,
        response: &mut protocol::ReadResourceResponse,
        diagnostics: &mut Diagnostics,
    ) -> Result<()> {
        let resource = self.resource(&request.type_name)?;
        let ty = resource.ty();
        let identity = resource.part.identity();
        let mut call = self.call(ty)?;
        call.deferral_allowed = request.client_capabilities.deferral_allowed;
        call.provider_meta = self.meta(&request.provider_meta)?;
        call.private.clone_from(&request.private);
        call.identity = identity::starting(identity.as_ref(), request.current_identity.as_ref())?;
        let current = value(&request.current_state, ty, "state")?;
        if current.is_null() {
            return Ok(());
        }
        let read = resource.part.read(&current, &mut call);
        diagnostics.append(std::mem::take(&mut call.diagnostics));
        response.deferred = deferred(&call);
        if response.deferred.is_some() {
            return Ok(());
        }
        let state = read?;
        response.private = call.private;
        match state {
            Some(state) => {
                let state = plan::keep_spelling(resource.schema(), &current, state);
                response.new_state = bytes(&without_write_only(resource.schema(), &state), ty)?;
                response.new_identity = identity::ending(identity.as_ref(), call.identity.as_ref())?;
            }
            None => response.new_state = null(ty),
        }
        Ok(())
    }
}

/// Planning.
impl Service {
    pub(crate) fn plan_resource(
        &self,
        request: &protocol::PlanResourceChangeRequest,
    ) -> protocol::PlanResourceChangeResponse {
        let mut response = protocol::PlanResourceChangeResponse {
            planned_state: request.proposed_new_state.clone(),
            requires_replace: Vec::new(),
            planned_private: request.prior_private.clone(),
            diagnostics: Vec::new(),
            legacy_type_system: false,
            deferred: None,
            planned_identity: request.prior_identity.clone(),
        };
        let mut diagnostics = Diagnostics::new();
        if let Err(errors) = self.plan(request, &mut response, &mut diagnostics) {
            diagnostics.append(errors);
        }
        response.diagnostics = diagnostics_record(diagnostics);
        response
    }

    fn plan(
        &self,
        request: &protocol::PlanResourceChangeRequest,
        response: &mut protocol::PlanResourceChangeResponse,
        diagnostics: &mut Diagnostics,
    ) -> Result<()> {
        let resource = self.resource(&request.type_name)?;
        let ty = resource.ty();
        let identity = resource.part.identity();
        let config = value(&request.config, ty, "configuration")?;
        let prior = value(&request.prior_state, ty, "prior state")?;
        let proposed = value(&request.proposed_new_state, ty, "proposed state")?;

        let mut call = self.call(ty)?;
        call.deferral_allowed = request.client_capabilities.deferral_allowed;
        call.provider_meta = self.meta(&request.provider_meta)?;
        call.private.clone_from(&request.prior_private);
        call.identity = identity::starting(identity.as_ref(), request.prior_identity.as_ref())?;
        call.config = known_object(&config, ty);

        let mut requires_replace = Vec::new();
        let planned = if proposed.is_null() {
            proposed
        } else {
            let planned = plan::plan(resource.schema(), &config, &prior, proposed);
            diagnostics.append(planned.diagnostics);
            requires_replace = planned.requires_replace;
            planned.value
        };
        let mut change = Plan {
            config: known_object(&config, ty),
            prior: known_object(&prior, ty),
            planned: known_object(&planned, ty),
            requires_replace,
        };
        let modified = resource.part.modify_plan(&mut change, &mut call);
        diagnostics.append(std::mem::take(&mut call.diagnostics));
        modified?;

        let planned = change.planned.map_or_else(|| Value::null(ty.clone()), Object::into_value);
        response.planned_state = bytes(&planned, ty)?;
        response.requires_replace = sorted(change.requires_replace).iter().map(path_record).collect();
        response.planned_private = std::mem::take(&mut call.private);
        response.planned_identity = identity::ending(identity.as_ref(), call.identity.as_ref())?;
        response.deferred = deferred(&call);
        Ok(())
    }
}

fn sorted(mut paths: Vec<Path>) -> Vec<Path> {
    paths.sort();
    paths.dedup();
    paths
}

/// Applying.
impl Service {
    pub(crate) fn apply_resource(
        &self,
        request: &protocol::ApplyResourceChangeRequest,
    ) -> protocol::ApplyResourceChangeResponse {
        let mut response = protocol::ApplyResourceChangeResponse {
            new_state: request.prior_state.clone(),
            private: request.planned_private.clone(),
            diagnostics: Vec::new(),
            legacy_type_system: false,
            new_identity: request.planned_identity.clone(),
        };
        let mut diagnostics = Diagnostics::new();
        if let Err(errors) = self.apply(request, &mut response, &mut diagnostics) {
            diagnostics.append(errors);
        }
        response.diagnostics = diagnostics_record(diagnostics);
        response
    }

    fn apply(
        &self,
        request: &protocol::ApplyResourceChangeRequest,
        response: &mut protocol::ApplyResourceChangeResponse,
        diagnostics: &mut Diagnostics,
    ) -> Result<()> {
        let resource = self.resource(&request.type_name)?;
        let ty = resource.ty();
        let identity = resource.part.identity();
        let prior = value(&request.prior_state, ty, "prior state")?;
        let planned = value(&request.planned_state, ty, "planned state")?;

        let mut call = self.call(ty)?;
        call.provider_meta = self.meta(&request.provider_meta)?;
        call.private.clone_from(&request.planned_private);
        call.identity = identity::starting(identity.as_ref(), request.planned_identity.as_ref())?;
        call.config = object(&request.config, ty, "configuration")?;
        call.recorded_schema = Some(Rc::clone(resource.both()));

        let applied = apply_change(resource, &prior, &planned, &mut call);
        diagnostics.append(std::mem::take(&mut call.diagnostics));
        response.private = std::mem::take(&mut call.private);
        let new_state = applied.unwrap_or_else(|errors| {
            diagnostics.append(errors);
            call.partial_state.clone().unwrap_or_else(|| prior.clone())
        });
        let new_state = plan::keep_spelling(resource.schema(), &planned, new_state);
        let (state, left_unknown) = wholly_known(&without_write_only(resource.schema(), &new_state));
        if let Some(path) = left_unknown.filter(|_| !diagnostics.has_errors()) {
            diagnostics.append(Diagnostics::error(
                "Provider returned an unknown value after apply",
                format!("{}{path} is still unknown. This is a bug in the provider.", request.type_name),
            ));
        }
        response.new_state = bytes(&state, ty)?;
        if !state.is_null() {
            response.new_identity = identity::ending(identity.as_ref(), call.identity.as_ref())?;
        }
        Ok(())
    }
}

fn apply_change(resource: &Resource, prior: &Value, planned: &Value, call: &mut Call) -> Result<Value> {
    match (prior.is_null(), planned.is_null()) {
        (true, false) => resource.part.create(planned, call),
        (false, false) => resource.part.update(prior, planned, call),
        (false, true) => {
            resource.part.delete(prior, call)?;
            Ok(planned.clone())
        }
        (true, true) => Ok(planned.clone()),
    }
}

/// Returns the value with unknown values replaced by null, and the path of the first unknown value.
fn wholly_known(value: &Value) -> (Value, Option<Path>) {
    if value.is_wholly_known() {
        return (value.clone(), None);
    }
    let mut first = None;
    let known = value.transform(&mut |path, part| {
        if part.is_known() {
            return part;
        }
        first.get_or_insert_with(|| path.clone());
        Value::null(part.ty().clone())
    });
    (known, first)
}

fn known_object(value: &Value, ty: &Type) -> Option<Object> {
    (value.is_known() && !value.is_null()).then(|| Object::new(value.clone(), ty.clone()))
}

pub(super) fn raw_json(raw: &types::RawState) -> Result<Json> {
    match raw {
        types::RawState::Json(json) => serde_json::from_slice(json)
            .map_err(|error| Diagnostics::error("Unable to read the stored state", error.to_string())),
        types::RawState::Flatmap(_) => Err(Diagnostics::error(
            "Unable to read the stored state",
            "It is in the format of Terraform 0.11 and older. Refresh it with Terraform 0.12 first.",
        )),
    }
}
