//! Listing the objects of a resource type that exist.

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;
use wardian_value::{Type, Value};

use crate::context::Call;
use crate::model::{Unknowns, from_value, to_value};
use crate::{Context, Diagnostics, Object, Result, Schema};

/// The list of a resource type's objects. It is registered under the name of a
/// resource that has an identity.
pub trait ListResource<Client: 'static = ()>: 'static {
    /// The configuration of the list block as a Rust type.
    type Config: DeserializeOwned;
    /// The identity of an object, as the resource's identity schema has it.
    type Identity: Serialize + 'static;
    /// An object, as the resource's schema has it.
    type State: Serialize + 'static;

    /// What the list block is configured with.
    fn schema(&self) -> Schema;

    /// Checks a configuration, which may hold unknown values.
    fn validate(&self, config: &Object) -> Result<()> {
        let _ = config;
        Ok(())
    }

    /// Objects as they are found. The host may stop asking at any time.
    fn list(
        &self,
        request: ListRequest<Self::Config>,
        context: &mut Context<'_, Client>,
    ) -> Result<Found<Self::Identity, Self::State>>;
}

/// What a list is asked for.
pub struct ListRequest<Config> {
    /// The configuration.
    pub config: Config,
    /// Whether the objects themselves are wanted beside their identities.
    pub with_objects: bool,
    /// The most objects that are wanted.
    pub limit: Option<u64>,
}

/// Objects as they are found.
pub type Found<Identity, State> = Box<dyn Iterator<Item = Result<ListItem<Identity, State>>>>;

/// An object that was found.
pub struct ListItem<Identity, State> {
    /// What identifies it.
    pub identity: Identity,
    /// What people call it.
    pub display_name: String,
    /// The object itself, where that was asked for.
    pub object: Option<State>,
}

/// What a list answers, without its types.
pub(crate) type AnyFound = Box<dyn Iterator<Item = Result<ListItem<Value, Value>>>>;

pub(crate) struct ListTypes {
    pub(crate) identity: Type,
    pub(crate) object: Type,
}

/// A list without its types.
pub(crate) trait AnyListResource {
    fn schema(&self) -> Schema;
    fn validate(&self, config: &Object) -> Result<()>;
    fn list(&self, request: ListRequest<Value>, types: ListTypes, call: &mut Call) -> Result<AnyFound>;
}

pub(crate) struct TypedListResource<L, Client> {
    pub(crate) list: L,
    pub(crate) client: PhantomData<fn(Client)>,
}

impl<L: ListResource<Client>, Client: 'static> AnyListResource for TypedListResource<L, Client> {
    fn schema(&self) -> Schema {
        self.list.schema()
    }

    fn validate(&self, config: &Object) -> Result<()> {
        self.list.validate(config)
    }

    fn list(&self, request: ListRequest<Value>, types: ListTypes, call: &mut Call) -> Result<AnyFound> {
        let config = from_value(&request.config, Unknowns::Refused)
            .map_err(|error| error.into_diagnostic("Configuration does not fit the provider's type"))?;
        let request = ListRequest { config, with_objects: request.with_objects, limit: request.limit };
        let found = Context::run(call, |context| self.list.list(request, context))?;
        Ok(Box::new(found.map(move |item| {
            let item = item?;
            Ok(ListItem {
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
