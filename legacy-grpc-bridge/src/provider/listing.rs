//! Streaming calls: listing objects, and actions.

use std::ops::ControlFlow;

use wardian_plugin::transport::{
    DecodedSchema, PluginFailure, StreamingCalls, WireResult, decode_field, or_diagnostics,
};
use wardian_plugin::{
    ActionRequest, CallContext, ConfigKind, Continue, ListEvent, ListRequest, PlanActionResponse, PluginCall,
    PluginDiagnostics, ValidateListRequest, printable,
};
use wardian_value::{Str, Type};

use super::NativeWire;
use crate::calls;
use crate::conversion::{capabilities, decode, decode_identity, deferred, diagnostics, encode};
use crate::protocol::tfplugin as m;

impl StreamingCalls for NativeWire {
    async fn validate_list(
        &self,
        context: &CallContext,
        request: ValidateListRequest,
    ) -> WireResult<PluginDiagnostics> {
        let call = self.plugin_call(context, &calls::VALIDATE_LIST, Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let ty = or_diagnostics(&call, schema.list_resource(&request.type_name))?;
        let include = &request.include_resource_object;
        let request = m::validate_list_resource_config::Request {
            type_name: request.type_name.to_string(),
            config: or_diagnostics(&call, encode("the configuration", &request.config, ty))?,
            include_resource_object: or_diagnostics(&call, encode("include_resource", include, &Type::Bool))?,
            limit: or_diagnostics(&call, encode("the limit", &request.limit, &Type::Number))?,
        };
        let answer = self.ask(&call, &calls::VALIDATE_LIST, request).await?;
        Ok(diagnostics(answer.diagnostics))
    }

    async fn list(
        &self,
        context: &CallContext,
        request: ListRequest,
        found: &mut (dyn FnMut(ListEvent) -> Continue + Send),
    ) -> WireResult<PluginDiagnostics> {
        let call = self.plugin_call(context, &calls::LIST, Some(&request.type_name));
        let type_name = request.type_name.clone();
        let schema = self.known_schema(context).await?;
        let ty = or_diagnostics(&call, schema.list_resource(&type_name))?;
        let request = m::list_resource::Request {
            type_name: request.type_name.to_string(),
            config: or_diagnostics(&call, encode("the configuration", &request.config, ty))?,
            include_resource_object: request.include_resource_object,
            limit: request.limit.map_or(0, |limit| i64::try_from(limit).unwrap_or(i64::MAX)),
        };
        self.draw(&call, &calls::LIST, request, |event| {
            match found(list_event(&call, schema, &type_name, event)) {
                Continue::Yes => ControlFlow::Continue(()),
                Continue::Stop => ControlFlow::Break(()),
            }
        })
        .await?;
        Ok(PluginDiagnostics::new())
    }

    async fn plan_action(
        &self,
        context: &CallContext,
        request: ActionRequest,
    ) -> WireResult<PlanActionResponse> {
        let call = self.plugin_call(context, &calls::PLAN_ACTION, Some(&request.action_type));
        let ty = or_diagnostics(
            &call,
            self.known_schema(context).await?.config(ConfigKind::Action, &request.action_type),
        )?;
        let request = m::plan_action::Request {
            action_type: request.action_type.to_string(),
            config: or_diagnostics(&call, encode("the configuration", &request.config, ty))?,
            client_capabilities: capabilities(request.capabilities),
        };
        let answer = self.ask(&call, &calls::PLAN_ACTION, request).await?;
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
        use m::invoke_action::event::Type as Event;
        let call = self.plugin_call(context, &calls::INVOKE_ACTION, Some(&request.action_type));
        let ty = or_diagnostics(
            &call,
            self.known_schema(context).await?.config(ConfigKind::Action, &request.action_type),
        )?;
        let request = m::invoke_action::Request {
            action_type: request.action_type.to_string(),
            config: or_diagnostics(&call, encode("the configuration", &request.config, ty))?,
            client_capabilities: capabilities(request.capabilities),
        };
        let completed = self
            .draw(&call, &calls::INVOKE_ACTION, request, |event| match event.r#type {
                Some(Event::Progress(reported)) => {
                    progress(printable(&reported.message));
                    ControlFlow::Continue(())
                }
                Some(Event::Completed(completed)) => ControlFlow::Break(diagnostics(completed.diagnostics)),
                // The event was defined in a later protocol version.
                None => ControlFlow::Continue(()),
            })
            .await?;
        completed.ok_or_else(|| {
            PluginFailure::InvalidResponse("the action ended without reporting whether it succeeded".into())
                .into_diagnostics(&call)
        })
    }
}

fn list_event(
    call: &PluginCall,
    schema: &DecodedSchema,
    type_name: &Str,
    event: m::list_resource::Event,
) -> ListEvent {
    let mut reported = diagnostics(event.diagnostic);
    let identity = decode_identity("the identity", event.identity.as_ref(), schema.identity(type_name));
    let identity = decode_field(call, &mut reported, identity);
    let object = event
        .resource_object
        .map(|object| decode("the object", Some(&object), schema.resource(type_name)?))
        .transpose();
    let resource_object = decode_field(call, &mut reported, object);
    ListEvent {
        identity,
        display_name: printable(&event.display_name),
        resource_object,
        diagnostics: reported,
    }
}
