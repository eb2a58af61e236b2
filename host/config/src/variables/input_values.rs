//! Collects the values from each source.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile, Span};
use wardian_lang::{parse_body, parse_expression, parse_json_body};
use wardian_value::{Str, Value};

use super::{VariableInputs, VariableSource, VariableText};
use crate::module::Module;

/// A variable's value and its source.
pub(super) struct InputValue {
    /// The value; `None` if it is unknown because of an error.
    pub(super) value: Option<Value>,
    pub(super) span: Option<Span>,
    pub(super) origin: Origin,
}

/// The source of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Environment(String),
    CommandLine(String),
    File(String),
}

impl InputValue {
    /// Returns the span to which errors in the value point; [`None`] for the variable's declaration.
    pub(super) fn place(&self) -> Option<&Span> {
        self.span.as_ref().filter(|_| matches!(self.origin, Origin::File(_)))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment(name) => write!(f, "the environment variable TF_VAR_{name}"),
            Self::CommandLine(name) => write!(f, "the option -var=\"{name}=...\""),
            Self::File(name) => write!(f, "the file {name}"),
        }
    }
}

/// Collects all values. If several sources set a variable, the last source applies.
pub(super) fn collect(
    module: &Module,
    inputs: &VariableInputs,
    problems: &mut Diagnostics,
) -> BTreeMap<Str, InputValue> {
    let mut given = BTreeMap::new();
    for (name, text) in &inputs.environment {
        if module.variables.contains_key(name.as_str()) {
            let value = from_text(module, name, text, &Origin::Environment(name.clone()), problems);
            given.insert(Str::new(name), value);
        }
    }
    for file in &inputs.automatic_files {
        from_file(file, &mut given, problems);
    }
    for argument in &inputs.arguments {
        match argument {
            VariableSource::File(file) => from_file(file, &mut given, problems),
            VariableSource::Text(VariableText { name, text }) => {
                let value = from_text(module, name, text, &Origin::CommandLine(name.clone()), problems);
                given.insert(Str::new(name), value);
            }
        }
    }
    given
}

fn from_text(
    module: &Module,
    name: &str,
    text: &str,
    origin: &Origin,
    problems: &mut Diagnostics,
) -> InputValue {
    let takes_text = module.variables.get(name).is_none_or(|variable| variable.takes_text);
    if takes_text {
        return InputValue { value: Some(Value::string(text)), span: None, origin: origin.clone() };
    }
    let file = SourceFile::new(format!("<value for var.{name}>"), text);
    let value = parse_expression(&file).and_then(|expression| expression.evaluate_constant());
    InputValue { value: problems.collect(value), span: Some(file.span()), origin: origin.clone() }
}

fn from_file(file: &Arc<SourceFile>, given: &mut BTreeMap<Str, InputValue>, problems: &mut Diagnostics) {
    if Path::new(file.name()).extension().is_some_and(|extension| extension == "json") {
        from_json(file, given, problems);
        return;
    }
    let (body, found) = parse_body(file);
    if found.has_errors() {
        problems.extend(found);
        return;
    }
    for block in &body.blocks {
        let (summary, detail) = if &*block.kind == "variable" {
            let name = block.labels.first().map_or("name", |label| &*label.text);
            // This error must not cause a second one about a missing value.
            let origin = Origin::File(file.name().to_owned());
            let span = Some(block.header_span.clone());
            given.insert(Str::new(name), InputValue { value: None, span, origin });
            (
                "Variable declaration in .tfvars file",
                format!(
                    "A variable definitions file does not declare variables. Write {name} = ... to set \
                     this one; the block that declares it belongs in a file whose name ends in .tf."
                ),
            )
        } else {
            (
                "Unexpected block",
                format!(
                    "A variable definitions file has no blocks, so \"{}\" is not allowed here.",
                    block.kind
                ),
            )
        };
        problems.push(Diagnostic::error(summary, detail).at(block.header_span.clone()));
    }
    for attribute in &body.attributes {
        let value = problems.collect(attribute.expression.evaluate_constant());
        let span = Some(attribute.expression.span().clone());
        let origin = Origin::File(file.name().to_owned());
        given.insert(attribute.name.clone(), InputValue { value, span, origin });
    }
}

/// Reads values from JSON. Strings are literals, not templates.
fn from_json(file: &Arc<SourceFile>, given: &mut BTreeMap<Str, InputValue>, problems: &mut Diagnostics) {
    let (body, found) = parse_json_body(file);
    problems.extend(found);
    for attribute in &body.with_attributes_only(problems).attributes {
        let value = problems.collect(attribute.expression.evaluate_constant());
        let span = Some(attribute.expression.span().clone());
        let origin = Origin::File(file.name().to_owned());
        given.insert(attribute.name.clone(), InputValue { value, span, origin });
    }
}
