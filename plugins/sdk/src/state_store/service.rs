//! Converts the records of the WIT interface to an operation of a state store, and its result to
//! records.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::bindings::exports::wardian::plugin::state_store as protocol;
use super::typed::{AnyStateStore, ConfiguredStateStore};
use super::{Lock, LockInfo, Unlock};
use crate::bindings::wardian::plugin::types;
use crate::provider::{Provider, WithSchema};
use crate::schema::schema_record;
use crate::service::{checked, diagnostics_record, find, object};
use crate::{Diagnostics, Result};

/// Maximum number of bytes of a state.
const MAX_STATE: u64 = 1 << 30;

/// The state store types of a provider.
#[derive(Default)]
pub(crate) struct StateStores(pub(crate) BTreeMap<String, WithSchema<dyn AnyStateStore>>);

/// The request path of a provider's state stores.
#[doc(hidden)]
pub struct StoreService {
    stores: StateStores,
    configured: RefCell<Option<Configured>>,
}

#[derive(Clone)]
struct Configured {
    type_name: String,
    store: Rc<dyn ConfiguredStateStore>,
    chunk_size: u64,
}

/// Creates the request path of the state stores of a provider with any client type.
impl<Client: 'static> From<Provider<Client>> for StoreService {
    fn from(provider: Provider<Client>) -> Self {
        Self { stores: provider.state_stores, configured: RefCell::new(None) }
    }
}

impl StoreService {
    pub(crate) fn schemas(&self) -> protocol::StateStoreSchemas {
        let schemas = self.stores.0.iter().map(|(name, store)| (name.clone(), schema_record(store.schema())));
        protocol::StateStoreSchemas { schemas: schemas.collect(), diagnostics: Vec::new() }
    }

    pub(crate) fn validate(&self, type_name: &str, config: &[u8]) -> Vec<types::Diagnostic> {
        let capabilities =
            types::ClientCapabilities { deferral_allowed: false, write_only_attributes_allowed: true };
        diagnostics_record(match find(&self.stores.0, type_name, "state store") {
            Ok(store) => checked(store, config, capabilities, |config| store.part.validate(config)),
            Err(errors) => errors,
        })
    }

    pub(crate) fn configure(
        &self,
        request: &protocol::ConfigureStateStoreRequest,
        client: Result<Rc<dyn Any>>,
    ) -> protocol::ConfigureStateStoreResponse {
        let configured = find(&self.stores.0, &request.type_name, "state store").and_then(|store| {
            let config = object(&request.config, store.ty(), "configuration")?
                .ok_or_else(|| Diagnostics::error("Unable to read the configuration", "It is null."))?;
            store.part.configure(config.as_value(), client?)
        });
        let problems = match configured {
            Ok(store) => {
                *self.configured.borrow_mut() = Some(Configured {
                    type_name: request.type_name.clone(),
                    store,
                    chunk_size: request.chunk_size,
                });
                Diagnostics::new()
            }
            Err(problems) => problems,
        };
        protocol::ConfigureStateStoreResponse {
            chunk_size: request.chunk_size,
            diagnostics: diagnostics_record(problems),
        }
    }

    /// Returns the type of a configuration, for tests.
    pub(super) fn ty(&self, type_name: &str) -> Option<&wardian_value::Type> {
        self.stores.0.get(type_name).map(WithSchema::ty)
    }

    fn configured(&self, type_name: &str) -> Result<Configured> {
        let configured = self.configured.borrow().clone();
        configured.filter(|configured| configured.type_name == type_name).ok_or_else(|| {
            Diagnostics::error(
                "State store not configured",
                format!("The state store {type_name:?} received a request before it was configured."),
            )
        })
    }

    /// Calls the configured state store. Returns the diagnostics, and the response if there is no error.
    fn call<T>(
        &self,
        type_name: &str,
        operation: impl FnOnce(&dyn ConfiguredStateStore) -> (Result<T>, Diagnostics),
    ) -> (Option<T>, Vec<types::Diagnostic>) {
        let (result, mut reported) = match self.configured(type_name) {
            Ok(configured) => operation(&*configured.store),
            Err(errors) => (Err(errors), Diagnostics::new()),
        };
        let value = match result {
            Ok(value) => Some(value),
            Err(errors) => {
                reported.append(errors);
                None
            }
        };
        (value, diagnostics_record(reported))
    }

    pub(crate) fn read(&self, type_name: &str, state_id: &str) -> Reader {
        let (state, reported) = self.call(type_name, |store| store.read(state_id));
        let chunk_size = self.configured(type_name).map_or(1, |configured| configured.chunk_size.max(1));
        Reader { state: state.unwrap_or_default(), start: 0, chunk_size, reported }
    }

    pub(crate) fn write(&self, type_name: &str, state_id: &str) -> Writer {
        Writer {
            store: self.configured(type_name),
            state_id: state_id.to_owned(),
            state: Vec::new(),
            total: None,
        }
    }

    pub(crate) fn lock(
        &self,
        type_name: &str,
        state_id: &str,
        request: &protocol::LockInfo,
    ) -> protocol::LockStateResponse {
        let request = lock_info(request.clone());
        let (lock, diagnostics) = self.call(type_name, |store| store.lock(state_id, &request));
        let outcome = match lock {
            Some(Lock::Locked(id)) => protocol::LockOutcome::Locked(id),
            Some(Lock::Held(holder)) => protocol::LockOutcome::Held(holder.map(lock_record)),
            Some(Lock::Unsupported) => protocol::LockOutcome::Unsupported,
            None => protocol::LockOutcome::Failed,
        };
        protocol::LockStateResponse { outcome, diagnostics }
    }

    pub(crate) fn unlock(&self, type_name: &str, state_id: &str, id: &str) -> protocol::UnlockStateResponse {
        let (unlock, diagnostics) = self.call(type_name, |store| store.unlock(state_id, id));
        let outcome = match unlock {
            Some(Unlock::Unlocked) => protocol::UnlockOutcome::Unlocked,
            Some(Unlock::OtherLock(found)) => protocol::UnlockOutcome::OtherLock(found.map(lock_record)),
            None => protocol::UnlockOutcome::Failed,
        };
        protocol::UnlockStateResponse { outcome, diagnostics }
    }

    pub(crate) fn states(&self, type_name: &str) -> protocol::GetStatesResponse {
        let (states, diagnostics) = self.call(type_name, |store| store.states());
        protocol::GetStatesResponse { state_ids: states.unwrap_or_default(), diagnostics }
    }

    pub(crate) fn delete(&self, type_name: &str, state_id: &str) -> Vec<types::Diagnostic> {
        self.call(type_name, |store| store.delete(state_id)).1
    }
}

/// A state that is returned in chunks.
pub struct Reader {
    state: Vec<u8>,
    start: usize,
    chunk_size: u64,
    /// Diagnostics, which are returned with the first chunk.
    reported: Vec<types::Diagnostic>,
}

impl Reader {
    pub(crate) fn next(&mut self) -> protocol::ReadStateResponse {
        let rest = self.state.get(self.start..).unwrap_or_default();
        let length = rest.len().min(usize::try_from(self.chunk_size).unwrap_or(usize::MAX));
        let chunk = (length > 0).then(|| protocol::StateChunk {
            bytes: rest.get(..length).unwrap_or_default().to_vec(),
            start: self.start as u64,
            total_length: self.state.len() as u64,
        });
        self.start += length;
        protocol::ReadStateResponse { chunk, diagnostics: std::mem::take(&mut self.reported) }
    }
}

/// A state that is received in chunks.
pub struct Writer {
    store: Result<Configured>,
    state_id: String,
    state: Vec<u8>,
    total: Option<u64>,
}

impl Writer {
    pub(crate) fn write(&mut self, chunk: &protocol::StateChunk) -> Vec<types::Diagnostic> {
        let received = self.state.len() as u64;
        let total = *self.total.get_or_insert(chunk.total_length);
        let is_valid = chunk.start == received
            && chunk.total_length == total
            && total <= MAX_STATE
            && chunk.bytes.len() as u64 <= total - received;
        if !is_valid {
            return invalid_chunk(format!(
                "A chunk starts at byte {} of {}, but the previous ones end at byte {received} of {total}.",
                chunk.start, chunk.total_length
            ));
        }
        self.state.extend_from_slice(&chunk.bytes);
        Vec::new()
    }

    pub(crate) fn finish(&mut self) -> Vec<types::Diagnostic> {
        let state = std::mem::take(&mut self.state);
        if self.total.take() != Some(state.len() as u64) {
            return invalid_chunk(format!("The state ended after {} bytes.", state.len()));
        }
        let store = match &self.store {
            Ok(configured) => Rc::clone(&configured.store),
            Err(errors) => return diagnostics_record(errors.clone()),
        };
        let (written, mut reported) = store.write(&self.state_id, state);
        reported.append(written.err().unwrap_or_default());
        diagnostics_record(reported)
    }
}

fn invalid_chunk(detail: String) -> Vec<types::Diagnostic> {
    diagnostics_record(Diagnostics::error("State not written", detail))
}

pub(super) fn lock_info(record: protocol::LockInfo) -> LockInfo {
    let protocol::LockInfo { id, operation, info, who, version, created } = record;
    LockInfo { id, operation, info, who, version, created }
}

fn lock_record(info: LockInfo) -> protocol::LockInfo {
    let LockInfo { id, operation, info, who, version, created } = info;
    protocol::LockInfo { id, operation, info, who, version, created }
}
