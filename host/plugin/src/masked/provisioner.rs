//! A provisioner whose words bear no secrets.

use std::sync::Arc;

use async_trait::async_trait;
use wardian_value::Value;

use super::call::{MaskedCall, Said as _};
use crate::diagnostic::PluginDiagnostics;
use crate::provisioner::{ProvisionOutput, ProvisionRequest, Provisioner};
use crate::schema::Schema;
use crate::secrets::Secrets;
use crate::subject::current_secrets;

/// What of a connection is secret, whoever marked it.
const CONNECTION_SECRETS: [&str; 5] =
    ["password", "private_key", "bastion_password", "bastion_private_key", "proxy_user_password"];

/// A provisioner, above whatever carries out its calls.
pub struct MaskedProvisioner {
    provisioner: Arc<dyn Provisioner>,
    common: Secrets,
}

impl MaskedProvisioner {
    /// The same provisioner, with masked words. What is `common` it must not say either,
    /// whatever it was told.
    pub fn new(provisioner: Arc<dyn Provisioner>, common: Secrets) -> Self {
        Self { provisioner, common }
    }

    async fn call(&self, config: &Value) -> MaskedCall {
        let secrets = Secrets::beside([self.common.clone(), current_secrets()]);
        if let Ok(schema) = self.provisioner.schema().await {
            secrets.add_by_schema(config, &schema);
        }
        MaskedCall { secrets, schema: None }
    }
}

#[async_trait]
impl Provisioner for MaskedProvisioner {
    async fn schema(&self) -> Result<Arc<Schema>, PluginDiagnostics> {
        self.provisioner.schema().await
    }

    async fn validate_config(&self, config: Value) -> PluginDiagnostics {
        self.call(&config).await.make(self.provisioner.validate_config(config)).await
    }

    async fn provision(
        &self,
        request: ProvisionRequest,
        output: &mut ProvisionOutput<'_>,
    ) -> PluginDiagnostics {
        let call = self.call(&request.config).await;
        for value in CONNECTION_SECRETS.iter().filter_map(|name| request.connection.get(name)) {
            call.secrets.add_all(value);
        }
        let secrets = call.secrets.clone();
        let mut output = |text: &str| output(&secrets.mask(text));
        call.make(self.provisioner.provision(request, &mut output)).await
    }

    async fn stop(&self) -> Result<(), String> {
        let mut answer = self.provisioner.stop().await;
        answer.mask(&current_secrets());
        answer
    }
}
