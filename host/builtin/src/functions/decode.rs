//! Decodes the text of a `.tfvars` file (`decode_tfvars`).

use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile};
use wardian_lang::{EmptyScope, Expression, parse_body};
use wardian_plugin::FunctionError;
use wardian_value::{Str, Value};

/// The name of the text in messages.
const SOURCE_NAME: &str = "the text";

/// Returns the values that the text of a `.tfvars` file sets.
pub(super) fn variables(text: &str) -> Result<Value, FunctionError> {
    let file = SourceFile::new(SOURCE_NAME, text);
    let (body, found) = parse_body(&file);
    if found.has_errors() {
        return Err(refused("it is not a valid variable definitions (.tfvars) file", &found));
    }
    if let Some(block) = body.blocks.first() {
        let problem = Diagnostic::error(
            "Unexpected block",
            format!("\"{}\" begins a block, but only arguments are allowed", block.kind),
        );
        return Err(refused(
            "it is not a valid variable definitions (.tfvars) file",
            &problem.at(block.kind_span.clone()).into(),
        ));
    }
    let values: Result<Vec<(Str, Value)>, FunctionError> = body
        .attributes
        .iter()
        .map(|attribute| {
            let what = || format!("the expression for \"{}\" has no value", attribute.name);
            if let Some(call) = first_call(&attribute.expression) {
                return Err(refused(&what(), &call.into()));
            }
            let value = attribute.expression.evaluate(&EmptyScope);
            Ok((attribute.name.clone(), value.map_err(|found| refused(&what(), &found))?))
        })
        .collect();
    Ok(Value::object(values?))
}

/// Returns the error for the first function call. Function calls are not allowed, even without
/// arguments.
fn first_call(expression: &Expression) -> Option<Diagnostic> {
    let (name, span) = expression.function_calls().into_iter().next()?;
    let detail = format!("Only constants can be used here, so \"{}\" cannot be called.", name.as_str());
    Some(Diagnostic::error("Function calls not allowed", detail).at(span))
}

/// Formats the error on one line. The text is an argument, not a file, so no source lines are
/// shown.
fn refused(what: &str, found: &Diagnostics) -> FunctionError {
    let first = found.iter().find(|diagnostic| diagnostic.is_error());
    let reason = first.map(ToString::to_string).unwrap_or_default();
    let reason = reason.trim_end_matches('.').replace('\n', " ");
    FunctionError { text: format!("{what}: {reason}"), argument: None }
}
