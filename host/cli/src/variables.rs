//! The root module's variable values: from the environment, from files, from the command line, and
//! from the user, in that order. This module collects the values, and `wardian-config` converts
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use wardian_app::AppError;
use wardian_app::ProcessEnvironment;
use wardian_app::unless_stopped;
use wardian_app::variable_files;
use wardian_config::{
    Module, RootVariables, Variable, VariableInputs, VariableSource, VariableText, given_variables,
    root_variables, variables_for_saved_plan,
};
use wardian_diagnostic::{Diagnostic, SourceFile};
use wardian_engine::StopSignal;
use wardian_lang::{EmptyScope, parse_body, parse_expression};
use wardian_printable::{append, append_line, printable};
use wardian_value::{Str, Value};

use crate::arguments::{VariableArgument, VariableArguments};
use crate::failure::{Failure, Outcome};
use crate::shell::{Paint, Shell};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prompting {
    /// Asks on a terminal, and reads answers from a pipe.
    Allowed,
    /// Never asks.
    Forbidden,
}

/// Returns the values, converted to the variables' types, and diagnostics for invalid values.
///
/// # Errors
/// Returns an error if a value cannot be read or is missing.
pub(crate) async fn collect(
    module: &Module,
    arguments: &VariableArguments,
    asking: Prompting,
    environment: &ProcessEnvironment,
    shell: &Shell,
    stop: &StopSignal,
) -> Outcome<RootVariables> {
    let mut inputs = inputs(arguments, environment)?;
    if asking == Prompting::Allowed && environment.may_ask() {
        for variable in missing(module, &inputs) {
            if !shell.can_read_answer() {
                break;
            }
            let answer =
                unless_stopped(stop, ask(variable, shell)).await.ok_or_else(AppError::interrupted)??;
            // All variables without an answer are reported together later.
            let Some(text) = answer else { break };
            check_answer(variable, &text)?;
            let name = variable.name.to_string();
            inputs.arguments.push(VariableSource::Text(VariableText { name, text }));
        }
    }
    let (variables, warnings) = root_variables(module, &inputs)?;
    shell.warned(variables, &warnings)
}

/// Returns the values that are set, converted to the variables' types. All other variables are
/// unknown.
///
/// # Errors
/// Returns an error if a value cannot be read or converted.
pub(crate) fn as_far_as_given(
    module: &Module,
    arguments: &VariableArguments,
    environment: &ProcessEnvironment,
    shell: &Shell,
) -> Outcome<BTreeMap<Str, Value>> {
    let inputs = inputs(arguments, environment)?;
    let (variables, warnings) = given_variables(module, &inputs)?;
    let mut values = variables.accepted()?;
    for (name, variable) in &module.variables {
        if variable.is_required() && !values.contains_key(name) {
            values.insert(name.clone(), Value::unknown(variable.constraint.ty.without_optional()));
        }
    }
    shell.warned(values, &warnings)
}

/// Returns the values of ephemeral variables for a saved plan. `planned` contains the values of all
/// other variables.
///
/// # Errors
/// Returns an error if a value cannot be read or converted, or differs from the planned value.
pub(crate) fn for_saved_plan(
    module: &Module,
    arguments: &VariableArguments,
    planned: &BTreeMap<Str, Value>,
    environment: &ProcessEnvironment,
    shell: &Shell,
) -> Outcome<BTreeMap<Str, Value>> {
    let inputs = inputs(arguments, environment)?;
    let (values, warnings) = variables_for_saved_plan(module, &inputs, planned)?;
    shell.warned(values, &warnings)
}

/// Returns the sources of the values.
///
/// # Errors
/// Returns an error if a file cannot be read.
pub(crate) fn inputs(
    arguments: &VariableArguments,
    environment: &ProcessEnvironment,
) -> Outcome<VariableInputs> {
    Ok(VariableInputs {
        environment: environment.root_variables(),
        automatic_files: variable_files::automatic(Path::new("."))?,
        arguments: arguments.0.iter().map(argument).collect::<Outcome<_>>()?,
    })
}

fn argument(argument: &VariableArgument) -> Outcome<VariableSource> {
    match argument {
        VariableArgument::Text(given) => Ok(VariableSource::Text(VariableText::parse(given)?)),
        // The file named by the user may be a pipe.
        VariableArgument::File(path) => match variable_files::decode(path, fs::read(path))? {
            Some(file) => Ok(VariableSource::File(file)),
            None => Err(Failure::error(
                "Variables file not found",
                format!("The file {}, given with -var-file, does not exist.", path.display()),
            )),
        },
    }
}

/// Returns the variables that have neither a default nor a value.
fn missing<'a>(module: &'a Module, inputs: &VariableInputs) -> Vec<&'a Variable> {
    let required = || module.variables.values().filter(|variable| variable.default.is_none());
    if required().next().is_none() {
        return Vec::new();
    }
    let mut given: BTreeSet<String> = inputs.environment.iter().map(|(name, _)| name.clone()).collect();
    for file in &inputs.automatic_files {
        given.extend(names_in(file));
    }
    for argument in &inputs.arguments {
        match argument {
            VariableSource::Text(text) => {
                given.insert(text.name.clone());
            }
            VariableSource::File(file) => given.extend(names_in(file)),
        }
    }
    required().filter(|variable| !given.contains(variable.name.as_str())).collect()
}

/// Returns the names of the variables that are set in a file. If the file cannot be read, returns
/// no names; the error is reported when the values are evaluated.
fn names_in(file: &Arc<SourceFile>) -> Vec<String> {
    if Path::new(file.name()).extension().is_some_and(|extension| extension == "json") {
        let object: Option<serde_json::Map<String, serde_json::Value>> =
            serde_json::from_str(file.text()).ok();
        return object.map(|object| object.into_iter().map(|(name, _)| name).collect()).unwrap_or_default();
    }
    let (body, _) = parse_body(file);
    body.attributes.iter().map(|attribute| attribute.name.to_string()).collect()
}

/// Checks the user's answer to the prompt for a variable. The error refers to the answer, not to an
/// option.
fn check_answer(variable: &Variable, text: &str) -> Outcome<()> {
    let unsuitable = |reason: &str| {
        Diagnostic::error(
            "Invalid value for input variable",
            format!("The answer is not a valid value for var.{}: {reason}.", variable.name),
        )
        .at(variable.span.clone())
    };
    let value = if variable.takes_text {
        Value::string(text)
    } else {
        let file = SourceFile::new(format!("<answer for var.{}>", variable.name), text);
        parse_expression(&file)?.evaluate(&EmptyScope)?
    };
    let value = variable.constraint.apply(&value).map_err(|reason| unsuitable(&reason))?;
    if value.is_null() && !variable.nullable {
        return Err(unsuitable("it must not be null (nullable = false)").into());
    }
    Ok(())
}

/// Returns the user's answer; `None` if the input is a pipe that has ended.
async fn ask(variable: &Variable, shell: &Shell) -> Outcome<Option<String>> {
    let mut question = printable!("{}\n", shell.paint(Paint::Bold, printable!("var.{}", variable.name)));
    for line in variable.description.iter().flat_map(|text| text.trim().lines()) {
        append_line!(question, "  {line}");
    }
    append!(question, "\n  {} ", shell.paint(Paint::Bold, "Enter a value:"));
    let answer =
        if variable.sensitive { shell.ask_secret(question).await } else { shell.ask(question).await };
    let answer = answer.map_err(|error| {
        Failure::error("No answer", format!("The value of var.{} cannot be read: {error}.", variable.name))
    })?;
    if answer.is_none() && shell.can_ask() {
        let detail = format!("The input ended before var.{} had a value. Set one with -var.", variable.name);
        return Err(Failure::error("No answer", detail));
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use wardian_config::MemoryFiles;

    use super::*;

    #[test]
    fn invalid_answer_is_not_attributed_to_an_option() {
        let text = "variable \"n\" {\n  type = number\n}\nvariable \"l\" {\n  type = list(number)\n}\n";
        let files = MemoryFiles::new([("main.tf", text)]);
        let configuration = wardian_config::load_root_from(&files, Path::new(".")).unwrap();
        let variables = &configuration.root().module.variables;
        let problem = |name: &str, answer: &str| match check_answer(&variables[name], answer) {
            Ok(()) => String::new(),
            Err(Failure::Diagnostics(problems) | Failure::ConsentNeeded(problems)) => format!("{problems:?}"),
            Err(Failure::Usage(usage)) => format!("{usage:?}"),
        };
        assert_eq!(problem("n", "5"), "");
        assert_eq!(problem("l", "[5]"), "");
        for (name, answer) in [("n", "five"), ("l", "[\"five\"]")] {
            let told = problem(name, answer);
            assert!(told.contains("The answer is not a valid value") && !told.contains("-var"), "{told}");
        }
        assert!(problem("l", "[").contains("<answer for var.l>"));
    }
}
