//! Code shared by the plan walk and the apply walk: provider configurations, ephemeral resources
//! and conditions.

mod configure;
mod ephemeral;

use std::sync::Arc;

use wardian_address::{ModulePath, ProviderConfigAddress, ResourceInstanceAddress};
use wardian_config::Resource;
use wardian_diagnostic::{Diagnosed, Diagnostics, Span};
use wardian_plugin::Provider;
use wardian_value::{Str, Value};

use crate::context::EngineContext;
use crate::ephemeral::Ephemerals;
use crate::evaluator::Evaluator;
use crate::operation::Subject;
use crate::operation::ephemeral::OpenedEphemeral;
use crate::plan::Mode;
use crate::providers::Configured;
use crate::scheduler::VisitResult;

pub use ephemeral::start_close;

/// The fields of a walk that this module uses.
pub struct WalkParts<'a> {
    pub context: &'a EngineContext,
    pub mode: Mode,
    pub evaluator: &'a mut Evaluator,
    pub configured: &'a mut Configured,
    pub ephemerals: &'a mut Ephemerals,
    pub diagnostics: &'a mut Diagnostics,
}

/// The outcome of an operation that occurs in both the plan walk and the apply walk.
pub enum SharedOutcome {
    Configured { address: ProviderConfigAddress, result: Diagnosed<Arc<dyn Provider>> },
    Opened { subject: Subject, result: Box<Diagnosed<OpenedEphemeral>> },
    Closed { address: ResourceInstanceAddress, diagnostics: Diagnostics },
}

impl WalkParts<'_> {
    /// Records the outcome of an operation. Returns whether the operation succeeded.
    pub fn finish(&mut self, outcome: SharedOutcome) -> bool {
        match outcome {
            SharedOutcome::Configured { address, result } => self.configured(address, result),
            SharedOutcome::Opened { subject, result } => self.opened(&subject, *result),
            SharedOutcome::Closed { address, diagnostics } => self.closed(&address, diagnostics),
        }
    }

    /// Records the result of evaluating a node. In a destroy plan, it is not an error if a value
    /// can no longer be evaluated: the value is unknown for the nodes that refer to it.
    pub fn visited<P>(&mut self, result: impl Into<Diagnosed<()>>) -> VisitResult<P> {
        let result = result.into();
        if result.value.is_none() && self.mode == Mode::Destroy {
            return VisitResult::Done;
        }
        match result.take(self.diagnostics) {
            Some(()) => VisitResult::Done,
            None => VisitResult::Failed,
        }
    }

    /// Sets a variable of the root module and checks its validations.
    pub fn set_root_variable<P>(
        &mut self,
        name: &Str,
        value: Value,
        position: Option<&Span>,
    ) -> VisitResult<P> {
        match self.evaluator.set_root_variable(name, value, position).take(self.diagnostics) {
            Some(()) => VisitResult::Done,
            None => VisitResult::Failed,
        }
    }

    /// Evaluates the assertions of a check. A destroy plan does not evaluate checks.
    pub fn visit_check<P>(&mut self, path: &ModulePath, name: &Str) -> VisitResult<P> {
        if self.mode == Mode::Destroy {
            return VisitResult::Done;
        }
        let found = self.evaluator.evaluate_check(path, name);
        let failed = found.has_errors();
        self.diagnostics.extend(found);
        if failed { VisitResult::Failed } else { VisitResult::Done }
    }

    /// Checks the postconditions of a resource instance. Returns whether all of them passed.
    pub fn postconditions_hold(
        &mut self,
        resource: &Resource,
        address: &ResourceInstanceAddress,
        value: Value,
    ) -> bool {
        let found = self.evaluator.check_postconditions(resource, address, value);
        let hold = !found.has_errors();
        self.diagnostics.extend(found);
        hold
    }
}
