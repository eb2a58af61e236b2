//! Conditions of resources and checks, evaluated for each instance.

use std::sync::Arc;

use wardian_address::{ModulePath, ResourceInstanceAddress};
use wardian_config::Resource;
use wardian_diagnostic::{DiagnosticOrigin, Diagnostics};
use wardian_value::{Str, Value};

use super::Evaluator;
use crate::checks::{Checkable, CheckedObject};
use crate::conditions::{ASSERTION, POSTCONDITION, PRECONDITION, check};
use crate::values::RepetitionData;

impl Evaluator {
    /// Checks the preconditions of an instance, with the values of `count` and `each` in
    /// `repetition`.
    pub fn check_preconditions(
        &mut self,
        resource: &Resource,
        address: &ResourceInstanceAddress,
        repetition: RepetitionData,
    ) -> Diagnostics {
        let conditions = &resource.lifecycle.preconditions;
        if conditions.is_empty() {
            return Diagnostics::new();
        }
        let scope = self.scope(address.module(), repetition);
        let (diagnostics, found) = check(conditions, &scope, PRECONDITION, &|| address.to_string());
        self.checks.report_resource(address, 0, found);
        diagnostics.for_address(&address.to_string())
    }

    pub fn check_postconditions(
        &mut self,
        resource: &Resource,
        address: &ResourceInstanceAddress,
        value: Value,
    ) -> Diagnostics {
        let conditions = &resource.lifecycle.postconditions;
        if conditions.is_empty() {
            return Diagnostics::new();
        }
        let repetition = self.values.repetition_data(address);
        let scope = self.scope(address.module(), repetition).with_self(self.values.for_expressions(value));
        let (diagnostics, found) = check(conditions, &scope, POSTCONDITION, &|| address.to_string());
        self.checks.report_resource(address, resource.lifecycle.preconditions.len(), found);
        diagnostics.in_block(&resource.context()).for_address(&address.to_string())
    }

    /// Evaluates the assertions of a check in all instances of its module. Instances whose data
    /// source could not be read are omitted, because that error has already been reported.
    pub fn evaluate_check(&mut self, path: &ModulePath, name: &Str) -> Diagnostics {
        let configuration = Arc::clone(&self.configuration);
        let Some(check_block) = configuration.module(path).and_then(|m| m.module.checks.get(name)) else {
            return Diagnostics::new();
        };
        let checkable = Checkable::Check(path.clone(), name.clone());
        let mut diagnostics = Diagnostics::new();
        for instance in self.values.module_instances(path).to_vec() {
            let object = CheckedObject::for_module(&instance);
            if self.checks.has_failed(&checkable, &object) {
                continue;
            }
            let scope = self.scope(&instance, RepetitionData::None);
            let address = || checkable.object_address(&object);
            let (problems, found) = check(&check_block.assertions, &scope, ASSERTION, &address);
            self.checks.report(&checkable, object, usize::from(check_block.data.is_some()), found);
            diagnostics
                .extend(problems.into_iter().map(|problem| problem.with_origin(DiagnosticOrigin::Check)));
        }
        diagnostics.in_block(&format!("check \"{name}\""))
    }
}
