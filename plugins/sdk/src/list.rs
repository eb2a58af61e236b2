//! List resources: requests for the existing objects of a resource type.

use std::marker::PhantomData;

use serde::Serialize;
use wardian_value::{Type, Value};

use crate::context::Call;
use crate::model::{Unknowns, from_value, to_value};
use crate::{ConfigModel, Context, Diagnostics, ModelError, Object, Result, Schema};

/// A list of a resource type's objects. It is registered under the name of a resource type that has
/// an identity schema.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use wardian_sdk::{
///     Attribute, Context, ListRequest, ListResource, ListResult, ListResults, Result, Schema,
/// };
///
/// #[derive(Deserialize)]
/// struct Config {
///     zone: Option<String>,
/// }
///
/// #[derive(Serialize)]
/// struct Identity {
///     name: String,
/// }
///
/// #[derive(Serialize)]
/// struct Server {
///     name: String,
/// }
///
/// struct ServerList;
///
/// impl ListResource for ServerList {
///     type Config = Config;
///     type Identity = Identity;
///     type State = Server;
///
///     fn schema(&self) -> Schema {
///         Schema::new().attribute(Attribute::string("zone").optional())
///     }
///
///     fn list(
///         &self,
///         request: ListRequest<Config>,
///         _: &mut Context<'_>,
///     ) -> Result<ListResults<Identity, Server>> {
///         Ok(Box::new(["web", "db"].into_iter().map(move |name| {
///             Ok(ListResult {
///                 identity: Identity { name: name.to_owned() },
///                 display_name: format!("Server {name}"),
///                 object: request.include_objects.then(|| Server { name: name.to_owned() }),
///             })
///         })))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list resource of a provider whose client is `{Client}`",
    label = "does not implement `ListResource<{Client}>`",
    note = "implement `ListResource<{Client}>`: all types of a provider have the client that `Provider::with_config` creates"
)]
pub trait ListResource<Client: 'static = ()>: 'static {
    /// The Rust type of the list block's configuration.
    type Config: ConfigModel;
    /// An object's identity, with the attributes of the resource's identity schema.
    type Identity: Serialize + 'static;
    /// An object, with the attributes of the resource's schema.
    type State: Serialize + 'static;

    /// Returns the schema of the list block.
    fn schema(&self) -> Schema;

    /// Checks a configuration, which may contain unknown values.
    fn validate(&self, config: &Object) -> Result<()> {
        let _ = config;
        Ok(())
    }

    /// Returns the objects as an iterator. The host may stop before the end of the iterator.
    fn list(
        &self,
        request: ListRequest<Self::Config>,
        context: &mut Context<'_, Client>,
    ) -> Result<ListResults<Self::Identity, Self::State>>;
}

/// A list request.
///
/// ```
/// use wardian_sdk::ListRequest;
///
/// let request = ListRequest { config: (), include_objects: false, limit: Some(10) };
/// assert_eq!(request.limit, Some(10));
/// ```
pub struct ListRequest<Config> {
    /// The configuration.
    pub config: Config,
    /// Whether the results should include the objects in addition to their identities.
    pub include_objects: bool,
    /// The maximum number of results.
    pub limit: Option<u64>,
}

/// The results of a list request, which are produced one by one.
///
/// ```
/// use wardian_sdk::ListResults;
///
/// let none: ListResults<(), ()> = Box::new(std::iter::empty());
/// assert_eq!(none.count(), 0);
/// ```
pub type ListResults<Identity, State> = Box<dyn Iterator<Item = Result<ListResult<Identity, State>>>>;

/// An object in the results of a list request.
///
/// ```
/// use wardian_sdk::ListResult;
///
/// let found = ListResult { identity: "srv-1", display_name: "Server web".to_owned(), object: None::<()> };
/// assert_eq!(found.display_name, "Server web");
/// ```
pub struct ListResult<Identity, State> {
    /// The identity of the object.
    pub identity: Identity,
    /// The object's name, to be shown to users.
    pub display_name: String,
    /// The object itself, if it was requested.
    pub object: Option<State>,
}

/// The results of a list request, with their Rust types erased.
pub(crate) type AnyListResults = Box<dyn Iterator<Item = Result<ListResult<Value, Value>>>>;

pub(crate) struct ListTypes {
    pub(crate) identity: Type,
    pub(crate) object: Type,
}

/// A list resource, with its Rust types erased.
pub(crate) trait AnyListResource {
    fn schema(&self) -> Schema;
    fn decode_error(&self, config: &Value) -> Option<ModelError>;
    fn validate(&self, config: &Object) -> Result<()>;
    fn list(&self, request: ListRequest<Value>, types: ListTypes, call: &mut Call) -> Result<AnyListResults>;
}

pub(crate) struct TypedListResource<L, Client> {
    pub(crate) list: L,
    pub(crate) client: PhantomData<fn(Client)>,
}

impl<L: ListResource<Client>, Client: 'static> AnyListResource for TypedListResource<L, Client> {
    fn schema(&self) -> Schema {
        self.list.schema()
    }

    fn decode_error(&self, config: &Value) -> Option<ModelError> {
        from_value::<L::Config>(config, Unknowns::Reject).err()
    }

    fn validate(&self, config: &Object) -> Result<()> {
        self.list.validate(config)
    }

    fn list(&self, request: ListRequest<Value>, types: ListTypes, call: &mut Call) -> Result<AnyListResults> {
        let config = from_value(&request.config, Unknowns::Reject)
            .map_err(|error| error.into_diagnostic("Configuration does not match the provider's type"))?;
        let request = ListRequest { config, include_objects: request.include_objects, limit: request.limit };
        let found = Context::run(call, |context| self.list.list(request, context))?;
        Ok(Box::new(found.map(move |item| {
            let item = item?;
            Ok(ListResult {
                identity: to_value(&item.identity, &types.identity).map_err(Diagnostics::from)?,
                display_name: item.display_name,
                object: item
                    .object
                    .map(|object| to_value(&object, &types.object).map_err(Diagnostics::from))
                    .transpose()?,
            })
        })))
    }
}
