//! Ephemeral resources: values that exist only during a run and are never stored.

use std::marker::PhantomData;
use std::time::SystemTime;

use wardian_value::{Type, Value};

use crate::context::Call;
use crate::model::{Convert, Unknowns};
use crate::{Context, Model, ModelError, Object, Result, Schema};

/// An ephemeral resource type.
///
/// ```
/// use std::time::Duration;
///
/// use serde::{Deserialize, Serialize};
/// use wardian_sdk::{Context, EphemeralResource, Opened, Renew, Result, Schema, clock};
///
/// #[derive(Serialize, Deserialize, Schema)]
/// struct Token {
///     #[attr(computed, sensitive)]
///     value: Option<String>,
/// }
///
/// struct Tokens;
///
/// impl EphemeralResource for Tokens {
///     type State = Token;
///
///     fn schema(&self) -> Schema {
///         Schema::for_type::<Token>()
///     }
///
///     fn open(&self, _: Token, context: &mut Context<'_>) -> Result<Opened<Token>> {
///         context.set_private(b"lease-1".to_vec());
///         let renew = Renew::At(clock::system_time() + Duration::from_secs(300));
///         Ok(Opened { state: Token { value: Some("secret".to_owned()) }, renew })
///     }
///
///     fn renew(&self, context: &mut Context<'_>) -> Result<Renew> {
///         assert_eq!(context.private(), b"lease-1");
///         Ok(Renew::Never)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an ephemeral resource type of a provider whose client is `{Client}`",
    label = "does not implement `EphemeralResource<{Client}>`",
    note = "implement `EphemeralResource<{Client}>`: all types of a provider have the client that `Provider::with_config` creates"
)]
pub trait EphemeralResource<Client: 'static = ()>: 'static {
    /// The Rust type of the configuration and the result: a struct with a field for each attribute
    /// and block, or [`Object`] if the schema is built at run time.
    type State: Model;

    /// Returns the schema of the configuration and the result.
    fn schema(&self) -> Schema;

    /// Checks a configuration, which may contain unknown values.
    fn validate(&self, config: &Object) -> Result<()> {
        let _ = config;
        Ok(())
    }

    /// Opens the resource. Store the data that is required to renew and close it as the private
    /// data of the context.
    fn open(&self, config: Self::State, context: &mut Context<'_, Client>) -> Result<Opened<Self::State>>;

    /// Renews the resource, and returns the time of the next renewal.
    fn renew(&self, context: &mut Context<'_, Client>) -> Result<Renew> {
        let _ = context;
        Ok(Renew::Never)
    }

    /// Closes the resource.
    fn close(&self, context: &mut Context<'_, Client>) -> Result<()> {
        let _ = context;
        Ok(())
    }
}

/// An ephemeral resource that was opened.
///
/// ```
/// use wardian_sdk::{Opened, Renew};
///
/// assert_eq!(Opened::new("a value").renew, Renew::Never);
/// ```
pub struct Opened<State> {
    /// The configuration and the result.
    pub state: State,
    /// The time of the first renewal.
    pub renew: Renew,
}

impl<State> Opened<State> {
    /// Creates the result for a resource that does not have to be renewed.
    pub fn new(state: State) -> Self {
        Self { state, renew: Renew::Never }
    }
}

/// The time at which an ephemeral resource must be renewed.
///
/// ```
/// use std::time::Duration;
/// use wardian_sdk::{Renew, clock};
///
/// let in_five_minutes = Renew::At(clock::system_time() + Duration::from_secs(300));
/// assert_ne!(in_five_minutes, Renew::Never);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renew {
    /// The resource does not expire.
    Never,
    /// The resource must be renewed by this time.
    At(SystemTime),
}

/// An ephemeral resource type, with its Rust types erased.
pub(crate) trait AnyEphemeralResource {
    fn schema(&self) -> Schema;
    fn state_fields(&self) -> Option<&'static [&'static str]>;
    fn is_untyped(&self) -> bool;
    fn decode_error(&self, config: &Value, ty: &Type) -> Option<ModelError>;
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

    fn is_untyped(&self) -> bool {
        E::State::IS_UNTYPED
    }

    fn decode_error(&self, config: &Value, ty: &Type) -> Option<ModelError> {
        E::State::decode_value(config, ty, Unknowns::Reject).err()
    }

    fn validate(&self, config: &Object) -> Result<()> {
        self.resource.validate(config)
    }

    fn open(&self, config: &Value, call: &mut Call) -> Result<Opened<Value>> {
        let config = E::State::decode_value(config, &call.state_type, Unknowns::Reject)
            .map_err(|error| error.into_diagnostic("Configuration does not match the provider's type"))?;
        let opened = Context::run(call, |context| self.resource.open(config, context))?;
        let state = opened
            .state
            .encode_value(&call.state_type)
            .map_err(|error| error.into_diagnostic("Provider response does not match its schema"))?;
        Ok(Opened { state, renew: opened.renew })
    }

    fn renew(&self, call: &mut Call) -> Result<Renew> {
        Context::run(call, |context| self.resource.renew(context))
    }

    fn close(&self, call: &mut Call) -> Result<()> {
        Context::run(call, |context| self.resource.close(context))
    }
}
