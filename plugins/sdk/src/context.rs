//! The context of an operation: its client, configuration, private data and diagnostics.

use std::any::Any;
use std::rc::Rc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use wardian_value::{Type, Value};

use crate::check::without_write_only;
use crate::model::Unknowns;
use crate::{Diagnostic, Diagnostics, Model, Object, Result, Schema, codec, plan, run};

/// The reason for deferring a change to a later run.
///
/// ```
/// use wardian_sdk::{Context, DeferredReason, Plan, Result};
///
/// fn modify_plan(plan: &mut Plan, context: &mut Context<'_>) -> Result<()> {
///     if plan.config().is_some_and(|config| config.is_unknown("zone")) {
///         context.defer(DeferredReason::ResourceConfigUnknown);
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeferredReason {
    /// The reason is not specified.
    Unknown,
    /// The resource's configuration contains unknown values.
    ResourceConfigUnknown,
    /// The provider's configuration contains unknown values.
    ProviderConfigUnknown,
    /// A prerequisite of the object does not exist yet.
    AbsentPrerequisite,
}

/// The data of one call, independent of the Rust types of its resource.
pub(crate) struct Call {
    pub(crate) client: Rc<dyn Any>,
    pub(crate) state_type: Type,
    pub(crate) config: Option<Object>,
    pub(crate) provider_meta: Option<Object>,
    pub(crate) private: Vec<u8>,
    pub(crate) identity: Option<Object>,
    pub(crate) partial_state: Option<Value>,
    /// The schema of a resource that is changed, whose states are recorded.
    pub(crate) recorded_schema: Option<Rc<(Schema, Type)>>,
    pub(crate) diagnostics: Diagnostics,
    pub(crate) deferral_allowed: bool,
    pub(crate) deferred: Option<DeferredReason>,
}

impl Call {
    pub(crate) fn new(client: Rc<dyn Any>, state_type: Type) -> Self {
        Self {
            client,
            state_type,
            config: None,
            provider_meta: None,
            private: Vec::new(),
            identity: None,
            partial_state: None,
            recorded_schema: None,
            diagnostics: Diagnostics::new(),
            deferral_allowed: false,
            deferred: None,
        }
    }
}

/// The context of an operation: the provider's client, the configuration, the private data, and
/// methods to report warnings and to save a partial state.
pub struct Context<'a, Client = ()> {
    client: &'a Rc<Client>,
    call: &'a mut Call,
}

impl<'a, Client: 'static> Context<'a, Client> {
    /// Runs an operation whose client has the type `Client`.
    pub(crate) fn run<T>(
        call: &'a mut Call,
        operation: impl FnOnce(&mut Context<'_, Client>) -> Result<T>,
    ) -> Result<T> {
        // The provider's builder ensures that all its types use the same client type.
        let Ok(client) = Rc::clone(&call.client).downcast::<Client>() else {
            return Err(Diagnostics::error(
                "Provider not configured",
                "The provider received a request before it was configured.",
            ));
        };
        operation(&mut Context { client: &client, call }).map_err(|mut errors| {
            if !errors.has_errors() {
                errors.push(Diagnostic::error("Operation failed", "The provider returned no reason."));
            }
            errors
        })
    }
}

impl<Client> Context<'_, Client> {
    /// Returns the client that the provider created from its configuration.
    pub fn client(&self) -> &Client {
        self.client
    }

    /// Returns the client as a shared pointer, for iterators that continue after the operation has returned:
    /// the results of a list and the steps of an action.
    ///
    /// ```
    /// # use wardian_sdk::{ActionSteps, Context, Result};
    /// # struct Client;
    /// # impl Client { fn restart(&self, _: &str) -> Result<()> { Ok(()) } }
    /// fn invoke(names: Vec<String>, context: &mut Context<'_, Client>) -> Result<ActionSteps> {
    ///     let client = context.shared_client();
    ///     Ok(Box::new(names.into_iter().map(move |name| {
    ///         client.restart(&name)?;
    ///         Ok(format!("Restarted {name}"))
    ///     })))
    /// }
    /// ```
    pub fn shared_client(&self) -> Rc<Client> {
        Rc::clone(self.client)
    }

    /// Returns the configuration as written, with write-only values and without default values;
    /// `None` for reads and deletes.
    pub fn config(&self) -> Option<&Object> {
        self.call.config.as_ref()
    }

    /// Decodes the configuration as a Rust type, usually as the type of the state. In a create or
    /// update, it contains write-only values and default values; computed values are null.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # use wardian_sdk::{Context, Resource, Result, Schema};
    /// #[derive(Serialize, Deserialize, Schema)]
    /// struct Account {
    ///     #[attr(write_only, required)]
    ///     password: Option<String>,
    /// }
    /// # struct Accounts;
    /// # impl Resource for Accounts {
    /// #     type State = Account;
    /// #     fn schema(&self) -> Schema {
    /// #         Schema::for_type::<Account>()
    /// #     }
    ///
    /// fn create(&self, plan: Account, context: &mut Context<'_>) -> Result<Account> {
    ///     let password = context.config_as::<Account>()?.password;
    ///     # drop(password);
    ///     Ok(plan)
    /// }
    /// # }
    /// ```
    pub fn config_as<T: Model>(&self) -> Result<T> {
        let Some(config) = &self.call.config else {
            return Err(Diagnostics::error(
                "No configuration",
                "Reads and deletes have no configuration. This is a bug in the provider.",
            ));
        };
        let value = match &self.call.recorded_schema {
            Some(both) => plan::with_defaults(&both.0, config.as_value())?,
            None => config.as_value().clone(),
        };
        T::decode_value(&value, config.ty(), Unknowns::AsNone)
            .map_err(|error| error.into_diagnostic("Configuration does not match the provider's type").into())
    }

    /// Records the current state of a create, update or delete. If the operation fails later, exactly
    /// this state is stored, so it should contain exactly the changes that were made. Unknown values in
    /// the state are stored as null.
    ///
    /// When this function returns, the record is on the disk. The state is stored even if the provider
    /// crashes, exceeds a limit or is interrupted, and even if the host is killed or loses power. Each
    /// record waits for the disk, typically for a few milliseconds. Record the state as soon as the
    /// remote object exists and its identifier is known:
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # use wardian_sdk::{Context, Result};
    /// # #[derive(Serialize, Deserialize)] struct Server { id: Option<String>, address: Option<String> }
    /// # fn start(_: &Server) -> Result<String> { Ok("srv-1".into()) }
    /// # fn wait_until_running(_: &str) -> Result<String> { Ok("10.0.0.1".into()) }
    /// fn create(mut plan: Server, context: &mut Context<'_>) -> Result<Server> {
    ///     let id = start(&plan)?;
    ///     plan.id = Some(id.clone());
    ///     context.record_state(&plan)?;
    ///     plan.address = Some(wait_until_running(&id)?);
    ///     Ok(plan)
    /// }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the state does not fit the schema or cannot be written. A host that keeps no
    /// state for the call, such as a unit test, returns no error.
    pub fn record_state<T: Model>(&mut self, state: &T) -> Result<()> {
        let state = state.encode_value(&self.call.state_type).map_err(Diagnostics::from)?;
        self.record(state)
    }

    /// The same as [`Context::record_state`].
    ///
    /// If an operation fails without having saved a state, the stored state does not change: after
    /// a create, no object is stored; after an update or delete, the prior state remains.
    pub fn save_partial<T: Model>(&mut self, state: &T) -> Result<()> {
        self.record_state(state)
    }

    /// Saves that the object no longer exists, and records it like [`Context::record_state`]. Use this
    /// in a delete, or in an update that deletes the object first, if the operation can still fail
    /// afterwards.
    pub fn save_deleted(&mut self) {
        if self.record(Value::null(self.call.state_type.clone())).is_err() {
            // The state is also returned if the operation fails in an orderly way.
            self.warn("State not recorded", "The host did not record that the object no longer exists.");
        }
    }

    fn record(&mut self, state: Value) -> Result<()> {
        let call = &mut *self.call;
        let recorded = match &call.recorded_schema {
            Some(both) => {
                let state = without_write_only(&both.0, &state);
                let encode = |value: &Value, ty: &Type| codec::encode(value, ty).map_err(not_recorded);
                let state = encode(&state, &both.1)?;
                let identity = match &call.identity {
                    Some(identity) => identity
                        .as_value()
                        .is_wholly_known()
                        .then(|| encode(identity.as_value(), identity.ty())),
                    None => None,
                };
                run::record_state(state, call.private.clone(), identity.transpose()?)
            }
            None => Ok(()),
        };
        call.partial_state = Some(state);
        recorded
    }

    /// Returns whether the user has interrupted the run. An operation should then end soon: record what
    /// exists, and return an error.
    pub fn interrupted(&self) -> bool {
        run::interrupted()
    }

    /// Waits. Use it instead of `std::thread::sleep`, which an interruption of the run does not end.
    ///
    /// # Errors
    /// Returns an error if the run is interrupted.
    pub fn sleep(&self, duration: Duration) -> Result<()> {
        run::sleep(duration)
    }

    /// Returns the private data: bytes that are stored with the object and that only the
    /// provider interprets.
    pub fn private(&self) -> &[u8] {
        &self.call.private
    }

    /// Replaces the private data.
    pub fn set_private(&mut self, bytes: Vec<u8>) {
        self.call.private = bytes;
    }

    /// Returns a value of the private data, which [`Context::set_private_value`] stored under a key.
    ///
    /// ```
    /// # use wardian_sdk::{Context, Result};
    /// # fn example(context: &mut Context<'_>) -> Result<()> {
    /// context.set_private_value("etag", &"\"7\"")?;
    /// let etag: Option<String> = context.private_value("etag")?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn private_value<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        let Some(value) = private_values(&self.call.private)?.remove(key) else { return Ok(None) };
        T::deserialize(value).map(Some).map_err(|error| {
            Diagnostics::error("Private data does not match its type", format!("{key}: {error}"))
        })
    }

    /// Stores a value as JSON under a key of the private data. The other keys remain. The methods
    /// for keys and [`Context::set_private`] exclude each other.
    pub fn set_private_value<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<()> {
        let value = serde_json::to_value(value)?;
        let mut values = private_values(&self.call.private)?;
        values.insert(key.to_owned(), value);
        self.call.private = serde_json::to_vec(&values)?;
        Ok(())
    }

    /// Removes a key of the private data.
    pub fn remove_private_value(&mut self, key: &str) -> Result<()> {
        let mut values = private_values(&self.call.private)?;
        if values.remove(key).is_some() {
            self.call.private = serde_json::to_vec(&values)?;
        }
        Ok(())
    }

    /// Returns the object's identity, if the resource type has an identity schema.
    pub fn identity(&self) -> Option<&Object> {
        self.call.identity.as_ref()
    }

    /// Sets an attribute of the identity.
    pub fn set_identity<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<()> {
        match &mut self.call.identity {
            Some(identity) => identity.set(name, value),
            None => Err(Diagnostics::error("No identity", "The resource has no identity schema.")),
        }
    }

    /// Returns the `provider_meta` of the calling module.
    pub fn provider_meta(&self) -> Option<&Object> {
        self.call.provider_meta.as_ref()
    }

    /// Reports a warning.
    pub fn warn(&mut self, summary: impl Into<String>, detail: impl Into<String>) {
        self.call.diagnostics.push(Diagnostic::warning(summary, detail));
    }

    /// Reports an error or a warning. After an error, the operation fails even if it returns a
    /// value.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        self.call.diagnostics.push(diagnostic);
    }

    /// Returns whether the host supports deferring a change to a later run.
    pub fn deferral_allowed(&self) -> bool {
        self.call.deferral_allowed
    }

    /// Defers the change to a later run. The call has no effect if the host does not support
    /// deferring.
    pub fn defer(&mut self, reason: DeferredReason) {
        if self.call.deferral_allowed {
            self.call.deferred = Some(reason);
        }
    }
}

fn private_values(bytes: &[u8]) -> Result<serde_json::Map<String, serde_json::Value>> {
    if bytes.is_empty() {
        return Ok(serde_json::Map::new());
    }
    serde_json::from_slice(bytes).map_err(|_| {
        Diagnostics::error(
            "Private data has no keys",
            "The private data of the object was stored with `set_private`, so it has no keys. Read it with \
             `Context::private`, and replace it once with `Context::set_private(Vec::new())`.",
        )
    })
}

fn not_recorded(problem: impl Into<String>) -> Diagnostics {
    Diagnostics::error("State not recorded", problem)
}
