//! The definition of a provider.

use std::any::Any;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::rc::Rc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use wardian_value::{Type, Value};

use crate::action::{Action, AnyAction, TypedAction};
use crate::configured_form::ConfiguredForm;
use crate::data_source::{AnyDataSource, DataSource, TypedDataSource};
use crate::ephemeral::{AnyEphemeralResource, EphemeralResource, TypedEphemeralResource};
use crate::list::{AnyListResource, ListResource, TypedListResource};
use crate::model::{Unknowns, from_value};
use crate::resource::{AnyResource, Resource, TypedResource, Update};
use crate::service::Service;
use crate::state_store::{AnyStateStore, StateStore, StateStores, TypedStateStore};
use crate::{ConfigModel, Diagnostics, Function, ModelError, Object, Result, Schema};

/// A provider: its configuration, resources, data sources, functions and other types.
///
/// `Client` is the type of the value that the provider creates from its configuration, and that
/// operations access with [`crate::Context::client`]. It is `()` for providers without a client.
///
/// ```
/// use serde::Deserialize;
/// use wardian_sdk::{Attribute, Function, Parameter, Provider, Schema, Type};
///
/// #[derive(Deserialize)]
/// struct Config {
///     token: String,
/// }
///
/// struct Client {
///     token: String,
/// }
///
/// fn provider() -> Provider<Client> {
///     let schema = Schema::new().attribute(Attribute::string("token").required().sensitive());
///     Provider::with_config("cloud", schema, |config: Config| Ok(Client { token: config.token })).function(
///         Function::new("shout", Type::String)
///             .parameter(Parameter::string("text"))
///             .run(|(text,): (String,)| Ok(text.to_uppercase())),
///     )
/// }
///
/// wardian_sdk::assert_valid_provider(provider());
/// ```
pub struct Provider<Client: 'static = ()> {
    pub(crate) parts: Parts,
    pub(crate) state_stores: StateStores,
    client: PhantomData<fn(Client)>,
}

pub(crate) type Configure = Box<dyn Fn(Object) -> Result<Rc<dyn Any>>>;
/// Returns the error if a configuration does not match the Rust type.
pub(crate) type ConfigError = Box<dyn Fn(&Value) -> Option<ModelError>>;
pub(crate) type Validate = Box<dyn Fn(&Object) -> Result<()>>;

/// A provider, with the type of its client erased.
pub(crate) struct Parts {
    pub(crate) name: String,
    pub(crate) schema: WithSchema<()>,
    pub(crate) meta: Option<WithSchema<()>>,
    pub(crate) configure: Configure,
    pub(crate) config_error: ConfigError,
    pub(crate) validate: Option<Validate>,
    pub(crate) configured_form: Option<ConfiguredForm>,
    /// The client of a provider that needs no configuration.
    pub(crate) client: Option<Rc<dyn Any>>,
    pub(crate) resources: BTreeMap<String, WithSchema<dyn AnyResource>>,
    pub(crate) data_sources: BTreeMap<String, WithSchema<dyn AnyDataSource>>,
    pub(crate) ephemeral_resources: BTreeMap<String, WithSchema<dyn AnyEphemeralResource>>,
    pub(crate) list_resources: BTreeMap<String, WithSchema<dyn AnyListResource>>,
    pub(crate) actions: BTreeMap<String, WithSchema<dyn AnyAction>>,
    pub(crate) functions: BTreeMap<String, Function>,
    pub(crate) duplicates: Vec<String>,
    pub(crate) problems: Diagnostics,
}

/// A type or function with its schema, which is built when it is first used.
pub(crate) struct WithSchema<T: ?Sized> {
    make: fn(&T) -> Schema,
    schema: OnceCell<Rc<(Schema, Type)>>,
    pub(crate) part: Box<T>,
}

impl<T: ?Sized> WithSchema<T> {
    fn new(part: Box<T>, make: fn(&T) -> Schema) -> Self {
        Self { make, schema: OnceCell::new(), part }
    }

    /// Returns the schema and its type.
    pub(crate) fn both(&self) -> &Rc<(Schema, Type)> {
        self.schema.get_or_init(|| {
            let schema = (self.make)(&self.part);
            let ty = schema.ty();
            Rc::new((schema, ty))
        })
    }

    pub(crate) fn schema(&self) -> &Schema {
        &self.both().0
    }

    pub(crate) fn ty(&self) -> &Type {
        &self.both().1
    }
}

fn fixed(schema: Schema) -> WithSchema<()> {
    let ty = schema.ty();
    WithSchema { make: |()| Schema::new(), schema: OnceCell::from(Rc::new((schema, ty))), part: Box::new(()) }
}

impl Provider {
    /// Creates a provider that needs no configuration. The names of its resource types start with
    /// `name`.
    pub fn new(name: impl Into<String>) -> Self {
        let client: Rc<dyn Any> = Rc::new(());
        let configured = Rc::clone(&client);
        Self::from_parts(
            name.into(),
            Schema::new(),
            Box::new(move |_| Ok(Rc::clone(&configured))),
            Box::new(|_| None),
            Some(client),
        )
    }
}

impl<Client: 'static> Provider<Client> {
    /// Creates a provider with a configuration, from which `configure` creates the client. Fields
    /// of `Config` that can be unknown during a plan must have the type [`crate::Attr`].
    pub fn with_config<Config: ConfigModel>(
        name: impl Into<String>,
        schema: Schema,
        configure: impl Fn(Config) -> Result<Client> + 'static,
    ) -> Self {
        let configure: Configure = Box::new(move |config| Ok(Rc::new(configure(config.decode()?)?)));
        let config_error: ConfigError =
            Box::new(|config| from_value::<Config>(config, Unknowns::Reject).err());
        Self::from_parts(name.into(), schema, configure, config_error, None)
    }

    fn from_parts(
        name: String,
        schema: Schema,
        configure: Configure,
        config_error: ConfigError,
        client: Option<Rc<dyn Any>>,
    ) -> Self {
        Self {
            parts: Parts {
                name,
                schema: fixed(schema),
                meta: None,
                configure,
                config_error,
                validate: None,
                configured_form: None,
                client,
                resources: BTreeMap::new(),
                data_sources: BTreeMap::new(),
                ephemeral_resources: BTreeMap::new(),
                list_resources: BTreeMap::new(),
                actions: BTreeMap::new(),
                functions: BTreeMap::new(),
                duplicates: Vec::new(),
                problems: Diagnostics::new(),
            },
            state_stores: StateStores::default(),
            client: PhantomData,
        }
    }

    /// Adds a check of the provider's configuration, in addition to the validators of the
    /// attributes. The check must accept unknown values.
    #[must_use]
    pub fn validate(mut self, validate: impl Fn(&Object) -> Result<()> + 'static) -> Self {
        self.parts.validate = Some(Box::new(validate));
        self
    }

    /// Hands the client on to the other instances of the provider, so that `configure` is called once for
    /// each provider configuration, for example because it logs in. `hand_on` returns what the client
    /// consists of, such as its session, and `restore` creates the client of another instance from it.
    ///
    /// The component must be exported with `export_provider!(provider, configured_form)`. The serialized
    /// form can have at most 1 MiB.
    ///
    /// ```
    /// use serde::{Deserialize, Serialize};
    /// use wardian_sdk::{Attribute, Provider, Result, Schema};
    ///
    /// #[derive(Deserialize)]
    /// struct Config {
    ///     user: String,
    /// }
    ///
    /// #[derive(Clone, Serialize, Deserialize)]
    /// struct Client {
    ///     session: String,
    /// }
    ///
    /// fn log_in(config: Config) -> Result<Client> {
    ///     Ok(Client { session: format!("session of {}", config.user) })
    /// }
    ///
    /// fn provider() -> Provider<Client> {
    ///     let schema = Schema::new().attribute(Attribute::string("user").required());
    ///     Provider::with_config("cloud", schema, log_in).configured_form(Client::clone, Ok)
    /// }
    ///
    /// wardian_sdk::export_provider!(provider, configured_form);
    /// ```
    #[must_use]
    pub fn configured_form<Form: Serialize + DeserializeOwned>(
        mut self,
        hand_on: impl Fn(&Client) -> Form + 'static,
        restore: impl Fn(Form) -> Result<Client> + 'static,
    ) -> Self {
        self.parts.configured_form = Some(ConfiguredForm::new(hand_on, restore));
        self
    }

    /// Adds diagnostics about the provider's definition, for a provider that reads its definition
    /// at run time. They are returned to the host with the schema, and an error terminates the run.
    #[must_use]
    pub fn definition_diagnostics(mut self, problems: impl Into<Diagnostics>) -> Self {
        self.parts.problems.append(problems);
        self
    }

    /// Sets the schema of `provider_meta` blocks, with which a module passes data to the provider.
    #[must_use]
    pub fn meta_schema(mut self, schema: Schema) -> Self {
        self.parts.meta = Some(fixed(schema));
        self
    }

    /// Adds a resource type whose objects cannot be changed in place.
    #[must_use]
    pub fn resource(self, name: &str, resource: impl Resource<Client>) -> Self {
        self.any_resource(name, Box::new(TypedResource::new(resource)))
    }

    /// Adds a resource type whose objects can be changed in place.
    #[must_use]
    pub fn updatable_resource(self, name: &str, resource: impl Update<Client>) -> Self {
        self.any_resource(name, Box::new(TypedResource::updatable(resource)))
    }

    fn any_resource(mut self, name: &str, resource: Box<dyn AnyResource>) -> Self {
        let resource = WithSchema::new(resource, |resource| resource.schema());
        insert(&mut self.parts.resources, &mut self.parts.duplicates, name, resource);
        self
    }

    /// Adds a data source type.
    #[must_use]
    pub fn data_source(mut self, name: &str, source: impl DataSource<Client>) -> Self {
        let source: Box<dyn AnyDataSource> = Box::new(TypedDataSource { source, client: PhantomData });
        let source = WithSchema::new(source, |source| source.schema());
        insert(&mut self.parts.data_sources, &mut self.parts.duplicates, name, source);
        self
    }

    /// Adds an ephemeral resource type.
    #[must_use]
    pub fn ephemeral_resource(mut self, name: &str, resource: impl EphemeralResource<Client>) -> Self {
        let resource: Box<dyn AnyEphemeralResource> =
            Box::new(TypedEphemeralResource { resource, client: PhantomData });
        let resource = WithSchema::new(resource, |resource| resource.schema());
        insert(&mut self.parts.ephemeral_resources, &mut self.parts.duplicates, name, resource);
        self
    }

    /// Adds the list resource of a resource type, under the name of the resource type.
    #[must_use]
    pub fn list_resource(mut self, name: &str, list: impl ListResource<Client>) -> Self {
        let list: Box<dyn AnyListResource> = Box::new(TypedListResource { list, client: PhantomData });
        let list = WithSchema::new(list, |list| list.schema());
        insert(&mut self.parts.list_resources, &mut self.parts.duplicates, name, list);
        self
    }

    /// Adds an action type.
    #[must_use]
    pub fn action(mut self, name: &str, action: impl Action<Client>) -> Self {
        let action: Box<dyn AnyAction> = Box::new(TypedAction { action, client: PhantomData });
        let action = WithSchema::new(action, |action| action.schema());
        insert(&mut self.parts.actions, &mut self.parts.duplicates, name, action);
        self
    }

    /// Adds a state store type. The component must be exported with
    /// [`crate::export_state_store_provider!`].
    #[must_use]
    pub fn state_store(mut self, name: &str, store: impl StateStore<Client>) -> Self {
        let store: Box<dyn AnyStateStore> = Box::new(TypedStateStore::new(store));
        let store = WithSchema::new(store, |store| store.schema());
        insert(&mut self.state_stores.0, &mut self.parts.duplicates, name, store);
        self
    }

    /// Adds a function.
    #[must_use]
    pub fn function(mut self, function: Function) -> Self {
        let name = function.name.clone();
        insert(&mut self.parts.functions, &mut self.parts.duplicates, &name, function);
        self
    }
}

fn insert<T>(all: &mut BTreeMap<String, T>, duplicates: &mut Vec<String>, name: &str, part: T) {
    if all.insert(name.to_owned(), part).is_some() {
        duplicates.push(name.to_owned());
    }
}

/// Creates the request path of a provider with any client type.
impl<Client: 'static> From<Provider<Client>> for Service {
    fn from(provider: Provider<Client>) -> Self {
        Self::new(provider.parts)
    }
}
