//! Conditions that belong to no object of a provider: those of variables and checks,
//! and what was found of all of them.

use wardian_address::{ModuleInstance, ModulePath};
use wardian_state::CheckResult;
use wardian_value::Str;

use super::{Pending, PlanWalk};
use crate::checks::{Checkable, Checks};
use crate::nodes::Node;
use crate::plan::Mode;
use crate::scheduler::Visit;

impl PlanWalk<'_> {
    /// A variable that is refused is also refused where everything is destroyed.
    pub(super) fn visit_root_variable(&mut self, name: &Str) -> Visit<Pending> {
        if let Some(found) = self.refused.remove(name) {
            self.diagnostics.extend(found);
            return Visit::Failed;
        }
        let Some(value) = self.variables.get(name).cloned() else { return Visit::Done };
        let set = self.evaluator.set_root_variable(name, value);
        let failed = set.is_err();
        let (Ok(found) | Err(found)) = set;
        self.diagnostics.extend(found);
        if failed { Visit::Failed } else { Visit::Done }
    }

    /// Variables of the root module are there before anything is known of their values.
    pub(super) fn expand_root_variables(&mut self) {
        let root = ModulePath::root();
        for (name, variable) in &self.run.configuration.root().module.variables {
            let node = || self.graph.id(&Node::Variable(root.clone(), name.clone()));
            if !variable.validations.is_empty() && node().is_some_and(|id| self.included.node(id)) {
                let checkable = Checkable::Variable(root.clone(), name.clone());
                self.evaluator.checks.expand_in(&checkable, &[ModuleInstance::root()]);
            }
        }
    }

    /// A module's checks are there in all its instances, whatever becomes of what
    /// they refer to.
    pub(super) fn expand_checks(&mut self, path: &ModulePath) {
        let Some(node) = self.run.configuration.module(path) else { return };
        for name in node.module.checks.keys() {
            let is_included = |id| self.included.node(id);
            if self.graph.id(&Node::Check(path.clone(), name.clone())).is_some_and(is_included) {
                let checkable = Checkable::Check(path.clone(), name.clone());
                self.evaluator.checks.expand_in(&checkable, self.evaluator.values.module_instances(path));
            }
        }
    }

    pub(super) fn visit_check(&mut self, path: &ModulePath, name: &Str) -> Visit<Pending> {
        // What is to be destroyed need not be as it should.
        if self.options.mode == Mode::Destroy {
            return Visit::Done;
        }
        let found = self.evaluator.evaluate_check(path, name);
        let failed = found.has_errors();
        self.diagnostics.extend(found);
        if failed { Visit::Failed } else { Visit::Done }
    }

    /// What was found of all conditions; of objects that are destroyed nothing is.
    pub(super) fn check_results(&self) -> Vec<CheckResult> {
        if self.options.mode != Mode::Destroy {
            return self.evaluator.checks.results();
        }
        let mut checks = Checks::of(&self.run.configuration);
        for name in self.run.configuration.root().module.outputs.keys() {
            let output = Checkable::Output(ModulePath::root(), name.clone());
            checks.expand_in(&output, &[ModuleInstance::root()]);
        }
        checks.results()
    }
}
