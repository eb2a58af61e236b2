//! Ephemeral resources are opened anew for an apply: nothing of them is in a plan.

use wardian_address::{ResourceAddress, ResourceInstanceAddress};
use wardian_diagnostic::Diagnostics;

use std::sync::Arc;

use super::{ApplyWalk, Outcome, Pending};
use crate::located::{in_resource, resource_of};
use crate::operation::Subject;
use crate::operation::ephemeral::{self, Lease, Opened};
use crate::plan::Mode;
use crate::scheduler::{Start, Visit, Walked};

impl ApplyWalk<'_> {
    pub(super) fn visit_ephemeral(&mut self, address: &ResourceAddress) -> Visit<Pending> {
        let run = self.run;
        if self.plan.mode == Mode::Destroy && !self.for_providers.contains(address) {
            return Visit::Done;
        }
        let key = (address.mode, address.type_name.clone(), address.name.clone());
        let Some(resource) =
            run.configuration.module(&address.module).and_then(|m| m.module.resources.get(&key))
        else {
            return Visit::Done;
        };
        let mut pending = Vec::new();
        for module in self.evaluator.values.module_instances(&address.module).to_vec() {
            let (count, for_each) = (resource.count.as_ref(), resource.for_each.as_ref());
            let repetition = match self.evaluator.repetition(&module, count, for_each) {
                Ok(repetition) => repetition,
                Err(found) => {
                    self.applied.diagnostics.extend(found.in_block(&resource.context()));
                    return Visit::Failed;
                }
            };
            let absolute = address.in_module(&module);
            self.evaluator.checks.expand_resource(&absolute, repetition.keys());
            let instances = repetition.keys().into_iter().map(|key| absolute.instance(key));
            pending.extend(instances.filter(|instance| self.included.instance(instance)).map(Pending::Open));
            let values = self.evaluator.values.module_mut(&module);
            values.expand_resource(address.mode, &address.type_name, &address.name, repetition);
        }
        Visit::Operations(pending)
    }

    pub(super) fn start_open(&mut self, address: ResourceInstanceAddress) -> Start<Outcome> {
        let run = self.run;
        let Some(resource) = resource_of(&run.configuration, &address) else { return Start::Done };
        let provider_config = run.configuration.provider_for(&address.module().path(), resource);
        let schema =
            self.evaluator.schemas.resource(&provider_config.provider, address.mode(), address.type_name());
        let (Some(schema), Some(provider)) = (schema, self.configured.get(&provider_config)) else {
            return Start::Failed;
        };
        let (schema, provider) = (Arc::clone(schema), Arc::clone(provider));
        let events = Arc::clone(&run.events);
        let subject = Subject { address, provider_config, provider, schema, provider_meta: None, events };
        let Some(config) = self.config(&subject) else { return Start::Failed };
        if !config.is_wholly_known() {
            let problem = subject.error(
                "Configuration contains unknown value",
                format!(
                    "The configuration for {} holds values that are not known, though all that it depends on \
                     has been applied. This is a bug in Wardian, which should be reported.",
                    subject.address
                ),
            );
            let located = in_resource(&run.configuration, &subject.address, problem.into());
            self.applied.diagnostics.extend(located);
            return Start::Failed;
        }
        let expired = self.evaluator.expired.clone();
        Start::running(subject.address.to_string(), async move {
            let result = ephemeral::open(&subject, &config, &expired).await;
            Outcome::Opened { subject, result: Box::new(result) }
        })
    }

    pub(super) fn opened(&mut self, subject: &Subject, result: Result<Opened, Diagnostics>) -> bool {
        let address = &subject.address;
        let (opened, diagnostics) = match result {
            Ok(Opened { value, lease, diagnostics }) => {
                if let Some(lease) = lease {
                    self.ephemerals.opened(lease);
                }
                (Some(value), diagnostics)
            }
            Err(found) => (None, found),
        };
        self.applied.diagnostics.extend(in_resource(&self.run.configuration, address, diagnostics));
        let Some(value) = opened else { return false };
        self.evaluator.values.set_instance(address, value.clone());
        resource_of(&self.run.configuration, address)
            .is_none_or(|resource| self.postconditions_hold(resource, address, value))
    }

    pub(super) fn closed(&mut self, address: &ResourceInstanceAddress, diagnostics: Diagnostics) -> bool {
        let failed = diagnostics.has_errors();
        self.applied.diagnostics.extend(in_resource(&self.run.configuration, address, diagnostics));
        !failed
    }

    /// Closes what is still open when the walk has ended.
    pub(super) async fn close_all(&mut self, walked: Walked) {
        for (address, diagnostics) in self.ephemerals.close_all(walked).await {
            self.closed(&address, diagnostics);
        }
    }
}

/// Closes what nobody needs any more.
pub(super) fn start_close(lease: Box<Lease>) -> Start<Outcome> {
    let address = lease.subject().address.clone();
    Start::running(address.to_string(), async move {
        let diagnostics = lease.close().await;
        Outcome::Closed { address, diagnostics }
    })
}
