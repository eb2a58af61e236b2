//! Prepares the inputs of a walk that depend only on the configuration and the state.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use wardian_address::ResourceAddress;
use wardian_config::{Configuration, RootVariables};
use wardian_diagnostic::{Diagnostic, Diagnostics, Span, did_you_mean};
use wardian_state::State;
use wardian_value::{Str, Value};

use super::orphans::{Orphan, orphans};
use super::{Purpose, is_preceded_by_plan};
use crate::context::EngineContext;
use crate::ephemeral::add_closes;
use crate::evaluator::{Evaluator, Phase, declared_marks};
use crate::import::check::without_configuration;
use crate::nodes::{self, Node, NodeGraph};
use crate::object_secrets::{ObjectSecrets, sensitive_values_of};
use crate::plan::{InvokeAddress, Mode, Plan, PlanOptions};
use crate::plan_secrets::{check_providers, withhold_from_plan};
use crate::providers::Schemas;
use crate::refactoring::{Forgotten, Moves};
use crate::{clock, refactoring, targets};

/// The inputs of a walk.
pub(super) struct Prepared {
    pub(super) graph: NodeGraph,
    pub(super) evaluator: Evaluator,
    /// The state after moves.
    pub(super) state: State,
    pub(super) variables: PlanVariables,
    /// The errors for variable values that have the wrong type.
    pub(super) refused: BTreeMap<Str, Diagnostics>,
    pub(super) moves: Moves,
    pub(super) forgotten: Forgotten,
    pub(super) orphans: Vec<Orphan>,
    pub(super) included: targets::Included,
    /// Ephemeral resources on which provider configurations depend.
    pub(super) for_providers: HashSet<ResourceAddress>,
}

/// The reason why no walk is started.
pub(super) enum Unprepared {
    Failed(Diagnostics),
    /// Errors occurred. Contains an empty plan for display.
    Errored(Box<(Plan, Evaluator)>, Diagnostics),
}

impl From<Diagnostics> for Unprepared {
    fn from(errors: Diagnostics) -> Self {
        Self::Failed(errors)
    }
}

/// Prepares a walk: builds the graph, applies the moves to the state and selects the targets.
///
/// # Errors
/// Returns an error if there is a cycle, if a move or an import is not possible, or if an object
/// has no provider.
pub(super) async fn prepare(
    context: &EngineContext,
    schemas: &Schemas,
    mut state: State,
    variables: RootVariables,
    options: &PlanOptions,
    purpose: Purpose<'_>,
) -> Result<Prepared, Unprepared> {
    let configuration = &context.configuration;
    check_invoked(configuration, &options.invoke)?;
    let mut graph = nodes::build(configuration)?;
    let (variables, refused) = PlanVariables::new(context, variables);
    let mut evaluator = context.evaluator(schemas, Phase::Plan, clock::now());
    evaluator.values.add_root();
    if context.secrets == ObjectSecrets::Withheld {
        evaluator.values.withhold(sensitive_values_of(&state, schemas));
    }
    let without_configuration = match (purpose, options.mode) {
        (Purpose::Plan, Mode::Normal) => without_configuration(configuration, options.missing_configuration),
        _ => Ok(Vec::new()),
    };
    let without_configuration = match without_configuration {
        Ok(imports) => imports,
        Err(errors) => {
            let plan = variables.into_plan(options, state.clone(), state, evaluator.timestamp.clone());
            let mut plan = Plan { errored: true, ..plan };
            if context.secrets == ObjectSecrets::Withheld {
                withhold_from_plan(&mut plan, evaluator.values.withheld());
            }
            return Err(Unprepared::Errored(Box::new((plan, evaluator)), errors));
        }
    };
    let moves = match purpose {
        Purpose::Plan => refactoring::apply(&evaluator, &mut state).await?,
        Purpose::Import(_) => Moves::default(),
    };
    check_providers(context, &state)?;
    if let Some(problem) = refactoring::check_targets(&moves, &options.targets) {
        return Err(Diagnostics::from(problem).into());
    }
    let forgotten = match (purpose, options.mode) {
        (Purpose::Plan, Mode::Normal) => Forgotten::from_configuration(configuration)?,
        (Purpose::Plan, Mode::Destroy) if is_preceded_by_plan(options) => {
            Forgotten::from_configuration(configuration)?;
            Forgotten::default()
        }
        _ => Forgotten::default(),
    };
    for import in without_configuration {
        nodes::add_import(&mut graph, configuration, import);
    }
    let orphans = match purpose {
        Purpose::Plan => orphans(context, &state)?,
        Purpose::Import(_) => Vec::new(),
    };
    for (index, orphan) in orphans.iter().enumerate() {
        let node = graph.add(Node::StateObject(index));
        let provider = nodes::add_provider(&mut graph, configuration, &orphan.provider);
        graph.depend(node, provider);
    }
    let included = included(&graph, options, &state, &orphans);
    let for_providers = add_closes(&mut graph);
    Ok(Prepared {
        graph,
        evaluator,
        state,
        variables,
        refused,
        moves,
        forgotten,
        orphans,
        included,
        for_providers,
    })
}

fn included(
    graph: &NodeGraph,
    options: &PlanOptions,
    state: &State,
    orphans: &[Orphan],
) -> targets::Included {
    let orphan = |index: usize| &orphans[index].address;
    if !options.invoke.is_empty() {
        return targets::included_for_actions(graph, &options.invoke);
    }
    if !options.excludes.is_empty() {
        return targets::not_excluded(graph, options, state, orphan);
    }
    match options.mode {
        Mode::Destroy => targets::included_in_destruction(graph, &options.targets, state, orphan),
        Mode::Normal | Mode::RefreshOnly => targets::included(graph, &options.targets, orphan),
    }
}

/// Checks that the actions of `-invoke` are declared.
fn check_invoked(configuration: &Configuration, invoke: &[InvokeAddress]) -> Result<(), Diagnostics> {
    let mut problems = Diagnostics::new();
    for requested in invoke.iter().filter(|requested| configuration.action(&requested.config()).is_none()) {
        let declared: Vec<String> = configuration
            .modules()
            .flat_map(|node| {
                let actions = node.module.actions.keys();
                actions
                    .map(|(type_name, name)| nodes::action_address(&node.path, type_name, name).to_string())
            })
            .collect();
        let advice = did_you_mean(&requested.config().to_string(), declared.iter().map(String::as_str));
        let detail =
            format!("The configuration has no {}, so -invoke cannot run it.{advice}", requested.config());
        problems.push(Diagnostic::error("Reference to undeclared action", detail));
    }
    problems.into_result(())
}

/// The variables of a plan; see [`Plan`].
pub(super) struct PlanVariables {
    /// The values, with defaults.
    pub(super) values: BTreeMap<Str, Value>,
    given: BTreeMap<Str, Value>,
    ephemeral: BTreeSet<Str>,
    /// The positions of the values that are set in variable files.
    pub(super) positions: BTreeMap<Str, Span>,
}

impl PlanVariables {
    /// Adds defaults and the marks of the declarations. Also returns the errors for values that
    /// have the wrong type.
    fn new(context: &EngineContext, variables: RootVariables) -> (Self, BTreeMap<Str, Diagnostics>) {
        let declared = &context.configuration.root().module.variables;
        let RootVariables { mut values, mut given, positions, refused } = variables;
        let is_ephemeral = |name: &&Str| declared.get(*name).is_some_and(|variable| variable.ephemeral);
        let ephemeral = values.keys().filter(is_ephemeral).cloned().collect();
        for (name, variable) in declared {
            let marks = declared_marks(variable);
            if let Some(value) = values.remove(name).or_else(|| variable.default.clone()) {
                values.insert(name.clone(), value.with_marks(marks));
            }
            if let Some(value) = given.remove(name) {
                given.insert(name.clone(), value.with_marks(marks));
            }
        }
        (Self { values, given, ephemeral, positions }, refused)
    }

    /// Returns a plan with these variables and without changes.
    pub(super) fn into_plan(
        self,
        options: &PlanOptions,
        previous_state: State,
        prior_state: State,
        timestamp: String,
    ) -> Plan {
        Plan {
            mode: options.mode,
            variables: self.values,
            given_variables: self.given,
            ephemeral_variables: self.ephemeral,
            function_results: BTreeMap::new(),
            targets: options.targets.clone(),
            excludes: options.excludes.clone(),
            changes: Vec::new(),
            invocations: Vec::new(),
            drift: Vec::new(),
            outputs: BTreeMap::new(),
            checks: Vec::new(),
            relevant_attributes: Vec::new(),
            previous_state,
            prior_state,
            timestamp,
            errored: false,
            secrets: ObjectSecrets::Available,
        }
    }
}
