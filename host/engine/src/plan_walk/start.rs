//! Starts operations: evaluates their inputs.

use std::cell::RefCell;
use std::sync::Arc;

use wardian_address::{
    InstanceKey, ModuleInstance, ProviderConfigAddress, ResourceAddress, ResourceInstanceAddress,
    ResourceMode,
};
use wardian_config::{Resource, decode_body};
use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Budget, ReferenceSubject, Resolved, Scope};
use wardian_plugin::{CallContext, ImportTarget};
use wardian_state::Object;
use wardian_value::{PathStep, Str, Value};

use super::{Outcome, PlanWalk};
use crate::checks::ConditionResult;
use crate::diagnostic_spans::{in_resource, resource_of};
use crate::evaluator::ModuleScope;
use crate::object::ephemeral::stored_ephemeral;
use crate::operation::data;
use crate::operation::forget::plan_forget;
use crate::operation::plan::{IgnoredAttributes, PlanInput, plan as plan_instance, plan_destroy};
use crate::operation::{PersistedMeta, Subject};
use crate::plan::{Action, ActionReason};
use crate::scheduler::StartResult;
use crate::values::{RepetitionData, instance_key};
use wardian_config::resource_mode;

impl<'a> PlanWalk<'a> {
    pub(super) fn start_configure(&mut self, address: ProviderConfigAddress) -> StartResult<Outcome> {
        let Some(config) = self.parts().provider_config(&address) else { return StartResult::Failed };
        if !self.may_configure(&address, &config) {
            return StartResult::Failed;
        }
        self.parts().start_configure(address, config)
    }

    /// Returns the subject of an operation; `None`, after reporting the error, if the provider is
    /// not configured or does not have the resource type.
    pub(super) fn subject(
        &mut self,
        address: ResourceInstanceAddress,
        provider_config: &ProviderConfigAddress,
    ) -> Option<Subject> {
        let schema =
            self.evaluator.schemas.resource(&provider_config.provider, address.mode(), address.type_name());
        let (Some(schema), Some(provider)) = (schema, self.configured.get(provider_config)) else {
            self.diagnostics.push(
                Diagnostic::error(
                    "Missing resource schema",
                    format!(
                        "The provider {} has no schema for {}, which is in the state. Use a version of the \
                         provider that has this type, or remove the object from the state.",
                        provider_config.provider, address
                    ),
                )
                .for_address(address.to_string()),
            );
            return None;
        };
        let provider = self.context.provider_for_instance(&address, provider_config, provider);
        let meta = self.evaluator.provider_meta(address.module(), &provider_config.provider);
        let meta = self.diagnostics.collect(meta)?;
        Some(Subject {
            context: CallContext::new(address.to_string()),
            address,
            provider_config: provider_config.clone(),
            provider,
            schema: Arc::clone(schema),
            provider_meta: meta,
            events: Arc::clone(&self.context.events),
        })
    }

    /// Returns the block, subject and configuration of an instance; `None` after an error.
    pub(super) fn prepare(
        &mut self,
        address: ResourceInstanceAddress,
        repetition: &RepetitionData,
    ) -> Option<(&'a Resource, Subject, Value)> {
        let context = self.context;
        let resource = resource_of(&context.configuration, &address)?;
        let provider = context.configuration.provider_for(&address.module().path(), resource);
        let subject = self.subject(address, &provider)?;
        if let Some(coverage) = self.evaluator.coverage() {
            coverage.record(&resource.span);
        }
        let module = subject.address.module().clone();
        let mut found = self.evaluator.check_preconditions(resource, &subject.address, repetition.clone());
        let scope = self.evaluator.scope(&module, repetition.clone());
        let mut config = None;
        if !found.has_errors() {
            let evaluating =
                tracing::debug_span!(target: "wardian::evaluation", "evaluate", address = %subject.address)
                    .entered();
            let (value, decoded) = decode_body(&resource.body, &subject.schema.block, &scope);
            drop(evaluating);
            found.extend(decoded);
            if resource.mode != ResourceMode::Ephemeral {
                found.extend(stored_ephemeral(&subject.schema.block, &value));
            }
            // The value is passed to the plugin, and stored in the plan and the state, in full, so
            // its full size is counted.
            found.extend(self.evaluator.budget.spend_value(&value, &resource.span).err());
            config = Some(value);
        }
        let failed = found.has_errors();
        let found = found.for_address(&subject.address.to_string());
        self.diagnostics.extend(in_resource(&context.configuration, &subject.address, found));
        if failed { None } else { config.map(|config| (resource, subject, config)) }
    }

    pub(super) fn start_managed(
        &mut self,
        address: ResourceInstanceAddress,
        repetition: RepetitionData,
        import: Option<ImportTarget>,
    ) -> StartResult<Outcome> {
        let Some((resource, subject, config)) = self.prepare(address, &repetition) else {
            return StartResult::Failed;
        };
        let ignore_changes = IgnoredAttributes::from(&resource.lifecycle.ignore_changes);
        let triggers = self.triggers(resource, subject.address.module(), &repetition);
        let force_replace = if self.options.replace.contains(&subject.address) {
            Some(ActionReason::ReplaceByRequest)
        } else if triggers.iter().any(|trigger| self.is_triggered(subject.address.module(), trigger)) {
            Some(ActionReason::ReplaceByTriggers)
        } else {
            None
        };
        let stored = self.state.current(&subject.address).cloned();
        // The metadata of a new object is computed when the object is created.
        let is_there = stored.is_some() || import.is_some();
        let meta = if is_there {
            self.metas.for_resource(&subject.address.config())
        } else {
            PersistedMeta::default()
        };
        let input = PlanInput {
            stored,
            import,
            refresh: self.options.refresh,
            config,
            ignore_changes,
            force_replace,
            meta,
        };
        StartResult::running(async move {
            let result = Box::new(plan_instance(&subject, input).await);
            Outcome::Planned { subject, result }
        })
    }

    /// Returns the objects in `replace_triggered_by` for one instance, with indexes such as
    /// `each.key` evaluated.
    fn triggers(
        &self,
        resource: &Resource,
        module: &ModuleInstance,
        repetition: &RepetitionData,
    ) -> Vec<Trigger> {
        let mut triggers = Vec::new();
        for expression in &resource.lifecycle.replace_triggered_by {
            let scope = IndexScope {
                inner: self.evaluator.scope(module, repetition.clone()),
                index: RefCell::new(None),
            };
            // Only the index is needed, so errors are ignored: the object may not exist.
            let _ = expression.evaluate(&scope);
            let index = scope.index.take();
            triggers.extend(expression.references().iter().filter_map(|reference| {
                let ReferenceSubject::Resource { mode, kind, name } = &reference.subject else { return None };
                let resource =
                    ResourceAddress::new(module.path(), resource_mode(*mode), kind.clone(), name.clone());
                let (key, rest) = match reference.remaining.split_first() {
                    Some((PathStep::Index(_) | PathStep::Key(_), rest)) => (index.clone(), rest),
                    _ => (index.clone(), reference.remaining.as_slice()),
                };
                Some(Trigger { resource, key, path: rest.to_vec().into() })
            }));
        }
        triggers
    }

    /// Whether the object to which a trigger refers is changed or replaced.
    fn is_triggered(&self, module: &ModuleInstance, trigger: &Trigger) -> bool {
        self.changes_of.get(&trigger.resource).into_iter().flatten().any(|index| {
            let change = &self.changes[*index];
            let meant = change.address.module() == module
                && trigger.key.as_ref().is_none_or(|key| change.address.key == *key);
            meant
                && (change.action == Action::Update || change.action.is_replace())
                && (trigger.path.is_root()
                    || trigger.path.apply(&change.before) != trigger.path.apply(&change.after))
        })
    }

    pub(super) fn start_data(
        &mut self,
        address: ResourceInstanceAddress,
        repetition: RepetitionData,
    ) -> StartResult<Outcome> {
        let Some((resource, subject, config)) = self.prepare(address, &repetition) else {
            return StartResult::Failed;
        };
        if let Some(check) = self.evaluator.checks.check_around(&subject.address.config()) {
            self.evaluator.checks.report_data(&check, subject.address.module(), ConditionResult::Pass);
        }
        let reason = if !config.is_wholly_known() {
            Some(ActionReason::ReadBecauseConfigUnknown)
        } else if self.waits_for_changes(resource, &subject.address) {
            Some(ActionReason::ReadBecauseDependencyPending)
        } else {
            None
        };
        StartResult::running(async move {
            match reason {
                None => {
                    let result = data::read(&subject, &config).await;
                    Outcome::Read { subject: Box::new(subject), config, result }
                }
                Some(reason) => {
                    let diagnostics = data::validate(&subject, &config).await;
                    Outcome::DeferredRead { subject, config, reason, diagnostics }
                }
            }
        })
    }

    pub(super) fn start_forget(
        &mut self,
        address: ResourceInstanceAddress,
        deposed: Option<Str>,
        object: Arc<Object>,
        provider: &ProviderConfigAddress,
        reason: Option<ActionReason>,
    ) -> StartResult<Outcome> {
        let Some(subject) = self.subject(address, provider) else { return StartResult::Failed };
        StartResult::running(async move {
            let result = Box::new(plan_forget(&subject, &object, deposed.clone(), reason).await);
            Outcome::Destroyed { subject, deposed, keep: false, result }
        })
    }

    pub(super) fn start_destroy(
        &mut self,
        address: ResourceInstanceAddress,
        deposed: Option<Str>,
        object: Arc<Object>,
        provider: &ProviderConfigAddress,
        reason: Option<ActionReason>,
        keep: bool,
    ) -> StartResult<Outcome> {
        let Some(subject) = self.subject(address, provider) else { return StartResult::Failed };
        let supported = !keep
            && self
                .evaluator
                .schemas
                .provider(&provider.provider)
                .is_some_and(|schema| schema.capabilities.plan_destroy);
        let read = self.options.refresh;
        StartResult::running(async move {
            let result =
                Box::new(plan_destroy(&subject, &object, read, deposed.as_ref(), reason, supported).await);
            Outcome::Destroyed { subject, deposed, keep, result }
        })
    }
}

/// An object in `replace_triggered_by`.
struct Trigger {
    resource: ResourceAddress,
    /// The key of one instance; `None` for any instance.
    key: Option<InstanceKey>,
    /// The path in the object.
    path: wardian_value::Path,
}

/// Records the index that is applied to a resource.
struct IndexScope<'a> {
    inner: ModuleScope<'a>,
    index: RefCell<Option<InstanceKey>>,
}

impl Scope for IndexScope<'_> {
    fn resolve(
        &self,
        subject: &ReferenceSubject,
        index: Option<&Value>,
        span: &Span,
    ) -> Result<Resolved, Diagnostics> {
        if matches!(subject, ReferenceSubject::Resource { .. }) {
            *self.index.borrow_mut() = index.and_then(instance_key);
        }
        self.inner.resolve(subject, index, span)
    }

    fn budget(&self) -> Option<&Budget> {
        self.inner.budget()
    }
}
