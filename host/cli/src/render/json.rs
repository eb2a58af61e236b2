//! States and outputs for programs, in Terraform's shapes: the same keys in the
//! same order, the same escapes.

use std::collections::BTreeMap;

use serde::Serialize;
use wardian_state::{CheckResult, OutputValue};
use wardian_value::{Str, Value};

use super::state::StateObject;
use super::state::module_tree::ModuleTree;

mod checks;
mod objects;
mod schemas;
mod values;

pub(crate) use schemas::{functions_json, schemas_json};

use checks::Check;
use objects::Module;
use values::{PlainValue, TypeDocument};

/// The version of the format of states.
const STATE_FORMAT_VERSION: &str = "1.0";

/// `show -json` of a state: one line, without a line break at its end.
pub(crate) fn state_json<'a>(
    terraform_version: &str,
    objects: impl IntoIterator<Item = StateObject<'a>>,
    outputs: &BTreeMap<Str, OutputValue>,
    checks: Option<&[CheckResult]>,
) -> String {
    let tree = ModuleTree::new(objects);
    let checks: Vec<Check<'_>> = checks.map(Check::all).unwrap_or_default();
    if tree.is_empty() && outputs.is_empty() && checks.is_empty() {
        return compact(&EmptyState { format_version: STATE_FORMAT_VERSION });
    }
    let outputs = outputs.iter().map(|(name, output)| (&**name, StateOutput::new(output))).collect();
    compact(&StateDocument {
        format_version: STATE_FORMAT_VERSION,
        terraform_version,
        values: StateValues { outputs, root_module: Module(&tree) },
        checks,
    })
}

/// `output -json`: all outputs, sensitive ones too.
pub(crate) fn outputs_json(outputs: &BTreeMap<Str, OutputValue>) -> String {
    let outputs: BTreeMap<&str, NamedOutput<'_>> = outputs
        .iter()
        .map(|(name, output)| {
            let OutputValue { value, sensitive } = output;
            let ty = TypeDocument(value.ty());
            (&**name, NamedOutput { sensitive: *sensitive, ty, value: PlainValue(value) })
        })
        .collect();
    pretty(&outputs)
}

/// `output -json NAME`: one value.
pub(crate) fn output_json(value: &Value) -> String {
    compact(&PlainValue(value))
}

/// Any document as Go writes it: one line, without a line break at its end.
pub(crate) fn compact(document: &impl Serialize) -> String {
    escaped(&serde_json::to_string(document).unwrap_or_default())
}

/// As [`compact`], over several lines.
pub(crate) fn pretty(document: &impl Serialize) -> String {
    escaped(&serde_json::to_string_pretty(document).unwrap_or_default())
}

/// With the characters escaped that Go escapes for the sake of HTML. They occur
/// nowhere in JSON but in strings.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut start = 0;
    for (at, found) in json.match_indices(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        out.push_str(&json[start..at]);
        out.push_str(match found {
            "<" => "\\u003c",
            ">" => "\\u003e",
            "&" => "\\u0026",
            "\u{2028}" => "\\u2028",
            _ => "\\u2029",
        });
        start = at + found.len();
    }
    out.push_str(&json[start..]);
    out
}

#[derive(Serialize)]
struct EmptyState {
    format_version: &'static str,
}

#[derive(Serialize)]
struct StateDocument<'a> {
    format_version: &'static str,
    terraform_version: &'a str,
    values: StateValues<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    checks: Vec<Check<'a>>,
}

#[derive(Serialize)]
struct StateValues<'a> {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    outputs: BTreeMap<&'a str, StateOutput<'a>>,
    root_module: Module<'a>,
}

#[derive(Serialize)]
struct StateOutput<'a> {
    sensitive: bool,
    value: PlainValue<'a>,
    #[serde(rename = "type")]
    ty: TypeDocument<'a>,
}

impl<'a> StateOutput<'a> {
    fn new(output: &'a OutputValue) -> Self {
        let OutputValue { value, sensitive } = output;
        Self { sensitive: *sensitive, value: PlainValue(value), ty: TypeDocument(value.ty()) }
    }
}

#[derive(Serialize)]
struct NamedOutput<'a> {
    sensitive: bool,
    #[serde(rename = "type")]
    ty: TypeDocument<'a>,
    value: PlainValue<'a>,
}

#[cfg(test)]
mod tests;
