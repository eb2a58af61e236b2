//! State stores with their Rust types erased.

use std::any::Any;
use std::marker::PhantomData;
use std::rc::Rc;

use wardian_value::Value;

use super::{Lock, LockInfo, StateContext, StateStore, Unlock};
use crate::model::{Unknowns, from_value};
use crate::{Diagnostic, Diagnostics, Object, Result, Schema};

/// A response with warnings.
pub(crate) type Answer<T> = (Result<T>, Diagnostics);

/// A state store type.
pub(crate) trait AnyStateStore {
    fn schema(&self) -> Schema;
    fn validate(&self, config: &Object) -> Result<()>;
    fn configure(&self, config: &Value, client: Rc<dyn Any>) -> Result<Rc<dyn ConfiguredStateStore>>;
}

/// A configured state store.
pub(crate) trait ConfiguredStateStore {
    fn read(&self, state_id: &str) -> Answer<Vec<u8>>;
    fn write(&self, state_id: &str, state: Vec<u8>) -> Answer<()>;
    fn lock(&self, state_id: &str, request: &LockInfo) -> Answer<Lock>;
    fn unlock(&self, state_id: &str, id: &str) -> Answer<Unlock>;
    fn states(&self) -> Answer<Vec<String>>;
    fn delete(&self, state_id: &str) -> Answer<()>;
}

pub(crate) struct TypedStateStore<S, Client> {
    store: Rc<S>,
    client: PhantomData<fn(Client)>,
}

impl<S, Client> TypedStateStore<S, Client> {
    pub(crate) fn new(store: S) -> Self {
        Self { store: Rc::new(store), client: PhantomData }
    }
}

impl<S: StateStore<Client>, Client: 'static> AnyStateStore for TypedStateStore<S, Client> {
    fn schema(&self) -> Schema {
        self.store.schema()
    }

    fn validate(&self, config: &Object) -> Result<()> {
        self.store.validate(config)
    }

    fn configure(&self, config: &Value, client: Rc<dyn Any>) -> Result<Rc<dyn ConfiguredStateStore>> {
        let config = from_value(config, Unknowns::Reject)
            .map_err(|error| error.into_diagnostic("Configuration does not match the provider's type"))?;
        // The provider's builder ensures that all its types use the same client type.
        let Ok(client) = client.downcast::<Client>() else {
            return Err(Diagnostics::error(
                "Provider not configured",
                "The provider received a request before it was configured.",
            ));
        };
        Ok(Rc::new(Configured { store: Rc::clone(&self.store), config, client }))
    }
}

struct Configured<S: StateStore<Client>, Client: 'static> {
    store: Rc<S>,
    config: S::Config,
    client: Rc<Client>,
}

impl<S: StateStore<Client>, Client: 'static> Configured<S, Client> {
    fn run<T>(
        &self,
        state_id: &str,
        operation: impl FnOnce(&S, &mut StateContext<'_, S::Config, Client>) -> Result<T>,
    ) -> Answer<T> {
        let mut context = StateContext {
            config: &self.config,
            client: &*self.client,
            state_id,
            diagnostics: Diagnostics::new(),
        };
        let result = operation(&self.store, &mut context).map_err(|mut errors| {
            if !errors.has_errors() {
                errors.push(Diagnostic::error("Operation failed", "The state store returned no reason."));
            }
            errors
        });
        (result, context.diagnostics)
    }
}

impl<S: StateStore<Client>, Client: 'static> ConfiguredStateStore for Configured<S, Client> {
    fn read(&self, state_id: &str) -> Answer<Vec<u8>> {
        self.run(state_id, |store, context| store.read(context))
    }

    fn write(&self, state_id: &str, state: Vec<u8>) -> Answer<()> {
        self.run(state_id, |store, context| store.write(state, context))
    }

    fn lock(&self, state_id: &str, request: &LockInfo) -> Answer<Lock> {
        self.run(state_id, |store, context| store.lock(request, context))
    }

    fn unlock(&self, state_id: &str, id: &str) -> Answer<Unlock> {
        self.run(state_id, |store, context| store.unlock(id, context))
    }

    fn states(&self) -> Answer<Vec<String>> {
        self.run("", |store, context| store.states(context))
    }

    fn delete(&self, state_id: &str) -> Answer<()> {
        self.run(state_id, |store, context| store.delete(context))
    }
}
