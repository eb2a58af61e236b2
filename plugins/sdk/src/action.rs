//! Actions: operations without a state, such as restarting a server.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use wardian_value::Value;

use crate::context::Call;
use crate::model::{Unknowns, from_value};
use crate::{Context, ModelError, Object, Result, Schema};

/// An action type.
pub trait Action<Client: 'static = ()>: 'static {
    /// The Rust type of the configuration.
    type Config: DeserializeOwned;

    /// Returns the schema of the action's configuration.
    fn schema(&self) -> Schema;

    /// Checks a configuration, which may contain unknown values.
    fn validate(&self, config: &Object) -> Result<()> {
        let _ = config;
        Ok(())
    }

    /// Checks during a plan whether the action can be executed. The configuration may contain
    /// unknown values.
    fn plan(&self, config: &Object, context: &mut Context<'_, Client>) -> Result<()> {
        let _ = (config, context);
        Ok(())
    }

    /// Starts the action. The host executes the steps one by one, and shows the progress message
    /// that each step returns. The first error ends the action.
    fn invoke(&self, config: Self::Config, context: &mut Context<'_, Client>) -> Result<ActionSteps>;
}

/// The steps of a running action.
pub type ActionSteps = Box<dyn Iterator<Item = Result<String>>>;

/// An action type, with its Rust types erased.
pub(crate) trait AnyAction {
    fn schema(&self) -> Schema;
    fn decode_error(&self, config: &Value) -> Option<ModelError>;
    fn validate(&self, config: &Object) -> Result<()>;
    fn plan(&self, config: &Object, call: &mut Call) -> Result<()>;
    fn invoke(&self, config: &Value, call: &mut Call) -> Result<ActionSteps>;
}

pub(crate) struct TypedAction<A, Client> {
    pub(crate) action: A,
    pub(crate) client: PhantomData<fn(Client)>,
}

impl<A: Action<Client>, Client: 'static> AnyAction for TypedAction<A, Client> {
    fn schema(&self) -> Schema {
        self.action.schema()
    }

    fn decode_error(&self, config: &Value) -> Option<ModelError> {
        from_value::<A::Config>(config, Unknowns::Reject).err()
    }

    fn validate(&self, config: &Object) -> Result<()> {
        self.action.validate(config)
    }

    fn plan(&self, config: &Object, call: &mut Call) -> Result<()> {
        Context::run(call, |context| self.action.plan(config, context))
    }

    fn invoke(&self, config: &Value, call: &mut Call) -> Result<ActionSteps> {
        let config = from_value(config, Unknowns::Reject)
            .map_err(|error| error.into_diagnostic("Configuration does not match the provider's type"))?;
        Context::run(call, |context| self.action.invoke(config, context))
    }
}
