//! Conditions that belong to no object of a provider, looked at again now that
//! everything is known.

use wardian_address::{ModulePath, ResourceInstanceAddress};
use wardian_config::Resource;
use wardian_value::{Str, Value};

use super::{ApplyWalk, Pending};
use crate::plan::Mode;
use crate::scheduler::Visit;

impl ApplyWalk<'_> {
    pub(super) fn visit_root_variable(&mut self, name: &Str) -> Visit<Pending> {
        let Some(value) = self.plan.variables.get(name).cloned() else { return Visit::Done };
        let set = self.evaluator.set_root_variable(name, value);
        let failed = set.is_err();
        let (Ok(found) | Err(found)) = set;
        self.applied.diagnostics.extend(found);
        if failed { Visit::Failed } else { Visit::Done }
    }

    pub(super) fn visit_check(&mut self, path: &ModulePath, name: &Str) -> Visit<Pending> {
        if self.plan.mode == Mode::Destroy {
            return Visit::Done;
        }
        let found = self.evaluator.evaluate_check(path, name);
        let failed = found.has_errors();
        self.applied.diagnostics.extend(found);
        if failed { Visit::Failed } else { Visit::Done }
    }

    pub(super) fn postconditions_hold(
        &mut self,
        resource: &Resource,
        address: &ResourceInstanceAddress,
        value: Value,
    ) -> bool {
        let found = self.evaluator.check_postconditions(resource, address, value);
        let hold = !found.has_errors();
        self.applied.diagnostics.extend(found);
        hold
    }
}
