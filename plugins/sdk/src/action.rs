//! Actions: operations without a state, such as restarting a server.

use std::marker::PhantomData;

use wardian_value::Value;

use crate::context::Call;
use crate::model::{Unknowns, from_value};
use crate::{ConfigModel, Context, ModelError, Object, Result, Schema};

/// An action type.
///
/// ```
/// use serde::Deserialize;
/// use wardian_sdk::{Action, ActionSteps, Attribute, Context, Result, Schema};
///
/// struct Restart;
///
/// #[derive(Deserialize)]
/// struct Config {
///     server: String,
/// }
///
/// impl Action for Restart {
///     type Config = Config;
///
///     fn schema(&self) -> Schema {
///         Schema::new().attribute(Attribute::string("server").required())
///     }
///
///     fn invoke(&self, config: Config, _: &mut Context<'_>) -> Result<ActionSteps> {
///         let steps = ["stopping", "starting"];
///         Ok(Box::new(steps.into_iter().map(move |step| Ok(format!("{step} {}", config.server)))))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an action type of a provider whose client is `{Client}`",
    label = "does not implement `Action<{Client}>`",
    note = "implement `Action<{Client}>`: all types of a provider have the client that `Provider::with_config` creates"
)]
pub trait Action<Client: 'static = ()>: 'static {
    /// The Rust type of the configuration.
    type Config: ConfigModel;

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
///
/// ```
/// use wardian_sdk::ActionSteps;
///
/// let mut steps: ActionSteps = Box::new(["stopped", "started"].into_iter().map(|step| Ok(step.to_owned())));
/// assert_eq!(steps.next(), Some(Ok("stopped".to_owned())));
/// ```
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
