//! Reopens ephemeral resources in an apply, because a plan does not store them.

use std::sync::Arc;
use wardian_plugin::CallContext;

use wardian_address::{ResourceAddress, ResourceInstanceAddress};

use super::{ApplyWalk, Outcome, Pending};
use crate::diagnostic_spans::{in_resource, resource_of};
use crate::operation::Subject;
use crate::operation::ephemeral;
use crate::plan::Mode;
use crate::scheduler::{StartResult, VisitResult};
use crate::walk::SharedOutcome;

impl ApplyWalk<'_> {
    pub(super) fn visit_ephemeral(&mut self, address: &ResourceAddress) -> VisitResult<Pending> {
        let context = self.context;
        if self.plan.mode == Mode::Destroy && !self.for_providers.contains(address) {
            return VisitResult::Done;
        }
        let key = (address.mode, address.type_name.clone(), address.name.clone());
        let Some(resource) =
            context.configuration.module(&address.module).and_then(|m| m.module.resources.get(&key))
        else {
            return VisitResult::Done;
        };
        let mut pending = Vec::new();
        for module in self.evaluator.values.module_instances(&address.module).to_vec() {
            let (count, for_each) = (resource.count.as_ref(), resource.for_each.as_ref());
            let repetition = match self.evaluator.repetition(&module, count, for_each) {
                Ok(repetition) => repetition,
                Err(found) => {
                    self.applied.diagnostics.extend(found.in_block(&resource.context()));
                    return VisitResult::Failed;
                }
            };
            let absolute = address.in_module(&module);
            self.evaluator.checks.expand_resource(&absolute, repetition.keys());
            let instances = repetition.keys().into_iter().map(|key| absolute.instance(key));
            pending.extend(instances.filter(|instance| self.included.instance(instance)).map(Pending::Open));
            let values = self.evaluator.values.module_mut(&module);
            values.expand_resource(address.mode, &address.type_name, &address.name, repetition);
        }
        VisitResult::Operations(pending)
    }

    pub(super) fn start_open(&mut self, address: ResourceInstanceAddress) -> StartResult<Outcome> {
        let context = self.context;
        let Some(resource) = resource_of(&context.configuration, &address) else { return StartResult::Done };
        let provider_config = context.configuration.provider_for(&address.module().path(), resource);
        let schema =
            self.evaluator.schemas.resource(&provider_config.provider, address.mode(), address.type_name());
        let (Some(schema), Some(provider)) = (schema, self.configured.get(&provider_config)) else {
            return StartResult::Failed;
        };
        let (schema, provider) = (Arc::clone(schema), Arc::clone(provider));
        let events = Arc::clone(&context.events);
        let call_context = CallContext::new(address.to_string());
        let subject = Subject {
            context: call_context,
            address,
            provider_config,
            provider,
            schema,
            provider_meta: None,
            events,
        };
        let Some(config) = self.config(&subject) else { return StartResult::Failed };
        if !config.is_wholly_known() {
            let problem = subject.error(
                "Configuration contains unknown value",
                format!(
                    "The configuration for {} contains unknown values, although all its dependencies are \
                     applied. This is a bug in Wardian; please report it.",
                    subject.address
                ),
            );
            let located = in_resource(&context.configuration, &subject.address, problem.into());
            self.applied.diagnostics.extend(located);
            return StartResult::Failed;
        }
        let expired = self.evaluator.expired.clone();
        StartResult::running(async move {
            let result = ephemeral::open(&subject, &config, &expired).await;
            SharedOutcome::Opened { subject, result: Box::new(result) }.into()
        })
    }
}
