//! Starting operations: evaluates what they work with.

use std::sync::Arc;

use wardian_config::{Resource, decode_body};
use wardian_lang::{Diagnostic, Reference, Subject as Named};
use wardian_plugin::{
    InstanceKey, ModuleInstance, ModulePath, ProviderConfigAddress, ResourceAddress, ResourceInstanceAddress,
};
use wardian_state::Object;
use wardian_value::{PathStep, Str, Value};

use super::{Outcome, PlanWalk};
use crate::conditions;
use crate::located::resource_of;
use crate::operation::Subject;
use crate::operation::data;
use crate::operation::plan::{IgnoreChanges, PlanInput, plan as plan_instance, plan_destroy};
use crate::plan::{Action, ActionReason};
use crate::providers::configure;
use crate::scheduler::Start;
use crate::values::RepetitionData;
use wardian_config::resource_mode;

impl PlanWalk<'_> {
    pub(super) fn start_configure(&mut self, address: ProviderConfigAddress) -> Start<Outcome> {
        let config = match self.evaluator.provider_config(&address) {
            Ok(config) => config.unmark_deep(),
            Err(found) => {
                self.diagnostics.extend(found);
                return Start::Failed;
            }
        };
        let source = Arc::clone(&self.run.providers);
        Start::running(address.to_string(), async move {
            let result = configure(&*source, &address, config).await;
            Outcome::Configured { address, result }
        })
    }

    /// The subject of an operation; `None` where the provider is not configured or
    /// has no such type any more, which was told already or is told here.
    fn subject(
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
                         provider that has, or remove the object from the state.",
                        provider_config.provider, address
                    ),
                )
                .for_address(address.to_string()),
            );
            return None;
        };
        Some(Subject {
            address,
            provider_config: provider_config.clone(),
            provider: Arc::clone(provider),
            schema: Arc::clone(schema),
            events: Arc::clone(&self.run.events),
        })
    }

    /// The block, subject and configuration of an instance; `None` after an error.
    fn prepare(
        &mut self,
        address: ResourceInstanceAddress,
        repetition: &RepetitionData,
    ) -> Option<(&'_ Resource, Subject, Value)> {
        let run = self.run;
        let resource = resource_of(&run.configuration, &address)?;
        let provider = run.configuration.provider_for(&address.module().path(), resource);
        let subject = self.subject(address, &provider)?;
        let module = subject.address.module().clone();
        let scope = self.evaluator.scope(&module, repetition.clone());
        let mut found = conditions::check(
            &resource.lifecycle.preconditions,
            &scope,
            "Resource precondition failed",
            None,
        );
        let mut config = None;
        if !found.has_errors() {
            let (value, decoded) = decode_body(&resource.body, &subject.schema.block, &scope);
            found.extend(decoded);
            config = Some(value);
        }
        let failed = found.has_errors();
        self.diagnostics
            .extend(found.in_block(&resource.context()).for_address(&subject.address.to_string()));
        if failed { None } else { config.map(|config| (resource, subject, config)) }
    }

    pub(super) fn start_managed(
        &mut self,
        address: ResourceInstanceAddress,
        repetition: RepetitionData,
    ) -> Start<Outcome> {
        let replan = self.replans.of(&address.config());
        let Some((resource, subject, config)) = self.prepare(address, &repetition) else {
            return Start::Failed;
        };
        let ignore_changes = IgnoreChanges::from(&resource.lifecycle.ignore_changes);
        let triggers: Vec<Reference> = resource
            .lifecycle
            .replace_triggered_by
            .iter()
            .flat_map(|expression| expression.references().iter().cloned())
            .collect();
        let force_replace = if self.options.replace.contains(&subject.address) {
            Some(ActionReason::ReplaceByRequest)
        } else if triggers.iter().any(|t| self.is_triggered(subject.address.module(), t)) {
            Some(ActionReason::ReplaceByTriggers)
        } else {
            None
        };
        let input = PlanInput {
            stored: self.state.current(&subject.address).cloned(),
            refresh: self.options.refresh,
            config,
            ignore_changes,
            force_replace,
            replan,
        };
        Start::running(subject.address.to_string(), async move {
            let result = Box::new(plan_instance(&subject, input).await);
            Outcome::Planned { subject, result }
        })
    }

    /// Whether what `replace_triggered_by` names is changed or replaced.
    fn is_triggered(&self, module: &ModuleInstance, reference: &Reference) -> bool {
        let Named::Resource { mode, kind, name } = &reference.subject else { return false };
        let target = ResourceAddress::new(module.path(), resource_mode(*mode), kind.clone(), name.clone());
        let (key, rest) = match reference.remaining.split_first() {
            Some((PathStep::Index(index), rest)) => (Some(InstanceKey::Int(*index)), rest),
            Some((PathStep::Key(key), rest)) => (Some(InstanceKey::String(key.clone())), rest),
            _ => (None, reference.remaining.as_slice()),
        };
        let path = wardian_value::Path::from(rest.to_vec());
        self.changes_of.get(&target).into_iter().flatten().any(|index| {
            let change = &self.changes[*index];
            let meant = change.address.module() == module
                && key.as_ref().is_none_or(|key| change.address.key == *key);
            meant
                && (change.action == Action::Update || change.action.is_replace())
                && (path.is_root() || path.apply(&change.before) != path.apply(&change.after))
        })
    }

    pub(super) fn start_data(
        &mut self,
        address: ResourceInstanceAddress,
        repetition: RepetitionData,
    ) -> Start<Outcome> {
        let Some((resource, subject, config)) = self.prepare(address, &repetition) else {
            return Start::Failed;
        };
        let depends_on = resource.depends_on.clone();
        let reason = if !config.is_wholly_known() {
            Some(ActionReason::ReadBecauseConfigUnknown)
        } else if self.has_pending(subject.address.module(), &depends_on) {
            Some(ActionReason::ReadBecauseDependencyPending)
        } else {
            None
        };
        Start::running(subject.address.to_string(), async move {
            match reason {
                None => {
                    let result = data::read(&subject, &config).await;
                    Outcome::Read { subject, config, result }
                }
                Some(reason) => {
                    let diagnostics = data::validate(&subject, &config).await;
                    Outcome::ReadLater { subject, config, reason, diagnostics }
                }
            }
        })
    }

    /// Whether anything that a data source, or a module around it, depends on by
    /// `depends_on` is still to change.
    fn has_pending(&self, module: &ModuleInstance, depends_on: &[Reference]) -> bool {
        let mut path = module.path();
        if depends_on.iter().any(|reference| self.is_pending(&path, reference)) {
            return true;
        }
        while let Some((caller, name)) = path.parent() {
            let call = self.run.configuration.module(&caller).and_then(|m| m.module.module_calls.get(name));
            if call.is_some_and(|c| c.depends_on.iter().any(|r| self.is_pending(&caller, r))) {
                return true;
            }
            path = caller;
        }
        false
    }

    fn is_pending(&self, module: &ModulePath, reference: &Reference) -> bool {
        let changes = |address: &ResourceAddress| {
            self.changes_of.get(address).into_iter().flatten().any(|i| self.changes[*i].is_effective())
        };
        match &reference.subject {
            Named::Resource { mode, kind, name } => changes(&ResourceAddress::new(
                module.clone(),
                resource_mode(*mode),
                kind.clone(),
                name.clone(),
            )),
            Named::Module(name) => {
                let called = module.child(name.clone());
                self.changes_of
                    .keys()
                    .filter(|address| address.module.names().starts_with(called.names()))
                    .any(changes)
            }
            _ => false,
        }
    }

    pub(super) fn start_destroy(
        &mut self,
        address: ResourceInstanceAddress,
        deposed: Option<Str>,
        object: Arc<Object>,
        provider: &ProviderConfigAddress,
        reason: Option<ActionReason>,
        keep: bool,
    ) -> Start<Outcome> {
        let Some(subject) = self.subject(address, provider) else { return Start::Failed };
        let supported = !keep
            && self
                .evaluator
                .schemas
                .provider(&provider.provider)
                .is_some_and(|schema| schema.capabilities.plan_destroy);
        let read = self.options.refresh;
        Start::running(subject.address.to_string(), async move {
            let result =
                Box::new(plan_destroy(&subject, &object, read, deposed.as_ref(), reason, supported).await);
            Outcome::Destroyed { subject, deposed, keep, result }
        })
    }
}
