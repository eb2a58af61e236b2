//! Conditions of variables and checks, and the results of all conditions.

use wardian_address::{ModuleInstance, ModulePath};
use wardian_state::CheckResult;
use wardian_value::Str;

use super::{Pending, PlanWalk};
use crate::checks::{Checkable, Checks};
use crate::nodes::Node;
use crate::plan::Mode;
use crate::scheduler::VisitResult;

impl PlanWalk<'_> {
    /// Visits a variable of the root module. A rejected value is an error even in a destroy plan.
    pub(super) fn visit_root_variable(&mut self, name: &Str) -> VisitResult<Pending> {
        if let Some(found) = self.refused.remove(name) {
            self.diagnostics.extend(found);
            return VisitResult::Failed;
        }
        let Some(value) = self.variables.values.get(name).cloned() else { return VisitResult::Done };
        let position = self.variables.positions.get(name).cloned();
        self.parts().set_root_variable(name, value, position.as_ref())
    }

    /// Lists the conditions of root variables before their values are known.
    pub(super) fn expand_root_variables(&mut self) {
        let root = ModulePath::root();
        for (name, variable) in &self.context.configuration.root().module.variables {
            let node = || self.graph.id(&Node::Variable(root.clone(), name.clone()));
            if !variable.validations.is_empty() && node().is_some_and(|id| self.included.node(id)) {
                let checkable = Checkable::Variable(root.clone(), name.clone());
                self.evaluator.checks.expand_in(&checkable, &[ModuleInstance::root()]);
            }
        }
    }

    /// Lists the checks of a module in all its instances, even if the evaluation of the objects to
    /// which they refer fails.
    pub(super) fn expand_checks(&mut self, path: &ModulePath) {
        let Some(node) = self.context.configuration.module(path) else { return };
        for name in node.module.checks.keys() {
            let is_included = |id| self.included.node(id);
            if self.graph.id(&Node::Check(path.clone(), name.clone())).is_some_and(is_included) {
                let checkable = Checkable::Check(path.clone(), name.clone());
                self.evaluator.checks.expand_in(&checkable, self.evaluator.values.module_instances(path));
            }
        }
    }

    /// Returns the results of all conditions. A destroy plan has no results for its objects.
    pub(super) fn check_results(&self) -> Vec<CheckResult> {
        if self.options.mode != Mode::Destroy {
            return self.evaluator.checks.results();
        }
        let mut checks = Checks::for_configuration(&self.context.configuration);
        for name in self.context.configuration.root().module.outputs.keys() {
            let output = Checkable::Output(ModulePath::root(), name.clone());
            checks.expand_in(&output, &[ModuleInstance::root()]);
        }
        checks.results()
    }
}
