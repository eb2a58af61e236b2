//! The root module's variable values.
//!
//! | source | given as | for an undeclared variable |
//! |---|---|---|
//! | `TF_VAR_name` | text | ignored: the environment is shared |
//! | `terraform.tfvars`, then `terraform.tfvars.json` | expressions | a warning |
//! | `*.auto.tfvars` and `*.auto.tfvars.json`, by name | expressions | a warning |
//! | `-var-file` | expressions | a warning |
//! | `-var` | text | an error |
//!
//! Later sources have precedence; `-var` and `-var-file` apply in the order of the command line. If
//! the variable's type is string, number or bool, or if the variable is not declared, the text is
//! the value itself; for all other types, the text is an expression. Expressions must be constant.

mod input_values;
mod saved;
mod test_values;
mod undeclared;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile, Span};
use wardian_value::{Str, Value};

use crate::blocks::Variable;
use crate::module::Module;

use input_values::InputValue;

pub use saved::variables_for_saved_plan;
pub use test_values::{TestValue, global_test_values, variables_for_run};

/// All sources of root variable values. The caller has read the files and the environment.
#[derive(Clone, Debug, Default)]
pub struct VariableInputs {
    /// The names (without the prefix) and values of `TF_VAR_name` variables.
    pub environment: Vec<(String, String)>,
    /// `terraform.tfvars`, `terraform.tfvars.json`, then `*.auto.tfvars` and `*.auto.tfvars.json`
    /// in the order of their names, as sorted by [`automatic_files`].
    pub automatic_files: Vec<Arc<SourceFile>>,
    /// `-var` and `-var-file` options in the order of the command line.
    pub arguments: Vec<VariableSource>,
}

/// A `-var` or `-var-file` option.
#[derive(Clone, Debug)]
pub enum VariableSource {
    /// `-var name=text`.
    Text(VariableText),
    /// The content of a `-var-file`, which the caller has read. If the file's name ends in `.json`,
    /// the content is JSON.
    File(Arc<SourceFile>),
}

/// The value of a `-var` option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableText {
    pub name: String,
    /// The text after the `=`.
    pub text: String,
}

impl VariableText {
    /// Parses `name=text`.
    ///
    /// # Errors
    ///
    /// Returns an error if the `=` or the name before it is missing, or if a space precedes or
    /// follows the name.
    pub fn parse(argument: &str) -> Result<Self, Diagnostic> {
        let invalid = |detail| Err(Diagnostic::error("Invalid -var option", detail));
        match argument.split_once('=') {
            Some((name, text)) if name != name.trim() && !name.trim().is_empty() => {
                let (name, text) = (name.trim(), text.trim_start());
                invalid(format!(
                    "There is a space next to the variable's name. A space after the equals sign would be \
                     part of the value. Did you mean -var=\"{name}={text}\"?"
                ))
            }
            Some((name, text)) if !name.is_empty() => {
                Ok(Self { name: name.to_owned(), text: text.to_owned() })
            }
            _ => invalid(format!(
                "The option -var needs a variable's name, an equals sign and the value, such as \
                 -var=\"name=value\", but got \"{argument}\"."
            )),
        }
    }
}

/// Returns the names of the files in a directory that set variables automatically, in the order in
/// which they apply.
pub fn automatic_files<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let rank = |name: &str| match name {
        "terraform.tfvars" => Some(0),
        "terraform.tfvars.json" => Some(1),
        _ if name.ends_with(".auto.tfvars") || name.ends_with(".auto.tfvars.json") => Some(2),
        _ => None,
    };
    let mut ranked: Vec<(u8, &str)> =
        names.into_iter().filter_map(|name| Some((rank(name)?, name))).collect();
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, name)| name).collect()
}

/// The root module's variable values.
#[derive(Clone, Debug, Default)]
pub struct RootVariables {
    /// The values, converted to the variables' types, without marks. Variables with their default
    /// value are not included.
    pub values: BTreeMap<Str, Value>,
    /// The values as given, before conversion.
    pub given: BTreeMap<Str, Value>,
    /// The positions of the values that are set in variable files.
    pub positions: BTreeMap<Str, Span>,
    /// Errors for values that do not match their variables. A run starts despite these errors, and
    /// evaluates the objects that do not depend on the values.
    pub refused: BTreeMap<Str, Diagnostics>,
}

impl RootVariables {
    /// Returns the values if all of them are valid.
    ///
    /// # Errors
    ///
    /// Returns the errors for the invalid values.
    pub fn accepted(self) -> Result<BTreeMap<Str, Value>, Diagnostics> {
        let problems: Diagnostics = self.refused.into_values().flatten().collect();
        problems.into_result(self.values)
    }
}

/// Creates the values from values that have already been converted.
impl From<BTreeMap<Str, Value>> for RootVariables {
    fn from(values: BTreeMap<Str, Value>) -> Self {
        Self { given: values.clone(), values, ..Self::default() }
    }
}

/// Returns the root module's variable values, and warnings.
///
/// # Errors
///
/// Returns errors for sources that cannot be read, values for undeclared variables, and missing values.
pub fn root_variables(
    module: &Module,
    inputs: &VariableInputs,
) -> Result<(RootVariables, Diagnostics), Diagnostics> {
    values(module, inputs, &|variable, problems| problems.push(missing(variable)))
}

/// Returns the same values as [`root_variables`], but omits required variables without a value.
///
/// # Errors
///
/// Returns errors for values that cannot be read.
pub fn given_variables(
    module: &Module,
    inputs: &VariableInputs,
) -> Result<(RootVariables, Diagnostics), Diagnostics> {
    values(module, inputs, &|_, _| {})
}

fn values(
    module: &Module,
    inputs: &VariableInputs,
    is_missing: &dyn Fn(&Variable, &mut Diagnostics),
) -> Result<(RootVariables, Diagnostics), Diagnostics> {
    let mut problems = Diagnostics::new();
    let given = input_values::collect(module, inputs, &mut problems);
    undeclared::check(module, &given, &mut problems);
    let mut variables = RootVariables::default();
    for (name, variable) in &module.variables {
        match given.get(name) {
            Some(given) => {
                let mut refused = Diagnostics::new();
                if let Some(value) = value_of(variable, given, &mut refused) {
                    variables.values.insert(name.clone(), value);
                }
                if let Some(span) = given.place() {
                    variables.positions.insert(name.clone(), span.clone());
                }
                if let Some(value) = &given.value {
                    variables.given.insert(name.clone(), value.clone());
                }
                if refused.has_errors() {
                    variables.refused.insert(name.clone(), refused);
                }
            }
            None if variable.is_required() => is_missing(variable, &mut problems),
            None => {}
        }
    }
    if problems.has_errors() { Err(problems) } else { Ok((variables, problems)) }
}

/// Returns the variables that still need a value, for which the caller can prompt the user.
pub fn missing_variables<'a>(module: &'a Module, inputs: &VariableInputs) -> Vec<&'a Variable> {
    let given = input_values::collect(module, inputs, &mut Diagnostics::new());
    let is_missing = |variable: &&Variable| variable.is_required() && !given.contains_key(&variable.name);
    module.variables.values().filter(is_missing).collect()
}

/// Returns the converted value, or `None` if the default applies or the value is invalid.
fn value_of(variable: &Variable, given: &InputValue, problems: &mut Diagnostics) -> Option<Value> {
    let value = given.value.as_ref()?;
    converted(variable, value, given.place(), &given.origin, problems)
}

/// Returns the same as [`value_of`]. `place` is the span to which errors point, and `origin` is the
/// source of the value.
fn converted(
    variable: &Variable,
    value: &Value,
    place: Option<&Span>,
    origin: &dyn Display,
    problems: &mut Diagnostics,
) -> Option<Value> {
    let name = &variable.name;
    let located = |diagnostic: Diagnostic| diagnostic.at(place.unwrap_or(&variable.span).clone());
    let accepted = match variable.constraint.apply(value) {
        Ok(accepted) => accepted,
        Err(reason) => {
            let detail = format!(
                "The value from {} is not valid for var.{name}, declared at {}: {reason}.",
                origin, variable.span
            );
            problems.push(located(Diagnostic::error("Invalid value for input variable", detail)));
            return None;
        }
    };
    if accepted.is_null() && !variable.nullable {
        if variable.is_required() {
            let detail = format!(
                "The variable \"{name}\" must not be null (nullable = false), but {origin} sets it to null."
            );
            problems.push(located(Diagnostic::error("Required variable not set", detail)));
        }
        return None;
    }
    Some(accepted)
}

fn missing(variable: &Variable) -> Diagnostic {
    let name = &variable.name;
    let detail = format!(
        "The variable \"{name}\" has no default and no value was given. Set it with -var=\"{name}=...\", in a file \
         terraform.tfvars or one given with -var-file, or with the environment variable TF_VAR_{name}."
    );
    Diagnostic::error("No value for required variable", detail).at(variable.span.clone())
}

#[cfg(test)]
mod tests;
