//! The variable values of tests. Global values are those of other commands, except that a variable
//! which the root module does not declare is an expression, and is not an error. Test files and runs
//! replace them.

use std::collections::BTreeMap;

use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile, Span};
use wardian_lang::parse_expression;
use wardian_value::{Str, Value};

use super::input_values::{self, InputValue, Origin};
use super::{RootVariables, VariableInputs, VariableSource, converted};
use crate::module::Module;

/// A variable's value in a test.
#[derive(Clone, Debug)]
pub struct TestValue {
    pub value: Value,
    /// The span of the expression; [`None`] if the value does not come from a file.
    pub span: Option<Span>,
    /// The source of the value: `the file terraform.tfvars`.
    pub origin: String,
}

/// Returns the global values. `declaring` is the root module, whose declarations determine whether a
/// text is the value itself. Texts of variables that it does not declare are omitted if they are not
/// expressions.
///
/// # Errors
/// Returns the errors in files, and in texts of declared variables.
pub fn global_test_values(
    declaring: &Module,
    inputs: &VariableInputs,
) -> Result<BTreeMap<Str, TestValue>, Diagnostics> {
    let mut problems = Diagnostics::new();
    let given = input_values::collect(declaring, inputs, &mut problems);
    let mut values: BTreeMap<Str, TestValue> = BTreeMap::new();
    let undeclared = |name: &str| !declaring.variables.contains_key(name);
    for (name, text) in inputs.environment.iter().filter(|(name, _)| undeclared(name)) {
        let origin = Origin::Environment(name.clone());
        values.extend(from_expression(name, text, &origin).map(|value| (Str::new(name), value)));
    }
    for (name, InputValue { value, span, origin }) in given {
        let is_text = !matches!(origin, Origin::File(_));
        if is_text && undeclared(&name) {
            continue;
        }
        let span = span.filter(|_| !is_text);
        let Some(value) = value else { continue };
        values.insert(name, TestValue { value, span, origin: origin.to_string() });
    }
    for argument in &inputs.arguments {
        if let VariableSource::Text(given) = argument
            && undeclared(&given.name)
        {
            let origin = Origin::CommandLine(given.name.clone());
            let value = from_expression(&given.name, &given.text, &origin);
            values.extend(value.map(|value| (Str::new(&given.name), value)));
        }
    }
    problems.into_result(values)
}

fn from_expression(name: &str, text: &str, origin: &Origin) -> Option<TestValue> {
    let file = SourceFile::new(format!("<value for var.{name}>"), text);
    let value = parse_expression(&file).and_then(|expression| expression.evaluate_constant()).ok()?;
    Some(TestValue { value, span: None, origin: origin.to_string() })
}

/// Converts the values of a run to the types of the module under test. `run` is the name of the run.
///
/// # Errors
/// Returns an error for each required variable without a value.
pub fn variables_for_run(
    module: &Module,
    run: &str,
    given: &BTreeMap<Str, TestValue>,
) -> Result<RootVariables, Diagnostics> {
    let mut problems = Diagnostics::new();
    let mut variables = RootVariables::default();
    for (name, variable) in &module.variables {
        let Some(given) = given.get(name) else {
            if variable.is_required() {
                let detail = format!(
                    "The module under test requires a value of the variable \"{name}\", which the run \"{run}\" \
                     does not set. Set it in a \"variables\" block of the run or of the test file, or with -var \
                     or -var-file."
                );
                let problem = Diagnostic::error("No value for required variable", detail);
                problems.push(problem.at(variable.span.clone()));
            }
            continue;
        };
        let mut refused = Diagnostics::new();
        let place = given.span.as_ref();
        if let Some(value) = converted(variable, &given.value, place, &given.origin, &mut refused) {
            variables.values.insert(name.clone(), value);
        }
        if let Some(span) = &given.span {
            variables.positions.insert(name.clone(), span.clone());
        }
        variables.given.insert(name.clone(), given.value.clone());
        if refused.has_errors() {
            variables.refused.insert(name.clone(), refused);
        }
    }
    problems.into_result(variables)
}
