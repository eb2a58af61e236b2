//! Data sources: types that only read objects.

use wardian_value::{Type, Value};

use crate::context::Call;
use crate::model::{Convert, Unknowns};
use crate::{Context, Model, ModelError, Object, Result, Schema};

/// A data source type.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use wardian_sdk::{Context, DataSource, Result, Schema};
///
/// #[derive(Serialize, Deserialize, Schema)]
/// struct Zone {
///     name: String,
///     #[attr(computed)]
///     region: Option<String>,
/// }
///
/// struct Zones;
///
/// impl DataSource for Zones {
///     type State = Zone;
///
///     fn schema(&self) -> Schema {
///         Schema::for_type::<Zone>()
///     }
///
///     fn read(&self, config: Zone, _: &mut Context<'_>) -> Result<Zone> {
///         Ok(Zone { region: Some("north".to_owned()), ..config })
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a data source of a provider whose client is `{Client}`",
    label = "does not implement `DataSource<{Client}>`",
    note = "implement `DataSource<{Client}>`: all types of a provider have the client that `Provider::with_config` creates"
)]
pub trait DataSource<Client: 'static = ()>: 'static {
    /// The Rust type of the configuration and the result: a struct with a field for each attribute
    /// and block, or [`Object`] if the schema is built at run time.
    type State: Model;

    /// Returns the schema of the configuration and the result.
    fn schema(&self) -> Schema;

    /// Checks a configuration in addition to the validators of the attributes. Unknown values must
    /// be accepted. An `Err` may contain only warnings.
    fn validate(&self, config: &Object) -> Result<()> {
        let _ = config;
        Ok(())
    }

    /// Reads the data source. The configuration is wholly known, and its values must not be
    /// changed.
    fn read(&self, config: Self::State, context: &mut Context<'_, Client>) -> Result<Self::State>;
}

/// A data source type, with its Rust types erased.
pub(crate) trait AnyDataSource {
    fn schema(&self) -> Schema;
    fn state_fields(&self) -> Option<&'static [&'static str]>;
    fn is_untyped(&self) -> bool;
    fn decode_error(&self, config: &Value, ty: &Type) -> Option<ModelError>;
    fn validate(&self, config: &Object) -> Result<()>;
    fn read(&self, config: &Value, call: &mut Call) -> Result<Value>;
}

pub(crate) struct TypedDataSource<D, Client> {
    pub(crate) source: D,
    pub(crate) client: std::marker::PhantomData<fn(Client)>,
}

impl<D: DataSource<Client>, Client: 'static> AnyDataSource for TypedDataSource<D, Client> {
    fn schema(&self) -> Schema {
        self.source.schema()
    }

    fn state_fields(&self) -> Option<&'static [&'static str]> {
        D::State::fields()
    }

    fn is_untyped(&self) -> bool {
        D::State::IS_UNTYPED
    }

    fn decode_error(&self, config: &Value, ty: &Type) -> Option<ModelError> {
        D::State::decode_value(config, ty, Unknowns::Reject).err()
    }

    fn validate(&self, config: &Object) -> Result<()> {
        self.source.validate(config)
    }

    fn read(&self, config: &Value, call: &mut Call) -> Result<Value> {
        let config = D::State::decode_value(config, &call.state_type, Unknowns::Reject)
            .map_err(|error| error.into_diagnostic("Configuration does not match the provider's type"))?;
        let state = Context::run(call, |context| self.source.read(config, context))?;
        state
            .encode_value(&call.state_type)
            .map_err(|error| error.into_diagnostic("Provider response does not match its schema").into())
    }
}
