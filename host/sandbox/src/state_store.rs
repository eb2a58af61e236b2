//! State stores of components.
//!
//! A configured state store has one instance, since its calls are made one after the other. After a
//! failed call, the instance is discarded, and the next call configures a new one. Locks belong to
//! the service and not to the instance, so they are not lost.

mod instance;
mod wire;

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::{Mutex, OnceCell};
use wardian_plugin::transport::{PluginFailure, WireResult, encode_value, or_diagnostics, schema_mismatch};
use wardian_plugin::{
    CallContext, LockOutcome, MAX_LISTED_STATES, PROPOSED_CHUNK_BYTES, PluginCall, PluginDiagnostics,
    Reported, Schema, StateAssembly, StateLockInfo, StateStore, StateStoreConfig, StateStorePlugin,
    StateStoreSchemas, StoreResult, UnlockOutcome, check_chunk_size, has_errors, no_state_stores,
    state_chunks,
};
use wardian_value::{Str, Value};

use crate::bindings::exports::wardian::plugin::provider::ConfigureProviderRequest;
use crate::bindings::state_store::exports::wardian::plugin::state_store as wit;
use crate::conversion::{capabilities, diagnostics};
use crate::grants::Grants;
use crate::limits::EffectiveLimits;
use crate::network::ProviderNetwork;
use crate::plugin::Plugin;
use crate::pool::Pool;
use crate::provider::ComponentWire;
use crate::schema;
use instance::StoreInstance;
use wire::{lock_info, lock_outcome, unlock_outcome};

/// A component with its grants, before a state store is configured.
pub(crate) struct ComponentStateStores {
    access: Arc<StoreAccess>,
    schemas: OnceCell<StateStoreSchemas>,
}

/// The component and the access of its instances.
struct StoreAccess {
    plugin: Arc<Plugin>,
    /// Requests the provider's schema.
    wire: ComponentWire,
    grants: Grants,
    network: Arc<ProviderNetwork>,
    limits: Arc<EffectiveLimits>,
}

impl ComponentStateStores {
    pub(crate) fn new(plugin: &Arc<Plugin>, grants: Grants) -> Self {
        let access = StoreAccess {
            wire: ComponentWire::new(Pool::new(Arc::clone(plugin), grants.clone())),
            limits: Arc::new(EffectiveLimits::new(&plugin.limits, grants.monitor.policy())),
            network: Arc::new(ProviderNetwork::new(&plugin.network, &grants)),
            plugin: Arc::clone(plugin),
            grants,
        };
        Self { access: Arc::new(access), schemas: OnceCell::new() }
    }
}

impl StoreAccess {
    fn call(&self, context: &CallContext, function: &'static str, type_name: Option<&Str>) -> PluginCall {
        PluginCall::new(&self.plugin.name, function, type_name, context)
    }

    async fn start(&self) -> Result<StoreInstance, PluginFailure> {
        StoreInstance::start(&self.plugin, &self.grants, &self.limits, &self.network).await
    }

    async fn request_schemas(&self, context: &CallContext) -> WireResult<StateStoreSchemas> {
        let provider = Arc::clone(&self.wire.known_schema(context).await?.schema);
        if self.plugin.state_stores.is_none() {
            return Ok(StateStoreSchemas { provider, stores: wardian_plugin::SchemaTable::default() });
        }
        let call = self.call(context, "get-state-store-schemas", None);
        let response = async {
            let mut instance = self.start().await?;
            instance
                .local(call.clone(), |stores, store| Box::pin(stores.call_get_state_store_schemas(store)))
                .await
        };
        let response = or_diagnostics(&call, response.await)?;
        let reported = diagnostics(response.diagnostics);
        if has_errors(&reported) {
            return Err(reported);
        }
        let stores = or_diagnostics(
            &call,
            schema::state_store_schemas(response.schemas).map_err(PluginFailure::InvalidResponse),
        )?;
        Ok(StateStoreSchemas { provider, stores: stores.into() })
    }
}

#[async_trait]
impl StateStorePlugin for ComponentStateStores {
    async fn schemas(&self, context: &CallContext) -> Result<StateStoreSchemas, PluginDiagnostics> {
        self.schemas.get_or_try_init(|| self.access.request_schemas(context)).await.cloned()
    }

    async fn validate(&self, context: &CallContext, config: &StateStoreConfig) -> PluginDiagnostics {
        let reported = async {
            let request = Encoded::new(&self.schemas(context).await?, &self.access, context, config)?;
            let provider = self.access.call(context, "validate-provider-config", None);
            let started = self.access.start().await;
            let mut instance = or_diagnostics(&provider, started)?;
            let config = request.provider.config.clone();
            let checked = instance
                .provider(provider.clone(), |guest, store| {
                    Box::pin(async move { guest.call_validate_provider_config(store, &config).await })
                })
                .await;
            let mut reported = diagnostics(or_diagnostics(&provider, checked)?);
            let call = self.access.call(context, "validate-state-store-config", Some(&config_type(&request)));
            let checked = instance
                .local(call.clone(), move |stores, store| {
                    Box::pin(async move {
                        let request = request.store;
                        let (name, config) = (&request.type_name, &request.config);
                        stores.call_validate_state_store_config(store, name, config).await
                    })
                })
                .await;
            reported.extend(diagnostics(or_diagnostics(&call, checked)?));
            Ok(reported)
        };
        reported.await.unwrap_or_else(|failure: PluginDiagnostics| failure)
    }

    async fn configure(
        &self,
        context: &CallContext,
        config: StateStoreConfig,
    ) -> Result<Reported<Arc<dyn StateStore>>, PluginDiagnostics> {
        let request = Encoded::new(&self.schemas(context).await?, &self.access, context, &config)?;
        let store = ComponentStateStore {
            access: Arc::clone(&self.access),
            type_name: config.type_name,
            request,
            instance: Mutex::new(Life::Open(None)),
        };
        let (instance, warnings) = store.configured(context).await?;
        *store.instance.lock().await = Life::Open(Some(Box::new(instance)));
        Ok(Reported { value: Arc::new(store), warnings })
    }
}

fn config_type(request: &Encoded) -> Str {
    Str::new(&request.store.type_name)
}

/// The encoded configurations.
struct Encoded {
    provider: ConfigureProviderRequest,
    store: wit::ConfigureStateStoreRequest,
}

impl Encoded {
    fn new(
        schemas: &StateStoreSchemas,
        access: &StoreAccess,
        context: &CallContext,
        config: &StateStoreConfig,
    ) -> WireResult<Self> {
        if access.plugin.state_stores.is_none() {
            return Err(no_state_stores(&access.plugin.name));
        }
        let call = access.call(context, "configure-state-store", Some(&config.type_name));
        let schema = schemas
            .stores
            .get(&config.type_name)
            .ok_or_else(|| schema_mismatch("the type of the state store", "the provider does not have it"));
        let schema = or_diagnostics(&call, schema)?;
        let encode = |what: &str, value: &Value, schema: &Schema| {
            or_diagnostics(&call, encode_value(what, value, schema.implied_type()))
        };
        Ok(Self {
            provider: ConfigureProviderRequest {
                terraform_version: config.terraform_version.as_str().to_owned(),
                config: encode("the provider's configuration", &config.provider, &schemas.provider.provider)?,
                client_capabilities: capabilities(wardian_plugin::ClientCapabilities::default()),
            },
            store: wit::ConfigureStateStoreRequest {
                type_name: config.type_name.as_str().to_owned(),
                config: encode("the configuration", &config.store, schema)?,
                chunk_size: PROPOSED_CHUNK_BYTES,
            },
        })
    }
}

struct ComponentStateStore {
    access: Arc<StoreAccess>,
    type_name: Str,
    request: Encoded,
    instance: Mutex<Life>,
}

enum Life {
    /// The instance, unless it must be created first.
    Open(Option<Box<Configured>>),
    Closed,
}

struct Configured {
    instance: StoreInstance,
    chunk_size: u64,
}

impl ComponentStateStore {
    /// Returns a new instance in which the provider and the state store are configured.
    async fn configured(&self, context: &CallContext) -> WireResult<(Configured, PluginDiagnostics)> {
        let call = self.access.call(context, "configure-provider", None);
        let mut instance = or_diagnostics(&call, self.access.start().await)?;
        let request = self.request.provider.clone();
        let configured = instance
            .provider(call.clone(), |guest, store| {
                Box::pin(async move { guest.call_configure_provider(store, &request).await })
            })
            .await;
        let mut reported = diagnostics(or_diagnostics(&call, configured)?);
        if has_errors(&reported) {
            return Err(reported);
        }
        let call = self.call(context, "configure-state-store");
        let request = self.request.store.clone();
        let configured = instance
            .remote(call.clone(), |stores, store| {
                Box::pin(async move { stores.call_configure_state_store(store, &request).await })
            })
            .await;
        let configured = or_diagnostics(&call, configured)?;
        reported.extend(diagnostics(configured.diagnostics));
        if has_errors(&reported) {
            return Err(reported);
        }
        let chunk_size = check_chunk_size(configured.chunk_size).map_err(PluginFailure::InvalidResponse);
        let chunk_size = or_diagnostics(&call, chunk_size)?;
        instance.end_call();
        Ok((Configured { instance, chunk_size }, reported))
    }

    fn call(&self, context: &CallContext, function: &'static str) -> PluginCall {
        self.access.call(context, function, Some(&self.type_name))
    }

    /// Makes calls on the instance, which is discarded if one of them fails or is cancelled.
    async fn with_instance<R>(
        &self,
        context: &CallContext,
        call: &PluginCall,
        make: impl AsyncFnOnce(&mut Configured) -> Result<R, PluginFailure>,
    ) -> WireResult<R> {
        let mut life = self.instance.lock().await;
        let Life::Open(instance) = &mut *life else {
            return Err(PluginFailure::Closed.into_diagnostics(call));
        };
        let mut configured = match instance.take() {
            Some(configured) => configured,
            None => Box::new(self.configured(context).await?.0),
        };
        let result = or_diagnostics(call, make(&mut configured).await)?;
        configured.instance.end_call();
        *instance = Some(configured);
        Ok(result)
    }

    async fn read_chunks(
        &self,
        configured: &mut Configured,
        call: &PluginCall,
        state_id: &str,
    ) -> Result<(Vec<u8>, PluginDiagnostics), PluginFailure> {
        let mut assembly = StateAssembly::new(configured.chunk_size);
        let instance = &mut configured.instance;
        let (name, state_id) = (self.type_name.as_str().to_owned(), state_id.to_owned());
        let reader = instance
            .remote(call.clone(), |stores, store| {
                Box::pin(async move { stores.call_read_state_bytes(store, &name, &state_id).await })
            })
            .await?;
        let mut reported = PluginDiagnostics::new();
        loop {
            let response = instance
                .remote(call.clone(), |stores, store| {
                    Box::pin(async move { stores.state_reader().call_next(store, reader).await })
                })
                .await?;
            reported.extend(diagnostics(response.diagnostics));
            let Some(chunk) = response.chunk.filter(|_| !has_errors(&reported)) else { break };
            let pushed = assembly.push(&chunk.bytes, chunk.start, chunk.total_length);
            pushed.map_err(PluginFailure::InvalidResponse)?;
        }
        instance.remote(call.clone(), |_, store| Box::pin(reader.resource_drop_async(store))).await?;
        if has_errors(&reported) {
            return Ok((Vec::new(), reported));
        }
        Ok((assembly.finish().map_err(PluginFailure::InvalidResponse)?, reported))
    }

    async fn write_chunks(
        &self,
        configured: &mut Configured,
        call: &PluginCall,
        state_id: &str,
        parts: &[Bytes],
    ) -> Result<PluginDiagnostics, PluginFailure> {
        let chunk_size = configured.chunk_size;
        let instance = &mut configured.instance;
        let (name, state_id) = (self.type_name.as_str().to_owned(), state_id.to_owned());
        let writer = instance
            .remote(call.clone(), |stores, store| {
                Box::pin(async move { stores.call_write_state_bytes(store, &name, &state_id).await })
            })
            .await?;
        let mut reported = PluginDiagnostics::new();
        for chunk in state_chunks(parts, chunk_size) {
            let chunk = wit::StateChunk { bytes: chunk.bytes, start: chunk.start, total_length: chunk.total };
            let received = instance
                .remote(call.clone(), |stores, store| {
                    Box::pin(async move { stores.state_writer().call_write(store, writer, &chunk).await })
                })
                .await?;
            reported.extend(diagnostics(received));
            if has_errors(&reported) {
                break;
            }
        }
        if !has_errors(&reported) {
            let finished = instance
                .remote(call.clone(), |stores, store| {
                    Box::pin(async move { stores.state_writer().call_finish(store, writer).await })
                })
                .await?;
            reported.extend(diagnostics(finished));
        }
        instance.remote(call.clone(), |_, store| Box::pin(writer.resource_drop_async(store))).await?;
        Ok(reported)
    }
}

#[async_trait]
impl StateStore for ComponentStateStore {
    async fn read(&self, context: &CallContext, state_id: &str) -> StoreResult<Vec<u8>> {
        let call = self.call(context, "read-state-bytes");
        let read = self.with_instance(context, &call, async |configured| {
            self.read_chunks(configured, &call, state_id).await
        });
        let (bytes, reported) = read.await?;
        Reported::from_diagnostics(bytes, reported)
    }

    async fn write(&self, context: &CallContext, state_id: &str, parts: &[Bytes]) -> StoreResult<()> {
        let call = self.call(context, "write-state-bytes");
        let written = self.with_instance(context, &call, async |configured| {
            self.write_chunks(configured, &call, state_id, parts).await
        });
        Reported::from_diagnostics((), written.await?)
    }

    async fn lock(
        &self,
        context: &CallContext,
        state_id: &str,
        request: StateLockInfo,
    ) -> StoreResult<LockOutcome> {
        let call = self.call(context, "lock-state");
        let (name, state_id) = (self.type_name.as_str().to_owned(), state_id.to_owned());
        let request = lock_info(request);
        let response = self.with_instance(context, &call, async |configured| {
            let make = configured.instance.remote(call.clone(), |stores, store| {
                Box::pin(async move { stores.call_lock_state(store, &name, &state_id, &request).await })
            });
            make.await
        });
        let response = response.await?;
        let reported = diagnostics(response.diagnostics);
        let outcome = or_diagnostics(&call, lock_outcome(response.outcome, &reported))?;
        outcome
            .map_or_else(|| Err(reported.clone()), |value| Ok(Reported { value, warnings: reported.clone() }))
    }

    async fn unlock(
        &self,
        context: &CallContext,
        state_id: &str,
        lock_id: &str,
    ) -> StoreResult<UnlockOutcome> {
        let call = self.call(context, "unlock-state");
        let (name, state_id, lock_id) =
            (self.type_name.as_str().to_owned(), state_id.to_owned(), lock_id.to_owned());
        let response = self.with_instance(context, &call, async |configured| {
            let make = configured.instance.remote(call.clone(), |stores, store| {
                Box::pin(async move { stores.call_unlock_state(store, &name, &state_id, &lock_id).await })
            });
            make.await
        });
        let response = response.await?;
        let reported = diagnostics(response.diagnostics);
        let outcome = or_diagnostics(&call, unlock_outcome(response.outcome, &reported))?;
        outcome
            .map_or_else(|| Err(reported.clone()), |value| Ok(Reported { value, warnings: reported.clone() }))
    }

    async fn states(&self, context: &CallContext) -> StoreResult<Vec<String>> {
        let call = self.call(context, "get-states");
        let name = self.type_name.as_str().to_owned();
        let response = self.with_instance(context, &call, async |configured| {
            let make = configured.instance.remote(call.clone(), |stores, store| {
                Box::pin(async move { stores.call_get_states(store, &name).await })
            });
            let response = make.await?;
            if response.state_ids.len() > MAX_LISTED_STATES {
                let problem = format!("it listed more than {MAX_LISTED_STATES} states");
                return Err(PluginFailure::InvalidResponse(problem));
            }
            Ok(response)
        });
        let response = response.await?;
        Reported::from_diagnostics(response.state_ids, diagnostics(response.diagnostics))
    }

    async fn delete(&self, context: &CallContext, state_id: &str) -> StoreResult<()> {
        let call = self.call(context, "delete-state");
        let (name, state_id) = (self.type_name.as_str().to_owned(), state_id.to_owned());
        let response = self.with_instance(context, &call, async |configured| {
            let make = configured.instance.remote(call.clone(), |stores, store| {
                Box::pin(async move { stores.call_delete_state(store, &name, &state_id).await })
            });
            make.await
        });
        Reported::from_diagnostics((), diagnostics(response.await?))
    }

    async fn close(&self) {
        *self.instance.lock().await = Life::Closed;
    }
}
