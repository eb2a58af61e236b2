//! Values that a saved plan does not have.

use std::collections::BTreeMap;

use wardian_config::Configuration;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_value::{Str, Value};

use super::Plan;
use crate::evaluator::declared_marks;

impl Plan {
    /// Takes values for the ephemeral variables of a plan that was saved: for those
    /// that had one when it was made, and no others.
    ///
    /// # Errors
    /// One that is missing, or that there was none of.
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
        "The ephemeral variable \"{name}\" had a value when the plan was made, and its value is not kept in the \
         plan. Give it again with -var=\"{name}=...\", in a file given with -var-file, or with the environment \
         variable TF_VAR_{name}."
    );
    Diagnostic::error("No value for required variable", detail)
}

fn unplanned(name: &str) -> Diagnostic {
    let detail = format!(
        "The ephemeral variable \"{name}\" had no value when the plan was made, so it cannot have one now. Leave it \
         out, or make a new plan with it."
    );
    Diagnostic::error("Ephemeral variable was not set during planning", detail)
}
