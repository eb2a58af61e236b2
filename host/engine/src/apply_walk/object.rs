//! Changes of managed objects and their results in the state.

use std::sync::Arc;

use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress};
use wardian_state::{Instance, Object};
use wardian_value::Value;

use super::{ApplyWalk, Outcome, Pending, UnrecordedChanges};
use crate::diagnostic_spans::{in_resource, resource_of};
use crate::operation::apply::{
    Afterwards, ApplyInput, ApplyOutcome, apply as apply_instance, destroy, plan_and_destroy,
};
use crate::operation::plan::IgnoredAttributes;
use crate::operation::recording::{Recording, RecordingSender};
use crate::operation::{ProgressReporter, Subject};
use crate::plan::{Action, ResourceChange};
use crate::scheduler::{StartResult, StepResult};

/// The maximum number of records that are committed together.
const MAX_UNCOMMITTED: usize = 100;

impl ApplyWalk<'_> {
    pub(super) fn start_change(&mut self, index: usize) -> StartResult<Outcome> {
        let plan = self.plan;
        let change = &plan.changes[index];
        let Some(subject) = self.subject(change) else { return StartResult::Failed };
        let Some(config) = self.config(&subject) else { return StartResult::Failed };
        let stored = match change.action {
            Action::Update => self.applied.state.current(&change.address).cloned(),
            _ => None,
        };
        if change.action == Action::CreateThenDelete && !self.depose(index, &subject) {
            return StartResult::Failed;
        }
        let doing = if stored.is_some() { "update" } else { "create" };
        if !self.record_intent(&change.address, doing) {
            return StartResult::Failed;
        }
        let ignore_changes = resource_of(&self.context.configuration, &change.address)
            .map(|resource| IgnoredAttributes::from(&resource.lifecycle.ignore_changes))
            .unwrap_or_default();
        let meta = self.metas.for_resource(&change.address.config());
        let afterwards = if stored.is_none() && self.is_provisioned(&change.address) {
            Afterwards::Provisioning
        } else {
            Afterwards::Nothing
        };
        let change = change.clone();
        let input = ApplyInput { change, config, stored, ignore_changes, meta, afterwards };
        let recordings = RecordingSender::new(index, None, &self.to_walk);
        StartResult::running(async move {
            let outcome = apply_instance(&subject, &input, &recordings).await;
            Outcome::Changed { index, subject, outcome }
        })
    }

    /// Deposes the current object before its replacement is created.
    fn depose(&mut self, index: usize, subject: &Subject) -> bool {
        let address = &subject.address;
        let mut instance = self.applied.state.instance(address).cloned().unwrap_or_default();
        let Some(current) = instance.current.take() else { return true };
        let key = instance.free_deposed_key();
        instance.deposed.insert(key.clone(), current);
        self.deposed.insert(index, key);
        self.store(address, &subject.provider_config, instance)
    }

    /// Removes forgotten objects from the state. Nothing depends on this step, and the remote
    /// objects do not change.
    pub(super) fn forget(&mut self) {
        let plan = self.plan;
        for change in plan.changes.iter().filter(|change| change.action == Action::Forget) {
            let Some(mut instance) = self.applied.state.instance(&change.address).cloned() else { continue };
            match &change.deposed {
                Some(key) => _ = instance.deposed.remove(key),
                None => instance.current = None,
            }
            if !self.store(&change.address, &change.provider, instance) {
                return;
            }
            self.applied.counts.count(Action::Forget);
        }
    }

    /// Sets an instance in the state and records it. Before an operation that depends on it runs,
    /// the scheduler commits the record.
    pub(super) fn store(
        &mut self,
        address: &ResourceInstanceAddress,
        provider: &ProviderConfigAddress,
        instance: Instance,
    ) -> bool {
        self.sink.record(address, provider, (!instance.is_empty()).then_some(&instance));
        self.applied.state.set_instance(address, provider, instance);
        self.recorded(address)
    }

    /// Records a change before it starts, to allow recovery of the state after a crash.
    fn record_intent(&mut self, address: &ResourceInstanceAddress, action: &str) -> bool {
        self.sink.record_intent(address, action);
        self.recorded(address)
    }

    /// Stores the state that a running operation has reached, commits its record, and replies when the
    /// record is on the disk. Other operations continue meanwhile.
    pub(super) fn record_state(&mut self, recording: Recording) {
        let Recording { change, deposed, object, reply } = recording;
        if reply.is_closed() {
            // The operation was aborted, and its outcome may already be stored.
            return;
        }
        let plan = self.plan;
        let change = &plan.changes[change];
        let (address, provider) = (&change.address, &change.provider);
        let mut instance = self.applied.state.instance(address).cloned().unwrap_or_default();
        match (deposed, object) {
            (Some(key), Some(object)) => _ = instance.deposed.insert(key, object),
            (Some(key), None) => _ = instance.deposed.remove(&key),
            (None, object) => instance.current = object,
        }
        if !(self.store(address, provider, instance) && self.commit()) {
            let _ = reply.send(Err(self.unrecorded_problem()));
            return;
        }
        // If the operation was aborted meanwhile, the record remains valid.
        self.sink.flush(Box::new(move |result| drop(reply.send(result))));
    }

    fn unrecorded_problem(&self) -> String {
        self.unrecorded.as_ref().map(|unrecorded| unrecorded.problem.clone()).unwrap_or_default()
    }

    /// Commits the records when there are many of them. Returns false if they were lost.
    fn recorded(&mut self, address: &ResourceInstanceAddress) -> bool {
        self.uncommitted.push(address.clone());
        self.uncommitted.len() < MAX_UNCOMMITTED || self.commit()
    }

    /// Makes all records durable. Returns true if none of this run's records was lost.
    pub(super) fn commit(&mut self) -> bool {
        if !self.uncommitted.is_empty() {
            let committed = self.sink.commit();
            let addresses = std::mem::take(&mut self.uncommitted);
            if let Err(problem) = committed {
                for address in &addresses {
                    self.add_unrecorded(address, problem.clone());
                }
            }
        }
        self.unrecorded.is_none()
    }

    fn add_unrecorded(&mut self, address: &ResourceInstanceAddress, problem: String) {
        let address = address.to_string();
        match &mut self.unrecorded {
            Some(unrecorded) => unrecorded.add(address),
            None => {
                self.unrecorded = Some(UnrecordedChanges { first: address, further: Vec::new(), problem });
            }
        }
    }

    pub(super) fn changed(
        &mut self,
        index: usize,
        subject: Subject,
        mut outcome: ApplyOutcome,
    ) -> StepResult<Pending> {
        let address = &subject.address;
        let failed = outcome.failed();
        let located = in_resource(&self.context.configuration, address, outcome.diagnostics);
        self.applied.diagnostics.extend(located);
        if let (Some(progress), Some(object)) = (outcome.progress.take(), &outcome.object) {
            let object = Arc::clone(object);
            return self.provision_created(index, subject, object, outcome.value, progress);
        }
        let mut instance = self.applied.state.instance(address).cloned().unwrap_or_default();
        instance.current.clone_from(&outcome.object);
        // If the replacement was not created, the old object becomes the current one again.
        if failed
            && outcome.object.is_none()
            && let Some(key) = self.deposed.remove(&index)
        {
            instance.current = instance.deposed.remove(&key);
        }
        let stored = self.store(address, &subject.provider_config, instance);
        if failed {
            return StepResult::Failed;
        }
        (self.finish_change(index, address, outcome.value) && stored).into()
    }

    /// Records that an object has its planned value. Returns whether its postconditions passed.
    pub(super) fn finish_change(
        &mut self,
        index: usize,
        address: &ResourceInstanceAddress,
        value: Value,
    ) -> bool {
        match self.plan.changes[index].action {
            Action::Update => self.applied.counts.change += 1,
            _ => self.applied.counts.add += 1,
        }
        self.evaluator.values.set_instance(address, value.clone());
        match resource_of(&self.context.configuration, address) {
            Some(resource) => self.parts().postconditions_hold(resource, address, value),
            None => true,
        }
    }

    pub(super) fn start_destroy(&mut self, index: usize) -> StartResult<Outcome> {
        let plan = self.plan;
        let change = &plan.changes[index];
        let deposed = change.deposed.as_ref().or_else(|| self.deposed.get(&index)).cloned();
        let object = self.applied.state.instance(&change.address).and_then(|instance| match &deposed {
            Some(key) => instance.deposed.get(key).cloned(),
            // With create-before-destroy, the current object is already the replacement.
            None if change.action == Action::CreateThenDelete => None,
            None => instance.current.clone(),
        });
        let Some(object) = object else { return StartResult::Done };
        let Some(subject) = self.subject(change) else { return StartResult::Failed };
        // With create-before-destroy, the lifecycle settings apply to the replacement.
        let is_left_over = change.action == Action::CreateThenDelete;
        let planned = if is_left_over { &object.private } else { &change.planned_private };
        let change = ResourceChange { deposed, planned_private: Arc::clone(planned), ..change.clone() };
        if self.is_provisioned_before_destruction(&subject, &change, &object) {
            self.provision_before_destruction(index, subject, change, object)
        } else {
            self.start_destruction(index, subject, change, object, None)
        }
    }

    /// Starts to destroy an object.
    pub(super) fn start_destruction(
        &mut self,
        index: usize,
        subject: Subject,
        change: ResourceChange,
        object: Arc<Object>,
        progress: Option<ProgressReporter>,
    ) -> StartResult<Outcome> {
        if !self.record_intent(&change.address, "delete") {
            return StartResult::Failed;
        }
        let is_left_over = change.action == Action::CreateThenDelete;
        let schemas = self.evaluator.schemas.provider(&change.provider.provider);
        let is_planned = is_left_over && schemas.is_some_and(|schema| schema.capabilities.plan_destroy);
        let recordings = RecordingSender::new(index, change.deposed.clone(), &self.to_walk);
        StartResult::running(async move {
            let outcome = if is_planned {
                plan_and_destroy(&subject, &change, &object, &recordings).await
            } else {
                destroy(&subject, &change, &object, progress, &recordings).await
            };
            Outcome::Destroyed { index, subject, outcome }
        })
    }

    pub(super) fn destroyed(&mut self, index: usize, subject: &Subject, outcome: ApplyOutcome) -> bool {
        let change = &self.plan.changes[index];
        let address = &subject.address;
        let failed = outcome.failed();
        let located = in_resource(&self.context.configuration, address, outcome.diagnostics);
        self.applied.diagnostics.extend(located);
        let mut instance = self.applied.state.instance(address).cloned().unwrap_or_default();
        match change.deposed.as_ref().or_else(|| self.deposed.get(&index)) {
            Some(key) => match outcome.object {
                Some(object) => {
                    instance.deposed.insert(key.clone(), object);
                }
                None => {
                    instance.deposed.remove(key);
                }
            },
            None => instance.current = outcome.object,
        }
        let stored = self.store(address, &subject.provider_config, instance);
        if !failed {
            self.applied.counts.destroy += 1;
        }
        stored && !failed
    }
}
