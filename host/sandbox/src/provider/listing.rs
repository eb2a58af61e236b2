//! Streaming calls: listing objects, and actions.
//!
//! The response is a WIT resource of the component, from which the results are fetched one by one.
//! Therefore, the instance remains in use until the last result.

use std::ops::ControlFlow;

use wardian_plugin::transport::{PluginFailure, StreamingCalls, WireResult, or_diagnostics};
use wardian_plugin::{
    ActionRequest, CallContext, Continue, ListEvent, ListRequest, PlanActionResponse, PluginDiagnostics,
    ValidateListRequest,
};

use super::ComponentWire;
use crate::conversion::{self, diagnostics};
use crate::pool::Needs;

/// Maximum number of listed objects that one call to the component returns.
const AT_A_TIME: u32 = 32;

impl StreamingCalls for ComponentWire {
    async fn validate_list(
        &self,
        context: &CallContext,
        request: ValidateListRequest,
    ) -> WireResult<PluginDiagnostics> {
        let call = self.plugin_call(context, "validate-list-resource-config", Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let request = or_diagnostics(&call, conversion::validate_list_request(schema, &request))?;
        let reported = self
            .ask(&call, Needs::Nothing, |guest, store| {
                Box::pin(async move { guest.call_validate_list_resource_config(store, &request).await })
            })
            .await?;
        Ok(diagnostics(reported))
    }

    async fn list(
        &self,
        context: &CallContext,
        request: ListRequest,
        found: &mut (dyn FnMut(ListEvent) -> Continue + Send),
    ) -> WireResult<PluginDiagnostics> {
        let call = self.plugin_call(context, "list-resource", Some(&request.type_name));
        let type_name = request.type_name.clone();
        let schema = self.known_schema(context).await?;
        let request = or_diagnostics(&call, conversion::list_request(schema, &request))?;
        let drawn = async {
            let mut lease = self.pool.lease(context, Needs::Configuration).await?;
            let events = lease
                .call(call.clone(), |guest, store| {
                    Box::pin(async move { guest.call_list_resource(store, &request).await })
                })
                .await?;
            'all: loop {
                let batch = lease
                    .call(call.clone(), |guest, store| {
                        Box::pin(async move { guest.next_list_events(store, events, AT_A_TIME).await })
                    })
                    .await?;
                if batch.is_empty() {
                    break;
                }
                for event in batch {
                    if found(conversion::list_event(&call, schema, &type_name, event)) == Continue::Stop {
                        break 'all;
                    }
                }
            }
            lease.call(call.clone(), |_, store| Box::pin(events.resource_drop_async(store))).await?;
            lease.give_back();
            Ok::<(), PluginFailure>(())
        };
        or_diagnostics(&call, drawn.await)?;
        Ok(PluginDiagnostics::new())
    }

    async fn plan_action(
        &self,
        context: &CallContext,
        request: ActionRequest,
    ) -> WireResult<PlanActionResponse> {
        let call = self.plugin_call(context, "plan-action", Some(&request.action_type));
        let schema = self.known_schema(context).await?;
        let request = or_diagnostics(&call, conversion::action_request(schema, &request))?;
        let answer = self
            .ask(&call, Needs::Configuration, |guest, store| {
                Box::pin(async move { guest.call_plan_action(store, &request).await })
            })
            .await?;
        Ok(conversion::plan_action_response(answer))
    }

    async fn invoke_action(
        &self,
        context: &CallContext,
        request: ActionRequest,
        progress: &mut (dyn FnMut(String) + Send),
    ) -> WireResult<PluginDiagnostics> {
        let call = self.plugin_call(context, "invoke-action", Some(&request.action_type));
        let schema = self.known_schema(context).await?;
        let request = or_diagnostics(&call, conversion::action_request(schema, &request))?;
        let drawn = async {
            let mut lease = self.pool.lease(context, Needs::Configuration).await?;
            let events = lease
                .call(call.clone(), |guest, store| {
                    Box::pin(async move { guest.call_invoke_action(store, &request).await })
                })
                .await?;
            let reported = loop {
                let event = lease
                    .call(call.clone(), |guest, store| {
                        Box::pin(async move { guest.next_action_event(store, events).await })
                    })
                    .await?;
                match conversion::action_event(event)? {
                    ControlFlow::Continue(text) => progress(text),
                    ControlFlow::Break(reported) => break reported,
                }
            };
            lease.call(call.clone(), |_, store| Box::pin(events.resource_drop_async(store))).await?;
            lease.give_back();
            Ok::<_, PluginFailure>(reported)
        };
        or_diagnostics(&call, drawn.await)
    }
}
