//! Streaming calls: listing objects, and actions. The host fetches their results in several calls.

use std::ops::ControlFlow;

use wardian_plugin::transport::{StreamingCalls, WireResult, or_diagnostics};
use wardian_plugin::{
    ActionRequest, CallContext, Continue, ListEvent, ListRequest, PlanActionResponse, PluginDiagnostics,
    ValidateListRequest,
};
use wardian_sdk::bindings::exports::wardian::plugin::provider as wit;

use super::InProcessWire;
use super::conversion::{self, diagnostics};

/// Maximum number of listed objects that one call returns.
const AT_A_TIME: u32 = 32;

impl StreamingCalls for InProcessWire {
    async fn validate_list(
        &self,
        context: &CallContext,
        request: ValidateListRequest,
    ) -> WireResult<PluginDiagnostics> {
        let call = self.plugin_call(context, "validate-list-resource-config", Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let request = or_diagnostics(&call, conversion::validate_list_request(schema, &request))?;
        let reported = self.ask(&call, move |guest| guest.provider.validate_list(&request)).await?;
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
        let key = self
            .ask(&call, move |guest| {
                let (key, list) = (guest.new_key(), guest.provider.list(&request));
                guest.lists.insert(key, list);
                key
            })
            .await?;
        'all: loop {
            let batch = self
                .ask(&call, move |guest| {
                    guest.lists.get_mut(&key).map(|list| list.next_events(AT_A_TIME)).unwrap_or_default()
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
        self.ask(&call, move |guest| drop(guest.lists.remove(&key))).await?;
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
        let answer = self.ask(&call, move |guest| guest.provider.plan_action(&request)).await?;
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
        let key = self
            .ask(&call, move |guest| {
                let (key, action) = (guest.new_key(), guest.provider.invoke_action(&request));
                guest.actions.insert(key, action);
                key
            })
            .await?;
        let next = move |guest: &mut super::thread::Guest| {
            let event = guest.actions.get_mut(&key)?.next_event();
            if !matches!(event, Some(wit::ActionEvent::Progress(_))) {
                guest.actions.remove(&key);
            }
            event
        };
        loop {
            let event = self.ask(&call, next).await?;
            match or_diagnostics(&call, conversion::action_event(event))? {
                ControlFlow::Continue(text) => progress(text),
                ControlFlow::Break(reported) => return Ok(reported),
            }
        }
    }
}
