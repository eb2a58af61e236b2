//! Serves lists and actions, whose calls have several responses.

use bytes::Bytes;
use prost::Message as _;
use tonic::{Code, Status};
use wardian_plugin::{ActionRequest, Continue, ListEvent, ListRequest, ValidateListRequest};
use wardian_value::{Str, Type, Value};

use super::conversion::{capabilities, deferred, diagnostics, given, given_identity, taken};
use super::service::{Answer, ServedCall, Service, answer, request, type_of};
use crate::protocol::tfplugin as m;

/// Receives the responses of a call until it returns [`Continue::Stop`].
pub(super) type Responses<'a> = dyn FnMut(Bytes) -> Continue + Send + 'a;

impl Service {
    /// Whether a call has several responses.
    pub(super) fn is_streaming(rpc: &str) -> bool {
        matches!(rpc, "ListResource" | "InvokeAction")
    }

    /// Serves a call with several responses.
    pub(super) async fn stream(
        &self,
        rpc: &str,
        body: Bytes,
        send: &mut Responses<'_>,
    ) -> Result<(), Status> {
        match rpc {
            "ListResource" => self.list(body, send).await,
            "InvokeAction" => self.invoke(body, send).await,
            _ => Err(Status::new(Code::Unimplemented, format!("there is no call {rpc}"))),
        }
    }

    pub(super) async fn validate_list(&self, body: Bytes) -> Answer {
        let served = ServedCall::default();
        let request: m::validate_list_resource_config::Request = request(body)?;
        let schema = self.schema().await?;
        let ty = type_of(&schema.list_resources, "list resource", &request.type_name)?;
        let setting = |what: &str, value: Option<&m::DynamicValue>, ty: Type| match value {
            Some(value) => taken(what, Some(value), &ty),
            None => Ok(Value::null(ty)),
        };
        let include = request.include_resource_object.as_ref();
        let request = ValidateListRequest {
            config: taken("the configuration", request.config.as_ref(), ty)?,
            include_resource_object: setting("include_resource", include, Type::Bool)?,
            limit: setting("the limit", request.limit.as_ref(), Type::Number)?,
            type_name: request.type_name.into(),
        };
        let reported = self.provider.validate_list_resource_config(served.context(), request).await;
        answer(&m::validate_list_resource_config::Response { diagnostics: served.diagnostics(reported) })
    }

    async fn list(&self, body: Bytes, send: &mut Responses<'_>) -> Result<(), Status> {
        let served = ServedCall::default();
        let request: m::list_resource::Request = request(body)?;
        let schema = self.schema().await?;
        let ty = type_of(&schema.list_resources, "list resource", &request.type_name)?;
        let object = type_of(&schema.resources, "resource", &request.type_name)?;
        let identity = self.identity_type(&request.type_name).await?;
        let request = ListRequest {
            config: taken("the configuration", request.config.as_ref(), ty)?,
            include_resource_object: request.include_resource_object,
            limit: u64::try_from(request.limit).ok().filter(|limit| *limit > 0),
            type_name: request.type_name.into(),
        };
        let mut invalid = None;
        let mut stopped = false;
        let mut found = |event: ListEvent| {
            let next = match list_event(event, object, identity.as_ref()) {
                Ok(event) => send(event.encode_to_vec().into()),
                Err(status) => {
                    invalid = Some(status);
                    Continue::Stop
                }
            };
            stopped |= next == Continue::Stop;
            next
        };
        let reported = self.provider.list_resource(served.context(), request, &mut found).await;
        if let Some(status) = invalid {
            return Err(status);
        }
        let reported = served.diagnostics(reported);
        if !reported.is_empty() && !stopped {
            let event = m::list_resource::Event { diagnostic: reported, ..Default::default() };
            send(event.encode_to_vec().into());
        }
        Ok(())
    }

    pub(super) async fn plan_action(&self, body: Bytes) -> Answer {
        let served = ServedCall::default();
        let request: m::plan_action::Request = request(body)?;
        let request = self
            .action_request(request.action_type, request.config.as_ref(), request.client_capabilities)
            .await?;
        let response = self.provider.plan_action(served.context(), request).await;
        answer(&m::plan_action::Response {
            diagnostics: served.diagnostics(response.diagnostics),
            deferred: deferred(response.deferred),
        })
    }

    async fn invoke(&self, body: Bytes, send: &mut Responses<'_>) -> Result<(), Status> {
        let served = ServedCall::default();
        use m::invoke_action::event::{Completed, Progress, Type as Kind};
        let request: m::invoke_action::Request = request(body)?;
        let request = self
            .action_request(request.action_type, request.config.as_ref(), request.client_capabilities)
            .await?;
        let event = |kind| Bytes::from(m::invoke_action::Event { r#type: Some(kind) }.encode_to_vec());
        // An action continues if the host no longer receives its messages.
        let mut progress = |message: String| {
            send(event(Kind::Progress(Progress { message })));
        };
        let reported = self.provider.invoke_action(served.context(), request, &mut progress).await;
        send(event(Kind::Completed(Completed { diagnostics: served.diagnostics(reported) })));
        Ok(())
    }

    async fn action_request(
        &self,
        action_type: String,
        config: Option<&m::DynamicValue>,
        client_capabilities: Option<m::ClientCapabilities>,
    ) -> Result<ActionRequest, Status> {
        let schema = self.schema().await?;
        let ty = type_of(&schema.actions, "action", &action_type)?;
        Ok(ActionRequest {
            config: taken("the configuration", config, ty)?,
            action_type: Str::new(&action_type),
            capabilities: capabilities(client_capabilities),
        })
    }
}

fn list_event(
    event: ListEvent,
    object: &Type,
    identity: Option<&Type>,
) -> Result<m::list_resource::Event, Status> {
    Ok(m::list_resource::Event {
        identity: given_identity("the identity", event.identity.as_ref(), identity)?,
        display_name: event.display_name,
        resource_object: given("the object", event.resource_object.as_ref(), object)?,
        diagnostic: diagnostics(event.diagnostics),
    })
}
