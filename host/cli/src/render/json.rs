//! Plans, states, outputs and events as JSON, in Terraform's formats: the same keys in the same
//! order, the same escapes. Documents are written incrementally, so the JSON document of a large
//! state is never held in memory as a whole.

use std::collections::BTreeMap;

use serde::Serialize;
use wardian_state::{CheckResult, OutputValue};
use wardian_value::{Str, Value};

use super::state::StateObject;
use super::state::module_tree::ModuleTree;

mod actions;
mod audit;
mod changes;
mod checks;
mod configuration;
mod messages;
mod objects;
mod plan;
mod policy;
mod queries;
mod schemas;
mod test_messages;
mod values;

pub(crate) use audit::AuditDocument;
pub(crate) use messages::{Message, Summary, hook};
pub(crate) use plan::{PlanDocument, PlanJson, ReviewInput, reported_drift};
pub(crate) use policy::PolicyDocument;
pub(crate) use schemas::{functions_json, schemas_json};
pub(crate) use test_messages::{Progress, TestBody, TestMessage};
pub(crate) use wardian_app::go_json::{compact, pretty, write_compact};

use checks::Check;
use objects::Module;
use values::{PlainValue, TypeDocument};

/// The `format_version` of `show -json` for a state.
const STATE_FORMAT_VERSION: &str = "1.0";

/// The document of `show -json` for a state.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum StateJson<'a> {
    /// An empty state.
    Empty(EmptyState),
    /// A state with content.
    Full(Box<StateDocument<'a>>),
}

impl<'a> StateJson<'a> {
    pub(crate) fn new(
        terraform_version: &'a str,
        objects: impl IntoIterator<Item = StateObject<'a>>,
        outputs: &'a BTreeMap<Str, OutputValue>,
        checks: Option<&'a [CheckResult]>,
    ) -> Self {
        let tree = ModuleTree::new(objects);
        let outputs = outputs
            .iter()
            .map(|(name, OutputValue { value, sensitive })| (&**name, (*sensitive, value)))
            .collect();
        if is_empty_state(&tree, &outputs) {
            return Self::empty();
        }
        let checks = checks.map(Check::all).unwrap_or_default();
        Self::Full(Box::new(StateDocument::new(terraform_version, tree, outputs, checks)))
    }

    /// Returns the document for a missing state.
    pub(crate) fn empty() -> Self {
        Self::Empty(EmptyState { format_version: STATE_FORMAT_VERSION })
    }
}

/// Returns whether the state has neither objects nor outputs. Check results cannot refer to
/// anything in such a state.
fn is_empty_state(tree: &ModuleTree<'_>, outputs: &BTreeMap<&str, (bool, &Value)>) -> bool {
    tree.is_empty() && outputs.is_empty()
}

/// Returns the output of `output -json`: all outputs, including sensitive ones.
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

/// Returns the output of `output -json NAME`: one value.
pub(crate) fn output_json(value: &Value) -> String {
    compact(&PlainValue(value))
}

/// The document of an empty state.
#[derive(Serialize)]
pub(crate) struct EmptyState {
    format_version: &'static str,
}

#[derive(Serialize)]
pub(crate) struct StateDocument<'a> {
    format_version: &'static str,
    terraform_version: &'a str,
    values: StateValues<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    checks: Vec<Check<'a>>,
}

impl<'a> StateDocument<'a> {
    fn new(
        terraform_version: &'a str,
        tree: ModuleTree<'a>,
        outputs: BTreeMap<&'a str, (bool, &'a Value)>,
        checks: Vec<Check<'a>>,
    ) -> Self {
        let outputs = outputs
            .into_iter()
            .map(|(name, (sensitive, value))| {
                let ty = TypeDocument(value.ty());
                (name, StateOutput { sensitive, value: PlainValue(value), ty })
            })
            .collect();
        let values = StateValues { outputs, root_module: Module(tree) };
        Self { format_version: STATE_FORMAT_VERSION, terraform_version, values, checks }
    }
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

#[derive(Serialize)]
struct NamedOutput<'a> {
    sensitive: bool,
    #[serde(rename = "type")]
    ty: TypeDocument<'a>,
    value: PlainValue<'a>,
}

#[cfg(test)]
mod tests;
