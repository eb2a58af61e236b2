//! The state that all providers of a plugin share: its processes, its schema and its validation
//! results.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{Mutex, OnceCell};
use wardian_plugin::transport::{DecodedSchema, PluginFailure};
use wardian_plugin::{CallContext, PluginCall, PluginDiagnostics, has_errors};
use wardian_process::Spawner;

use crate::calls::{self, Rpc};
use crate::conversion::diagnostics;
use crate::launch::{LaunchError, NativePackage, Offer, attach, launch};
use crate::process::{MAX_MESSAGE_LENGTH, Process};
use crate::protocol::{tfplugin as m, tfplugin5 as five, tfplugin6 as six};
use crate::reattach::Reattachment;
use crate::schema::{self, Answered};
use crate::schema_cache::SchemaCache;
use crate::shared_process::SharedProcesses;
use crate::{NativeLimits, ProtocolVersion};

/// Maximum number of bytes of a schema message.
const MAX_SCHEMA_LENGTH: usize = 64 << 20;

pub(crate) enum Unconfigured {
    NotStarted,
    Started(Arc<Process>),
    Closed,
}

/// The origin of a plugin's process.
pub(crate) enum Origin {
    /// The bridge starts the process.
    File(Box<NativePackage>),
    /// The process was started externally.
    Elsewhere { name: Arc<str>, reattachment: Reattachment },
}

impl Origin {
    fn name(&self) -> &Arc<str> {
        match self {
            Self::File(package) => &package.name,
            Self::Elsewhere { name, .. } => name,
        }
    }
}

pub(crate) struct Shared {
    pub(crate) origin: Origin,
    pub(crate) spawner: Arc<Spawner>,
    pub(crate) limits: NativeLimits,
    pub(crate) schemas: Option<Arc<SchemaCache>>,
    /// Results of validating configurations, by request.
    pub(crate) validated: std::sync::Mutex<HashMap<Vec<u8>, Arc<OnceCell<PluginDiagnostics>>>>,
    /// The configured processes.
    pub(crate) processes: SharedProcesses,
    /// The schema, which is requested from the plugin once, by the first provider that needs it.
    pub(crate) schema: OnceCell<Arc<DecodedSchema>>,
    pub(crate) unconfigured: Mutex<Unconfigured>,
}

impl Shared {
    pub(crate) fn limits(&self) -> &NativeLimits {
        &self.limits
    }

    /// Returns the cell for the diagnostics of a configuration. It is empty until validation has
    /// ended.
    pub(crate) fn validated(&self, request: Vec<u8>) -> Arc<OnceCell<PluginDiagnostics>> {
        let mut known = self.validated.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Arc::clone(known.entry(request).or_default())
    }

    pub(crate) fn processes(&self) -> &SharedProcesses {
        &self.processes
    }

    pub(crate) fn plugin_call(
        &self,
        context: &CallContext,
        function: &'static str,
        type_name: Option<&wardian_value::Str>,
    ) -> PluginCall {
        PluginCall::new(self.origin.name(), function, type_name, context)
    }

    /// Returns the process for calls that do not need a configuration.
    pub(crate) async fn unconfigured(&self, context: &CallContext) -> Result<Arc<Process>, PluginFailure> {
        let mut unconfigured = self.unconfigured.lock().await;
        match &*unconfigured {
            Unconfigured::Started(process) if process.is_alive() => return Ok(Arc::clone(process)),
            Unconfigured::Closed => return Err(not_started(LaunchError::Closed)),
            Unconfigured::Started(_) | Unconfigured::NotStarted => {}
        }
        let process = Arc::new(self.launch(context).await?);
        *unconfigured = Unconfigured::Started(Arc::clone(&process));
        Ok(process)
    }

    /// Returns a process for the exclusive use of the caller. Calls of other providers that are
    /// already in progress are still completed.
    pub(crate) async fn to_configure(&self, context: &CallContext) -> Result<Arc<Process>, PluginFailure> {
        {
            let mut unconfigured = self.unconfigured.lock().await;
            match std::mem::replace(&mut *unconfigured, Unconfigured::NotStarted) {
                Unconfigured::Started(process) if process.is_alive() => return Ok(process),
                Unconfigured::Closed => {
                    *unconfigured = Unconfigured::Closed;
                    return Err(not_started(LaunchError::Closed));
                }
                Unconfigured::Started(_) | Unconfigured::NotStarted => {}
            }
        }
        Ok(Arc::new(self.launch(context).await?))
    }

    async fn launch(&self, context: &CallContext) -> Result<Process, PluginFailure> {
        let limit = self.limits.start;
        let process = match &self.origin {
            Origin::File(package) => launch(package, &self.spawner, limit, Offer::All).await,
            Origin::Elsewhere { name, reattachment } => attach(name, reattachment, limit).await,
        };
        let process = process.map_err(not_started)?;
        // Some plugins require the schema request before any other request.
        let asked =
            self.schema.get().is_none_or(|known| known.schema.capabilities.get_provider_schema_optional);
        if !asked {
            self.ask_for_all_schemas(context, &process).await?;
        }
        Ok(process)
    }

    /// Returns the schema. It comes from the cache of an earlier run, or is requested from the
    /// plugin once.
    pub(crate) async fn schema(
        &self,
        context: &CallContext,
    ) -> Result<&Arc<DecodedSchema>, PluginDiagnostics> {
        self.schema
            .get_or_try_init(|| async {
                match self.kept_schema().await {
                    Some(kept) => Ok(kept),
                    None => self.ask_for_schema(context).await,
                }
            })
            .await
    }

    /// Returns the cache, and the name of the plugin's entry in it.
    fn kept(&self) -> Option<(Arc<SchemaCache>, Arc<str>)> {
        let Origin::File(package) = &self.origin else { return None };
        Some((Arc::clone(self.schemas.as_ref()?), Arc::clone(package.content.as_ref()?)))
    }

    async fn kept_schema(&self) -> Option<Arc<DecodedSchema>> {
        let (cache, content) = self.kept()?;
        let reading = move || schema::provider_schema(cache.get(&content)?).ok();
        tokio::task::spawn_blocking(reading).await.ok()?.map(Arc::new)
    }

    async fn ask_for_schema(&self, context: &CallContext) -> Result<Arc<DecodedSchema>, PluginDiagnostics> {
        let call = self.plugin_call(context, six::provider::GET_PROVIDER_SCHEMA.name(), None);
        let failed = |failure: PluginFailure| failure.into_diagnostics(&call);
        let process = self.unconfigured(context).await.map_err(failed)?;
        let version = process.version();
        let answer = self.ask_for_all_schemas(context, &process).await;
        let mut answer = answer.map_err(failed)?;
        let reported = diagnostics(std::mem::take(&mut answer.diagnostics));
        if has_errors(&reported) {
            return Err(reported);
        }
        let identities = self.ask_for_identities(context, &process).await?;
        let answered = Answered { version, schema: answer, identities };
        let kept = self.kept();
        let taking = move || {
            schema::check(version, &answered.schema)?;
            if let Some((cache, content)) = kept {
                cache.put(&content, &answered);
            }
            schema::provider_schema(answered)
        };
        let taken = tokio::task::spawn_blocking(taking).await.map_err(|error| error.to_string()).flatten();
        taken.map(Arc::new).map_err(|problem| failed(PluginFailure::InvalidResponse(problem)))
    }

    async fn ask_for_all_schemas(
        &self,
        context: &CallContext,
        process: &Process,
    ) -> Result<m::UndecodedProviderSchema, PluginFailure> {
        let (limit, largest) = (self.limits.local_call, MAX_SCHEMA_LENGTH);
        match process.version() {
            ProtocolVersion::Five => {
                let method = five::provider::GET_SCHEMA.with_answer();
                process.unary(context, method, five::get_provider_schema::Request {}, limit, largest).await
            }
            ProtocolVersion::Six => {
                let method = six::provider::GET_PROVIDER_SCHEMA.with_answer();
                process.unary(context, method, six::get_provider_schema::Request {}, limit, largest).await
            }
        }
    }

    /// Requests the identity schemas; returns none if the plugin is too old to support them.
    async fn ask_for_identities(
        &self,
        context: &CallContext,
        process: &Process,
    ) -> Result<HashMap<String, m::ResourceIdentitySchema>, PluginDiagnostics> {
        let call = self.plugin_call(context, calls::IDENTITY_SCHEMAS.name(), None);
        let request = m::get_resource_identity_schemas::Request {};
        let method = calls::IDENTITY_SCHEMAS.method(process.version());
        match process.unary(context, method, request, self.limits.local_call, MAX_SCHEMA_LENGTH).await {
            Ok(answer) => {
                let reported = diagnostics(answer.diagnostics);
                if has_errors(&reported) { Err(reported) } else { Ok(answer.identity_schemas) }
            }
            Err(PluginFailure::Unsupported(_)) => Ok(HashMap::new()),
            Err(failure) => Err(failure.into_diagnostics(&call)),
        }
    }

    /// Sends a call to a process.
    pub(crate) async fn ask<Q, A>(
        &self,
        context: &CallContext,
        process: &Process,
        call: &Rpc<Q, A>,
        request: Q,
    ) -> Result<A, PluginFailure>
    where
        Q: prost::Message + 'static,
        A: prost::Message + Default + 'static,
    {
        let method = call.method(process.version());
        process.unary(context, method, request, call.time(&self.limits), MAX_MESSAGE_LENGTH).await
    }
}

fn not_started(error: LaunchError) -> PluginFailure {
    PluginFailure::NotStarted(error.to_string())
}
