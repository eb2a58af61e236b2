//! Plans the invocations of actions.
//!
//! The invocations of a resource are determined after its objects are planned, because the planned
//! changes are the events that trigger them. The provider plans each invocation with the values that
//! are known.

use wardian_address::{ActionAddress, ActionInstanceAddress, ResourceAddress, ResourceInstanceAddress};
use wardian_config::{ActionTrigger, LifecycleEvent, Resource};
use wardian_diagnostic::{Diagnostic, Diagnostics, did_you_mean};
use wardian_value::{Marks, Value};

use super::{Outcome, Pending, PlanWalk, Purpose};
use crate::diagnostic_spans::in_action;
use crate::object_secrets::ObjectSecrets;
use crate::operation::action::{ActionSubject, plan_invocation};
use crate::plan::{Action, ActionInvocation, InvocationTrigger, InvokeAddress, Mode};
use crate::providers::unknown_action_type;
use crate::scheduler::{StartResult, VisitResult};

impl PlanWalk<'_> {
    /// Determines the instances of an action, and plans those that the user requested.
    pub(super) fn visit_action(&mut self, address: &ActionAddress) -> VisitResult<Pending> {
        if self.options.mode == Mode::Destroy {
            return VisitResult::Done;
        }
        let expanded = self.evaluator.expand_action(address);
        if let VisitResult::Failed = self.parts().visited::<Pending>(expanded) {
            return VisitResult::Failed;
        }
        let requested: Vec<&InvokeAddress> =
            self.options.invoke.iter().filter(|invoke| invoke.config() == *address).collect();
        if requested.is_empty() {
            return VisitResult::Done;
        }
        if self.context.secrets == ObjectSecrets::Withheld {
            let detail =
                format!("Under -untrusted, no action is invoked. Invoke {address} without -untrusted.");
            self.diagnostics
                .push(Diagnostic::error("Actions not allowed for untrusted configuration", detail));
            return VisitResult::Failed;
        }
        let instances = self.evaluator.action_instances(address);
        let selected: Vec<ActionInstanceAddress> = instances
            .iter()
            .filter(|instance| requested.iter().any(|invoke| invoke.includes(instance)))
            .cloned()
            .collect();
        for invoke in requested {
            if !instances.iter().any(|instance| invoke.includes(instance)) {
                self.diagnostics.push(no_such_instance(invoke, &instances));
                return VisitResult::Failed;
            }
        }
        VisitResult::Operations(
            selected
                .into_iter()
                .map(|address| Pending::Invocation { address, trigger: Box::new(InvocationTrigger::Command) })
                .collect(),
        )
    }

    /// Determines the invocations that the planned changes of a resource trigger.
    pub(super) fn visit_action_triggers(&mut self, address: &ResourceAddress) -> VisitResult<Pending> {
        if self.options.mode != Mode::Normal || matches!(self.purpose, Purpose::Import(_)) {
            return VisitResult::Done;
        }
        let context = self.context;
        let Some(resource) = context.configuration.resource(address) else { return VisitResult::Done };
        let indexes = self.changes_of.get(address).cloned().unwrap_or_default();
        let mut pending = Vec::new();
        for index in indexes {
            let change = &self.changes[index];
            if change.deposed.is_some() {
                continue;
            }
            let events = match change.action {
                Action::Update => [LifecycleEvent::BeforeUpdate, LifecycleEvent::AfterUpdate],
                Action::Create | Action::DeleteThenCreate | Action::CreateThenDelete => {
                    [LifecycleEvent::BeforeCreate, LifecycleEvent::AfterCreate]
                }
                Action::NoOp | Action::Read | Action::Delete | Action::Forget => continue,
            };
            let object = change.address.clone();
            match self.triggered(resource, &object, events) {
                Ok(found) => pending.extend(found),
                Err(found) => {
                    let located = found.in_block(&resource.context()).for_address(&object.to_string());
                    self.diagnostics.extend(located);
                    return VisitResult::Failed;
                }
            }
        }
        VisitResult::Operations(pending)
    }

    /// Returns the invocations that the events of one object trigger.
    fn triggered(
        &self,
        resource: &Resource,
        object: &ResourceInstanceAddress,
        events: [LifecycleEvent; 2],
    ) -> Result<Vec<Pending>, Diagnostics> {
        let repetition = self.evaluator.values.repetition_data(object);
        let module = object.module();
        let mut pending = Vec::new();
        for (block, trigger) in resource.lifecycle.action_triggers.iter().enumerate() {
            let events: Vec<LifecycleEvent> =
                events.into_iter().filter(|event| trigger.events.contains(event)).collect();
            if events.is_empty() || !self.evaluator.trigger_condition(trigger, module, &repetition)? {
                continue;
            }
            if self.context.secrets == ObjectSecrets::Withheld {
                return Err(untrusted(trigger).into());
            }
            for (position, reference) in trigger.actions.iter().enumerate() {
                for address in self.evaluator.triggered_instances(reference, module, &repetition)? {
                    for event in &events {
                        let trigger = InvocationTrigger::Lifecycle {
                            resource: object.clone(),
                            event: *event,
                            block,
                            position,
                        };
                        pending.push(Pending::Invocation {
                            address: address.clone(),
                            trigger: Box::new(trigger),
                        });
                    }
                }
            }
        }
        Ok(pending)
    }

    /// Starts to plan an invocation.
    pub(super) fn start_invocation(
        &mut self,
        address: ActionInstanceAddress,
        trigger: InvocationTrigger,
    ) -> StartResult<Outcome> {
        let context = self.context;
        let Some(action) = context.configuration.action(&address.config()) else {
            return StartResult::Failed;
        };
        let provider = context.configuration.provider_for_action(&address.module.path(), action);
        let Some(schema) = self.evaluator.schemas.action(&provider.provider, &address.type_name).cloned()
        else {
            self.diagnostics.push(unknown_action_type(&self.evaluator.schemas, action, &provider));
            return StartResult::Failed;
        };
        let Some(configured) = self.configured.get(&provider).cloned() else { return StartResult::Failed };
        let Some(config) = self.evaluator.action_config(&address, &schema).take(&mut self.diagnostics) else {
            return StartResult::Failed;
        };
        if trigger == InvocationTrigger::Command && !config.is_wholly_known() {
            let detail = format!(
                "The configuration of {address} depends on values that are not known yet. With -invoke, only \
                 the action is run, so they remain unknown: apply the objects to which it refers first."
            );
            let problem = Diagnostic::error("Action configuration contains unknown values", detail);
            let located = in_action(action, problem.into()).for_address(&address.to_string());
            self.diagnostics.extend(located);
            return StartResult::Failed;
        }
        let subject =
            ActionSubject { address, trigger, provider: configured, events: context.events.clone() };
        StartResult::running(async move {
            let diagnostics = plan_invocation(&subject, &config).await;
            let ActionSubject { address, trigger, .. } = subject;
            let config = without_ephemeral(config);
            let invocation = ActionInvocation { address, provider, config, schema, trigger };
            Outcome::Invocation { invocation: Box::new(invocation), diagnostics }
        })
    }

    /// Records a planned invocation.
    pub(super) fn planned_invocation(&mut self, invocation: ActionInvocation, found: Diagnostics) -> bool {
        let failed = found.has_errors();
        let located = match self.context.configuration.action(&invocation.address.config()) {
            Some(action) => in_action(action, found),
            None => found,
        };
        self.diagnostics.extend(located);
        if !failed {
            self.invocations.push(invocation);
        }
        !failed
    }
}

/// Replaces ephemeral values by null, because a plan does not store them.
fn without_ephemeral(config: Value) -> Value {
    if !config.inside_marks().is_ephemeral() {
        return config;
    }
    config.transform(&mut |_, part| {
        if part.marks().contains(Marks::EPHEMERAL) { Value::null(part.ty().clone()) } else { part }
    })
}

fn untrusted(trigger: &ActionTrigger) -> Diagnostic {
    let detail = "The plan would invoke these actions, but under -untrusted no action is planned or invoked. \
                  Review the configuration, and plan without -untrusted.";
    Diagnostic::error("Actions not allowed for untrusted configuration", detail).at(trigger.span.clone())
}

fn no_such_instance(invoke: &InvokeAddress, instances: &[ActionInstanceAddress]) -> Diagnostic {
    let known: Vec<String> = instances.iter().map(ToString::to_string).collect();
    let advice = did_you_mean(&invoke.to_string(), known.iter().map(String::as_str));
    let detail = if known.is_empty() {
        format!("{invoke} has no instances: its count or for_each is empty.")
    } else {
        format!("There is no action instance {invoke}.{advice}")
    };
    Diagnostic::error("Reference to undeclared action instance", detail)
}
