//! Ephemeral resources: values that exist while a run needs them and are stored
//! nowhere.

use std::marker::PhantomData;
use std::time::SystemTime;

use wardian_value::Value;

use crate::context::Call;
use crate::model::{Convert, Unknowns};
use crate::{Context, Model, Object, Result, Schema};

/// A type of ephemeral resources.
pub trait EphemeralResource<Client: 'static = ()>: 'static {
    /// Configuration and result as a Rust type: a struct with a field for each
    /// attribute and block; [`Object`] where the schema is made at run time.
    type State: Model;

    /// What it is configured with and what it answers.
    fn schema(&self) -> Schema;

    /// Checks a configuration, which may hold unknown values.
    fn validate(&self, config: &Object) -> Result<()> {
        let _ = config;
        Ok(())
    }

    /// Opens it. What [`Renew`] and close need goes into the private bytes of the
    /// context.
    fn open(&self, config: Self::State, context: &mut Context<'_, Client>) -> Result<Opened<Self::State>>;

    /// Keeps it alive; answers when to do so again.
    fn renew(&self, context: &mut Context<'_, Client>) -> Result<Renew> {
        let _ = context;
        Ok(Renew::Never)
    }

    /// Ends it.
    fn close(&self, context: &mut Context<'_, Client>) -> Result<()> {
        let _ = context;
        Ok(())
    }
}

/// An ephemeral resource that was opened.
pub struct Opened<State> {
    /// What it is.
    pub state: State,
    /// When it has to be renewed.
    pub renew: Renew,
}

impl<State> Opened<State> {
    /// One that needs no renewal.
    pub fn new(state: State) -> Self {
        Self { state, renew: Renew::Never }
    }
}

/// When an ephemeral resource has to be renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renew {
    /// It lasts.
    Never,
    /// Not later than this.
    At(SystemTime),
}

/// An ephemeral resource without its types.
pub(crate) trait AnyEphemeralResource {
    fn schema(&self) -> Schema;
    fn state_fields(&self) -> Option<&'static [&'static str]>;
    fn validate(&self, config: &Object) -> Result<()>;
    fn open(&self, config: &Value, call: &mut Call) -> Result<Opened<Value>>;
    fn renew(&self, call: &mut Call) -> Result<Renew>;
    fn close(&self, call: &mut Call) -> Result<()>;
}

pub(crate) struct TypedEphemeralResource<E, Client> {
    pub(crate) resource: E,
    pub(crate) client: PhantomData<fn(Client)>,
}

impl<E: EphemeralResource<Client>, Client: 'static> AnyEphemeralResource
    for TypedEphemeralResource<E, Client>
{
    fn schema(&self) -> Schema {
        self.resource.schema()
    }

    fn state_fields(&self) -> Option<&'static [&'static str]> {
        E::State::fields()
    }

    fn validate(&self, config: &Object) -> Result<()> {
        self.resource.validate(config)
    }

    fn open(&self, config: &Value, call: &mut Call) -> Result<Opened<Value>> {
        let config = E::State::of_value(config, &call.state_type, Unknowns::Refused)
            .map_err(|error| error.into_diagnostic("Configuration does not fit the provider's type"))?;
        let opened = Context::run(call, |context| self.resource.open(config, context))?;
        let state = opened
            .state
            .as_value_of(&call.state_type)
            .map_err(|error| error.into_diagnostic("Provider's answer does not fit its schema"))?;
        Ok(Opened { state, renew: opened.renew })
    }

    fn renew(&self, call: &mut Call) -> Result<Renew> {
        Context::run(call, |context| self.resource.renew(context))
    }

    fn close(&self, call: &mut Call) -> Result<()> {
        Context::run(call, |context| self.resource.close(context))
    }
}
