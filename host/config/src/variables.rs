//! Values of the root module's variables.
//!
//! | source | given as | for a variable that does not exist |
//! |---|---|---|
//! | `TF_VAR_name` | text | nothing: the environment is everybody's |
//! | `terraform.tfvars`, then `terraform.tfvars.json` | expressions | a warning |
//! | `*.auto.tfvars` and `*.auto.tfvars.json`, by name | expressions | a warning |
//! | `-var-file` | expressions | a warning |
//! | `-var` | text | an error |
//!
//! Later ones win; `-var` and `-var-file` count in the order in which they are
//! given. Text is the value itself for a variable whose type is a string, a
//! number or a truth value, or that states no type, and an expression for all
//! others. Expressions are constants.

mod given;
mod saved;
mod undeclared;

use std::collections::BTreeMap;
use std::sync::Arc;

use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile};
use wardian_value::{Str, Value};

use crate::blocks::Variable;
use crate::module::Module;
use given::{Given, Origin};

pub use saved::variables_for_saved_plan;

/// Everything that gives values to root variables. The caller has read the
/// files and the environment.
#[derive(Clone, Debug, Default)]
pub struct VariableInputs {
    /// `TF_VAR_name` and its text, without the prefix.
    pub environment: Vec<(String, String)>,
    /// `terraform.tfvars`, `terraform.tfvars.json`, then `*.auto.tfvars` and
    /// `*.auto.tfvars.json` in the order of their names: [`automatic_files`] puts
    /// names in that order.
    pub automatic_files: Vec<Arc<SourceFile>>,
    /// `-var` and `-var-file` in the order of the command line.
    pub arguments: Vec<VariableSource>,
}

/// One `-var` or `-var-file`.
#[derive(Clone, Debug)]
pub enum VariableSource {
    /// `-var name=text`.
    Text(VariableText),
    /// `-var-file`, read by the caller; a name that ends in `.json` is JSON.
    File(Arc<SourceFile>),
}

/// The text of one `-var`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableText {
    /// The variable.
    pub name: String,
    /// What is behind the `=`.
    pub text: String,
}

impl VariableText {
    /// Reads `name=text`.
    ///
    /// # Errors
    ///
    /// Where there is no `=` or no name before it.
    pub fn parse(argument: &str) -> Result<Self, Diagnostic> {
        match argument.split_once('=') {
            Some((name, text)) if !name.trim().is_empty() => {
                Ok(Self { name: name.trim().to_owned(), text: text.to_owned() })
            }
            _ => Err(Diagnostic::error(
                "Invalid -var option",
                format!(
                    "The option -var needs a variable's name, an equals sign and the value, such as \
                     -var=\"name=value\", but got \"{argument}\"."
                ),
            )),
        }
    }
}

/// The names of a directory's files that give values without being asked for,
/// in the order in which they count.
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

/// What a root module's variables are given.
#[derive(Clone, Debug, Default)]
pub struct RootVariables {
    /// The values, converted to the variables' types, without marks. Variables that have
    /// a default and are not given are not in it.
    pub values: BTreeMap<Str, Value>,
    /// The values as they were given, before they were converted.
    pub given: BTreeMap<Str, Value>,
    /// What is wrong with values that do not suit their variables. A run begins all the
    /// same: what has to do with others can be looked at.
    pub refused: BTreeMap<Str, Diagnostics>,
}

impl RootVariables {
    /// The values, where all of them suit.
    ///
    /// # Errors
    ///
    /// What is wrong with those that do not.
    pub fn accepted(self) -> Result<BTreeMap<Str, Value>, Diagnostics> {
        let problems: Diagnostics = self.refused.into_values().flatten().collect();
        problems.into_result(self.values)
    }
}

/// Values that suit their variables as they are.
impl From<BTreeMap<Str, Value>> for RootVariables {
    fn from(values: BTreeMap<Str, Value>) -> Self {
        Self { given: values.clone(), values, refused: BTreeMap::new() }
    }
}

/// The values of a root module's variables. Warnings are returned beside them.
///
/// # Errors
///
/// What cannot be read, what is given to no variable, and what is missing.
pub fn root_variables(
    module: &Module,
    inputs: &VariableInputs,
) -> Result<(RootVariables, Diagnostics), Diagnostics> {
    values(module, inputs, &|variable, problems| problems.push(missing(variable)))
}

/// As [`root_variables`], where a variable that must be given a value and has none is
/// no error: it is left out.
///
/// # Errors
///
/// Values that cannot be read.
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
    let given = given::collect(module, inputs, &mut problems);
    undeclared::check(module, &given, &mut problems);
    let mut variables = RootVariables::default();
    for (name, variable) in &module.variables {
        match given.get(name) {
            Some(given) => {
                let mut refused = Diagnostics::new();
                if let Some(value) = value_of(variable, given, &mut refused) {
                    variables.values.insert(name.clone(), value);
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

/// The variables that somebody must still give a value: for a program that asks.
pub fn missing_variables<'a>(module: &'a Module, inputs: &VariableInputs) -> Vec<&'a Variable> {
    let given = given::collect(module, inputs, &mut Diagnostics::new());
    let is_missing = |variable: &&Variable| variable.is_required() && !given.contains_key(&variable.name);
    module.variables.values().filter(is_missing).collect()
}

/// The value, converted; `None` where the default is meant, or it is wrong.
fn value_of(variable: &Variable, given: &Given, problems: &mut Diagnostics) -> Option<Value> {
    let value = given.value.as_ref()?;
    let name = &variable.name;
    let located = |diagnostic: Diagnostic| match (&given.origin, &given.span) {
        (Origin::File(_), Some(span)) => diagnostic.at(span.clone()),
        _ => diagnostic.at(variable.span.clone()),
    };
    let converted = match variable.constraint.apply(value) {
        Ok(converted) => converted,
        Err(reason) => {
            let detail = format!(
                "The value that {} gives does not suit var.{name}, declared at {}: {reason}.",
                given.origin, variable.span
            );
            problems.push(located(Diagnostic::error("Invalid value for input variable", detail)));
            return None;
        }
    };
    if converted.is_null() && !variable.nullable {
        if variable.is_required() {
            let detail = format!(
                "The variable \"{name}\" may not be null (nullable = false), but {} sets it to null.",
                given.origin
            );
            problems.push(located(Diagnostic::error("Required variable not set", detail)));
        }
        return None;
    }
    Some(converted)
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
