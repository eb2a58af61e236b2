//! Wraps a provisioner and redacts its output.

use std::sync::Arc;

use async_trait::async_trait;
use wardian_value::Value;

use super::call::{Redact as _, RedactedCall};
use crate::call_context::CallContext;
use crate::diagnostic::PluginDiagnostics;
use crate::provisioner::{ProvisionOutput, ProvisionRequest, Provisioner};
use crate::redaction::SensitiveValues;
use crate::schema::Schema;

/// The arguments of a connection that are secret even if they are not marked.
const CONNECTION_SECRETS: [&str; 5] =
    ["password", "private_key", "bastion_password", "bastion_private_key", "proxy_user_password"];

/// A provisioner that redacts the output of the wrapped provisioner.
pub struct RedactingProvisioner {
    provisioner: Arc<dyn Provisioner>,
    common: SensitiveValues,
}

impl RedactingProvisioner {
    /// Returns a provisioner that redacts the output of `provisioner`. The values in `common` are
    /// redacted in every call, even in calls to which they are not passed.
    pub fn new(provisioner: Arc<dyn Provisioner>, common: SensitiveValues) -> Self {
        Self { provisioner, common }
    }

    async fn call(&self, context: &CallContext, config: &Value) -> RedactedCall {
        let secrets = SensitiveValues::chain([self.common.clone(), context.sensitive_values().clone()]);
        if let Ok(schema) = self.provisioner.schema(context).await {
            secrets.add_by_schema(config, &schema);
        }
        RedactedCall { context: context.with_sensitive_values(secrets), schema: None, earlier: None }
    }
}

#[async_trait]
impl Provisioner for RedactingProvisioner {
    async fn schema(&self, context: &CallContext) -> Result<Arc<Schema>, PluginDiagnostics> {
        self.provisioner.schema(context).await
    }

    async fn validate_config(&self, context: &CallContext, config: Value) -> PluginDiagnostics {
        let call = self.call(context, &config).await;
        call.make(self.provisioner.validate_config(&call.context, config)).await
    }

    async fn provision(
        &self,
        context: &CallContext,
        request: ProvisionRequest,
        output: &mut ProvisionOutput<'_>,
    ) -> PluginDiagnostics {
        let call = self.call(context, &request.config).await;
        for value in CONNECTION_SECRETS.iter().filter_map(|name| request.connection.get(name)) {
            call.sensitive_values().add_all(value);
        }
        let secrets = call.sensitive_values().clone();
        let mut output = |text: &str| output(&secrets.redact(text));
        call.make(self.provisioner.provision(&call.context, request, &mut output)).await
    }

    async fn stop(&self) -> Result<(), String> {
        let mut answer = self.provisioner.stop().await;
        answer.redact(&self.common);
        answer
    }
}
