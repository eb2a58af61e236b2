//! Calls for data sources and ephemeral resources.

use wardian_plugin::transport::{ReadingCalls, WireResult, or_diagnostics};
use wardian_plugin::{
    CallContext, OpenEphemeralRequest, OpenEphemeralResponse, PluginDiagnostics, PrivateBytes,
    ReadDataSourceRequest, ReadDataSourceResponse, RenewEphemeralResponse,
};
use wardian_value::Str;

use super::InProcessWire;
use super::conversion::{self, diagnostics};

impl ReadingCalls for InProcessWire {
    async fn read_data_source(
        &self,
        context: &CallContext,
        request: ReadDataSourceRequest,
    ) -> WireResult<ReadDataSourceResponse> {
        let call = self.plugin_call(context, "read-data-source", Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let type_name = request.type_name.clone();
        let request = or_diagnostics(&call, conversion::read_data_source_request(schema, &request))?;
        let answer = self.ask(&call, move |guest| guest.provider.read_data_source(&request)).await?;
        let response = conversion::read_data_source_response(&call, schema, &type_name, answer);
        or_diagnostics(&call, response)
    }

    async fn open(
        &self,
        context: &CallContext,
        request: OpenEphemeralRequest,
    ) -> WireResult<OpenEphemeralResponse> {
        let call = self.plugin_call(context, "open-ephemeral-resource", Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let type_name = request.type_name.clone();
        let request = or_diagnostics(&call, conversion::open_request(schema, &request))?;
        let answer = self.ask(&call, move |guest| guest.provider.open_ephemeral(&request)).await?;
        or_diagnostics(&call, conversion::open_response(&call, schema, &type_name, answer))
    }

    async fn renew(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> WireResult<RenewEphemeralResponse> {
        let call = self.plugin_call(context, "renew-ephemeral-resource", Some(&type_name));
        let (name, private) = (type_name.as_str().to_owned(), private.to_vec());
        let answer = self.ask(&call, move |guest| guest.provider.renew_ephemeral(&name, private)).await?;
        Ok(conversion::renew_response(&call, answer))
    }

    async fn close_ephemeral(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> WireResult<PluginDiagnostics> {
        let call = self.plugin_call(context, "close-ephemeral-resource", Some(&type_name));
        let (name, private) = (type_name.as_str().to_owned(), private.to_vec());
        let answer = self.ask(&call, move |guest| guest.provider.close_ephemeral(&name, private)).await?;
        Ok(diagnostics(answer))
    }
}
