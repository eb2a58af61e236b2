//! Records the outcomes of operations: values, changes and the refreshed state.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use wardian_address::{ModuleInstance, ModulePath, ResourceAddress, ResourceInstanceAddress};
use wardian_config::Resource;
use wardian_diagnostic::{Diagnosed, Diagnostic, Diagnostics};
use wardian_state::ObjectStatus;
use wardian_value::{Str, Type, Value};

use super::PlanWalk;
use crate::checks::{ConditionResult, as_warnings};
use crate::diagnostic_spans::{in_resource, resource_of};
use crate::nodes::Node;
use crate::object::proposed::placeholder;
use crate::operation::apply::without_unknowns;
use crate::operation::data;
use crate::operation::plan::{DestroyOutcome, PlanOutcome};
use crate::operation::{PersistedMeta, Subject};
use crate::plan::{Action, ActionReason, Mode, OutputChange, ResourceChange};

impl PlanWalk<'_> {
    pub(super) fn planned(&mut self, subject: &Subject, result: Diagnosed<PlanOutcome>) -> bool {
        let address = &subject.address;
        self.diagnostics.extend(in_resource(&self.context.configuration, address, result.diagnostics));
        let Some(PlanOutcome { stored, refreshed, current, mut change }) = result.value else { return false };
        let (secrets, block) = (self.context.secrets, &subject.schema.block);
        change.after = secrets.keep_marks(block, &[&stored, &current], change.after);
        self.state.set_current(address, &subject.provider_config, refreshed);
        self.record_drift(subject, &stored, &current);
        let after = change.after.clone();
        change.previous_address = self.moved.get(address).cloned();
        let destroys = change.action.is_replace();
        self.push_change(change);
        self.evaluator.values.set_instance(address, after.clone());
        let Some(resource) = resource_of(&self.context.configuration, address) else { return true };
        if destroys && resource.lifecycle.prevent_destroy {
            self.diagnostics.push(prevented(address, resource));
            return false;
        }
        self.parts().postconditions_hold(resource, address, after)
    }

    pub(super) fn push_change(&mut self, change: ResourceChange) {
        self.pending_changes.add(&change);
        self.changes_of.entry(change.address.config()).or_default().push(self.changes.len());
        self.changes.push(change);
    }

    fn record_drift(&mut self, subject: &Subject, stored: &Value, current: &Value) {
        let previous_address = self.moved.get(&subject.address).cloned();
        let is_same = stored.unmark_deep() == current.unmark_deep();
        // A move without another change is drift only in a refresh-only plan; otherwise it is a
        // change.
        let is_mere_move = is_same && previous_address.is_some() && self.options.mode == Mode::RefreshOnly;
        if stored.is_null() || is_same && !is_mere_move {
            return;
        }
        let action = match (is_same, current.is_null()) {
            (true, _) => Action::NoOp,
            (false, true) => Action::Delete,
            (false, false) => Action::Update,
        };
        self.drift.push(ResourceChange {
            previous_address,
            ..ResourceChange::new(
                subject.address.clone(),
                subject.provider_config.clone(),
                action,
                (stored.clone(), current.clone()),
                Arc::clone(&subject.schema),
            )
        });
    }

    pub(super) fn data_read(&mut self, subject: &Subject, config: &Value, result: Diagnosed<Value>) -> bool {
        match result.into_result() {
            Ok((value, warnings)) => self.set_data(subject, config, value, warnings),
            Err(found) => self.record_unreadable_data(subject, config, found),
        }
    }

    fn set_data(&mut self, subject: &Subject, config: &Value, value: Value, warnings: Diagnostics) -> bool {
        let address = &subject.address;
        self.diagnostics.extend(in_resource(&self.context.configuration, address, warnings));
        let value = data::marked(subject, config, &value);
        let meta = PersistedMeta::default();
        let known = without_unknowns(&value);
        match subject.encode(&known, Arc::default(), ObjectStatus::Ready, &meta) {
            Ok(mut object) => {
                object.schema_version = 0;
                self.state.set_current(address, &subject.provider_config, Some(Arc::new(object)));
            }
            Err(found) => return self.failed(address, found),
        }
        self.evaluator.values.set_instance(address, value.clone());
        if self.evaluator.checks.check_around(&address.config()).is_some()
            && self.options.mode == Mode::Normal
        {
            self.push_read(subject, value.clone(), ActionReason::ReadBecauseCheckNested);
        }
        match resource_of(&self.context.configuration, address) {
            Some(resource) => self.parts().postconditions_hold(resource, address, value),
            None => true,
        }
    }

    /// Records that a data source could not be read. If it is nested in a check, the apply reads it
    /// again.
    fn record_unreadable_data(&mut self, subject: &Subject, config: &Value, found: Diagnostics) -> bool {
        let address = &subject.address;
        let Some(check) = self.evaluator.checks.check_around(&address.config()) else {
            return self.failed(address, found);
        };
        self.evaluator.checks.report_data(&check, address.module(), ConditionResult::unreadable(&found));
        let unmarked = placeholder(&subject.schema.block, &config.unmark_deep());
        let unread = data::marked(subject, config, &unmarked);
        let warnings = as_warnings(found, &check, address.module());
        self.set_data(subject, config, unread, warnings)
    }

    fn push_read(&mut self, subject: &Subject, after: Value, reason: ActionReason) {
        self.push_change(ResourceChange {
            reason: Some(reason),
            ..ResourceChange::new(
                subject.address.clone(),
                subject.provider_config.clone(),
                Action::Read,
                (subject.null(), after),
                Arc::clone(&subject.schema),
            )
        });
    }

    pub(super) fn defer_read(
        &mut self,
        subject: &Subject,
        config: &Value,
        reason: ActionReason,
        diagnostics: Diagnostics,
    ) -> bool {
        let address = &subject.address;
        let failed = diagnostics.has_errors();
        self.diagnostics.extend(in_resource(&self.context.configuration, address, diagnostics));
        if failed {
            return false;
        }
        let unmarked = placeholder(&subject.schema.block, &config.unmark_deep());
        let after = data::marked(subject, config, &unmarked);
        // The value in the state is outdated.
        self.state.set_current(address, &subject.provider_config, None);
        self.evaluator.values.set_instance(address, after.clone());
        self.push_read(subject, after.clone(), reason);
        // The result of a postcondition may be known although the data is not.
        resource_of(&self.context.configuration, address)
            .is_none_or(|resource| self.parts().postconditions_hold(resource, address, after))
    }

    /// Records an object that is not in the configuration, or that was only read.
    pub(super) fn destroyed(
        &mut self,
        subject: &Subject,
        deposed: Option<Str>,
        keep: bool,
        result: Diagnosed<DestroyOutcome>,
    ) -> bool {
        let address = &subject.address;
        let refused = result.has_errors();
        self.diagnostics.extend(in_resource(&self.context.configuration, address, result.diagnostics));
        let Some(outcome) = result.value else { return false };
        match deposed {
            Some(key) => {
                self.state.set_deposed(address, &subject.provider_config, key, outcome.refreshed);
            }
            None => {
                self.state.set_current(address, &subject.provider_config, outcome.refreshed);
                self.record_drift(subject, &outcome.stored, &outcome.current);
                // For the dependents of an object that will be destroyed, its value is unknown,
                // because the next plan creates the object again.
                if (keep || self.options.mode == Mode::Destroy) && !outcome.current.is_null() {
                    let sources = [&outcome.stored, &outcome.current];
                    let current = outcome.current.clone();
                    let current = self.context.secrets.keep_marks(&subject.schema.block, &sources, current);
                    self.evaluator.values.set_instance(address, current);
                }
            }
        }
        if keep {
            return true;
        }
        if refused {
            return self.record_undestroyable(address);
        }
        if let Some(mut change) = outcome.change {
            change.previous_address = self.moved.get(address).cloned();
            // Lifecycle settings do not apply to the deposed object of a replacement.
            let is_left_over = change.deposed.is_some();
            self.push_change(change);
            if !is_left_over
                && let Some(resource) = resource_of(&self.context.configuration, address)
                && resource.lifecycle.prevent_destroy
            {
                self.diagnostics.push(prevented(address, resource));
                return self.record_undestroyable(address);
            }
        }
        true
    }

    /// Records an object that cannot be destroyed. In a destroy plan, the destruction of its
    /// dependents is still planned, but the object's dependencies are not destroyed.
    fn record_undestroyable(&mut self, address: &ResourceInstanceAddress) -> bool {
        self.undestroyable.push(address.clone());
        self.options.mode == Mode::Destroy
    }

    /// Returns the dependencies of objects that cannot be destroyed.
    pub(super) fn needed_by_undestroyable(&self) -> HashSet<ResourceAddress> {
        let objects = self.undestroyable.iter().filter_map(|address| self.state.current(address));
        let dependencies = objects.flat_map(|object| object.dependencies.iter());
        // Stored dependencies are transitive, so they do not have to be followed further.
        dependencies.map(|dependency| ResourceAddress::clone(dependency)).collect()
    }

    /// Returns whether the plan contains an output of the root module. The plan omits an output if
    /// it is not targeted, if an error prevented its evaluation, or if a destroy plan finds no
    /// value for it in the state.
    fn has_output(&self, name: &Str) -> bool {
        let node = || self.graph.id(&Node::Output(ModulePath::root(), name.clone()));
        let root = || self.evaluator.values.module(&ModuleInstance::root());
        let is_told = match self.options.mode {
            Mode::Destroy => self.state.outputs.contains_key(name),
            Mode::Normal | Mode::RefreshOnly => {
                let is_declared = self.context.configuration.root().module.outputs.contains_key(name);
                !is_declared || root().is_some_and(|root| root.output(name).is_some())
            }
        };
        is_told && (self.included.is_everything() || node().is_some_and(|id| self.included.node(id)))
    }

    pub(super) fn outputs(&self) -> BTreeMap<Str, OutputChange> {
        let root = self.evaluator.values.module(&ModuleInstance::root());
        let declared = &self.context.configuration.root().module.outputs;
        let names = declared.keys().chain(self.state.outputs.keys().filter(|n| !declared.contains_key(*n)));
        names
            .filter(|name| self.has_output(name))
            .map(|name| {
                let stored = self.state.outputs.get(name);
                let before = stored.map_or_else(|| Value::null(Type::Dynamic), |stored| stored.value.clone());
                let sensitive_before = stored.is_some_and(|stored| stored.sensitive);
                let evaluated = root.and_then(|root| root.output(name));
                let sensitive = declared.get(name).map_or(sensitive_before, |o| o.sensitive);
                let after = match (self.options.mode, evaluated) {
                    (Mode::Destroy, _) => Value::null(Type::Dynamic),
                    (_, Some(value)) => value.unmark_deep(),
                    (_, None) => Value::null(Type::Dynamic),
                };
                let action = match (before.is_null(), after.is_null()) {
                    (true, true) => Action::NoOp,
                    (true, false) => Action::Create,
                    (false, true) if self.options.mode == Mode::Destroy || evaluated.is_none() => {
                        Action::Delete
                    }
                    (false, false) if before == after && sensitive == sensitive_before => Action::NoOp,
                    (false, _) => Action::Update,
                };
                (
                    name.clone(),
                    OutputChange { action, before, after, sensitive: sensitive || sensitive_before },
                )
            })
            .collect()
    }
}

fn prevented(address: &ResourceInstanceAddress, resource: &Resource) -> Diagnostic {
    Diagnostic::error(
        "Instance cannot be destroyed",
        format!(
            "The plan would destroy {address}, but its lifecycle has prevent_destroy. Remove \
             prevent_destroy if the object may be destroyed; otherwise revert the change that \
             requires it, or exclude the object with -target."
        ),
    )
    .at(resource.span.clone())
    .for_address(address.to_string())
}
