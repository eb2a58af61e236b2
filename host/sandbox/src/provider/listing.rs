//! Streaming calls: listing objects, and actions.
//!
//! The response is a WIT resource of the component, from which the results are fetched one by one.
//! Therefore, the instance remains in use until the last result.

use wardian_plugin::transport::{
    DecodedSchema, PluginFailure, StreamingCalls, WireResult, decode_field, encode_value, or_diagnostics,
};
use wardian_plugin::{
    ActionRequest, CallContext, ConfigKind, Continue, ListEvent, ListRequest, PlanActionResponse, PluginCall,
    PluginDiagnostics, ValidateListRequest,
};
use wardian_value::{Str, Type};

use super::ComponentWire;
use crate::bindings::exports::wardian::plugin::provider as wit;
use crate::conversion::{capabilities, decode_optional, deferred, diagnostics};
use crate::output::printable;
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
        let ty = or_diagnostics(&call, schema.list_resource(&request.type_name))?;
        let include = &request.include_resource_object;
        let request = wit::ValidateListResourceConfigRequest {
            type_name: request.type_name.as_str().to_owned(),
            config: or_diagnostics(&call, encode_value("the configuration", &request.config, ty))?,
            include_resource_object: or_diagnostics(
                &call,
                encode_value("include_resource", include, &Type::Bool),
            )?,
            limit: or_diagnostics(&call, encode_value("the limit", &request.limit, &Type::Number))?,
        };
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
        let ty = or_diagnostics(&call, schema.list_resource(&type_name))?;
        let request = wit::ListResourceRequest {
            type_name: request.type_name.as_str().to_owned(),
            config: or_diagnostics(&call, encode_value("the configuration", &request.config, ty))?,
            include_resource_object: request.include_resource_object,
            limit: request.limit,
        };
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
                    if found(list_event(&call, schema, &type_name, event)) == Continue::Stop {
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
        let request = or_diagnostics(&call, action_request(self.known_schema(context).await?, &request))?;
        let answer = self
            .ask(&call, Needs::Configuration, |guest, store| {
                Box::pin(async move { guest.call_plan_action(store, &request).await })
            })
            .await?;
        Ok(PlanActionResponse {
            deferred: deferred(answer.deferred),
            diagnostics: diagnostics(answer.diagnostics),
        })
    }

    async fn invoke_action(
        &self,
        context: &CallContext,
        request: ActionRequest,
        progress: &mut (dyn FnMut(String) + Send),
    ) -> WireResult<PluginDiagnostics> {
        let call = self.plugin_call(context, "invoke-action", Some(&request.action_type));
        let request = or_diagnostics(&call, action_request(self.known_schema(context).await?, &request))?;
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
                match event {
                    Some(wit::ActionEvent::Progress(text)) => progress(printable(&text)),
                    Some(wit::ActionEvent::Completed(reported)) => break diagnostics(reported),
                    None => {
                        return Err(PluginFailure::InvalidResponse(
                            "the action ended without reporting whether it succeeded".into(),
                        ));
                    }
                }
            };
            lease.call(call.clone(), |_, store| Box::pin(events.resource_drop_async(store))).await?;
            lease.give_back();
            Ok(reported)
        };
        or_diagnostics(&call, drawn.await)
    }
}

fn list_event(
    call: &PluginCall,
    schema: &DecodedSchema,
    type_name: &Str,
    event: wit::ListEvent,
) -> ListEvent {
    let mut reported = diagnostics(event.diagnostics);
    let identity = decode_optional("the identity", event.identity.as_deref(), schema.identity(type_name));
    let identity = decode_field(call, &mut reported, identity);
    let object =
        decode_optional("the object", event.resource_object.as_deref(), schema.resource(type_name).ok());
    let resource_object = decode_field(call, &mut reported, object);
    ListEvent {
        identity,
        display_name: printable(&event.display_name),
        resource_object,
        diagnostics: reported,
    }
}

fn action_request(
    schema: &DecodedSchema,
    request: &ActionRequest,
) -> Result<wit::ActionRequest, PluginFailure> {
    Ok(wit::ActionRequest {
        action_type: request.action_type.as_str().to_owned(),
        config: encode_value(
            "the configuration",
            &request.config,
            schema.config(ConfigKind::Action, &request.action_type)?,
        )?,
        client_capabilities: capabilities(request.capabilities),
    })
}
