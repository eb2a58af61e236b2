//! Calls for managed resources.

use wardian_plugin::transport::{ResourceCalls, WireResult, encode_value, or_diagnostics};
use wardian_plugin::{
    ApplyRequest, ApplyResponse, CallContext, GenerateConfigResponse, ImportRequest, ImportResponse,
    MoveRequest, MoveResponse, PlanRequest, PlanResponse, ReadResourceRequest, ReadResourceResponse,
    UpgradeStateRequest, UpgradeStateResponse,
};
use wardian_value::{Str, Value};

use super::ComponentWire;
use crate::conversion;
use crate::pool::Needs;

impl ResourceCalls for ComponentWire {
    async fn upgrade_state(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> WireResult<UpgradeStateResponse> {
        let call = self.plugin_call(context, "upgrade-resource-state", Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let ty = or_diagnostics(&call, schema.resource(&request.type_name))?;
        let request = conversion::upgrade_state_request(&request);
        let answer = self
            .ask(&call, Needs::Nothing, |guest, store| {
                Box::pin(async move { guest.call_upgrade_resource_state(store, &request).await })
            })
            .await?;
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
        let answer = self
            .ask(&call, Needs::Nothing, |guest, store| {
                Box::pin(async move { guest.call_upgrade_resource_identity(store, &request).await })
            })
            .await?;
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
        let answer = self
            .ask(&call, Needs::Configuration, |guest, store| {
                Box::pin(async move { guest.call_read_resource(store, &request).await })
            })
            .await?;
        or_diagnostics(&call, conversion::read_response(&call, schema, &type_name, answer))
    }

    async fn plan(&self, context: &CallContext, request: PlanRequest) -> WireResult<PlanResponse> {
        let call = self.plugin_call(context, "plan-resource-change", Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let type_name = request.type_name.clone();
        let request = or_diagnostics(&call, conversion::plan_request(schema, &request))?;
        let answer = self
            .ask(&call, Needs::Configuration, |guest, store| {
                Box::pin(async move { guest.call_plan_resource_change(store, &request).await })
            })
            .await?;
        or_diagnostics(&call, conversion::plan_response(&call, schema, &type_name, answer))
    }

    async fn apply(&self, context: &CallContext, request: ApplyRequest) -> WireResult<ApplyResponse> {
        let call = self.plugin_call(context, "apply-resource-change", Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let type_name = request.type_name.clone();
        let request = or_diagnostics(&call, conversion::apply_request(schema, &request))?;
        let answer = self
            .ask(&call, Needs::Configuration, |guest, store| {
                Box::pin(async move { guest.call_apply_resource_change(store, &request).await })
            })
            .await?;
        or_diagnostics(&call, conversion::apply_response(&call, schema, &type_name, answer))
    }

    async fn import(&self, context: &CallContext, request: ImportRequest) -> WireResult<ImportResponse> {
        let call = self.plugin_call(context, "import-resource-state", Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let request = or_diagnostics(&call, conversion::import_request(schema, &request))?;
        let answer = self
            .ask(&call, Needs::Configuration, |guest, store| {
                Box::pin(async move { guest.call_import_resource_state(store, &request).await })
            })
            .await?;
        Ok(conversion::import_response(&call, schema, answer))
    }

    async fn move_state(&self, context: &CallContext, request: MoveRequest) -> WireResult<MoveResponse> {
        let call = self.plugin_call(context, "move-resource-state", Some(&request.target_type_name));
        let schema = self.known_schema(context).await?;
        let ty = or_diagnostics(&call, schema.resource(&request.target_type_name))?;
        let identity = schema.identity(&request.target_type_name);
        let request = conversion::move_request(&request);
        let answer = self
            .ask(&call, Needs::Nothing, |guest, store| {
                Box::pin(async move { guest.call_move_resource_state(store, &request).await })
            })
            .await?;
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
        let state = or_diagnostics(&call, encode_value("the state", &state, ty))?;
        let name = type_name.as_str().to_owned();
        let answer = self
            .ask(&call, Needs::Nothing, |guest, store| {
                Box::pin(async move { guest.call_generate_resource_config(store, &name, &state).await })
            })
            .await?;
        Ok(conversion::generate_config_response(&call, ty, answer))
    }
}
