//! Calls for managed resources.

use std::sync::Arc;

use wardian_plugin::transport::{
    PluginFailure, ResourceCalls, WireResult, decode_optional, decode_value, encode_value, or_diagnostics,
};
use wardian_plugin::{
    ApplyRequest, ApplyResponse, CallContext, GenerateConfigResponse, ImportRequest, ImportResponse,
    MoveRequest, MoveResponse, PlanRequest, PlanResponse, ReadResourceRequest, ReadResourceResponse,
    RecordedState, UpgradeStateRequest, UpgradeStateResponse,
};
use wardian_value::{Str, Type, Value};

use super::{InProcessWire, conversion};

impl ResourceCalls for InProcessWire {
    async fn upgrade_state(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> WireResult<UpgradeStateResponse> {
        let call = self.plugin_call(context, "upgrade-resource-state", Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let ty = or_diagnostics(&call, schema.resource(&request.type_name))?;
        let request = conversion::upgrade_state_request(&request);
        let answer = self.ask(&call, move |guest| guest.provider.upgrade_state(&request)).await?;
        Ok(conversion::upgraded_state(&call, ty, answer))
    }

    async fn upgrade_identity(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> WireResult<UpgradeStateResponse> {
        let call = self.plugin_call(context, "upgrade-resource-identity", Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let ty = or_diagnostics(&call, schema.required_identity(&request.type_name))?;
        let request = conversion::upgrade_identity_request(&request);
        let answer = self.ask(&call, move |guest| guest.provider.upgrade_identity(&request)).await?;
        Ok(conversion::upgraded_identity(&call, ty, answer))
    }

    async fn read(
        &self,
        context: &CallContext,
        request: ReadResourceRequest,
    ) -> WireResult<ReadResourceResponse> {
        let call = self.plugin_call(context, "read-resource", Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let type_name = request.type_name.clone();
        let request = or_diagnostics(&call, conversion::read_request(schema, &request))?;
        let answer = self.ask(&call, move |guest| guest.provider.read_resource(&request)).await?;
        let response = conversion::read_response(&call, schema, &type_name, answer);
        let response = or_diagnostics(&call, response)?;
        self.record_identity(context, response.new_identity.as_ref());
        Ok(response)
    }

    async fn plan(&self, context: &CallContext, request: PlanRequest) -> WireResult<PlanResponse> {
        let call = self.plugin_call(context, "plan-resource-change", Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let type_name = request.type_name.clone();
        let request = or_diagnostics(&call, conversion::plan_request(schema, &request))?;
        let answer = self.ask(&call, move |guest| guest.provider.plan_resource(&request)).await?;
        or_diagnostics(&call, conversion::plan_response(&call, schema, &type_name, answer))
    }

    async fn apply(&self, context: &CallContext, request: ApplyRequest) -> WireResult<ApplyResponse> {
        let call = self.plugin_call(context, "apply-resource-change", Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let type_name = request.type_name.clone();
        let request = or_diagnostics(&call, conversion::apply_request(schema, &request))?;
        let ty = or_diagnostics(&call, schema.resource(&type_name))?;
        let record = record_function(context, ty, schema.identity(&type_name));
        let answer = self
            .ask(&call, move |guest| match record {
                Some(record) => guest.provider.apply_resource_and_record(&request, record),
                None => guest.provider.apply_resource(&request),
            })
            .await?;
        let response = conversion::apply_response(&call, schema, &type_name, answer);
        let response = or_diagnostics(&call, response)?;
        self.record_identity(context, response.new_identity.as_ref());
        Ok(response)
    }

    async fn import(&self, context: &CallContext, request: ImportRequest) -> WireResult<ImportResponse> {
        let call = self.plugin_call(context, "import-resource-state", Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let request = or_diagnostics(&call, conversion::import_request(schema, &request))?;
        let answer = self.ask(&call, move |guest| guest.provider.import_resource(&request)).await?;
        Ok(conversion::import_response(&call, schema, answer))
    }

    async fn move_state(&self, context: &CallContext, request: MoveRequest) -> WireResult<MoveResponse> {
        let call = self.plugin_call(context, "move-resource-state", Some(&request.target_type_name));
        let schema = self.known_schema(context).await?;
        let ty = or_diagnostics(&call, schema.resource(&request.target_type_name))?;
        let identity = schema.identity(&request.target_type_name);
        let request = conversion::move_request(&request);
        let answer = self.ask(&call, move |guest| guest.provider.move_resource(&request)).await?;
        Ok(conversion::move_response(&call, ty, identity, answer))
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
        Ok(conversion::generate_config_response(&call, ty, answer))
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
            state: decode_value("the recorded state", &state, &ty).map_err(invalid)?,
            private: private.into(),
            identity: decode_optional("the identity", identity.as_deref(), identity_type.as_ref())
                .map_err(invalid)?,
        };
        runtime.block_on(recorder.record(recorded)).map_err(|problem| problem.to_string())
    }))
}
