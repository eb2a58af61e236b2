//! State stores of native plugins, which only protocol 6 supports.
//!
//! A configured state store has its own process: its configuration is not part of the provider's
//! configuration, by which other processes are shared. If the process ends, the next call starts a
//! new one and configures it. Locks belong to the service and not to the process, so they are not
//! lost.

mod held;

use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use prost::Message;
use tokio::sync::Mutex;
use wardian_plugin::transport::{ConfigurationCalls as _, PluginFailure, WireResult, or_diagnostics};
use wardian_plugin::{
    CallContext, LockOutcome, MAX_LISTED_STATES, PROPOSED_CHUNK_BYTES, PluginCall, PluginDiagnostics,
    Reported, StateAssembly, StateLockInfo, StateStore, StateStoreConfig, StateStorePlugin,
    StateStoreSchemas, StoreResult, UnlockOutcome, check_chunk_size, has_errors, no_state_stores,
    state_chunks,
};
use wardian_value::Str;

use crate::ProtocolVersion;
use crate::calls;
use crate::conversion::{capabilities, diagnostics, encode};
use crate::method::RpcMethod;
use crate::process::{MAX_MESSAGE_LENGTH, Process};
use crate::protocol::tfplugin as m;
use crate::protocol::tfplugin6::{self as six, provider as rpc};
use crate::provider::NativeWire;
use crate::shared::Shared;

/// A native plugin, before a state store is configured.
pub(crate) struct NativeStateStores {
    plugin: Arc<Shared>,
}

impl NativeStateStores {
    pub(crate) fn new(plugin: Arc<Shared>) -> Self {
        Self { plugin }
    }

    /// Returns the encoded configurations.
    async fn requests(&self, context: &CallContext, config: &StateStoreConfig) -> WireResult<Requests> {
        let call =
            self.plugin.plugin_call(context, rpc::CONFIGURE_STATE_STORE.name(), Some(&config.type_name));
        let schema = self.plugin.schema(context).await?;
        if schema.state_stores.is_empty() {
            return Err(no_state_stores(&call.plugin));
        }
        let ty = or_diagnostics(&call, schema.state_store(&config.type_name))?;
        Ok(Requests {
            provider: m::configure_provider::Request {
                terraform_version: config.terraform_version.to_string(),
                config: or_diagnostics(
                    &call,
                    encode("the provider's configuration", &config.provider, schema.provider()),
                )?,
                client_capabilities: capabilities(wardian_plugin::ClientCapabilities::default()),
            },
            store: six::configure_state_store::Request {
                type_name: config.type_name.to_string(),
                config: or_diagnostics(&call, encode("the configuration", &config.store, ty))?,
                capabilities: Some(six::StateStoreClientCapabilities {
                    chunk_size: i64::try_from(PROPOSED_CHUNK_BYTES).unwrap_or(i64::MAX),
                }),
            },
        })
    }

    async fn validated(
        &self,
        context: &CallContext,
        config: &StateStoreConfig,
    ) -> WireResult<PluginDiagnostics> {
        let requests = self.requests(context, config).await?;
        let wire = NativeWire::new(Arc::clone(&self.plugin));
        let mut reported = wire.validate_provider_config(context, config.provider.clone()).await?;
        let name = rpc::VALIDATE_STATE_STORE_CONFIG.name();
        let call = self.plugin.plugin_call(context, name, Some(&config.type_name));
        let process = or_diagnostics(&call, self.plugin.unconfigured(context).await)?;
        let request = six::validate_state_store::Request {
            type_name: requests.store.type_name,
            config: requests.store.config,
        };
        let limit = self.plugin.limits().local_call;
        let method = rpc::VALIDATE_STATE_STORE_CONFIG;
        let answer = process.unary(context, method, request, limit, MAX_MESSAGE_LENGTH).await;
        reported.extend(diagnostics(or_diagnostics(&call, answer)?.diagnostics));
        Ok(reported)
    }
}

#[async_trait]
impl StateStorePlugin for NativeStateStores {
    async fn schemas(&self, context: &CallContext) -> Result<StateStoreSchemas, PluginDiagnostics> {
        let schema = self.plugin.schema(context).await?;
        Ok(StateStoreSchemas { provider: Arc::clone(&schema.schema), stores: schema.state_stores.clone() })
    }

    async fn validate(&self, context: &CallContext, config: &StateStoreConfig) -> PluginDiagnostics {
        self.validated(context, config).await.unwrap_or_else(|failure| failure)
    }

    async fn configure(
        &self,
        context: &CallContext,
        config: StateStoreConfig,
    ) -> Result<Reported<Arc<dyn StateStore>>, PluginDiagnostics> {
        let store = NativeStateStore {
            requests: self.requests(context, &config).await?,
            plugin: Arc::clone(&self.plugin),
            type_name: config.type_name,
            life: Mutex::new(Life::Open(None)),
        };
        let (configured, warnings) = store.configured(context).await?;
        *store.life.lock().await = Life::Open(Some(configured));
        Ok(Reported { value: Arc::new(store), warnings })
    }
}

#[derive(Clone)]
struct Requests {
    provider: m::configure_provider::Request,
    store: six::configure_state_store::Request,
}

struct NativeStateStore {
    plugin: Arc<Shared>,
    type_name: Str,
    requests: Requests,
    life: Mutex<Life>,
}

enum Life {
    /// The process, unless it must be started first.
    Open(Option<Configured>),
    Closed,
}

#[derive(Clone)]
struct Configured {
    process: Arc<Process>,
    chunk_size: u64,
}

impl NativeStateStore {
    /// Returns a process in which the provider and the state store are configured.
    async fn configured(&self, context: &CallContext) -> WireResult<(Configured, PluginDiagnostics)> {
        let call = self.plugin.plugin_call(context, calls::CONFIGURE.name(), None);
        let process = or_diagnostics(&call, self.plugin.to_configure(context).await)?;
        match self.configure_process(context, &process).await {
            Ok((chunk_size, reported)) => Ok((Configured { process, chunk_size }, reported)),
            Err(reported) => {
                process.shut_down().await;
                Err(reported)
            }
        }
    }

    async fn configure_process(
        &self,
        context: &CallContext,
        process: &Process,
    ) -> WireResult<(u64, PluginDiagnostics)> {
        if process.version() == ProtocolVersion::Five {
            return Err(no_state_stores(&self.call(context, rpc::CONFIGURE_STATE_STORE).plugin));
        }
        process.keep_secrets(context);
        let Requests { provider, store } = self.requests.clone();
        let call = self.plugin.plugin_call(context, calls::CONFIGURE.name(), None);
        let answer = self.plugin.ask(context, process, &calls::CONFIGURE, provider).await;
        let mut reported = diagnostics(or_diagnostics(&call, answer)?.diagnostics);
        if has_errors(&reported) {
            return Err(reported);
        }
        let call = self.call(context, rpc::CONFIGURE_STATE_STORE);
        let answer =
            or_diagnostics(&call, self.ask(context, process, rpc::CONFIGURE_STATE_STORE, store).await)?;
        reported.extend(diagnostics(answer.diagnostics));
        if has_errors(&reported) {
            return Err(reported);
        }
        let chosen = answer.capabilities.map_or(0, |chosen| chosen.chunk_size);
        let chunk_size = check_chunk_size(u64::try_from(chosen).unwrap_or_default());
        Ok((or_diagnostics(&call, chunk_size.map_err(PluginFailure::InvalidResponse))?, reported))
    }

    fn call<Q, A>(&self, context: &CallContext, method: RpcMethod<Q, A>) -> PluginCall {
        self.plugin.plugin_call(context, method.name(), Some(&self.type_name))
    }

    async fn ask<Q, A>(
        &self,
        context: &CallContext,
        process: &Process,
        method: RpcMethod<Q, A>,
        request: Q,
    ) -> Result<A, PluginFailure>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let limit = self.plugin.limits().remote_call;
        process.unary(context, method, request, limit, MAX_MESSAGE_LENGTH).await
    }

    /// Returns the process, which is started again if it has ended.
    async fn process(&self, context: &CallContext, call: &PluginCall) -> WireResult<Configured> {
        let mut life = self.life.lock().await;
        match &*life {
            Life::Open(Some(configured)) if configured.process.is_alive() => Ok(configured.clone()),
            Life::Open(_) => {
                let (configured, _) = self.configured(context).await?;
                *life = Life::Open(Some(configured.clone()));
                Ok(configured)
            }
            Life::Closed => Err(PluginFailure::Closed.into_diagnostics(call)),
        }
    }

    /// Makes a unary call.
    async fn unary<Q, A>(&self, context: &CallContext, method: RpcMethod<Q, A>, request: Q) -> WireResult<A>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let call = self.call(context, method);
        let configured = self.process(context, &call).await?;
        or_diagnostics(&call, self.ask(context, &configured.process, method, request).await)
    }

    fn type_name(&self) -> String {
        self.type_name.to_string()
    }
}

#[async_trait]
impl StateStore for NativeStateStore {
    async fn read(&self, context: &CallContext, state_id: &str) -> StoreResult<Vec<u8>> {
        let call = self.call(context, rpc::READ_STATE_BYTES);
        let Configured { process, chunk_size } = self.process(context, &call).await?;
        let request =
            six::read_state_bytes::Request { type_name: self.type_name(), state_id: state_id.to_owned() };
        let mut assembly = StateAssembly::new(chunk_size);
        let mut reported = PluginDiagnostics::new();
        let limit = self.plugin.limits().remote_call;
        let received = process.stream(context, rpc::READ_STATE_BYTES, request, limit, |chunk| {
            reported.extend(diagnostics(chunk.diagnostics));
            if has_errors(&reported) {
                return ControlFlow::Break(Ok(()));
            }
            let Some(range) = chunk.range else {
                // The message contains only diagnostics, or the state does not exist.
                return if chunk.bytes.is_empty() && chunk.total_length == 0 {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(Err("a chunk has no range".to_owned()))
                };
            };
            let unsigned = |number: i64| u64::try_from(number).unwrap_or(u64::MAX);
            match assembly.push(&chunk.bytes, unsigned(range.start), unsigned(chunk.total_length)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(problem) => ControlFlow::Break(Err(problem)),
            }
        });
        let stopped = or_diagnostics(&call, received.await)?;
        or_diagnostics(&call, stopped.unwrap_or(Ok(())).map_err(PluginFailure::InvalidResponse))?;
        if has_errors(&reported) {
            return Err(reported);
        }
        let bytes = or_diagnostics(&call, assembly.finish().map_err(PluginFailure::InvalidResponse))?;
        Ok(Reported { value: bytes, warnings: reported })
    }

    async fn write(&self, context: &CallContext, state_id: &str, parts: &[Bytes]) -> StoreResult<()> {
        let call = self.call(context, rpc::WRITE_STATE_BYTES);
        let Configured { process, chunk_size } = self.process(context, &call).await?;
        let mut meta =
            Some(six::RequestChunkMeta { type_name: self.type_name(), state_id: state_id.to_owned() });
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let requests = state_chunks(parts, chunk_size).map(|chunk| {
            let end = (chunk.start + chunk.bytes.len() as u64).saturating_sub(1);
            six::write_state_bytes::RequestChunk {
                meta: meta.take(),
                total_length: signed(chunk.total),
                range: Some(six::StateRange { start: signed(chunk.start), end: signed(end) }),
                bytes: chunk.bytes.into(),
            }
        });
        let limit = self.plugin.limits().remote_call;
        let answer = process.upload(context, rpc::WRITE_STATE_BYTES, requests, limit).await;
        Reported::from_diagnostics((), diagnostics(or_diagnostics(&call, answer)?.diagnostics))
    }

    async fn lock(
        &self,
        context: &CallContext,
        state_id: &str,
        request: StateLockInfo,
    ) -> StoreResult<LockOutcome> {
        let request = six::lock_state::Request {
            type_name: self.type_name(),
            state_id: state_id.to_owned(),
            operation: request.operation,
        };
        let answer = self.unary(context, rpc::LOCK_STATE, request).await?;
        let reported = diagnostics(answer.diagnostics);
        if let Some(holder) = held::holder(&reported) {
            return Ok(Reported {
                value: LockOutcome::Held(Some(holder)),
                warnings: PluginDiagnostics::new(),
            });
        }
        let outcome = match answer.lock_id {
            id if !id.is_empty() => LockOutcome::Locked(id),
            _ => LockOutcome::Unsupported,
        };
        Reported::from_diagnostics(outcome, reported)
    }

    async fn unlock(
        &self,
        context: &CallContext,
        state_id: &str,
        lock_id: &str,
    ) -> StoreResult<UnlockOutcome> {
        let request = six::unlock_state::Request {
            type_name: self.type_name(),
            state_id: state_id.to_owned(),
            lock_id: lock_id.to_owned(),
        };
        let answer = self.unary(context, rpc::UNLOCK_STATE, request).await?;
        Reported::from_diagnostics(UnlockOutcome::Unlocked, diagnostics(answer.diagnostics))
    }

    async fn states(&self, context: &CallContext) -> StoreResult<Vec<String>> {
        let request = six::get_states::Request { type_name: self.type_name() };
        let answer = self.unary(context, rpc::GET_STATES, request).await?;
        if answer.state_id.len() > MAX_LISTED_STATES {
            let problem = format!("it listed more than {MAX_LISTED_STATES} states");
            let call = self.call(context, rpc::GET_STATES);
            return Err(PluginFailure::InvalidResponse(problem).into_diagnostics(&call));
        }
        Reported::from_diagnostics(answer.state_id, diagnostics(answer.diagnostics))
    }

    async fn delete(&self, context: &CallContext, state_id: &str) -> StoreResult<()> {
        let request =
            six::delete_state::Request { type_name: self.type_name(), state_id: state_id.to_owned() };
        let answer = self.unary(context, rpc::DELETE_STATE, request).await?;
        Reported::from_diagnostics((), diagnostics(answer.diagnostics))
    }

    async fn close(&self) {
        let before = std::mem::replace(&mut *self.life.lock().await, Life::Closed);
        if let Life::Open(Some(configured)) = before {
            configured.process.shut_down().await;
        }
    }
}
