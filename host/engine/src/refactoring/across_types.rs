//! Objects that become ones of another resource type.
//!
//! What an object of one type is as one of another type, only a provider can say: the
//! one of the new type is asked, with the object as it is stored. It needs no
//! configuration for that.

use std::sync::Arc;

use wardian_address::{AbsoluteResourceAddress, ProviderConfigAddress, ResourceInstanceAddress};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_plugin::{MoveRequest, Provider, RawState, Schema};
use wardian_state::{Attributes, Object};

use super::carry_out::declared_provider;
use super::statement::{Origin, Statement};
use crate::evaluator::Evaluator;
use crate::events::Silent;
use crate::operation::{Replan, Subject};

/// A move between resource types.
pub struct Crossing {
    source: ProviderConfigAddress,
    target: ProviderConfigAddress,
    provider: Arc<dyn Provider>,
    schema: Arc<Schema>,
    origin: Origin,
}

impl Crossing {
    /// Whether a move is one between types; not where the configuration does not have
    /// the new resource, so that the object is destroyed as what it was.
    ///
    /// # Errors
    /// The provider does not do it.
    pub fn between(
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
            // The plan tells of a type that there is not.
            return Ok(None);
        };
        if !all.capabilities.move_resource_state {
            let detail = format!(
                "The provider {} cannot take over an object of another resource type, so that {from} cannot \
                 become {to}. Have the old object destroyed and a new one created, or forget the old one with a \
                 \"removed\" block and import it as the new one.",
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

    /// The provider configuration of the new object.
    pub fn provider(&self) -> &ProviderConfigAddress {
        &self.target
    }

    /// The object as one of the new type.
    ///
    /// # Errors
    /// The provider refuses, or answers with something that is no such object.
    pub async fn take_over(
        &self,
        from: &ResourceInstanceAddress,
        to: &ResourceInstanceAddress,
        object: &Object,
    ) -> Result<Object, Diagnostics> {
        let subject = Subject {
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
        let response = self.provider.move_resource_state(request).await;
        let found = subject.about(&response.diagnostics);
        if found.has_errors() {
            return Err(found.into_iter().map(|problem| located(problem, &self.origin)).collect());
        }
        let invalid = |what: &str| {
            let problem = format!("was asked to take over {from} as {to}, and answered with {what}.");
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
            return Err(invalid("an object of another type than its schema says"));
        }
        let replan = Replan {
            dependencies: Arc::clone(&object.dependencies),
            create_before_destroy: object.create_before_destroy,
        };
        subject.encode(&value, response.target_private, object.status, &replan)
    }
}

fn located(problem: Diagnostic, origin: &Origin) -> Diagnostic {
    match origin {
        Origin::Written { to, .. } => problem.at(to.clone()),
        Origin::Implied => problem,
    }
}
