//! Variable values for applying a saved plan. The plan contains the values of all variables except
//! ephemeral variables.

use std::collections::BTreeMap;

use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_value::{Str, Value};

use super::input_values::{self, InputValue, Origin};
use super::{VariableInputs, VariableSource, undeclared, value_of};
use crate::module::Module;

/// Returns the ephemeral variable values for a saved plan, and warnings. `planned` contains the
/// values of the other variables.
///
/// # Errors
///
/// Returns an error if a value cannot be read or converted, or if a value on the command line
/// differs from the planned value. If a value from the environment differs, a warning is reported;
/// a differing value from an automatically loaded file is ignored.
pub fn variables_for_saved_plan(
    module: &Module,
    inputs: &VariableInputs,
    planned: &BTreeMap<Str, Value>,
) -> Result<(BTreeMap<Str, Value>, Diagnostics), Diagnostics> {
    let mut problems = Diagnostics::new();
    let given = input_values::collect(module, inputs, &mut problems);
    undeclared::check(module, &given, &mut problems);
    let mut values = BTreeMap::new();
    for (name, variable) in &module.variables {
        let Some(given) = given.get(name) else { continue };
        let Some(value) = value_of(variable, given, &mut problems) else { continue };
        if variable.ephemeral {
            values.insert(name.clone(), value);
        } else if planned.get(name).is_some_and(|planned| planned.unmark_deep() != value) {
            problems.extend(overruled(name, given, inputs));
        }
    }
    if problems.has_errors() { Err(problems) } else { Ok((values, problems)) }
}

fn overruled(name: &str, given: &InputValue, inputs: &VariableInputs) -> Option<Diagnostic> {
    let detail = format!(
        "The value of the variable \"{name}\" in the saved plan differs from the value that {} sets. A plan \
         is applied with the values that it was created with: create a new plan to change the value, or \
         declare the variable as ephemeral to set its value at each apply.",
        given.origin
    );
    let is_named = |file: &str| {
        inputs
            .arguments
            .iter()
            .any(|source| matches!(source, VariableSource::File(given) if given.name() == file))
    };
    match &given.origin {
        Origin::Environment(_) => {
            Some(Diagnostic::warning("Ignoring variable when applying a saved plan", detail))
        }
        Origin::File(file) if !is_named(file) => None,
        Origin::CommandLine(_) | Origin::File(_) => {
            Some(Diagnostic::error("Can't change variable when applying a saved plan", detail))
        }
    }
}
