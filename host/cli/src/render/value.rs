//! Values as the language writes them: what `console` and `output` print.

use std::collections::BTreeMap;

use wardian_state::OutputValue;
use wardian_value::{Str, Value};

/// A value as text, without a line break at its end. Continued lines are
/// indented by `indent` more columns.
pub(crate) fn render_value(value: &Value, indent: usize) -> String {
    let _ = (value, indent);
    String::new()
}

/// `name = value` for each output, as `output` and the end of an apply show them:
/// sensitive ones are masked. Each line ends with a line break.
pub(crate) fn render_outputs(outputs: &BTreeMap<Str, OutputValue>) -> String {
    let _ = outputs;
    String::new()
}
