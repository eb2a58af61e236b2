//! Calls for managed resources.

use wardian_plugin::transport::{
    DecodedSchema, PluginFailure, ResourceCalls, WireResult, decode_field, or_diagnostics,
};
use wardian_plugin::{
    ApplyRequest, ApplyResponse, CallContext, GenerateConfigResponse, ImportRequest, ImportResponse,
    ImportTarget, ImportedResource, MoveRequest, MoveResponse, PlanRequest, PlanResponse,
    ReadResourceRequest, ReadResourceResponse, UpgradeStateRequest, UpgradeStateResponse, printable,
};
use wardian_value::{Str, Value};

use super::{NativeWire, private};
use crate::calls;
use crate::conversion::{
    capabilities, decode, decode_identity, decode_result, deferred, diagnostics, encode, encode_identity,
    encode_optional, path, raw_state,
};
use crate::protocol::tfplugin as m;

impl ResourceCalls for NativeWire {
    async fn upgrade_state(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> WireResult<UpgradeStateResponse> {
        let call = self.plugin_call(context, &calls::UPGRADE_STATE, Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let ty = or_diagnostics(&call, schema.resource(&request.type_name))?;
        let request = m::upgrade_resource_state::Request {
            type_name: request.type_name.to_string(),
            version: request.version,
            raw_state: Some(raw_state(&request.raw)),
        };
        let answer = self.ask(&call, &calls::UPGRADE_STATE, request).await?;
        let mut reported = diagnostics(answer.diagnostics);
        let upgraded = decode_result("the upgraded state", answer.upgraded_state.as_ref(), ty, &reported);
        let upgraded = decode_field(&call, &mut reported, upgraded);
        Ok(UpgradeStateResponse { upgraded, diagnostics: reported })
    }

    async fn upgrade_identity(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> WireResult<UpgradeStateResponse> {
        let call = self.plugin_call(context, &calls::UPGRADE_IDENTITY, Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let ty = schema.required_identity(&request.type_name);
        let ty = or_diagnostics(&call, ty)?;
        let request = m::upgrade_resource_identity::Request {
            type_name: request.type_name.to_string(),
            version: request.version,
            raw_identity: Some(raw_state(&request.raw)),
        };
        let answer = self.ask(&call, &calls::UPGRADE_IDENTITY, request).await?;
        let mut reported = diagnostics(answer.diagnostics);
        let upgraded = answer.upgraded_identity.and_then(|identity| identity.identity_data);
        let upgraded = decode_result("the upgraded identity", upgraded.as_ref(), ty, &reported);
        let upgraded = decode_field(&call, &mut reported, upgraded);
        Ok(UpgradeStateResponse { upgraded, diagnostics: reported })
    }

    async fn read(
        &self,
        context: &CallContext,
        request: ReadResourceRequest,
    ) -> WireResult<ReadResourceResponse> {
        let call = self.plugin_call(context, &calls::READ, Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let ty = or_diagnostics(&call, schema.resource(&request.type_name))?;
        let identity = schema.identity(&request.type_name);
        let request = or_diagnostics(&call, read_request(schema, &request))?;
        let answer = self.ask(&call, &calls::READ, request).await?;
        let mut reported = diagnostics(answer.diagnostics);
        let new_state = decode_result("the new state", answer.new_state.as_ref(), ty, &reported);
        let new_state = decode_field(&call, &mut reported, new_state);
        let new_identity = decode_identity("the new identity", answer.new_identity.as_ref(), identity);
        let new_identity = decode_field(&call, &mut reported, new_identity);
        Ok(ReadResourceResponse {
            new_state,
            private: private(&answer.private),
            new_identity,
            deferred: deferred(answer.deferred),
            diagnostics: reported,
        })
    }

    async fn plan(&self, context: &CallContext, request: PlanRequest) -> WireResult<PlanResponse> {
        let call = self.plugin_call(context, &calls::PLAN, Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let ty = or_diagnostics(&call, schema.resource(&request.type_name))?;
        let identity = schema.identity(&request.type_name);
        let request = or_diagnostics(&call, plan_request(schema, &request))?;
        let answer = self.ask(&call, &calls::PLAN, request).await?;
        let mut reported = diagnostics(answer.diagnostics);
        let planned_state = decode_result("the planned state", answer.planned_state.as_ref(), ty, &reported);
        let planned_state = decode_field(&call, &mut reported, planned_state);
        let planned_identity =
            decode_identity("the planned identity", answer.planned_identity.as_ref(), identity);
        let planned_identity = decode_field(&call, &mut reported, planned_identity);
        Ok(PlanResponse {
            planned_state,
            requires_replace: answer.requires_replace.into_iter().map(path).collect(),
            planned_private: private(&answer.planned_private),
            legacy_type_system: answer.legacy_type_system,
            deferred: deferred(answer.deferred),
            planned_identity,
            diagnostics: reported,
        })
    }

    async fn apply(&self, context: &CallContext, request: ApplyRequest) -> WireResult<ApplyResponse> {
        let call = self.plugin_call(context, &calls::APPLY, Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let ty = or_diagnostics(&call, schema.resource(&request.type_name))?;
        let identity = schema.identity(&request.type_name);
        let request = or_diagnostics(&call, apply_request(schema, &request))?;
        let answer = self.ask(&call, &calls::APPLY, request).await?;
        let mut reported = diagnostics(answer.diagnostics);
        let new_state = decode_result("the new state", answer.new_state.as_ref(), ty, &reported);
        let new_state = decode_field(&call, &mut reported, new_state);
        let new_identity = decode_identity("the new identity", answer.new_identity.as_ref(), identity);
        let new_identity = decode_field(&call, &mut reported, new_identity);
        Ok(ApplyResponse {
            new_state,
            private: private(&answer.private),
            legacy_type_system: answer.legacy_type_system,
            new_identity,
            diagnostics: reported,
        })
    }

    async fn import(&self, context: &CallContext, request: ImportRequest) -> WireResult<ImportResponse> {
        let call = self.plugin_call(context, &calls::IMPORT, Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        or_diagnostics(&call, schema.resource(&request.type_name))?;
        let request = or_diagnostics(&call, import_request(schema, &request))?;
        let answer = self.ask(&call, &calls::IMPORT, request).await?;
        let mut reported = diagnostics(answer.diagnostics);
        let imported = answer
            .imported_resources
            .into_iter()
            .filter_map(|one| decode_field(&call, &mut reported, imported(schema, one).map(Some)))
            .collect();
        Ok(ImportResponse { imported, deferred: deferred(answer.deferred), diagnostics: reported })
    }

    async fn move_state(&self, context: &CallContext, request: MoveRequest) -> WireResult<MoveResponse> {
        let call = self.plugin_call(context, &calls::MOVE, Some(&request.target_type_name));
        let schema = self.known_schema(context).await?;
        let ty = or_diagnostics(&call, schema.resource(&request.target_type_name))?;
        let identity = schema.identity(&request.target_type_name);
        let request = move_request(&request);
        let answer = self.ask(&call, &calls::MOVE, request).await?;
        let mut reported = diagnostics(answer.diagnostics);
        let target_state = decode_result("the moved state", answer.target_state.as_ref(), ty, &reported);
        let target_state = decode_field(&call, &mut reported, target_state);
        let target_identity =
            decode_identity("the moved identity", answer.target_identity.as_ref(), identity);
        let target_identity = decode_field(&call, &mut reported, target_identity);
        Ok(MoveResponse {
            target_state,
            target_private: private(&answer.target_private),
            target_identity,
            diagnostics: reported,
        })
    }

    async fn generate_config(
        &self,
        context: &CallContext,
        type_name: Str,
        state: Value,
    ) -> WireResult<GenerateConfigResponse> {
        let call = self.plugin_call(context, &calls::GENERATE, Some(&type_name));
        let schema = self.known_schema(context).await?;
        let ty = or_diagnostics(&call, schema.resource(&type_name))?;
        let state = or_diagnostics(&call, encode("the state", &state, ty))?;
        let request = m::generate_resource_config::Request { type_name: type_name.to_string(), state };
        let answer = self.ask(&call, &calls::GENERATE, request).await?;
        let mut reported = diagnostics(answer.diagnostics);
        let config = decode_result("the configuration", answer.config.as_ref(), ty, &reported);
        let config = decode_field(&call, &mut reported, config);
        Ok(GenerateConfigResponse { config, diagnostics: reported })
    }
}

fn read_request(
    schema: &DecodedSchema,
    request: &ReadResourceRequest,
) -> Result<m::read_resource::Request, PluginFailure> {
    let ty = schema.resource(&request.type_name)?;
    let identity = schema.identity(&request.type_name);
    Ok(m::read_resource::Request {
        type_name: request.type_name.to_string(),
        current_state: encode("the state", &request.current_state, ty)?,
        private: request.private.to_vec().into(),
        provider_meta: meta(schema, request.provider_meta.as_ref())?,
        client_capabilities: capabilities(request.capabilities),
        current_identity: encode_identity("the identity", request.current_identity.as_ref(), identity)?,
    })
}

fn plan_request(
    schema: &DecodedSchema,
    request: &PlanRequest,
) -> Result<m::plan_resource_change::Request, PluginFailure> {
    let ty = schema.resource(&request.type_name)?;
    let identity = schema.identity(&request.type_name);
    Ok(m::plan_resource_change::Request {
        type_name: request.type_name.to_string(),
        prior_state: encode("the prior state", &request.prior_state, ty)?,
        proposed_new_state: encode("the proposed state", &request.proposed_new_state, ty)?,
        config: encode("the configuration", &request.config, ty)?,
        prior_private: request.prior_private.to_vec().into(),
        provider_meta: meta(schema, request.provider_meta.as_ref())?,
        client_capabilities: capabilities(request.capabilities),
        prior_identity: encode_identity("the prior identity", request.prior_identity.as_ref(), identity)?,
    })
}

fn apply_request(
    schema: &DecodedSchema,
    request: &ApplyRequest,
) -> Result<m::apply_resource_change::Request, PluginFailure> {
    let ty = schema.resource(&request.type_name)?;
    let identity = schema.identity(&request.type_name);
    Ok(m::apply_resource_change::Request {
        type_name: request.type_name.to_string(),
        prior_state: encode("the prior state", &request.prior_state, ty)?,
        planned_state: encode("the planned state", &request.planned_state, ty)?,
        config: encode("the configuration", &request.config, ty)?,
        planned_private: request.planned_private.to_vec().into(),
        provider_meta: meta(schema, request.provider_meta.as_ref())?,
        planned_identity: encode_identity(
            "the planned identity",
            request.planned_identity.as_ref(),
            identity,
        )?,
    })
}

fn import_request(
    schema: &DecodedSchema,
    request: &ImportRequest,
) -> Result<m::import_resource_state::Request, PluginFailure> {
    let (id, identity) = match &request.target {
        ImportTarget::Id(id) => (id.clone(), None),
        ImportTarget::Identity(identity) => {
            let ty = schema.required_identity(&request.type_name)?;
            (String::new(), encode_identity("the identity", Some(identity), Some(ty))?)
        }
    };
    Ok(m::import_resource_state::Request {
        type_name: request.type_name.to_string(),
        id,
        client_capabilities: capabilities(request.capabilities),
        identity,
    })
}

fn imported(
    schema: &DecodedSchema,
    one: m::import_resource_state::ImportedResource,
) -> Result<ImportedResource, PluginFailure> {
    let type_name = Str::from(one.type_name);
    // The plugin chooses the resource type in this response.
    let ty = schema.resource(&type_name).map_err(|_| {
        PluginFailure::InvalidResponse(format!(
            "it returned a resource of type {:?}, which its schema does not contain",
            printable(&type_name)
        ))
    })?;
    let identity = schema.identity(&type_name);
    Ok(ImportedResource {
        state: decode("the imported state", one.state.as_ref(), ty)?,
        private: private(&one.private),
        identity: decode_identity("the imported identity", one.identity.as_ref(), identity)?,
        type_name,
    })
}

fn move_request(request: &MoveRequest) -> m::move_resource_state::Request {
    let identity = request.source_identity.as_ref();
    m::move_resource_state::Request {
        source_provider_address: request.source_provider_address.clone(),
        source_type_name: request.source_type_name.to_string(),
        source_schema_version: request.source_schema_version,
        source_state: Some(raw_state(&request.source_state)),
        target_type_name: request.target_type_name.to_string(),
        source_private: request.source_private.to_vec().into(),
        source_identity: identity.map(|(_, identity)| raw_state(identity)),
        source_identity_schema_version: identity.map_or(0, |(version, _)| *version),
    }
}

/// Returns the module's metadata for the provider, or null if the module has none. Returns `None`
/// if the provider has no schema for metadata.
pub(super) fn meta(
    schema: &DecodedSchema,
    meta: Option<&Value>,
) -> Result<Option<m::DynamicValue>, PluginFailure> {
    match (meta, schema.provider_meta()) {
        (None, Some(ty)) => encode("the provider's metadata", &Value::null(ty.clone()), ty),
        (meta, ty) => encode_optional("the provider's metadata", meta, ty),
    }
}
