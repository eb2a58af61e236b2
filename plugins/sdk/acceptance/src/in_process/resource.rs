//! Calls for managed resources.

use std::sync::Arc;

use wardian_plugin::transport::{
    DecodedSchema, PluginFailure, ResourceCalls, WireResult, decode_field, encode_optional, encode_value,
    or_diagnostics,
};
use wardian_plugin::{
    ApplyRequest, ApplyResponse, CallContext, GenerateConfigResponse, ImportRequest, ImportResponse,
    ImportTarget, ImportedResource, MoveRequest, MoveResponse, PlanRequest, PlanResponse,
    ReadResourceRequest, ReadResourceResponse, RecordedState, UpgradeStateRequest, UpgradeStateResponse,
};
use wardian_sdk::bindings::exports::wardian::plugin::provider as wit;
use wardian_value::{Str, Type, Value};

use super::InProcessWire;
use super::conversion::{
    capabilities, decode, decode_optional, decode_result, deferred, diagnostics, path, raw_state,
};

impl ResourceCalls for InProcessWire {
    async fn upgrade_state(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> WireResult<UpgradeStateResponse> {
        let call = self.plugin_call(context, "upgrade-resource-state", Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let ty = or_diagnostics(&call, schema.resource(&request.type_name))?;
        let request = wit::UpgradeResourceStateRequest {
            type_name: request.type_name.as_str().to_owned(),
            version: request.version,
            raw_state: raw_state(&request.raw),
        };
        let answer = self.ask(&call, move |guest| guest.provider.upgrade_state(&request)).await?;
        let mut reported = diagnostics(answer.diagnostics);
        let upgraded = decode_result("the upgraded state", &answer.upgraded_state, ty, &reported);
        let upgraded = decode_field(&call, &mut reported, upgraded);
        Ok(UpgradeStateResponse { upgraded, diagnostics: reported })
    }

    async fn upgrade_identity(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> WireResult<UpgradeStateResponse> {
        let call = self.plugin_call(context, "upgrade-resource-identity", Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let ty = schema.required_identity(&request.type_name);
        let ty = or_diagnostics(&call, ty)?;
        let request = wit::UpgradeResourceIdentityRequest {
            type_name: request.type_name.as_str().to_owned(),
            version: request.version,
            raw_identity: raw_state(&request.raw),
        };
        let answer = self.ask(&call, move |guest| guest.provider.upgrade_identity(&request)).await?;
        let mut reported = diagnostics(answer.diagnostics);
        let upgraded = decode_result("the upgraded identity", &answer.upgraded_identity, ty, &reported);
        let upgraded = decode_field(&call, &mut reported, upgraded);
        Ok(UpgradeStateResponse { upgraded, diagnostics: reported })
    }

    async fn read(
        &self,
        context: &CallContext,
        request: ReadResourceRequest,
    ) -> WireResult<ReadResourceResponse> {
        let call = self.plugin_call(context, "read-resource", Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let ty = or_diagnostics(&call, schema.resource(&request.type_name))?;
        let identity = schema.identity(&request.type_name);
        let request = or_diagnostics(&call, read_request(schema, &request))?;
        let answer = self.ask(&call, move |guest| guest.provider.read_resource(&request)).await?;
        let mut reported = diagnostics(answer.diagnostics);
        let new_state = decode_result("the new state", &answer.new_state, ty, &reported);
        let new_state = decode_field(&call, &mut reported, new_state);
        let new_identity = decode_optional("the new identity", answer.new_identity.as_deref(), identity);
        let new_identity = decode_field(&call, &mut reported, new_identity);
        self.record_identity(context, new_identity.as_ref());
        Ok(ReadResourceResponse {
            new_state,
            private: answer.private.into(),
            new_identity,
            deferred: deferred(answer.deferred),
            diagnostics: reported,
        })
    }

    async fn plan(&self, context: &CallContext, request: PlanRequest) -> WireResult<PlanResponse> {
        let call = self.plugin_call(context, "plan-resource-change", Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let ty = or_diagnostics(&call, schema.resource(&request.type_name))?;
        let identity = schema.identity(&request.type_name);
        let request = or_diagnostics(&call, plan_request(schema, &request))?;
        let answer = self.ask(&call, move |guest| guest.provider.plan_resource(&request)).await?;
        let mut reported = diagnostics(answer.diagnostics);
        let planned_state = decode_result("the planned state", &answer.planned_state, ty, &reported);
        let planned_state = decode_field(&call, &mut reported, planned_state);
        let planned_identity =
            decode_optional("the planned identity", answer.planned_identity.as_deref(), identity);
        let planned_identity = decode_field(&call, &mut reported, planned_identity);
        Ok(PlanResponse {
            planned_state,
            requires_replace: answer.requires_replace.into_iter().map(path).collect(),
            planned_private: answer.planned_private.into(),
            legacy_type_system: answer.legacy_type_system,
            deferred: deferred(answer.deferred),
            planned_identity,
            diagnostics: reported,
        })
    }

    async fn apply(&self, context: &CallContext, request: ApplyRequest) -> WireResult<ApplyResponse> {
        let call = self.plugin_call(context, "apply-resource-change", Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let ty = or_diagnostics(&call, schema.resource(&request.type_name))?;
        let identity = schema.identity(&request.type_name);
        let request = or_diagnostics(&call, apply_request(schema, &request))?;
        let record = record_function(context, ty, identity);
        let answer = self
            .ask(&call, move |guest| match record {
                Some(record) => guest.provider.apply_resource_and_record(&request, record),
                None => guest.provider.apply_resource(&request),
            })
            .await?;
        let mut reported = diagnostics(answer.diagnostics);
        let new_state = decode_result("the new state", &answer.new_state, ty, &reported);
        let new_state = decode_field(&call, &mut reported, new_state);
        let new_identity = decode_optional("the new identity", answer.new_identity.as_deref(), identity);
        let new_identity = decode_field(&call, &mut reported, new_identity);
        self.record_identity(context, new_identity.as_ref());
        Ok(ApplyResponse {
            new_state,
            private: answer.private.into(),
            legacy_type_system: answer.legacy_type_system,
            new_identity,
            diagnostics: reported,
        })
    }

    async fn import(&self, context: &CallContext, request: ImportRequest) -> WireResult<ImportResponse> {
        let call = self.plugin_call(context, "import-resource-state", Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        or_diagnostics(&call, schema.resource(&request.type_name))?;
        let request = or_diagnostics(&call, import_request(schema, &request))?;
        let answer = self.ask(&call, move |guest| guest.provider.import_resource(&request)).await?;
        let mut reported = diagnostics(answer.diagnostics);
        let imported = answer
            .imported_resources
            .into_iter()
            .filter_map(|one| decode_field(&call, &mut reported, imported(schema, one).map(Some)))
            .collect();
        Ok(ImportResponse { imported, deferred: deferred(answer.deferred), diagnostics: reported })
    }

    async fn move_state(&self, context: &CallContext, request: MoveRequest) -> WireResult<MoveResponse> {
        let call = self.plugin_call(context, "move-resource-state", Some(&request.target_type_name));
        let schema = self.known_schema(context).await?;
        let ty = or_diagnostics(&call, schema.resource(&request.target_type_name))?;
        let identity = schema.identity(&request.target_type_name);
        let request = move_request(&request);
        let answer = self.ask(&call, move |guest| guest.provider.move_resource(&request)).await?;
        let mut reported = diagnostics(answer.diagnostics);
        let target_state = decode_result("the moved state", &answer.target_state, ty, &reported);
        let target_state = decode_field(&call, &mut reported, target_state);
        let target_identity =
            decode_optional("the moved identity", answer.target_identity.as_deref(), identity);
        let target_identity = decode_field(&call, &mut reported, target_identity);
        Ok(MoveResponse {
            target_state,
            target_private: answer.target_private.into(),
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
        let call = self.plugin_call(context, "generate-resource-config", Some(&type_name));
        let schema = self.known_schema(context).await?;
        let ty = or_diagnostics(&call, schema.resource(&type_name))?;
        or_diagnostics(&call, encode_value("the state", &state, ty))?;
        let name = type_name.as_str().to_owned();
        let answer = self.ask(&call, move |guest| guest.provider.generate_config(&name)).await?;
        let mut reported = diagnostics(answer.diagnostics);
        let config = decode_result("the configuration", &answer.config, ty, &reported);
        let config = decode_field(&call, &mut reported, config);
        Ok(GenerateConfigResponse { config, diagnostics: reported })
    }
}

/// Records a state, its private data and its identity.
type RecordFunction = Box<dyn Fn(Vec<u8>, Vec<u8>, Option<Vec<u8>>) -> Result<(), String> + Send>;

/// Returns a function that records a state with the engine, and waits until it is stored. It is called on the
/// provider's thread.
fn record_function(context: &CallContext, ty: &Type, identity: Option<&Type>) -> Option<RecordFunction> {
    let recorder = Arc::clone(context.recorder()?);
    let runtime = tokio::runtime::Handle::current();
    let (ty, identity_type) = (ty.clone(), identity.cloned());
    Some(Box::new(move |state: Vec<u8>, private: Vec<u8>, identity: Option<Vec<u8>>| {
        let invalid = |failure: PluginFailure| match failure {
            PluginFailure::InvalidResponse(problem) => problem,
            _ => "the recorded state does not match its schema".to_owned(),
        };
        let recorded = RecordedState {
            state: decode("the recorded state", &state, &ty).map_err(invalid)?,
            private: private.into(),
            identity: decode_optional("the identity", identity.as_deref(), identity_type.as_ref())
                .map_err(invalid)?,
        };
        runtime.block_on(recorder.record(recorded)).map_err(|problem| problem.to_string())
    }))
}

fn read_request(
    schema: &DecodedSchema,
    request: &ReadResourceRequest,
) -> Result<wit::ReadResourceRequest, PluginFailure> {
    let ty = schema.resource(&request.type_name)?;
    let identity = schema.identity(&request.type_name);
    Ok(wit::ReadResourceRequest {
        type_name: request.type_name.as_str().to_owned(),
        current_state: encode_value("the state", &request.current_state, ty)?,
        private: request.private.to_vec(),
        provider_meta: meta(schema, request.provider_meta.as_ref())?,
        client_capabilities: capabilities(request.capabilities),
        current_identity: encode_optional("the identity", request.current_identity.as_ref(), identity)?,
    })
}

fn plan_request(
    schema: &DecodedSchema,
    request: &PlanRequest,
) -> Result<wit::PlanResourceChangeRequest, PluginFailure> {
    let ty = schema.resource(&request.type_name)?;
    let identity = schema.identity(&request.type_name);
    Ok(wit::PlanResourceChangeRequest {
        type_name: request.type_name.as_str().to_owned(),
        prior_state: encode_value("the prior state", &request.prior_state, ty)?,
        proposed_new_state: encode_value("the proposed state", &request.proposed_new_state, ty)?,
        config: encode_value("the configuration", &request.config, ty)?,
        prior_private: request.prior_private.to_vec(),
        provider_meta: meta(schema, request.provider_meta.as_ref())?,
        client_capabilities: capabilities(request.capabilities),
        prior_identity: encode_optional("the prior identity", request.prior_identity.as_ref(), identity)?,
    })
}

fn apply_request(
    schema: &DecodedSchema,
    request: &ApplyRequest,
) -> Result<wit::ApplyResourceChangeRequest, PluginFailure> {
    let ty = schema.resource(&request.type_name)?;
    let identity = schema.identity(&request.type_name);
    Ok(wit::ApplyResourceChangeRequest {
        type_name: request.type_name.as_str().to_owned(),
        prior_state: encode_value("the prior state", &request.prior_state, ty)?,
        planned_state: encode_value("the planned state", &request.planned_state, ty)?,
        config: encode_value("the configuration", &request.config, ty)?,
        planned_private: request.planned_private.to_vec(),
        provider_meta: meta(schema, request.provider_meta.as_ref())?,
        planned_identity: encode_optional(
            "the planned identity",
            request.planned_identity.as_ref(),
            identity,
        )?,
    })
}

fn import_request(
    schema: &DecodedSchema,
    request: &ImportRequest,
) -> Result<wit::ImportResourceStateRequest, PluginFailure> {
    let target = match &request.target {
        ImportTarget::Id(id) => wit::ImportTarget::Id(id.clone()),
        ImportTarget::Identity(identity) => {
            let ty = schema.required_identity(&request.type_name)?;
            wit::ImportTarget::Identity(encode_value("the identity", identity, ty)?)
        }
    };
    Ok(wit::ImportResourceStateRequest {
        type_name: request.type_name.as_str().to_owned(),
        target,
        client_capabilities: capabilities(request.capabilities),
    })
}

fn imported(schema: &DecodedSchema, one: wit::ImportedResource) -> Result<ImportedResource, PluginFailure> {
    let type_name = Str::from(one.type_name);
    // The component chooses the resource type in this response.
    let ty = schema.resource(&type_name).map_err(|_| {
        PluginFailure::InvalidResponse(format!(
            "it returned a resource of type {:?}, which its schema does not contain",
            wardian_plugin::printable(&type_name)
        ))
    })?;
    let identity = schema.identity(&type_name);
    Ok(ImportedResource {
        state: decode("the imported state", &one.state, ty)?,
        private: one.private.into(),
        identity: decode_optional("the imported identity", one.identity.as_deref(), identity)?,
        type_name,
    })
}

fn move_request(request: &MoveRequest) -> wit::MoveResourceStateRequest {
    let identity = request.source_identity.as_ref();
    wit::MoveResourceStateRequest {
        source_provider_address: request.source_provider_address.clone(),
        source_type_name: request.source_type_name.as_str().to_owned(),
        source_schema_version: request.source_schema_version,
        source_state: raw_state(&request.source_state),
        target_type_name: request.target_type_name.as_str().to_owned(),
        source_private: request.source_private.to_vec(),
        source_identity: identity.map(|(_, identity)| raw_state(identity)),
        source_identity_schema_version: identity.map_or(0, |(version, _)| *version),
    }
}

/// Returns the module's metadata for the provider; empty if the provider has no schema for
/// metadata.
pub(super) fn meta(schema: &DecodedSchema, meta: Option<&Value>) -> Result<Vec<u8>, PluginFailure> {
    let encoded = encode_optional("the provider's metadata", meta, schema.provider_meta())?;
    Ok(encoded.unwrap_or_default())
}
