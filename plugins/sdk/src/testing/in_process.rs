//! The calls of a provider for a host in the same process, such as `wardian-acceptance` and a debugger's
//! server. Requests and responses are the records of the WIT interface, so a call takes the same path
//! as in a component. Not part of the SDK's interface: it changes with the records.

#![allow(missing_docs, reason = "each function is a call of the WIT interface")]

use crate::action::ActionSteps;
use crate::bindings::exports::wardian::plugin::provider as protocol;
use crate::bindings::wardian::plugin::types;
use crate::export::Service;
use crate::service::{self, diagnostics_record};

/// A provider in the host's process, with the state of its configured client.
pub struct InProcessProvider(Service);

/// A list request in progress.
pub struct InProcessList(service::ListCursor);

/// The steps of an action.
pub struct InProcessAction(Option<ActionSteps>);

impl InProcessList {
    /// Returns at most `most` of the remaining objects.
    pub fn next_events(&mut self, most: u32) -> Vec<protocol::ListEvent> {
        self.0.next(most)
    }
}

impl InProcessAction {
    /// Executes the next step. Returns [`None`] after the event that completes the action.
    pub fn next_event(&mut self) -> Option<protocol::ActionEvent> {
        match self.0.as_mut()?.next() {
            Some(Ok(text)) => Some(protocol::ActionEvent::Progress(text)),
            Some(Err(errors)) => {
                self.0 = None;
                Some(protocol::ActionEvent::Completed(diagnostics_record(errors)))
            }
            None => {
                self.0 = None;
                Some(protocol::ActionEvent::Completed(Vec::new()))
            }
        }
    }
}

impl InProcessProvider {
    pub fn new(provider: impl Into<Service>) -> Self {
        Self(provider.into())
    }

    /// Returns the name with which the names of the provider's types start.
    pub fn name(&self) -> &str {
        &self.0.parts.name
    }

    pub fn provider_schema(&self) -> protocol::ProviderSchema {
        self.0.provider_schema()
    }

    pub fn identity_schemas(&self) -> protocol::IdentitySchemas {
        self.0.identity_schemas()
    }

    pub fn validate_provider_config(&self, config: &[u8]) -> Vec<types::Diagnostic> {
        self.0.validate_provider_config(config)
    }

    pub fn configure_provider(&self, request: &protocol::ConfigureProviderRequest) -> Vec<types::Diagnostic> {
        self.0.configure_provider(request)
    }

    pub fn validate_resource(&self, request: &protocol::ValidateConfigRequest) -> Vec<types::Diagnostic> {
        self.0.validate_resource(request)
    }

    pub fn validate_data_source(&self, request: &protocol::ValidateConfigRequest) -> Vec<types::Diagnostic> {
        self.0.validate_data_source(request)
    }

    pub fn validate_ephemeral(&self, request: &protocol::ValidateConfigRequest) -> Vec<types::Diagnostic> {
        self.0.validate_ephemeral(request)
    }

    pub fn validate_action(&self, request: &protocol::ValidateConfigRequest) -> Vec<types::Diagnostic> {
        self.0.validate_action(request)
    }

    pub fn validate_list(
        &self,
        request: &protocol::ValidateListResourceConfigRequest,
    ) -> Vec<types::Diagnostic> {
        self.0.validate_list(request)
    }

    pub fn upgrade_state(
        &self,
        request: &protocol::UpgradeResourceStateRequest,
    ) -> protocol::UpgradeResourceStateResponse {
        self.0.upgrade_state(request)
    }

    pub fn upgrade_identity(
        &self,
        request: &protocol::UpgradeResourceIdentityRequest,
    ) -> protocol::UpgradeResourceIdentityResponse {
        self.0.upgrade_identity(request)
    }

    pub fn read_resource(&self, request: &protocol::ReadResourceRequest) -> protocol::ReadResourceResponse {
        self.0.read_resource(request)
    }

    pub fn plan_resource(
        &self,
        request: &protocol::PlanResourceChangeRequest,
    ) -> protocol::PlanResourceChangeResponse {
        self.0.plan_resource(request)
    }

    pub fn apply_resource(
        &self,
        request: &protocol::ApplyResourceChangeRequest,
    ) -> protocol::ApplyResourceChangeResponse {
        self.0.apply_resource(request)
    }

    /// Applies a change. `record` stores the states that the provider records during the call: the encoded
    /// object, its private data and its identity.
    pub fn apply_resource_and_record(
        &self,
        request: &protocol::ApplyResourceChangeRequest,
        record: impl Fn(Vec<u8>, Vec<u8>, Option<Vec<u8>>) -> Result<(), String> + 'static,
    ) -> protocol::ApplyResourceChangeResponse {
        crate::run::with_host_recorder(record, || self.apply_resource(request))
    }

    pub fn import_resource(
        &self,
        request: &protocol::ImportResourceStateRequest,
    ) -> protocol::ImportResourceStateResponse {
        self.0.import_resource(request)
    }

    pub fn move_resource(
        &self,
        request: &protocol::MoveResourceStateRequest,
    ) -> protocol::MoveResourceStateResponse {
        self.0.move_resource(request)
    }

    pub fn generate_config(&self, type_name: &str) -> protocol::GenerateResourceConfigResponse {
        Service::generate_config(type_name)
    }

    pub fn read_data_source(
        &self,
        request: &protocol::ReadDataSourceRequest,
    ) -> protocol::ReadDataSourceResponse {
        self.0.read_data_source(request)
    }

    pub fn open_ephemeral(
        &self,
        request: &protocol::OpenEphemeralResourceRequest,
    ) -> protocol::OpenEphemeralResourceResponse {
        self.0.open_ephemeral(request)
    }

    pub fn renew_ephemeral(
        &self,
        type_name: &str,
        private: Vec<u8>,
    ) -> protocol::RenewEphemeralResourceResponse {
        self.0.renew_ephemeral(type_name, private)
    }

    pub fn close_ephemeral(&self, type_name: &str, private: Vec<u8>) -> Vec<types::Diagnostic> {
        self.0.close_ephemeral(type_name, private)
    }

    pub fn call_function(
        &self,
        name: &str,
        arguments: &[Vec<u8>],
    ) -> Result<Vec<u8>, protocol::FunctionError> {
        self.0.call_function(name, arguments)
    }

    pub fn list(&self, request: &protocol::ListResourceRequest) -> InProcessList {
        InProcessList(self.0.list(request))
    }

    pub fn plan_action(&self, request: &protocol::ActionRequest) -> protocol::PlanActionResponse {
        self.0.plan_action(request)
    }

    pub fn invoke_action(&self, request: &protocol::ActionRequest) -> InProcessAction {
        InProcessAction(Some(self.0.invoke_action(request)))
    }
}
