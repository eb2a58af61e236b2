//! Calls for data sources and ephemeral resources.

use wardian_plugin::transport::{ReadingCalls, WireResult, decode_field, or_diagnostics};
use wardian_plugin::{
    CallContext, ConfigKind, OpenEphemeralRequest, OpenEphemeralResponse, PluginDiagnostics, PrivateBytes,
    ReadDataSourceRequest, ReadDataSourceResponse, RenewEphemeralResponse,
};
use wardian_value::Str;

use super::NativeWire;
use super::resource::meta;
use crate::calls;
use crate::conversion::{capabilities, decode_result, deferred, diagnostics, encode, renew_at};
use crate::protocol::tfplugin as m;

impl ReadingCalls for NativeWire {
    async fn read_data_source(
        &self,
        context: &CallContext,
        request: ReadDataSourceRequest,
    ) -> WireResult<ReadDataSourceResponse> {
        let call = self.plugin_call(context, &calls::READ_DATA, Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let ty = or_diagnostics(&call, schema.config(ConfigKind::DataSource, &request.type_name))?;
        let request = m::read_data_source::Request {
            type_name: request.type_name.to_string(),
            config: or_diagnostics(&call, encode("the configuration", &request.config, ty))?,
            provider_meta: or_diagnostics(&call, meta(schema, request.provider_meta.as_ref()))?,
            client_capabilities: capabilities(request.capabilities),
        };
        let answer = self.ask(&call, &calls::READ_DATA, request).await?;
        let mut reported = diagnostics(answer.diagnostics);
        let state = decode_result("what was read", answer.state.as_ref(), ty, &reported);
        let state = decode_field(&call, &mut reported, state);
        Ok(ReadDataSourceResponse { state, deferred: deferred(answer.deferred), diagnostics: reported })
    }

    async fn open(
        &self,
        context: &CallContext,
        request: OpenEphemeralRequest,
    ) -> WireResult<OpenEphemeralResponse> {
        let call = self.plugin_call(context, &calls::OPEN, Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let ty = or_diagnostics(&call, schema.config(ConfigKind::EphemeralResource, &request.type_name))?;
        let request = m::open_ephemeral_resource::Request {
            type_name: request.type_name.to_string(),
            config: or_diagnostics(&call, encode("the configuration", &request.config, ty))?,
            client_capabilities: capabilities(request.capabilities),
        };
        let answer = self.ask(&call, &calls::OPEN, request).await?;
        let mut reported = diagnostics(answer.diagnostics);
        let result = decode_result("what was opened", answer.result.as_ref(), ty, &reported);
        let result = decode_field(&call, &mut reported, result);
        let renew_at = decode_field(&call, &mut reported, renew_at(answer.renew_at));
        Ok(OpenEphemeralResponse {
            result,
            renew_at,
            private: super::private(answer.private.as_deref().unwrap_or_default()),
            deferred: deferred(answer.deferred),
            diagnostics: reported,
        })
    }

    async fn renew(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> WireResult<RenewEphemeralResponse> {
        let call = self.plugin_call(context, &calls::RENEW, Some(&type_name));
        let request = m::renew_ephemeral_resource::Request {
            type_name: type_name.to_string(),
            private: Some(private.to_vec().into()),
        };
        let answer = self.ask(&call, &calls::RENEW, request).await?;
        let mut reported = diagnostics(answer.diagnostics);
        let renew_at = decode_field(&call, &mut reported, renew_at(answer.renew_at));
        Ok(RenewEphemeralResponse {
            renew_at,
            private: super::private(answer.private.as_deref().unwrap_or_default()),
            diagnostics: reported,
        })
    }

    async fn close_ephemeral(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> WireResult<PluginDiagnostics> {
        let call = self.plugin_call(context, &calls::CLOSE, Some(&type_name));
        let request = m::close_ephemeral_resource::Request {
            type_name: type_name.to_string(),
            private: Some(private.to_vec().into()),
        };
        let answer = self.ask(&call, &calls::CLOSE, request).await?;
        Ok(diagnostics(answer.diagnostics))
    }
}
