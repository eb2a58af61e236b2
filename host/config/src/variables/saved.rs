//! Values that are given where a saved plan is applied: the plan has those of all
//! variables but the ephemeral ones.

use std::collections::BTreeMap;

use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_value::{Str, Value};

use super::given::{self, Given, Origin};
use super::{VariableInputs, VariableSource, undeclared, value_of};
use crate::module::Module;

/// The values of ephemeral variables that are given for a saved plan, in which the
/// others have the values `planned`. Warnings are returned beside them.
///
/// # Errors
///
/// Values that cannot be read or converted, and another value than the planned one on
/// the command line. One from the environment is warned of, and one from a file that
/// is read without being named counts for nothing.
pub fn variables_for_saved_plan(
    module: &Module,
    inputs: &VariableInputs,
    planned: &BTreeMap<Str, Value>,
) -> Result<(BTreeMap<Str, Value>, Diagnostics), Diagnostics> {
    let mut problems = Diagnostics::new();
    let given = given::collect(module, inputs, &mut problems);
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

fn overruled(name: &str, given: &Given, inputs: &VariableInputs) -> Option<Diagnostic> {
    let detail = format!(
        "The variable \"{name}\" has another value in the saved plan than the one that {} gives. A plan is applied \
         with the values that it was made with: make a new one to change it, or declare the variable as ephemeral \
         for its value to be given at each apply.",
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
