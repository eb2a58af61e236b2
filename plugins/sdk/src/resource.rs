//! Managed resources.

use wardian_value::{Path, Type, Value};

use crate::context::Call;
use crate::import::Import;
use crate::model::{Convert, Unknowns};
use crate::upgrade::{MoveSource, Upgrader};
use crate::{Context, Diagnostics, IdentitySchema, Model, Object, Result, Schema};

/// A type of managed resources.
///
/// Only [`Resource::schema`] and [`Resource::create`] must be written. A resource
/// whose objects can change in place also implements [`Update`] and is registered
/// with [`crate::Provider::updatable_resource`]; for all others every attribute
/// that a configuration may set has to be `force_new`, which the self-check makes
/// sure of.
pub trait Resource<Client: 'static = ()>: 'static {
    /// An object as a Rust type: a struct with a field for each attribute and block.
    /// `Option<T>` is for what may be null; in `create` and `update` a value that is
    /// still to be found also arrives as `None`. [`Object`] where the schema is made at
    /// run time.
    type State: Model;

    /// What it is configured with.
    fn schema(&self) -> Schema;

    /// Checks a configuration beyond what each attribute's validators check. It may
    /// hold unknown values, of which nothing may be said. What is answered as an error
    /// may also be warnings alone.
    fn validate(&self, config: &Object) -> Result<()> {
        let _ = config;
        Ok(())
    }

    /// Changes a plan after defaults, unknowns and the attributes' plan modifiers.
    /// Called for destroys too.
    fn modify_plan(&self, plan: &mut Plan, context: &mut Context<'_, Client>) -> Result<()> {
        let _ = (plan, context);
        Ok(())
    }

    /// Creates an object as planned and answers with it as it is now.
    fn create(&self, plan: Self::State, context: &mut Context<'_, Client>) -> Result<Self::State>;

    /// The object as it is now; `None` if it is gone. The default leaves it as it is.
    fn read(&self, state: Self::State, context: &mut Context<'_, Client>) -> Result<Option<Self::State>> {
        let _ = context;
        Ok(Some(state))
    }

    /// Deletes an object. The default has nothing to delete.
    fn delete(&self, state: Self::State, context: &mut Context<'_, Client>) -> Result<()> {
        let _ = (state, context);
        Ok(())
    }

    /// Finds an existing object by what [`Import`] says. A read completes what is
    /// left null.
    fn import(&self, import: &mut Import, context: &mut Context<'_, Client>) -> Result<()> {
        let _ = context;
        Err(import.not_supported())
    }

    /// How states of earlier schema versions are brought to the current one, each
    /// in one step.
    fn upgraders(&self) -> Vec<Upgrader> {
        Vec::new()
    }

    /// Takes over an object of another resource type; `None` if it is of a type
    /// that this one knows nothing of.
    fn take_over(&self, source: &MoveSource) -> Result<Option<Self::State>> {
        let _ = source;
        Ok(None)
    }

    /// What identifies an object, beyond its state.
    fn identity(&self) -> Option<IdentitySchema> {
        None
    }
}

/// A resource whose objects can change in place.
pub trait Update<Client: 'static = ()>: Resource<Client> {
    /// Changes an object as planned and answers with it as it is now.
    fn update(
        &self,
        prior: Self::State,
        plan: Self::State,
        context: &mut Context<'_, Client>,
    ) -> Result<Self::State>;
}

/// A plan that a resource may change.
pub struct Plan {
    pub(crate) config: Option<Object>,
    pub(crate) prior: Option<Object>,
    pub(crate) planned: Option<Object>,
    pub(crate) requires_replace: Vec<Path>,
}

impl Plan {
    /// The configuration; `None` for a destroy.
    pub fn config(&self) -> Option<&Object> {
        self.config.as_ref()
    }

    /// The object as it is; `None` for a create.
    pub fn prior(&self) -> Option<&Object> {
        self.prior.as_ref()
    }

    /// The object as it is planned; `None` for a destroy.
    pub fn planned(&self) -> Option<&Object> {
        self.planned.as_ref()
    }

    /// The object as it is planned, to be changed; `None` for a destroy.
    pub fn planned_mut(&mut self) -> Option<&mut Object> {
        self.planned.as_mut()
    }

    /// Whether the object is to be created.
    pub fn is_create(&self) -> bool {
        self.prior.is_none()
    }

    /// Whether the object is to be destroyed.
    pub fn is_destroy(&self) -> bool {
        self.planned.is_none()
    }

    /// Whether an existing object stays, changed or not.
    pub fn is_update(&self) -> bool {
        self.prior.is_some() && self.planned.is_some()
    }

    /// Whether an attribute of an existing object is planned to be another.
    pub fn is_changed(&self, name: &str) -> bool {
        match (&self.prior, &self.planned) {
            (Some(prior), Some(planned)) => prior.value(name) != planned.value(name),
            _ => false,
        }
    }

    /// A change of this attribute needs a new object.
    pub fn require_replace(&mut self, name: &str) {
        self.require_replace_at(Path::root().attribute(name));
    }

    /// A change at this path needs a new object.
    pub fn require_replace_at(&mut self, path: Path) {
        self.requires_replace.push(path);
    }
}

/// A resource without its types.
pub(crate) trait AnyResource {
    fn schema(&self) -> Schema;
    fn state_fields(&self) -> Option<&'static [&'static str]>;
    fn can_update(&self) -> bool;
    fn identity(&self) -> Option<IdentitySchema>;
    fn upgraders(&self) -> Vec<Upgrader>;
    fn validate(&self, config: &Object) -> Result<()>;
    fn modify_plan(&self, plan: &mut Plan, call: &mut Call) -> Result<()>;
    fn create(&self, planned: &Value, call: &mut Call) -> Result<Value>;
    fn read(&self, state: &Value, call: &mut Call) -> Result<Option<Value>>;
    fn update(&self, prior: &Value, planned: &Value, call: &mut Call) -> Result<Value>;
    fn delete(&self, state: &Value, call: &mut Call) -> Result<()>;
    fn import(&self, import: &mut Import, call: &mut Call) -> Result<()>;
    fn take_over(&self, source: &MoveSource, call: &Call) -> Result<Option<Value>>;
}

type UpdateOperation<R, Client> = fn(
    &R,
    <R as Resource<Client>>::State,
    <R as Resource<Client>>::State,
    &mut Context<'_, Client>,
) -> Result<<R as Resource<Client>>::State>;

pub(crate) struct TypedResource<R: Resource<Client>, Client: 'static> {
    resource: R,
    update: Option<UpdateOperation<R, Client>>,
}

impl<R: Resource<Client>, Client: 'static> TypedResource<R, Client> {
    pub(crate) fn new(resource: R) -> Self {
        Self { resource, update: None }
    }
}

impl<R: Update<Client>, Client: 'static> TypedResource<R, Client> {
    pub(crate) fn updatable(resource: R) -> Self {
        Self { resource, update: Some(R::update) }
    }
}

fn planned_state<T: Model>(value: &Value, ty: &Type) -> Result<T> {
    T::of_value(value, ty, Unknowns::Absent)
        .map_err(|error| error.into_diagnostic("Plan does not fit the provider's type").into())
}

fn stored_state<T: Model>(value: &Value, ty: &Type) -> Result<T> {
    T::of_value(value, ty, Unknowns::Refused)
        .map_err(|error| error.into_diagnostic("State does not fit the provider's type").into())
}

fn answer<T: Model>(state: &T, call: &Call) -> Result<Value> {
    state
        .as_value_of(&call.state_type)
        .map_err(|error| error.into_diagnostic("Provider's answer does not fit its schema").into())
}

impl<R: Resource<Client>, Client: 'static> AnyResource for TypedResource<R, Client> {
    fn schema(&self) -> Schema {
        self.resource.schema()
    }

    fn state_fields(&self) -> Option<&'static [&'static str]> {
        R::State::fields()
    }

    fn can_update(&self) -> bool {
        self.update.is_some()
    }

    fn identity(&self) -> Option<IdentitySchema> {
        self.resource.identity()
    }

    fn upgraders(&self) -> Vec<Upgrader> {
        self.resource.upgraders()
    }

    fn validate(&self, config: &Object) -> Result<()> {
        self.resource.validate(config)
    }

    fn modify_plan(&self, plan: &mut Plan, call: &mut Call) -> Result<()> {
        Context::run(call, |context| self.resource.modify_plan(plan, context))
    }

    fn create(&self, planned: &Value, call: &mut Call) -> Result<Value> {
        let plan = planned_state(planned, &call.state_type)?;
        let state = Context::run(call, |context| self.resource.create(plan, context))?;
        answer(&state, call)
    }

    fn read(&self, state: &Value, call: &mut Call) -> Result<Option<Value>> {
        let state = stored_state(state, &call.state_type)?;
        let state = Context::run(call, |context| self.resource.read(state, context))?;
        state.map(|state| answer(&state, call)).transpose()
    }

    fn update(&self, prior: &Value, planned: &Value, call: &mut Call) -> Result<Value> {
        let Some(update) = self.update else {
            // All that a configuration can change replaces the object, so what is
            // left to differ is the provider's own and in the plan already.
            if planned.is_wholly_known() {
                return Ok(planned.clone());
            }
            return Err(Diagnostics::error(
                "Resource cannot be changed in place",
                "The plan of this resource leaves values to be found by an update, which the provider does \
                 not have. This is a mistake in the provider.",
            ));
        };
        let ty = &call.state_type;
        let (prior, plan) = (stored_state(prior, ty)?, planned_state(planned, ty)?);
        let state = Context::run(call, |context| update(&self.resource, prior, plan, context))?;
        answer(&state, call)
    }

    fn delete(&self, state: &Value, call: &mut Call) -> Result<()> {
        let state = stored_state(state, &call.state_type)?;
        Context::run(call, |context| self.resource.delete(state, context))
    }

    fn import(&self, import: &mut Import, call: &mut Call) -> Result<()> {
        Context::run(call, |context| self.resource.import(import, context))
    }

    fn take_over(&self, source: &MoveSource, call: &Call) -> Result<Option<Value>> {
        let state = self.resource.take_over(source)?;
        state.map(|state| answer(&state, call)).transpose()
    }
}
