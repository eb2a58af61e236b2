//! The variable values of a run.
//!
//! Values of the run replace values of the test file, and these replace global values. Expressions in
//! the test file refer to global values; expressions in a run also refer to values of the test file
//! and to outputs of earlier runs. A value of the test file is evaluated only if the module under
//! test declares the variable or the run refers to it.

use std::collections::{BTreeMap, BTreeSet};

use wardian_config::{TestFile, TestProvider, TestRun, TestValue};
use wardian_diagnostic::{Diagnostic, Diagnostics, did_you_mean};
use wardian_engine::TestValues;
use wardian_lang::{Attribute, Body, Reference, ReferenceMode, ReferenceSubject};
use wardian_value::{PathStep, Str, Value};

use crate::prepared::Prepared;

/// The values of a run before conversion.
pub(crate) struct RunValues {
    /// The values by variable.
    pub(crate) given: BTreeMap<Str, TestValue>,
    /// Warnings.
    pub(crate) diagnostics: Diagnostics,
}

/// Evaluates the values of a run. `outputs` contains the outputs of earlier runs.
///
/// # Errors
/// Returns all errors in expressions and their references.
pub(crate) fn evaluate(
    prepared: &Prepared,
    file: &TestFile,
    run: &TestRun,
    globals: &BTreeMap<Str, TestValue>,
    outputs: &BTreeMap<Str, Value>,
) -> Result<RunValues, Diagnostics> {
    let declared = &prepared.configuration().root().module.variables;
    let mut problems = Diagnostics::new();
    let mut given = globals.clone();
    let of_globals = TestValues { variables: values(&given), runs: BTreeMap::new() };
    let needed = referenced_variables(file, run);
    for (name, attribute) in &file.variables {
        let is_set_by_run = run.variables.contains_key(name);
        if !(needed.contains(name) || declared.contains_key(name) && !is_set_by_run) {
            continue;
        }
        let context = "variables".to_owned();
        let check = |reference: &Reference| check_in_file(reference, &of_globals);
        if let Some(value) = value(prepared, attribute, &of_globals, &check, &context, &mut problems) {
            let origin = format!("the variables block of {}", file.path);
            let span = Some(attribute.expression.span().clone());
            given.insert(name.clone(), TestValue { value, span, origin });
        }
    }
    let of_file = TestValues { variables: values(&given), runs: outputs.clone() };
    let mut diagnostics = Diagnostics::new();
    for (name, attribute) in &run.variables {
        let context = format!("run \"{}\"", run.name);
        let check = |reference: &Reference| check_in_run(reference, file, run, &of_file);
        let Some(value) = value(prepared, attribute, &of_file, &check, &context, &mut problems) else {
            continue;
        };
        if !declared.contains_key(name) {
            let detail = format!(
                "The run \"{}\" sets the variable \"{name}\", which the module under test does not declare.{}",
                run.name,
                did_you_mean(name, declared.keys().map(|name| &**name))
            );
            diagnostics.push(
                Diagnostic::warning("Value for undeclared variable", detail)
                    .at(attribute.expression.span().clone())
                    .in_block(context),
            );
        }
        let origin = format!("the run \"{}\"", run.name);
        let span = Some(attribute.expression.span().clone());
        given.insert(name.clone(), TestValue { value, span, origin });
    }
    for name in prepared.providers.values() {
        if let Some(TestProvider::Real(block)) = file.providers.get(name) {
            let context = format!("provider \"{}\"", block.local_name);
            each_reference_in(&block.body, &mut |reference| {
                let problem = check_in_run(reference, file, run, &of_file);
                problems.extend(
                    problem.map(|problem| problem.at(reference.subject_span()).in_block(context.clone())),
                );
            });
        }
    }
    problems.into_result(RunValues { given, diagnostics })
}

/// Returns the values by variable.
pub(crate) fn values(given: &BTreeMap<Str, TestValue>) -> BTreeMap<Str, Value> {
    given.iter().map(|(name, given)| (name.clone(), given.value.clone())).collect()
}

fn value(
    prepared: &Prepared,
    attribute: &Attribute,
    values: &TestValues,
    check: &dyn Fn(&Reference) -> Option<Diagnostic>,
    context: &str,
    problems: &mut Diagnostics,
) -> Option<Value> {
    let expression = &attribute.expression;
    let mut found: Diagnostics = expression
        .references()
        .iter()
        .filter_map(|reference| Some(check(reference)?.at(reference.subject_span())))
        .collect();
    if found.is_empty() {
        let evaluated = prepared.engine.evaluate_test_value(&prepared.schemas, expression, values);
        match evaluated {
            Ok(value) => return Some(value),
            Err(errors) => found = errors,
        }
    }
    problems.extend(found.in_block(context));
    None
}

/// Checks a reference in the `variables` block of a test file.
fn check_in_file(reference: &Reference, values: &TestValues) -> Option<Diagnostic> {
    match &reference.subject {
        ReferenceSubject::Variable(name) if values.variables.contains_key(name) => None,
        ReferenceSubject::Variable(name) => {
            let detail = format!(
                "The variables block of a test file can refer only to global variables, and \"{name}\" is not \
                 set by an option, a variable file or the environment."
            );
            Some(Diagnostic::error("Reference to unavailable variable", detail))
        }
        subject if run_name(subject).is_some() => {
            let detail = "The variables block of a test file cannot refer to runs.";
            Some(Diagnostic::error("Invalid reference", detail))
        }
        _ => {
            let detail = "The variables block of a test file can refer only to global variables.";
            Some(Diagnostic::error("Invalid reference", detail))
        }
    }
}

/// Checks a reference in the `variables` block of a run, or in a provider block.
fn check_in_run(
    reference: &Reference,
    file: &TestFile,
    run: &TestRun,
    values: &TestValues,
) -> Option<Diagnostic> {
    let subject = &reference.subject;
    if let ReferenceSubject::Variable(name) = subject {
        if values.variables.contains_key(name) {
            return None;
        }
        let detail = format!(
            "Neither the test file nor an option, a variable file or the environment sets \"{name}\", to which \
             a run can refer."
        );
        return Some(Diagnostic::error("Reference to unavailable variable", detail));
    }
    let Some(name) = run_name(subject) else {
        let detail = "The variables block of a run can refer only to earlier runs, and to variables of the \
                      test file and global variables.";
        return Some(Diagnostic::error("Invalid reference", detail));
    };
    if let Some(outputs) = values.runs.get(name) {
        return unknown_output(reference, name, outputs);
    }
    if file.runs.iter().any(|other| other.name == *name) {
        let detail = if *name == run.name {
            format!("The run \"{name}\" cannot refer to itself: it has not been executed yet.")
        } else {
            format!("The run \"{name}\" has not been executed yet. A run can refer only to earlier runs.")
        };
        return Some(Diagnostic::error("Reference to unavailable run block", detail));
    }
    let detail = format!(
        "The test file has no run \"{name}\".{}",
        did_you_mean(name, file.runs.iter().map(|run| &*run.name))
    );
    Some(Diagnostic::error("Reference to unknown run block", detail))
}

/// Returns an error if a reference selects an output that is known only after an apply.
fn unknown_output(reference: &Reference, run: &Str, outputs: &Value) -> Option<Diagnostic> {
    let first = reference.remaining.first()?;
    let (PathStep::Attribute(output) | PathStep::Key(output)) = first else { return None };
    let value = outputs.get(output)?;
    if value.is_known() {
        return None;
    }
    let detail = format!(
        "The output \"{output}\" of the run \"{run}\" is known only after an apply, and the run only plans."
    );
    Some(Diagnostic::error("Reference to unknown value", detail))
}

fn run_name(subject: &ReferenceSubject) -> Option<&Str> {
    match subject {
        ReferenceSubject::Resource { mode: ReferenceMode::Managed, kind, name } if &**kind == "run" => {
            Some(name)
        }
        _ => None,
    }
}

/// Returns the variables to which the run and the provider configurations of its file refer.
fn referenced_variables(file: &TestFile, run: &TestRun) -> BTreeSet<Str> {
    let mut names = BTreeSet::new();
    each_reference(file, run, &mut |reference| {
        if let ReferenceSubject::Variable(name) = &reference.subject {
            names.insert(name.clone());
        }
    });
    names
}

/// Returns the runs to which a run and the provider configurations of its file refer.
pub(crate) fn referenced_runs(file: &TestFile, run: &TestRun) -> BTreeSet<Str> {
    let mut names = BTreeSet::new();
    each_reference(file, run, &mut |reference| names.extend(run_name(&reference.subject).cloned()));
    names
}

fn each_reference(file: &TestFile, run: &TestRun, visit: &mut dyn FnMut(&Reference)) {
    for attribute in run.variables.values() {
        attribute.expression.references().iter().for_each(&mut *visit);
    }
    for assertion in &run.assertions {
        assertion.condition.references().iter().for_each(&mut *visit);
        assertion.error_message.references().iter().for_each(&mut *visit);
    }
    for provider in file.providers.values() {
        if let TestProvider::Real(block) = provider {
            each_reference_in(&block.body, visit);
        }
    }
}

fn each_reference_in(body: &Body, visit: &mut dyn FnMut(&Reference)) {
    for attribute in &body.attributes {
        attribute.expression.references().iter().for_each(&mut *visit);
    }
    for block in &body.blocks {
        each_reference_in(&block.body, visit);
    }
}
