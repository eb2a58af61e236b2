//! States and outputs for programs, in Terraform's shapes.

use std::collections::BTreeMap;

use wardian_state::{CheckResult, OutputValue};
use wardian_value::{Str, Value};

use super::state::StateObject;

/// `show -json` of a state: one line, without a line break at its end.
pub(crate) fn state_json<'a>(
    terraform_version: &str,
    objects: impl IntoIterator<Item = StateObject<'a>>,
    outputs: &BTreeMap<Str, OutputValue>,
    checks: Option<&[CheckResult]>,
) -> String {
    let _ = (terraform_version, objects.into_iter().count(), outputs, checks);
    String::new()
}

/// `output -json`: all outputs, sensitive ones too.
pub(crate) fn outputs_json(outputs: &BTreeMap<Str, OutputValue>) -> String {
    let _ = outputs;
    String::new()
}

/// `output -json NAME`: one value.
pub(crate) fn output_json(value: &Value) -> String {
    let _ = value;
    String::new()
}
