//! Moves to another resource type.
//!
//! Only a provider can convert an object to another type: the provider of the new type receives
//! the stored object. This does not require a provider configuration.

use std::sync::Arc;

use wardian_address::{
    AbsoluteResourceAddress, ModuleInstance, ProviderConfigAddress, ResourceInstanceAddress,
};
use wardian_config::Configuration;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_plugin::{CallContext, MoveRequest, Provider, RawState, Schema};
use wardian_state::{Attributes, Object, State};

use super::statement::{Origin, Statement};
use crate::evaluator::Evaluator;
use crate::events::Silent;
use crate::object_secrets::ObjectSecrets;
use crate::operation::{PersistedMeta, Subject};

/// A move between resource types.
pub struct TypeConversion {
    source: ProviderConfigAddress,
    target: ProviderConfigAddress,
    provider: Arc<dyn Provider>,
    schema: Arc<Schema>,
    origin: Origin,
}

impl TypeConversion {
    /// Returns the conversion if a move changes the type; `None` if the new resource is not in the
    /// configuration, in which case the object is destroyed under its old type.
    ///
    /// # Errors
    /// Returns an error if the provider does not support the conversion.
    pub fn for_move(
        evaluator: &Evaluator,
        statement: &Statement,
        source: &ProviderConfigAddress,
        from: &AbsoluteResourceAddress,
        to: &AbsoluteResourceAddress,
    ) -> Result<Option<Self>, Diagnostics> {
        if from.type_name == to.type_name {
            return Ok(None);
        }
        let Some(target) = declared_provider(&evaluator.configuration, to) else { return Ok(None) };
        let schemas = &evaluator.schemas;
        let (Some(all), Some(provider), Some(schema)) = (
            schemas.provider(&target.provider),
            schemas.unconfigured(&target.provider),
            schemas.resource(&target.provider, to.mode, &to.type_name),
        ) else {
            // The plan reports unknown types.
            return Ok(None);
        };
        if !all.capabilities.move_resource_state {
            let detail = format!(
                "The provider {} cannot convert an object of another resource type, so {from} cannot be \
                 moved to {to}. Destroy the old object and create a new one, or forget the old one with a \
                 \"removed\" block and import it to the new address.",
                target.provider.for_display()
            );
            let problem = Diagnostic::error("Unsupported `moved` across resource types", detail);
            return Err(located(problem, &statement.origin).into());
        }
        Ok(Some(Self {
            source: source.clone(),
            provider: Arc::clone(provider),
            schema: Arc::clone(schema),
            origin: statement.origin.clone(),
            target,
        }))
    }

    /// Returns the provider configuration of the new object.
    pub fn provider(&self) -> &ProviderConfigAddress {
        &self.target
    }

    /// Returns the object, converted to the new type.
    ///
    /// # Errors
    /// Returns an error if the provider rejects the object, or returns an invalid object.
    pub async fn convert(
        &self,
        from: &ResourceInstanceAddress,
        to: &ResourceInstanceAddress,
        object: &Object,
    ) -> Result<Object, Diagnostics> {
        let subject = Subject {
            context: CallContext::default(),
            address: to.clone(),
            provider_config: self.target.clone(),
            provider: Arc::clone(&self.provider),
            schema: Arc::clone(&self.schema),
            events: Arc::new(Silent),
            provider_meta: None,
        };
        let identity = object.identity.as_ref().map(|identity| {
            let version = i64::try_from(identity.schema_version).unwrap_or(i64::MAX);
            (version, RawState::Json(Arc::clone(&identity.attributes)))
        });
        let request = MoveRequest {
            source_provider_address: self.source.provider.to_string(),
            source_type_name: from.type_name().clone(),
            source_schema_version: i64::try_from(object.schema_version).unwrap_or(i64::MAX),
            source_state: match &object.attributes {
                Attributes::Json(json) => RawState::Json(Arc::clone(json)),
                Attributes::Flat(flat) => RawState::Flatmap(Arc::clone(flat)),
            },
            target_type_name: to.type_name().clone(),
            source_private: Arc::clone(&object.private),
            source_identity: identity,
        };
        let response = self.provider.move_resource_state(&subject.context, request).await;
        let found = subject.about(&response.diagnostics);
        if found.has_errors() {
            return Err(found.into_iter().map(|problem| located(problem, &self.origin)).collect());
        }
        let invalid = |what: &str| {
            let problem = format!("was asked to convert {from} to {to} and returned {what}.");
            let problem = subject.provider_error("Provider returned invalid value", &problem);
            Diagnostics::from(located(problem, &self.origin))
        };
        let Some(value) = response.target_state.filter(|value| !value.is_null()) else {
            return Err(invalid("no object"));
        };
        if !value.is_wholly_known() {
            return Err(invalid("an object that is not wholly known"));
        }
        if value.ty() != subject.ty() {
            return Err(invalid("an object that does not have the type of its schema"));
        }
        let meta = PersistedMeta {
            dependencies: Arc::clone(&object.dependencies),
            create_before_destroy: object.create_before_destroy,
        };
        subject.encode(&value, response.target_private, object.status, &meta)
    }
}

/// Checks that a moved object keeps its type and provider if secrets are withheld. Another type can
/// reveal values that the current type marks as sensitive, and another provider must not receive
/// the object.
///
/// # Errors
/// Returns an error if the type or the provider changes.
pub fn check_withheld(
    evaluator: &Evaluator,
    state: &State,
    statement: &Statement,
    from: &AbsoluteResourceAddress,
    to: &AbsoluteResourceAddress,
) -> Result<(), Diagnostics> {
    let Some(source) = state.resource(from).map(|resource| &resource.provider.provider) else {
        return Ok(());
    };
    if evaluator.values.secrets() == ObjectSecrets::Available {
        return Ok(());
    }
    let declared = declared_provider(&evaluator.configuration, to).map(|provider| provider.provider);
    let stored = state.resource(to).map(|resource| &resource.provider.provider);
    let keeps_provider = [declared.as_ref(), stored].into_iter().flatten().all(|target| target == source);
    if (from.mode, &from.type_name) == (to.mode, &to.type_name) && keeps_provider {
        return Ok(());
    }
    let detail = format!(
        "{from} cannot be moved to {to} under -untrusted: a stored object keeps its resource type and is \
         passed only to the provider that wrote it, {}. Plan this move without -untrusted after you have \
         reviewed it.",
        source.for_display()
    );
    let problem = Diagnostic::error("Move to another resource type or provider", detail);
    Err(located(problem, &statement.origin).into())
}

fn located(problem: Diagnostic, origin: &Origin) -> Diagnostic {
    match origin {
        Origin::Written { to, .. } => problem.at(to.clone()),
        Origin::Implied => problem,
    }
}

/// Returns the provider configuration of a resource, if the resource is in the configuration.
fn declared_provider(
    configuration: &Configuration,
    address: &AbsoluteResourceAddress,
) -> Option<ProviderConfigAddress> {
    let path = ModuleInstance::path(&address.module);
    let key = (address.mode, address.type_name.clone(), address.name.clone());
    let resource = configuration.module(&path)?.module.resources.get(&key)?;
    Some(configuration.provider_for(&path, resource))
}
