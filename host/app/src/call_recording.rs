//! Records the calls of plugins with their arguments and responses, for authors who debug a plugin.
//!
//! ```text
//! engine ──> RecordingProvider ──> provider (component or native plugin)
//!                  └──> one line of JSON for each call
//! ```
//!
//! A recorded value is stored twice: as JSON for readers, with unknown values as `"(unknown)"`, and in
//! MessagePack with its type, so that a call can be replayed exactly. Sensitive values are redacted in
//! both: those that the host knows, and the attributes that a schema declares sensitive. A replayed call
//! receives a placeholder instead of a string, and null instead of another value.
//!
//! Only calls that a replay can repeat contain complete arguments. The cost of a recorded call is linear in
//! the size of its values.

mod entry;
mod replay;

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use async_trait::async_trait;
use wardian_address::ProviderAddress;
#[allow(clippy::wildcard_imports, reason = "the trait uses every request and response type")]
use wardian_plugin::*;
use wardian_value::{Str, Value};

use entry::{CallRecord, Fields};
pub use entry::{RecordedCall, RecordedValue};
pub use replay::{ReplayError, replay};

/// A file with recorded calls.
#[derive(Debug)]
pub(crate) struct CallRecording {
    file: Mutex<File>,
}

impl CallRecording {
    /// Creates the file. Only its owner can read it.
    ///
    /// # Errors
    /// Returns an error if the file cannot be created.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let mut options = File::options();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Self { file: Mutex::new(options.open(path)?) })
    }

    /// Returns a provider that records its calls.
    pub(crate) fn wrap(
        self: &Arc<Self>,
        address: &ProviderAddress,
        provider: Arc<dyn Provider>,
    ) -> Arc<dyn Provider> {
        Arc::new(RecordingProvider::new(address.to_string(), provider, Arc::clone(self) as _))
    }
}

/// Receives recorded calls.
trait CallWriter: Send + Sync {
    fn write(&self, record: CallRecord<'_>);
}

impl CallWriter for CallRecording {
    fn write(&self, record: CallRecord<'_>) {
        let Ok(mut line) = serde_json::to_vec(&record) else { return };
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.write_all(&line) {
            tracing::warn!(%error, "a call of a plugin could not be recorded");
        }
    }
}

/// Maximum number of results of a list, or of messages of an action, that are recorded.
const MAX_RECORDED_RESULTS: usize = 100;

/// The recorded results of a list.
struct ListResults {
    secrets: SensitiveValues,
    objects: Option<Arc<Schema>>,
    recorded: Vec<Fields>,
    count: i64,
}

impl ListResults {
    /// `objects` is the schema of the objects in the results.
    fn new(secrets: &SensitiveValues, objects: Option<Arc<Schema>>) -> Self {
        Self { secrets: secrets.clone(), objects, recorded: Vec::new(), count: 0 }
    }

    fn add(&mut self, event: &ListEvent) {
        self.count += 1;
        if self.recorded.len() < MAX_RECORDED_RESULTS {
            let mut fields = Fields::new(&self.secrets, self.objects.clone());
            fields.list_event(event);
            self.recorded.push(fields);
        }
    }

    fn end(self, fields: &mut Fields) {
        fields.number("results", self.count);
        for result in self.recorded {
            fields.group("result", result);
        }
    }
}

/// Returns the schema of the objects in the arguments and the response of a call.
fn schema_of(schema: &ProviderSchema, call: &str, type_name: &str) -> Option<Arc<Schema>> {
    let types = match call {
        "validate-provider-config" | "configure-provider" => {
            return Some(Arc::new(schema.provider.clone()));
        }
        "validate-data-resource-config" | "read-data-source" => &schema.data_sources,
        "validate-ephemeral-resource-config" | "open-ephemeral-resource" => &schema.ephemeral_resources,
        "validate-action-config" | "plan-action" | "invoke-action" => &schema.actions,
        "validate-list-resource-config" | "list-resource" => &schema.list_resources,
        "call-function" | "upgrade-resource-identity" => return None,
        _ => &schema.resources,
    };
    types.get(type_name).cloned()
}

struct RecordingProvider {
    plugin: String,
    provider: Arc<dyn Provider>,
    calls: Arc<dyn CallWriter>,
}

/// A call that has begun.
struct Begun<'a> {
    provider: &'a RecordingProvider,
    context: &'a CallContext,
    call: &'static str,
    type_name: Option<Str>,
    request: Fields,
    started: Instant,
}

impl RecordingProvider {
    fn new(plugin: String, provider: Arc<dyn Provider>, calls: Arc<dyn CallWriter>) -> Self {
        Self { plugin, provider, calls }
    }

    async fn begin<'a>(
        &'a self,
        context: &'a CallContext,
        call: &'static str,
        type_name: Option<&Str>,
        request: impl FnOnce(&mut Fields),
    ) -> Begun<'a> {
        let schema = self.provider.schema(context).await.ok();
        let schema = schema.and_then(|schema| schema_of(&schema, call, type_name.map_or("", |name| name)));
        let mut fields = Fields::new(context.sensitive_values(), schema);
        request(&mut fields);
        let started = Instant::now();
        Begun { provider: self, context, call, type_name: type_name.cloned(), request: fields, started }
    }
}

impl Begun<'_> {
    fn end(self, response: impl FnOnce(&mut Fields)) {
        let elapsed = self.started.elapsed();
        let mut fields = self.request.following();
        response(&mut fields);
        self.provider.calls.write(CallRecord {
            plugin: &self.provider.plugin,
            call: self.call,
            type_name: self.type_name.as_deref(),
            resource: self.context.address().map(|address| &**address),
            milliseconds: elapsed.as_secs_f64() * 1000.0,
            request: self.request.finish(),
            response: fields.finish(),
        });
    }
}

#[async_trait]
impl Provider for RecordingProvider {
    async fn schema(&self, context: &CallContext) -> Result<Arc<ProviderSchema>, PluginDiagnostics> {
        self.provider.schema(context).await
    }

    async fn validate_provider_config(&self, context: &CallContext, config: Value) -> PluginDiagnostics {
        let call = self
            .begin(context, "validate-provider-config", None, |fields| fields.value("config", &config))
            .await;
        let diagnostics = self.provider.validate_provider_config(context, config).await;
        call.end(|fields| fields.diagnostics(&diagnostics));
        diagnostics
    }

    async fn configure(&self, context: &CallContext, request: ConfigureRequest) -> PluginDiagnostics {
        let call = self
            .begin(context, "configure-provider", None, |fields| fields.value("config", &request.config))
            .await;
        let diagnostics = self.provider.configure(context, request).await;
        call.end(|fields| fields.diagnostics(&diagnostics));
        diagnostics
    }

    async fn validate_config(
        &self,
        context: &CallContext,
        kind: ConfigKind,
        request: ValidateConfigRequest,
    ) -> PluginDiagnostics {
        let name = match kind {
            ConfigKind::Resource => "validate-resource-config",
            ConfigKind::DataSource => "validate-data-resource-config",
            ConfigKind::EphemeralResource => "validate-ephemeral-resource-config",
            ConfigKind::Action => "validate-action-config",
        };
        let call = self
            .begin(context, name, Some(&request.type_name), |fields| fields.value("config", &request.config))
            .await;
        let diagnostics = self.provider.validate_config(context, kind, request).await;
        call.end(|fields| fields.diagnostics(&diagnostics));
        diagnostics
    }

    async fn upgrade_resource_state(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> UpgradeStateResponse {
        let call = self
            .begin(context, "upgrade-resource-state", Some(&request.type_name), |fields| {
                fields.number("version", request.version);
                fields.raw_state("raw_state", &request.raw);
            })
            .await;
        let response = self.provider.upgrade_resource_state(context, request).await;
        call.end(|fields| {
            fields.optional("upgraded_state", response.upgraded.as_ref());
            fields.diagnostics(&response.diagnostics);
        });
        response
    }

    async fn upgrade_resource_identity(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> UpgradeStateResponse {
        let call = self
            .begin(context, "upgrade-resource-identity", Some(&request.type_name), |fields| {
                fields.number("version", request.version);
                fields.raw_state("raw_identity", &request.raw);
            })
            .await;
        let response = self.provider.upgrade_resource_identity(context, request).await;
        call.end(|fields| {
            fields.optional("upgraded_identity", response.upgraded.as_ref());
            fields.diagnostics(&response.diagnostics);
        });
        response
    }

    async fn read_resource(
        &self,
        context: &CallContext,
        request: ReadResourceRequest,
    ) -> ReadResourceResponse {
        let call = self
            .begin(context, "read-resource", Some(&request.type_name), |fields| {
                fields.value("current_state", &request.current_state);
                fields.optional("current_identity", request.current_identity.as_ref());
                fields.optional("provider_meta", request.provider_meta.as_ref());
                fields.private("private", &request.private);
            })
            .await;
        let response = self.provider.read_resource(context, request).await;
        call.end(|fields| {
            fields.optional("new_state", response.new_state.as_ref());
            fields.optional("new_identity", response.new_identity.as_ref());
            fields.diagnostics(&response.diagnostics);
        });
        response
    }

    async fn plan_resource_change(&self, context: &CallContext, request: PlanRequest) -> PlanResponse {
        let call = self
            .begin(context, "plan-resource-change", Some(&request.type_name), |fields| {
                fields.value("prior_state", &request.prior_state);
                fields.value("proposed_new_state", &request.proposed_new_state);
                fields.value("config", &request.config);
                fields.optional("prior_identity", request.prior_identity.as_ref());
                fields.optional("provider_meta", request.provider_meta.as_ref());
                fields.private("prior_private", &request.prior_private);
            })
            .await;
        let response = self.provider.plan_resource_change(context, request).await;
        call.end(|fields| {
            fields.optional("planned_state", response.planned_state.as_ref());
            fields.paths("requires_replace", &response.requires_replace);
            fields.diagnostics(&response.diagnostics);
        });
        response
    }

    async fn apply_resource_change(&self, context: &CallContext, request: ApplyRequest) -> ApplyResponse {
        let call = self
            .begin(context, "apply-resource-change", Some(&request.type_name), |fields| {
                fields.value("prior_state", &request.prior_state);
                fields.value("planned_state", &request.planned_state);
                fields.value("config", &request.config);
                fields.optional("planned_identity", request.planned_identity.as_ref());
                fields.optional("provider_meta", request.provider_meta.as_ref());
                fields.private("planned_private", &request.planned_private);
            })
            .await;
        let response = self.provider.apply_resource_change(context, request).await;
        call.end(|fields| {
            fields.optional("new_state", response.new_state.as_ref());
            fields.optional("new_identity", response.new_identity.as_ref());
            fields.diagnostics(&response.diagnostics);
        });
        response
    }

    async fn import_resource_state(&self, context: &CallContext, request: ImportRequest) -> ImportResponse {
        let call = self
            .begin(context, "import-resource-state", Some(&request.type_name), |fields| {
                match &request.target {
                    ImportTarget::Id(id) => fields.text("id", id),
                    ImportTarget::Identity(identity) => fields.value("identity", identity),
                }
            })
            .await;
        let response = self.provider.import_resource_state(context, request).await;
        call.end(|fields| {
            for imported in &response.imported {
                fields.value("imported", &imported.state);
            }
            fields.diagnostics(&response.diagnostics);
        });
        response
    }

    async fn move_resource_state(&self, context: &CallContext, request: MoveRequest) -> MoveResponse {
        let call = self
            .begin(context, "move-resource-state", Some(&request.target_type_name), |fields| {
                fields.text("source_provider", &request.source_provider_address);
                fields.text("source_type", &request.source_type_name);
                fields.number("source_version", request.source_schema_version);
                fields.raw_state("source_state", &request.source_state);
                fields.private("source_private", &request.source_private);
                if let Some((version, identity)) = &request.source_identity {
                    fields.number("source_identity_version", *version);
                    fields.raw_state("source_identity", identity);
                }
            })
            .await;
        let response = self.provider.move_resource_state(context, request).await;
        call.end(|fields| {
            fields.optional("target_state", response.target_state.as_ref());
            fields.optional("target_identity", response.target_identity.as_ref());
            fields.diagnostics(&response.diagnostics);
        });
        response
    }

    async fn generate_resource_config(
        &self,
        context: &CallContext,
        type_name: Str,
        state: Value,
    ) -> GenerateConfigResponse {
        let call = self
            .begin(context, "generate-resource-config", Some(&type_name), |fields| {
                fields.value("state", &state);
            })
            .await;
        let response = self.provider.generate_resource_config(context, type_name, state).await;
        call.end(|fields| {
            fields.optional("config", response.config.as_ref());
            fields.diagnostics(&response.diagnostics);
        });
        response
    }

    async fn read_data_source(
        &self,
        context: &CallContext,
        request: ReadDataSourceRequest,
    ) -> ReadDataSourceResponse {
        let call = self
            .begin(context, "read-data-source", Some(&request.type_name), |fields| {
                fields.value("config", &request.config);
                fields.optional("provider_meta", request.provider_meta.as_ref());
            })
            .await;
        let response = self.provider.read_data_source(context, request).await;
        call.end(|fields| {
            fields.optional("state", response.state.as_ref());
            fields.diagnostics(&response.diagnostics);
        });
        response
    }

    async fn open_ephemeral_resource(
        &self,
        context: &CallContext,
        request: OpenEphemeralRequest,
    ) -> OpenEphemeralResponse {
        let call = self
            .begin(context, "open-ephemeral-resource", Some(&request.type_name), |fields| {
                fields.value("config", &request.config);
            })
            .await;
        let response = self.provider.open_ephemeral_resource(context, request).await;
        // The result of an ephemeral resource is a secret.
        call.end(|fields| fields.diagnostics(&response.diagnostics));
        response
    }

    async fn renew_ephemeral_resource(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> RenewEphemeralResponse {
        let call = self.begin(context, "renew-ephemeral-resource", Some(&type_name), |_| ()).await;
        let response = self.provider.renew_ephemeral_resource(context, type_name, private).await;
        call.end(|fields| fields.diagnostics(&response.diagnostics));
        response
    }

    async fn close_ephemeral_resource(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> PluginDiagnostics {
        let call = self.begin(context, "close-ephemeral-resource", Some(&type_name), |_| ()).await;
        let diagnostics = self.provider.close_ephemeral_resource(context, type_name, private).await;
        call.end(|fields| fields.diagnostics(&diagnostics));
        diagnostics
    }

    async fn call_function(
        &self,
        context: &CallContext,
        name: Str,
        arguments: Vec<Value>,
    ) -> Result<Value, FunctionError> {
        let call = self
            .begin(context, "call-function", Some(&name), |fields| {
                for argument in &arguments {
                    fields.value("argument", argument);
                }
            })
            .await;
        let result = self.provider.call_function(context, name, arguments).await;
        call.end(|fields| match &result {
            Ok(value) => fields.value("result", value),
            Err(error) => fields.text("error", &error.text),
        });
        result
    }

    async fn validate_list_resource_config(
        &self,
        context: &CallContext,
        request: ValidateListRequest,
    ) -> PluginDiagnostics {
        let call = self
            .begin(context, "validate-list-resource-config", Some(&request.type_name), |fields| {
                fields.value("config", &request.config);
                fields.value("include_resource_object", &request.include_resource_object);
                fields.value("limit", &request.limit);
            })
            .await;
        let diagnostics = self.provider.validate_list_resource_config(context, request).await;
        call.end(|fields| fields.diagnostics(&diagnostics));
        diagnostics
    }

    async fn list_resource(
        &self,
        context: &CallContext,
        request: ListRequest,
        found: &mut (dyn FnMut(ListEvent) -> Continue + Send),
    ) -> PluginDiagnostics {
        let call = self
            .begin(context, "list-resource", Some(&request.type_name), |fields| {
                fields.value("config", &request.config);
                fields.flag("include_resource_object", request.include_resource_object);
                if let Some(limit) = request.limit {
                    fields.number("limit", i64::try_from(limit).unwrap_or(i64::MAX));
                }
            })
            .await;
        let schema = self.provider.schema(context).await.ok();
        let objects = schema.and_then(|schema| schema.resources.get(&request.type_name).cloned());
        let mut results = ListResults::new(context.sensitive_values(), objects);
        let mut recorded = |event: ListEvent| {
            results.add(&event);
            found(event)
        };
        let diagnostics = self.provider.list_resource(context, request, &mut recorded).await;
        call.end(|fields| {
            results.end(fields);
            fields.diagnostics(&diagnostics);
        });
        diagnostics
    }

    async fn plan_action(&self, context: &CallContext, request: ActionRequest) -> PlanActionResponse {
        let call = self
            .begin(context, "plan-action", Some(&request.action_type), |fields| {
                fields.value("config", &request.config);
            })
            .await;
        let response = self.provider.plan_action(context, request).await;
        call.end(|fields| fields.diagnostics(&response.diagnostics));
        response
    }

    async fn invoke_action(
        &self,
        context: &CallContext,
        request: ActionRequest,
        progress: &mut (dyn FnMut(String) + Send),
    ) -> PluginDiagnostics {
        let call = self
            .begin(context, "invoke-action", Some(&request.action_type), |fields| {
                fields.value("config", &request.config);
            })
            .await;
        let mut messages = Vec::new();
        let mut recorded = |message: String| {
            if messages.len() < MAX_RECORDED_RESULTS {
                messages.push(message.clone());
            }
            progress(message);
        };
        let diagnostics = self.provider.invoke_action(context, request, &mut recorded).await;
        call.end(|fields| {
            for message in &messages {
                fields.text("message", message);
            }
            fields.diagnostics(&diagnostics);
        });
        diagnostics
    }

    async fn stop(&self) -> Result<(), String> {
        self.provider.stop().await
    }

    async fn close(&self) {
        self.provider.close().await;
    }
}
