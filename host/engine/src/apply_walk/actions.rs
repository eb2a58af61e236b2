//! Invokes actions.

use std::sync::Arc;

use wardian_diagnostic::{Diagnostic, Diagnostics};

use super::{ApplyWalk, Outcome, Pending};
use crate::diagnostic_spans::in_action;
use crate::nodes::InvocationGroup;
use crate::operation::action::{ActionSubject, invoke};
use crate::scheduler::{StartResult, StepResult, VisitResult};

/// Invocations that run one after the other. After a failure, the rest of them do not run.
pub(super) struct Invoking {
    /// The indexes of the invocations in the plan.
    invocations: Vec<usize>,
    /// The number of finished invocations.
    done: usize,
}

impl ApplyWalk<'_> {
    pub(super) fn visit_invocations(&mut self, group: InvocationGroup) -> VisitResult<Pending> {
        let triggered = |change: usize| self.invocations.get(&change);
        let invocations = match group {
            InvocationGroup::Before(change) => triggered(change).map(|found| found.before.clone()),
            InvocationGroup::After(change) => triggered(change).map(|found| found.after.clone()),
            InvocationGroup::Command(index) => Some(vec![index]),
        };
        let invocations = invocations.unwrap_or_default();
        if invocations.is_empty() {
            return VisitResult::Done;
        }
        VisitResult::Operations(vec![Pending::Invoke(Invoking { invocations, done: 0 })])
    }

    /// Starts the next invocation: evaluates the configuration with the values that are now known.
    pub(super) fn start_invoke(&mut self, invoking: Invoking) -> StartResult<Outcome> {
        let plan = self.plan;
        let Some(index) = invoking.invocations.get(invoking.done) else { return StartResult::Done };
        let invocation = &plan.invocations[*index];
        let address = invocation.address.clone();
        let config = self.evaluator.action_config(&address, &invocation.schema);
        let Some(config) = config.take(&mut self.applied.diagnostics) else { return StartResult::Failed };
        if !config.is_wholly_known() {
            let detail = format!(
                "The configuration of {address} contains unknown values, although everything to which it refers \
                 is applied. This is a bug in Wardian; please report it."
            );
            let problem = Diagnostic::bug("Configuration contains unknown value", detail);
            self.report_action(*index, problem.into());
            return StartResult::Failed;
        }
        let Some(provider) = self.configured.get(&invocation.provider).cloned() else {
            return StartResult::Failed;
        };
        let subject = ActionSubject {
            address,
            trigger: invocation.trigger.clone(),
            provider,
            events: Arc::clone(&self.context.events),
        };
        StartResult::running(async move {
            let diagnostics = invoke(&subject, &config).await;
            Outcome::Invoked { invoking, diagnostics }
        })
    }

    /// Records the result of an invocation and starts the next one.
    pub(super) fn invoked(&mut self, mut invoking: Invoking, found: Diagnostics) -> StepResult<Pending> {
        let failed = found.has_errors();
        if let Some(index) = invoking.invocations.get(invoking.done) {
            self.report_action(*index, found);
        }
        if failed {
            return StepResult::Failed;
        }
        self.applied.counts.invoke += 1;
        invoking.done += 1;
        if invoking.done < invoking.invocations.len() {
            return StepResult::Continue(Pending::Invoke(invoking));
        }
        StepResult::Succeeded
    }

    fn report_action(&mut self, index: usize, found: Diagnostics) {
        let address = &self.plan.invocations[index].address;
        let located = match self.context.configuration.action(&address.config()) {
            Some(action) => in_action(action, found),
            None => found,
        };
        self.applied.diagnostics.extend(located.for_address(&address.to_string()));
    }
}
