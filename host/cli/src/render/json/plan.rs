//! A plan as JSON: its changes, the values after the changes, and the configuration and state from
//! which it was created.

use std::collections::BTreeMap;

use serde::Serialize;
use wardian_address::ResourceMode;
use wardian_config::Configuration;
use wardian_engine::{
    Action, Mode, ObjectSecrets, OutputChange, Plan, RelevantAttribute, ResourceChange, Schemas,
};
use wardian_state::OutputValue;
use wardian_value::{Str, Type, Value};

use super::actions::InvocationDocument;
use super::changes::{ChangeDocument, PathDocument, ResourceChangeDocument};
use super::checks::Check;
use super::configuration::ConfigurationDocument;
use super::objects::Module;
use super::values::{PlainValue, TypeDocument};
use super::{StateDocument, is_empty_state};
use crate::render::state::StateObject;
use crate::render::state::module_tree::ModuleTree;

/// The `format_version` of `show -json` for a plan.
const FORMAT_VERSION: &str = "1.2";

/// A plan, and everything else that its document contains.
pub(crate) struct PlanJson<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) configuration: &'a Configuration,
    pub(crate) schemas: &'a Schemas,
    /// The objects before the changes.
    pub(crate) prior_objects: Vec<StateObject<'a>>,
}

#[derive(Serialize)]
pub(crate) struct PlanDocument<'a> {
    format_version: &'static str,
    terraform_version: &'a str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    variables: BTreeMap<&'a str, VariableValue<'a>>,
    planned_values: PlannedValues<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resource_drift: Vec<ResourceChangeDocument<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resource_changes: Vec<ResourceChangeDocument<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    output_changes: BTreeMap<&'a str, ChangeDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prior_state: Option<StateDocument<'a>>,
    configuration: ConfigurationDocument<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    relevant_attributes: Vec<RelevantDocument<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    checks: Vec<Check<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    action_invocations: Vec<InvocationDocument<'a>>,
    timestamp: &'a str,
    applyable: bool,
    complete: bool,
    errored: bool,
}

/// Whether the state has the configured values after an apply of the plan.
fn is_complete(plan: &Plan) -> bool {
    !plan.errored && !plan.is_partial() && !plan.is_requested_invocation()
}

#[derive(Serialize)]
struct VariableValue<'a> {
    value: PlainValue<'a>,
}

#[derive(Serialize)]
struct PlannedValues<'a> {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    outputs: BTreeMap<&'a str, PlannedOutput<'a>>,
    root_module: Module<'a>,
}

#[derive(Serialize)]
struct PlannedOutput<'a> {
    sensitive: bool,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    ty: Option<TypeDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<PlainValue<'a>>,
}

#[derive(Serialize)]
struct RelevantDocument<'a> {
    resource: String,
    attribute: PathDocument<'a>,
}

impl<'a> RelevantDocument<'a> {
    fn new(relevant: &'a RelevantAttribute) -> Self {
        Self { resource: relevant.resource.to_string(), attribute: PathDocument(&relevant.path) }
    }
}

/// The parts of a plan's document from which a review is created. The values before and after the
/// changes are omitted.
#[derive(Serialize)]
pub(crate) struct ReviewInput<'a> {
    format_version: &'static str,
    terraform_version: &'a str,
    resource_drift: Vec<ResourceChangeDocument<'a>>,
    resource_changes: Vec<ResourceChangeDocument<'a>>,
    output_changes: BTreeMap<&'a str, ChangeDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    configuration: Option<ConfigurationDocument<'a>>,
    relevant_attributes: Vec<RelevantDocument<'a>>,
    checks: Vec<Check<'a>>,
    action_invocations: Vec<InvocationDocument<'a>>,
    timestamp: &'a str,
    applyable: bool,
    complete: bool,
    errored: bool,
}

impl<'a> ReviewInput<'a> {
    /// Without the configuration, the review contains no causes and no dependencies.
    pub(crate) fn new(
        terraform_version: &'a str,
        plan: &'a Plan,
        configuration: Option<(&'a Configuration, &Schemas)>,
    ) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            terraform_version,
            resource_drift: reported_drift(plan).map(ResourceChangeDocument::new).collect(),
            resource_changes: plan.changes.iter().map(ResourceChangeDocument::new).collect(),
            output_changes: output_changes(plan),
            configuration: configuration
                .map(|(configuration, schemas)| ConfigurationDocument::new(configuration, schemas)),
            relevant_attributes: plan.relevant_attributes.iter().map(RelevantDocument::new).collect(),
            checks: Check::all(&plan.checks),
            action_invocations: plan.invocations.iter().map(InvocationDocument::new).collect(),
            timestamp: &plan.timestamp,
            applyable: plan.is_applyable() && plan.secrets == ObjectSecrets::Available,
            complete: is_complete(plan),
            errored: plan.errored,
        }
    }
}

fn output_changes(plan: &Plan) -> BTreeMap<&str, ChangeDocument<'_>> {
    plan.outputs.iter().map(|(name, change)| (&**name, ChangeDocument::from_output(change))).collect()
}

/// Returns the drift in the JSON document. If the plan has any changes, objects that were only
/// moved are reported as changes, not as drift.
pub(crate) fn reported_drift(plan: &Plan) -> impl Iterator<Item = &ResourceChange> {
    let everything = plan.mode == Mode::RefreshOnly;
    plan.drift.iter().filter(move |change| everything || change.action != Action::NoOp)
}

impl<'a> PlanDocument<'a> {
    pub(crate) fn new(terraform_version: &'a str, from: PlanJson<'a>) -> Self {
        let PlanJson { plan, configuration, schemas, prior_objects } = from;
        let outputs = prior_outputs(plan, configuration);
        let prior = ModuleTree::new(prior_objects);
        let is_empty = is_empty_state(&prior, &outputs);
        Self {
            format_version: FORMAT_VERSION,
            terraform_version,
            variables: variables(plan, configuration),
            planned_values: PlannedValues {
                outputs: planned_outputs(&plan.outputs),
                root_module: Module(planned_objects(&plan.changes)),
            },
            resource_drift: reported_drift(plan).map(ResourceChangeDocument::new).collect(),
            resource_changes: plan.changes.iter().map(ResourceChangeDocument::new).collect(),
            output_changes: output_changes(plan),
            prior_state: (!is_empty)
                .then(|| StateDocument::new(terraform_version, prior, outputs, Vec::new())),
            configuration: ConfigurationDocument::new(configuration, schemas),
            relevant_attributes: plan.relevant_attributes.iter().map(RelevantDocument::new).collect(),
            checks: Check::all(&plan.checks),
            action_invocations: plan.invocations.iter().map(InvocationDocument::new).collect(),
            timestamp: &plan.timestamp,
            applyable: plan.is_applyable() && plan.secrets == ObjectSecrets::Available,
            complete: is_complete(plan),
            errored: plan.errored,
        }
    }
}

/// Returns the variable values. Ephemeral values are not stored in the plan, so their defaults are
/// used.
fn variables<'a>(plan: &'a Plan, configuration: &'a Configuration) -> BTreeMap<&'a str, VariableValue<'a>> {
    let declared = &configuration.root().module.variables;
    declared
        .iter()
        .filter_map(|(name, variable)| {
            let given = plan.given_variables.get(name).filter(|_| !variable.ephemeral);
            let value = given.or(variable.default.as_ref())?;
            Some((&**name, VariableValue { value: PlainValue(value) }))
        })
        .collect()
}

fn planned_outputs(outputs: &BTreeMap<Str, OutputChange>) -> BTreeMap<&str, PlannedOutput<'_>> {
    outputs
        .iter()
        .filter(|(_, output)| output.action != Action::Delete)
        .map(|(name, output)| {
            let known = Some(&output.after).filter(|after| after.is_wholly_known());
            // The type of a null that remains null is not reported.
            let is_nothing = output.action == Action::NoOp && output.after.is_null();
            let ty = known.map(|after| TypeDocument(if is_nothing { &Type::Dynamic } else { after.ty() }));
            let planned = PlannedOutput { sensitive: output.sensitive, ty, value: known.map(PlainValue) };
            (&**name, planned)
        })
        .collect()
}

/// Returns the planned objects, sorted by the text of their addresses. An object that is only
/// removed from the state is included without known values.
fn planned_objects(changes: &[ResourceChange]) -> ModuleTree<'_> {
    let mut planned: Vec<(String, &ResourceChange)> = changes
        .iter()
        .filter(|change| !change.after.is_null() || change.action == Action::Forget)
        .filter(|change| change.deposed.is_none())
        .map(|change| (change.address.to_string(), change))
        .collect();
    planned.sort_by(|(one, _), (other, _)| one.cmp(other));
    ModuleTree::new(planned.into_iter().map(|(_, change)| StateObject {
        address: change.address.clone(),
        deposed: None,
        provider: &change.provider,
        schema: &change.schema,
        schema_version: planned_schema_version(change),
        value: change.after.clone(),
        tainted: false,
        dependencies: &[],
    }))
}

/// Returns the schema version of a planned object. Objects of data sources have none, and are shown
/// with 0.
fn planned_schema_version(change: &ResourceChange) -> u64 {
    match change.address.resource.mode {
        ResourceMode::Managed => u64::try_from(change.schema.version).unwrap_or_default(),
        _ => 0,
    }
}

/// Returns the outputs of the prior state, with the new values that are already known.
fn prior_outputs<'a>(plan: &'a Plan, configuration: &Configuration) -> BTreeMap<&'a str, (bool, &'a Value)> {
    let declared = &configuration.root().module.outputs;
    let stored = plan.prior_state.outputs.iter();
    let mut outputs: BTreeMap<&'a str, (bool, &'a Value)> =
        stored.map(|(name, OutputValue { value, sensitive })| (&**name, (*sensitive, value))).collect();
    if plan.mode == Mode::Destroy {
        return outputs;
    }
    for (name, change) in &plan.outputs {
        if change.action == Action::Delete || !change.after.is_wholly_known() {
            continue;
        }
        if change.after.is_null() {
            outputs.remove(&**name);
        } else {
            let sensitive = declared.get(name).map_or(change.sensitive, |output| output.sensitive);
            outputs.insert(name, (sensitive, &change.after));
        }
    }
    outputs
}
