//! Calls for data sources and ephemeral resources.

use wardian_plugin::transport::{ReadingCalls, WireResult, decode_field, encode_value, or_diagnostics};
use wardian_plugin::{
    CallContext, ConfigKind, OpenEphemeralRequest, OpenEphemeralResponse, PluginDiagnostics, PrivateBytes,
    ReadDataSourceRequest, ReadDataSourceResponse, RenewEphemeralResponse,
};
use wardian_sdk::bindings::exports::wardian::plugin::provider as wit;
use wardian_value::Str;

use super::InProcessWire;
use super::conversion::{capabilities, decode_result, deferred, diagnostics, renew_at};
use super::resource::meta;

impl ReadingCalls for InProcessWire {
    async fn read_data_source(
        &self,
        context: &CallContext,
        request: ReadDataSourceRequest,
    ) -> WireResult<ReadDataSourceResponse> {
        let call = self.plugin_call(context, "read-data-source", Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let ty = or_diagnostics(&call, schema.config(ConfigKind::DataSource, &request.type_name))?;
        let request = wit::ReadDataSourceRequest {
            type_name: request.type_name.as_str().to_owned(),
            config: or_diagnostics(&call, encode_value("the configuration", &request.config, ty))?,
            provider_meta: or_diagnostics(&call, meta(schema, request.provider_meta.as_ref()))?,
            client_capabilities: capabilities(request.capabilities),
        };
        let response = self.ask(&call, move |guest| guest.provider.read_data_source(&request)).await?;
        let mut reported = diagnostics(response.diagnostics);
        let state = decode_result("what was read", &response.state, ty, &reported);
        let state = decode_field(&call, &mut reported, state);
        Ok(ReadDataSourceResponse { state, deferred: deferred(response.deferred), diagnostics: reported })
    }

    async fn open(
        &self,
        context: &CallContext,
        request: OpenEphemeralRequest,
    ) -> WireResult<OpenEphemeralResponse> {
        let call = self.plugin_call(context, "open-ephemeral-resource", Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let ty = or_diagnostics(&call, schema.config(ConfigKind::EphemeralResource, &request.type_name))?;
        let request = wit::OpenEphemeralResourceRequest {
            type_name: request.type_name.as_str().to_owned(),
            config: or_diagnostics(&call, encode_value("the configuration", &request.config, ty))?,
            client_capabilities: capabilities(request.capabilities),
        };
        let response = self.ask(&call, move |guest| guest.provider.open_ephemeral(&request)).await?;
        let mut reported = diagnostics(response.diagnostics);
        let result = decode_result("what was opened", &response.result, ty, &reported);
        let result = decode_field(&call, &mut reported, result);
        let renew_at = decode_field(&call, &mut reported, renew_at(response.renew_at));
        Ok(OpenEphemeralResponse {
            result,
            renew_at,
            private: response.private.into(),
            deferred: deferred(response.deferred),
            diagnostics: reported,
        })
    }

    async fn renew(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> WireResult<RenewEphemeralResponse> {
        let call = self.plugin_call(context, "renew-ephemeral-resource", Some(&type_name));
        let (name, private) = (type_name.as_str().to_owned(), private.to_vec());
        let response = self.ask(&call, move |guest| guest.provider.renew_ephemeral(&name, private)).await?;
        let mut reported = diagnostics(response.diagnostics);
        let renew_at = decode_field(&call, &mut reported, renew_at(response.renew_at));
        Ok(RenewEphemeralResponse { renew_at, private: response.private.into(), diagnostics: reported })
    }

    async fn close_ephemeral(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> WireResult<PluginDiagnostics> {
        let call = self.plugin_call(context, "close-ephemeral-resource", Some(&type_name));
        let (name, private) = (type_name.as_str().to_owned(), private.to_vec());
        let response = self.ask(&call, move |guest| guest.provider.close_ephemeral(&name, private)).await?;
        Ok(diagnostics(response))
    }
}
