//! Runs a state store in native unit tests, on the same request path as in a component.

use super::bindings::exports::wardian::plugin::state_store as protocol;
use super::service::StoreService;
use super::{Lock, LockInfo, Unlock};
use crate::bindings::exports::wardian::plugin::provider as provider_protocol;
use crate::bindings::wardian::plugin::types;
use crate::service::Service;
use crate::{Provider, codec};

/// A configured state store under test. Errors are the summaries and details of diagnostics.
///
/// ```
/// # use std::cell::RefCell;
/// # use std::collections::BTreeMap;
/// #
/// # use wardian_sdk::state_store::{Lock, LockInfo, StateContext, StateStore, Unlock};
/// # use wardian_sdk::{Provider, Result, Schema};
/// #
/// # #[derive(Default)]
/// # struct Memory {
/// #     states: RefCell<BTreeMap<String, Vec<u8>>>,
/// #     lock: RefCell<Option<LockInfo>>,
/// # }
/// #
/// # #[derive(serde::Deserialize)]
/// # struct Config {}
/// #
/// # impl StateStore for Memory {
/// #     type Config = Config;
/// #
/// #     fn schema(&self) -> Schema {
/// #         Schema::new()
/// #     }
/// #
/// #     fn read(&self, context: &mut StateContext<'_, Config>) -> Result<Vec<u8>> {
/// #         Ok(self.states.borrow().get(context.state_id()).cloned().unwrap_or_default())
/// #     }
/// #
/// #     fn write(&self, state: Vec<u8>, context: &mut StateContext<'_, Config>) -> Result<()> {
/// #         self.states.borrow_mut().insert(context.state_id().to_owned(), state);
/// #         Ok(())
/// #     }
/// #
/// #     fn lock(&self, request: &LockInfo, _: &mut StateContext<'_, Config>) -> Result<Lock> {
/// #         let mut lock = self.lock.borrow_mut();
/// #         Ok(match &*lock {
/// #             Some(holder) => Lock::Held(Some(holder.clone())),
/// #             None => Lock::Locked(lock.insert(request.clone()).id.clone()),
/// #         })
/// #     }
/// #
/// #     fn unlock(&self, id: &str, _: &mut StateContext<'_, Config>) -> Result<Unlock> {
/// #         let mut lock = self.lock.borrow_mut();
/// #         Ok(match &*lock {
/// #             Some(holder) if holder.id == id => {
/// #                 *lock = None;
/// #                 Unlock::Unlocked
/// #             }
/// #             other => Unlock::OtherLock(other.clone()),
/// #         })
/// #     }
/// #
/// #     fn states(&self, _: &mut StateContext<'_, Config>) -> Result<Vec<String>> {
/// #         Ok(self.states.borrow().keys().cloned().collect())
/// #     }
/// #
/// #     fn delete(&self, context: &mut StateContext<'_, Config>) -> Result<()> {
/// #         self.states.borrow_mut().remove(context.state_id());
/// #         Ok(())
/// #     }
/// # }
/// # let provider = || Provider::new("cloud").state_store("cloud_memory", Memory::default());
/// # let store = wardian_sdk::state_store::testing::StateStoreHarness::new(provider, "{}", "cloud_memory", "{}")?;
/// store.write("default", b"{}")?;
/// assert_eq!(store.read("default")?, b"{}");
/// assert_eq!(store.states()?, ["default"]);
/// # Ok::<(), Vec<String>>(())
/// ```
pub struct StateStoreHarness {
    service: StoreService,
    type_name: String,
}

/// The errors of an operation.
///
/// ```
/// use wardian_sdk::state_store::testing::HarnessResult;
///
/// let failed: HarnessResult<()> = Err(vec!["Not found: There is no bucket.".to_owned()]);
/// assert_eq!(failed.unwrap_err().len(), 1);
/// ```
pub type HarnessResult<T> = Result<T, Vec<String>>;

impl StateStoreHarness {
    /// Configures a provider and one of its state stores. The configurations are JSON objects.
    ///
    /// # Errors
    /// Returns the errors of the validation or of the configuration, or the reason why a configuration
    /// does not match its schema.
    pub fn new<Client: 'static>(
        provider: impl Fn() -> Provider<Client>,
        provider_config: &str,
        type_name: &str,
        config: &str,
    ) -> HarnessResult<Self> {
        let service = Service::from(provider());
        let encode = |text: &str, ty: &wardian_value::Type| {
            let json = serde_json::from_str(text).map_err(|error| vec![error.to_string()])?;
            let value = codec::decode_json(&json, ty).map_err(|error| vec![error])?;
            codec::encode(&value, ty).map_err(|error| vec![error])
        };
        let ty = service.parts.schema.ty().clone();
        let provider_config = encode(provider_config, &ty)?;
        errors(service.validate_provider_config(&provider_config))?;
        errors(service.configure_provider(&provider_protocol::ConfigureProviderRequest {
            terraform_version: "1.0.0".to_owned(),
            config: provider_config,
            client_capabilities: types::ClientCapabilities {
                deferral_allowed: false,
                write_only_attributes_allowed: true,
            },
        }))?;
        let stores = StoreService::from(provider());
        let missing = || vec![format!("the provider has no state store {type_name:?}")];
        let ty = stores.ty(type_name).ok_or_else(missing)?.clone();
        let config = encode(config, &ty)?;
        errors(stores.validate(type_name, &config))?;
        let type_name = type_name.to_owned();
        // A small size makes tests transfer several chunks.
        let request =
            protocol::ConfigureStateStoreRequest { type_name: type_name.clone(), config, chunk_size: 16 };
        errors(stores.configure(&request, service.configured_client()).diagnostics)?;
        Ok(Self { service: stores, type_name })
    }

    /// Reads a state; empty if it does not exist.
    ///
    /// # Errors
    /// Returns the errors of the state store.
    pub fn read(&self, state_id: &str) -> HarnessResult<Vec<u8>> {
        let mut reader = self.service.read(&self.type_name, state_id);
        let mut state = Vec::new();
        loop {
            let response = reader.next();
            errors(response.diagnostics)?;
            match response.chunk {
                Some(chunk) => state.extend(chunk.bytes),
                None => return Ok(state),
            }
        }
    }

    /// Writes a state.
    ///
    /// # Errors
    /// Returns the errors of the state store.
    pub fn write(&self, state_id: &str, state: &[u8]) -> HarnessResult<()> {
        let mut writer = self.service.write(&self.type_name, state_id);
        for (index, bytes) in state.chunks(16).enumerate() {
            let (start, total_length) = (index as u64 * 16, state.len() as u64);
            errors(writer.write(&protocol::StateChunk { bytes: bytes.to_vec(), start, total_length }))?;
        }
        errors(writer.finish())
    }

    /// Attempts to lock a state.
    ///
    /// # Errors
    /// Returns the errors of the state store.
    pub fn lock(&self, state_id: &str, request: &LockInfo) -> HarnessResult<Lock> {
        let LockInfo { id, operation, info, who, version, created } = request.clone();
        let request = protocol::LockInfo { id, operation, info, who, version, created };
        let response = self.service.lock(&self.type_name, state_id, &request);
        errors(response.diagnostics)?;
        Ok(match response.outcome {
            protocol::LockOutcome::Locked(id) => Lock::Locked(id),
            protocol::LockOutcome::Held(holder) => Lock::Held(holder.map(super::service::lock_info)),
            protocol::LockOutcome::Unsupported | protocol::LockOutcome::Failed => Lock::Unsupported,
        })
    }

    /// Releases a lock.
    ///
    /// # Errors
    /// Returns the errors of the state store.
    pub fn unlock(&self, state_id: &str, id: &str) -> HarnessResult<Unlock> {
        let response = self.service.unlock(&self.type_name, state_id, id);
        errors(response.diagnostics)?;
        Ok(match response.outcome {
            protocol::UnlockOutcome::OtherLock(found) => {
                Unlock::OtherLock(found.map(super::service::lock_info))
            }
            protocol::UnlockOutcome::Unlocked | protocol::UnlockOutcome::Failed => Unlock::Unlocked,
        })
    }

    /// Returns the names of the states.
    ///
    /// # Errors
    /// Returns the errors of the state store.
    pub fn states(&self) -> HarnessResult<Vec<String>> {
        let response = self.service.states(&self.type_name);
        errors(response.diagnostics)?;
        Ok(response.state_ids)
    }

    /// Deletes a state.
    ///
    /// # Errors
    /// Returns the errors of the state store.
    pub fn delete(&self, state_id: &str) -> HarnessResult<()> {
        errors(self.service.delete(&self.type_name, state_id))
    }
}

fn errors(reported: Vec<types::Diagnostic>) -> HarnessResult<()> {
    let errors: Vec<String> = reported
        .into_iter()
        .filter(|one| one.severity == types::Severity::Error)
        .map(|one| format!("{}: {}", one.summary, one.detail))
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}
