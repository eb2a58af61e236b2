//! State stores: services in which Wardian keeps the states of configurations.
//!
//! A state store stores bytes under a name, the name of a workspace, and locks them. It does not
//! interpret a state. [`Provider::state_store`](crate::Provider::state_store) adds a state store to a
//! provider, and [`export_state_store_provider!`](crate::export_state_store_provider!) exports the
//! provider. Users configure it in a `state_store` block.
//!
//! A write must replace the stored state completely or not at all, and succeed only if the state is
//! stored durably. A lock must be created in one atomic step, and belongs to the service: it is still
//! held after the process that created it was killed, until a user releases it.
//!
//! ```
//! use serde::Deserialize;
//! use wardian_sdk::state_store::{Lock, LockInfo, StateContext, StateStore, Unlock};
//! use wardian_sdk::{Attribute, Explain as _, Provider, Result, Schema, http};
//!
//! struct Objects;
//!
//! #[derive(Deserialize)]
//! struct Config {
//!     address: String,
//! }
//!
//! fn url(context: &StateContext<'_, Config>) -> String {
//!     format!("{}/{}", context.config().address, context.state_id())
//! }
//!
//! impl StateStore for Objects {
//!     type Config = Config;
//!
//!     fn schema(&self) -> Schema {
//!         Schema::new().attribute(Attribute::string("address").required())
//!     }
//!
//!     fn read(&self, context: &mut StateContext<'_, Config>) -> Result<Vec<u8>> {
//!         let response = http::get(url(context)).send()?;
//!         if response.status() == 404 { Ok(Vec::new()) } else { Ok(response.error_for_status()?.body().to_vec()) }
//!     }
//!
//!     fn write(&self, state: Vec<u8>, context: &mut StateContext<'_, Config>) -> Result<()> {
//!         http::put(url(context), state).send()?.error_for_status()?;
//!         Ok(())
//!     }
//!
//!     fn states(&self, _: &mut StateContext<'_, Config>) -> Result<Vec<String>> {
//!         Ok(Vec::new())
//!     }
//!
//!     fn delete(&self, context: &mut StateContext<'_, Config>) -> Result<()> {
//!         http::delete(url(context)).send()?.error_for_status()?;
//!         Ok(())
//!     }
//! }
//!
//! fn provider() -> Provider {
//!     Provider::new("cloud").state_store("cloud_objects", Objects)
//! }
//!
//! wardian_sdk::export_state_store_provider!(
//!     provider,
//!     network { hosts: ["states.example.com"], reason: "stores states" },
//! );
//! ```

#[doc(hidden)]
pub mod bindings;
#[doc(hidden)]
pub mod export;
mod service;
pub mod testing;
mod typed;

use serde::de::DeserializeOwned;

use crate::{Diagnostic, Diagnostics, Object, Result, Schema};

pub(crate) use service::StateStores;
#[doc(hidden)]
pub use service::StoreService;
pub(crate) use typed::{AnyStateStore, TypedStateStore};

/// A state store type.
///
/// ```
/// use std::cell::RefCell;
/// use std::collections::BTreeMap;
///
/// use wardian_sdk::state_store::{Lock, LockInfo, StateContext, StateStore, Unlock};
/// use wardian_sdk::{Provider, Result, Schema};
///
/// #[derive(Default)]
/// struct Memory {
///     states: RefCell<BTreeMap<String, Vec<u8>>>,
///     lock: RefCell<Option<LockInfo>>,
/// }
///
/// #[derive(serde::Deserialize)]
/// struct Config {}
///
/// impl StateStore for Memory {
///     type Config = Config;
///
///     fn schema(&self) -> Schema {
///         Schema::new()
///     }
///
///     fn read(&self, context: &mut StateContext<'_, Config>) -> Result<Vec<u8>> {
///         Ok(self.states.borrow().get(context.state_id()).cloned().unwrap_or_default())
///     }
///
///     fn write(&self, state: Vec<u8>, context: &mut StateContext<'_, Config>) -> Result<()> {
///         self.states.borrow_mut().insert(context.state_id().to_owned(), state);
///         Ok(())
///     }
///
///     fn lock(&self, request: &LockInfo, _: &mut StateContext<'_, Config>) -> Result<Lock> {
///         let mut lock = self.lock.borrow_mut();
///         Ok(match &*lock {
///             Some(holder) => Lock::Held(Some(holder.clone())),
///             None => Lock::Locked(lock.insert(request.clone()).id.clone()),
///         })
///     }
///
///     fn unlock(&self, id: &str, _: &mut StateContext<'_, Config>) -> Result<Unlock> {
///         let mut lock = self.lock.borrow_mut();
///         Ok(match &*lock {
///             Some(holder) if holder.id == id => {
///                 *lock = None;
///                 Unlock::Unlocked
///             }
///             other => Unlock::OtherLock(other.clone()),
///         })
///     }
///
///     fn states(&self, _: &mut StateContext<'_, Config>) -> Result<Vec<String>> {
///         Ok(self.states.borrow().keys().cloned().collect())
///     }
///
///     fn delete(&self, context: &mut StateContext<'_, Config>) -> Result<()> {
///         self.states.borrow_mut().remove(context.state_id());
///         Ok(())
///     }
/// }
/// ```
pub trait StateStore<Client: 'static = ()>: 'static {
    /// The Rust type of the configuration.
    type Config: DeserializeOwned + 'static;

    /// Returns the schema of the configuration.
    fn schema(&self) -> Schema;

    /// Checks a configuration, in addition to the validators of the attributes.
    fn validate(&self, config: &Object) -> Result<()> {
        let _ = config;
        Ok(())
    }

    /// Reads a state; empty if it does not exist.
    fn read(&self, context: &mut StateContext<'_, Self::Config, Client>) -> Result<Vec<u8>>;

    /// Replaces a state.
    fn write(&self, state: Vec<u8>, context: &mut StateContext<'_, Self::Config, Client>) -> Result<()>;

    /// Attempts to lock a state once. The request describes the holder, and proposes an ID. By default,
    /// the state store has no locks.
    fn lock(&self, request: &LockInfo, context: &mut StateContext<'_, Self::Config, Client>) -> Result<Lock> {
        let _ = (request, context);
        Ok(Lock::Unsupported)
    }

    /// Releases the lock with this ID, which another process may hold.
    fn unlock(&self, id: &str, context: &mut StateContext<'_, Self::Config, Client>) -> Result<Unlock> {
        let _ = (id, context);
        Err(Diagnostics::error("No locks", "The state store has no locks."))
    }

    /// Returns the names of all states.
    fn states(&self, context: &mut StateContext<'_, Self::Config, Client>) -> Result<Vec<String>>;

    /// Deletes a state. Succeeds if it does not exist.
    fn delete(&self, context: &mut StateContext<'_, Self::Config, Client>) -> Result<()>;
}

/// The result of an attempt to lock a state.
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
/// let request = LockInfo { id: "1".to_owned(), ..LockInfo::default() };
/// assert_eq!(store.lock("default", &request)?, Lock::Locked("1".to_owned()));
/// assert_eq!(store.lock("default", &LockInfo::default())?, Lock::Held(Some(request)));
/// # Ok::<(), Vec<String>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lock {
    /// The state is locked. The ID releases the lock.
    Locked(String),
    /// Another process holds the lock.
    Held(Option<LockInfo>),
    /// The state store has no locks.
    Unsupported,
}

/// The result of releasing a lock.
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
/// let request = LockInfo { id: "1".to_owned(), ..LockInfo::default() };
/// store.lock("default", &request)?;
/// assert_eq!(store.unlock("default", "2")?, Unlock::OtherLock(Some(request)));
/// assert_eq!(store.unlock("default", "1")?, Unlock::Unlocked);
/// # Ok::<(), Vec<String>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unlock {
    /// The lock is released.
    Unlocked,
    /// There is no lock with the ID. Contains the lock that is held instead.
    OtherLock(Option<LockInfo>),
}

/// The holder of a lock.
///
/// ```
/// use wardian_sdk::state_store::LockInfo;
///
/// let holder = LockInfo { id: "1".to_owned(), who: "ada@laptop".to_owned(), ..LockInfo::default() };
/// assert!(holder.operation.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(default)]
pub struct LockInfo {
    /// The ID with which the lock can be released.
    pub id: String,
    /// The operation that holds the lock.
    pub operation: String,
    /// Free text.
    pub info: String,
    /// `user@host`.
    pub who: String,
    /// The version of the program that holds the lock.
    pub version: String,
    /// The time of the lock, in RFC 3339 format.
    pub created: String,
}

/// The context of an operation: the configuration, the provider's client and the state.
///
/// ```
/// use wardian_sdk::state_store::StateContext;
///
/// struct Config {
///     address: String,
/// }
///
/// fn url(context: &StateContext<'_, Config>) -> String {
///     format!("{}/{}", context.config().address, context.state_id())
/// }
/// ```
pub struct StateContext<'a, Config, Client = ()> {
    config: &'a Config,
    client: &'a Client,
    state_id: &'a str,
    diagnostics: Diagnostics,
}

impl<Config, Client> StateContext<'_, Config, Client> {
    /// Returns the configuration of the state store.
    pub fn config(&self) -> &Config {
        self.config
    }

    /// Returns the client that the provider created from its configuration.
    pub fn client(&self) -> &Client {
        self.client
    }

    /// Returns the name of the state, which is the name of a workspace; empty for
    /// [`StateStore::states`].
    pub fn state_id(&self) -> &str {
        self.state_id
    }

    /// Reports a warning.
    pub fn warn(&mut self, summary: impl Into<String>, detail: impl Into<String>) {
        self.diagnostics.push(Diagnostic::warning(summary, detail));
    }
}

#[cfg(test)]
mod tests;
