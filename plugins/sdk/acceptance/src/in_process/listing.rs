//! Streaming calls: listing objects, and actions. The host fetches their results in several calls.

use wardian_plugin::transport::{
    DecodedSchema, PluginFailure, StreamingCalls, WireResult, decode_field, encode_value, or_diagnostics,
};
use wardian_plugin::{
    ActionRequest, CallContext, ConfigKind, Continue, ListEvent, ListRequest, PlanActionResponse, PluginCall,
    PluginDiagnostics, ValidateListRequest, printable,
};
use wardian_sdk::bindings::exports::wardian::plugin::provider as wit;
use wardian_value::{Str, Type};

use super::InProcessWire;
use super::conversion::{capabilities, decode_optional, deferred, diagnostics};

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
        let ty = or_diagnostics(&call, schema.list_resource(&request.type_name))?;
        let encode = |what, value, ty| or_diagnostics(&call, encode_value(what, value, ty));
        let request = wit::ValidateListResourceConfigRequest {
            type_name: request.type_name.as_str().to_owned(),
            config: encode("the configuration", &request.config, ty)?,
            include_resource_object: encode(
                "include_resource",
                &request.include_resource_object,
                &Type::Bool,
            )?,
            limit: encode("the limit", &request.limit, &Type::Number)?,
        };
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
        let ty = or_diagnostics(&call, schema.list_resource(&type_name))?;
        let request = wit::ListResourceRequest {
            type_name: request.type_name.as_str().to_owned(),
            config: or_diagnostics(&call, encode_value("the configuration", &request.config, ty))?,
            include_resource_object: request.include_resource_object,
            limit: request.limit,
        };
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
                if found(list_event(&call, schema, &type_name, event)) == Continue::Stop {
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
        let request = or_diagnostics(&call, action_request(self.known_schema(context).await?, &request))?;
        let answer = self.ask(&call, move |guest| guest.provider.plan_action(&request)).await?;
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
            match self.ask(&call, next).await? {
                Some(wit::ActionEvent::Progress(text)) => progress(printable(&text)),
                Some(wit::ActionEvent::Completed(reported)) => return Ok(diagnostics(reported)),
                None => {
                    let problem = "the action ended without reporting whether it succeeded".to_owned();
                    return or_diagnostics(&call, Err(PluginFailure::InvalidResponse(problem)));
                }
            }
        }
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
    let ty = schema.config(ConfigKind::Action, &request.action_type)?;
    Ok(wit::ActionRequest {
        action_type: request.action_type.as_str().to_owned(),
        config: encode_value("the configuration", &request.config, ty)?,
        client_capabilities: capabilities(request.capabilities),
    })
}
