//! Ephemeral variable values. A saved plan does not contain them.

use std::collections::BTreeMap;

use wardian_config::Configuration;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_value::{Str, Value};

use super::Plan;
use crate::evaluator::declared_marks;

impl Plan {
    /// Sets the values of the ephemeral variables of a saved plan: exactly those that had a value
    /// when the plan was created.
    ///
    /// # Errors
    /// Returns an error if a value is missing, or if a variable that had no value in the plan has one.
    pub fn give_ephemeral_variables(
        &mut self,
        configuration: &Configuration,
        mut given: BTreeMap<Str, Value>,
    ) -> Result<(), Diagnostics> {
        let mut problems = Diagnostics::new();
        let variables = configuration.root().module.variables.iter();
        for (name, variable) in variables.filter(|(_, variable)| variable.ephemeral) {
            let value = given.remove(name);
            match (self.ephemeral_variables.contains(name), &value) {
                (true, None) => problems.push(missing(name)),
                (false, Some(_)) => problems.push(unplanned(name)),
                _ => {}
            }
            if let Some(value) = value.or_else(|| variable.default.clone()) {
                self.variables.insert(name.clone(), value.with_marks(declared_marks(variable)));
            }
        }
        problems.into_result(())
    }
}

fn missing(name: &str) -> Diagnostic {
    let detail = format!(
        "The ephemeral variable \"{name}\" had a value when the plan was created, and a plan does not store \
         it. Set it again with -var=\"{name}=...\", in a file for -var-file, or with the environment \
         variable TF_VAR_{name}."
    );
    Diagnostic::error("No value for required variable", detail)
}

fn unplanned(name: &str) -> Diagnostic {
    let detail = format!(
        "The ephemeral variable \"{name}\" had no value when the plan was created, so it cannot have one \
         now. Remove the value, or create a new plan with it."
    );
    Diagnostic::error("Ephemeral variable was not set during planning", detail)
}
