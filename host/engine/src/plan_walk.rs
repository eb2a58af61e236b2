//! The walk that makes a plan.
//!
//! Every object of the configuration is visited once all that it refers to is
//! known; a resource's instances are read and planned as operations. Objects in
//! the state that the configuration has no place for are planned for destruction.
//! In a destroy plan every object is, and values come from the state alone.

mod awaited;
mod check;
mod ephemeral;
mod expand;
mod finish;
mod import;
mod orphans;
mod start;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use wardian_address::{
    AbsoluteResourceAddress, InstanceKey, ProviderConfigAddress, ResourceAddress, ResourceInstanceAddress,
};
use wardian_config::RootVariables;
use wardian_diagnostic::{Diagnostic, Diagnostics, Severity, Span};
use wardian_plugin::{ImportTarget, Provider};
use wardian_state::{Object, State};
use wardian_value::{Str, Value};

use crate::ephemeral::{Ephemerals, add_closes};
use crate::evaluator::{Evaluator, Phase, declared_marks};
use crate::graph::NodeId;
use crate::import::blocks::{ImportBlocks, Wanted};
use crate::import::check::without_configuration;
use crate::located::{in_provider, in_resource};
use crate::nodes::{self, Node, NodeGraph};
use crate::operation::Subject;
use crate::operation::ephemeral::{Lease, Opened};
use crate::operation::import::GeneratedOutcome;
use crate::operation::plan::{DestroyOutcome, PlanOutcome};
use crate::plan::{ActionReason, Mode, Plan, PlanOptions, ResourceChange};
use crate::providers::{Configured, Schemas};
use crate::refactoring::{Forgotten, Moves};
use crate::replan::Replans;
use crate::run::{ImportOrder, Run, stopped};
use crate::scheduler::{Finished, Operation, Start, Visit, Walked, Walker, walk};
use crate::stop::StopSignal;
use crate::stored::state_by_config;
use crate::values::RepetitionData;
use crate::{clock, refactoring, relevant, targets};
use awaited::Awaited;
use ephemeral::start_close;
use import::ImportedObject;
use orphans::{Orphan, orphans};

/// What a walk is for.
#[derive(Clone, Copy, Debug)]
pub enum Purpose<'a> {
    /// To plan.
    Plan,
    /// To import one object: nothing is planned, and what is in the state is as it is
    /// there.
    Import(&'a ImportOrder),
}

/// Plans, and hands over the values that the plan leads to. See [`Run::plan`].
pub async fn plan(
    run: &Run,
    schemas: &Schemas,
    mut state: State,
    variables: RootVariables,
    options: &PlanOptions,
    purpose: Purpose<'_>,
    mut stop: StopSignal,
) -> (Option<(Plan, Evaluator)>, Diagnostics) {
    let timestamp = clock::now();
    let declared = &run.configuration.root().module.variables;
    let is_ephemeral = |name: &&Str| declared.get(*name).is_some_and(|variable| variable.ephemeral);
    let RootVariables { values: mut variables, given: mut given_variables, refused } = variables;
    let ephemeral_variables = variables.keys().filter(is_ephemeral).cloned().collect();
    let mut graph = match nodes::build(&run.configuration) {
        Ok(graph) => graph,
        Err(diagnostics) => return (None, diagnostics),
    };
    let mut evaluator = run.evaluator(schemas, Phase::Plan, timestamp.clone());
    evaluator.values.add_root();
    for (name, variable) in &run.configuration.root().module.variables {
        let marks = declared_marks(variable);
        if let Some(value) = variables.remove(name).or_else(|| variable.default.clone()) {
            variables.insert(name.clone(), value.with_marks(marks));
        }
        if let Some(value) = given_variables.remove(name) {
            given_variables.insert(name.clone(), value.with_marks(marks));
        }
    }
    let without_configuration = match (purpose, options.mode) {
        (Purpose::Plan, Mode::Normal) => {
            without_configuration(&run.configuration, options.missing_configuration)
        }
        _ => Ok(Vec::new()),
    };
    let without_configuration = match without_configuration {
        Ok(imports) => imports,
        Err(problems) => {
            let variables =
                PlanVariables { values: variables, given: given_variables, ephemeral: ephemeral_variables };
            let plan = variables.into_plan(options, state.clone(), state, timestamp);
            return (Some((Plan { errored: true, ..plan }, evaluator)), problems);
        }
    };
    let mut moves = match purpose {
        Purpose::Plan => match refactoring::apply(&evaluator, &mut state).await {
            Ok(moves) => moves,
            Err(found) => return (None, found),
        },
        Purpose::Import(_) => Moves::default(),
    };
    if let Some(problem) = refactoring::check_targets(&moves, &options.targets) {
        return (None, problem.into());
    }
    // Before objects are destroyed they are planned as usual, unless nothing shall be
    // read: what was moved then has its new address already.
    let is_preceded = options.mode == Mode::Destroy && options.refresh;
    let forgotten = match (purpose, options.mode) {
        (Purpose::Plan, Mode::Normal) => Forgotten::of(&run.configuration),
        (Purpose::Plan, Mode::Destroy) if is_preceded => {
            Forgotten::of(&run.configuration).map(|_| Forgotten::default())
        }
        _ => Ok(Forgotten::default()),
    };
    let forgotten = match forgotten {
        Ok(forgotten) => forgotten,
        Err(found) => return (None, found),
    };
    let moved = std::mem::take(&mut moves.moved);
    for import in without_configuration {
        nodes::add_import(&mut graph, &run.configuration, import);
    }
    let orphans = match purpose {
        Purpose::Plan => orphans(run, &state),
        Purpose::Import(_) => Ok(Vec::new()),
    };
    let orphans = match orphans {
        Ok(orphans) => orphans,
        Err(found) => return (None, found),
    };
    for (index, orphan) in orphans.iter().enumerate() {
        let node = graph.add(Node::Object(index));
        let provider = nodes::add_provider(&mut graph, &run.configuration, &orphan.provider);
        graph.graph.depend(node, provider);
    }
    let included = match options.mode {
        _ if !options.excludes.is_empty() => {
            targets::not_excluded(&graph, options, &state, |index| &orphans[index].address)
        }
        Mode::Destroy => targets::included_in_destruction(&graph, &options.targets, &state, |index| {
            &orphans[index].address
        }),
        Mode::Normal | Mode::RefreshOnly => {
            targets::included(&graph, &options.targets, |index| &orphans[index].address)
        }
    };
    let for_providers = add_closes(&mut graph);
    let mut walker = PlanWalk {
        replans: Replans::new(&run.configuration, &graph),
        by_config: state_by_config(&state),
        imports: ImportBlocks::of(&run.configuration),
        run,
        options,
        purpose,
        graph: &graph,
        evaluator,
        configured: Configured::default(),
        previous: state.clone(),
        state,
        orphans,
        included,
        changes: Vec::new(),
        changes_of: HashMap::new(),
        awaited: Awaited::default(),
        moved: if is_preceded { HashMap::new() } else { moved },
        forgotten,
        drift: Vec::new(),
        diagnostics: Diagnostics::new(),
        staying: Vec::new(),
        variables,
        refused,
        ephemerals: Ephemerals::default(),
        for_providers,
    };
    walker.expand_root_variables();
    let walked = walk(&graph.graph, &mut walker, options.parallelism, &mut stop).await;
    walker.close_all(walked).await;
    walker.configured.close().await;
    if walked != Walked::Fully {
        walker.diagnostics.push(stopped());
    }
    if options.mode != Mode::Destroy || options.refresh {
        let found = moves.check(&walker.evaluator, options.mode);
        // Objects that are not where they should be make for errors of all kinds.
        if found.has_errors() {
            return (None, found);
        }
    }
    // Nothing is known of what can be destroyed where objects could not be looked at.
    let errors = walker.diagnostics.iter().filter(|problem| problem.severity == Severity::Error).count();
    let is_something_there = walker.previous.resources().len() > 0 || !walker.previous.outputs.is_empty();
    if is_preceded && is_something_there && errors > walker.staying.len() {
        return (None, walker.diagnostics);
    }
    if errors == 0 {
        walker.diagnostics.extend(moves.blocked());
    }
    walker.diagnostics.extend(refactoring::forgotten_warning(&walker.changes));
    unmatched_replacements(&options.replace, &walker.changes, &mut walker.diagnostics);
    let outputs = walker.outputs();
    let errored = walker.diagnostics.has_errors();
    let checks = walker.check_results();
    let mut changes = std::mem::take(&mut walker.changes);
    if options.mode == Mode::Destroy && !walker.staying.is_empty() {
        let needed = walker.needed_by_staying();
        changes.retain(|change| !needed.contains(&change.address.config()));
    }
    changes.sort_by(|a, b| (&a.address, &a.deposed).cmp(&(&b.address, &b.deposed)));
    walker.drift.sort_by(|a, b| a.address.cmp(&b.address));
    let planned = relevant::Planned {
        mode: options.mode,
        changes: &changes,
        state: &walker.state,
        outputs: &outputs,
        values: &walker.evaluator.values,
    };
    let relevant_attributes = relevant::attributes(&run.configuration, schemas, &planned);
    let variables =
        PlanVariables { values: walker.variables, given: given_variables, ephemeral: ephemeral_variables };
    let plan = Plan {
        function_results: walker.evaluator.function_results.noted(),
        changes,
        drift: walker.drift,
        outputs,
        checks,
        relevant_attributes,
        errored,
        ..variables.into_plan(options, walker.previous, walker.state, timestamp)
    };
    (Some((plan, walker.evaluator)), walker.diagnostics)
}

/// The variables of a plan; see [`Plan`].
struct PlanVariables {
    values: BTreeMap<Str, Value>,
    given: BTreeMap<Str, Value>,
    ephemeral: BTreeSet<Str>,
}

impl PlanVariables {
    /// A plan with them in which nothing happens.
    fn into_plan(
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
            drift: Vec::new(),
            outputs: BTreeMap::new(),
            checks: Vec::new(),
            relevant_attributes: Vec::new(),
            previous_state,
            prior_state,
            timestamp,
            errored: false,
        }
    }
}

/// Warns of `-replace` where it replaces nothing, which is no error: the object may
/// be gone already.
fn unmatched_replacements(
    asked: &[ResourceInstanceAddress],
    changes: &[ResourceChange],
    diagnostics: &mut Diagnostics,
) {
    let planned: HashSet<&ResourceInstanceAddress> = changes.iter().map(|change| &change.address).collect();
    for address in asked.iter().filter(|address| !planned.contains(address)) {
        let keyed: Vec<String> = changes
            .iter()
            .filter(|change| address.key == InstanceKey::None && change.address.config() == address.config())
            .map(|change| format!("\n  -replace='{}'", change.address))
            .take(10)
            .collect();
        diagnostics.push(if keyed.is_empty() {
            Diagnostic::warning(
                "No such resource instance to replace",
                format!("There is no {address} in this plan, so that -replace has no effect on it."),
            )
        } else {
            Diagnostic::warning(
                "Incompletely-matched force-replace resource instance",
                format!(
                    "{address} has several instances, and -replace takes one at a time:{}",
                    keyed.concat()
                ),
            )
        });
    }
}

struct PlanWalk<'a> {
    run: &'a Run,
    options: &'a PlanOptions,
    purpose: Purpose<'a>,
    imports: ImportBlocks<'a>,
    graph: &'a NodeGraph,
    evaluator: Evaluator,
    configured: Configured,
    previous: State,
    state: State,
    by_config: HashMap<ResourceAddress, Vec<AbsoluteResourceAddress>>,
    orphans: Vec<Orphan>,
    included: targets::Included,
    replans: Replans<'a>,
    changes: Vec<ResourceChange>,
    changes_of: HashMap<ResourceAddress, Vec<usize>>,
    awaited: Awaited,
    /// What objects were called that were moved.
    moved: HashMap<ResourceInstanceAddress, ResourceInstanceAddress>,
    forgotten: Forgotten,
    drift: Vec<ResourceChange>,
    diagnostics: Diagnostics,
    /// Objects that were to be destroyed and cannot be.
    staying: Vec<ResourceInstanceAddress>,
    /// The values of the root module's variables.
    variables: BTreeMap<Str, Value>,
    /// What is wrong with values that do not suit them.
    refused: BTreeMap<Str, Diagnostics>,
    ephemerals: Ephemerals,
    /// Ephemeral resources that provider configurations are made from.
    for_providers: HashSet<ResourceAddress>,
}

enum Pending {
    Configure(ProviderConfigAddress),
    /// Read and plan an instance of the configuration.
    Managed {
        address: ResourceInstanceAddress,
        repetition: RepetitionData,
        import: Option<ImportTarget>,
    },
    /// Import an object, make its configuration and plan it.
    Generate(Wanted),
    /// Import an object into the state.
    Import {
        address: ResourceInstanceAddress,
        id: String,
        provider: ProviderConfigAddress,
    },
    /// Read a data source of the configuration.
    Data {
        address: ResourceInstanceAddress,
        repetition: RepetitionData,
    },
    /// Open an ephemeral resource of the configuration.
    Open {
        address: ResourceInstanceAddress,
        repetition: RepetitionData,
    },
    /// Close one.
    Close(Box<Lease>),
    /// Read an object and plan its destruction.
    Destroy {
        address: ResourceInstanceAddress,
        deposed: Option<Str>,
        object: Arc<Object>,
        provider: ProviderConfigAddress,
        reason: Option<ActionReason>,
    },
    /// Leave an object out of the state.
    Forget {
        address: ResourceInstanceAddress,
        deposed: Option<Str>,
        object: Arc<Object>,
        provider: ProviderConfigAddress,
        reason: Option<ActionReason>,
    },
    /// Only read an object.
    Refresh {
        address: ResourceInstanceAddress,
        object: Arc<Object>,
        provider: ProviderConfigAddress,
    },
}

enum Outcome {
    Configured {
        address: ProviderConfigAddress,
        result: Result<(Arc<dyn Provider>, Diagnostics), Diagnostics>,
    },
    Planned {
        subject: Subject,
        result: Box<Result<PlanOutcome, Diagnostics>>,
    },
    Generated {
        subject: Subject,
        place: Span,
        result: Box<Result<GeneratedOutcome, Diagnostics>>,
    },
    Imported {
        subject: Subject,
        result: Result<Vec<ImportedObject>, Diagnostics>,
    },
    Read {
        subject: Box<Subject>,
        config: Value,
        result: Result<(Value, Diagnostics), Diagnostics>,
    },
    Opened {
        subject: Subject,
        result: Box<Result<Opened, Diagnostics>>,
    },
    Closed {
        address: ResourceInstanceAddress,
        diagnostics: Diagnostics,
    },
    /// A data source that is to be read during the apply.
    ReadLater {
        subject: Subject,
        config: Value,
        reason: ActionReason,
        diagnostics: Diagnostics,
    },
    Destroyed {
        subject: Subject,
        deposed: Option<Str>,
        keep: bool,
        result: Box<Result<DestroyOutcome, Diagnostics>>,
    },
}

impl Walker for PlanWalk<'_> {
    type Pending = Pending;
    type Outcome = Outcome;

    fn visit(&mut self, node: NodeId) -> Visit<Pending> {
        if !self.included.node(node) {
            return Visit::Done;
        }
        let graph = self.graph;
        match graph.node(node) {
            Node::Module(path) => {
                let expanded = self.evaluator.expand_module(path);
                self.expand_checks(path);
                self.visited(expanded)
            }
            Node::ModuleDone(_)
            | Node::Gate { .. }
            | Node::Expand(_)
            | Node::Change(_)
            | Node::DependentsDone(_)
            | Node::Settled => Visit::Done,
            Node::Close(address) => Visit::Operations(
                self.ephemerals
                    .take(address)
                    .into_iter()
                    .map(|lease| Pending::Close(Box::new(lease)))
                    .collect(),
            ),
            Node::Check(path, name) => self.visit_check(path, name),
            Node::Variable(path, name) if path.is_root() => self.visit_root_variable(name),
            Node::Variable(path, name) => {
                let evaluated = self.evaluator.evaluate_variable(path, name);
                self.visited_with_warnings(evaluated)
            }
            Node::Local(path, name) => {
                let evaluated = self.evaluator.evaluate_local(path, name);
                self.visited(evaluated)
            }
            Node::Output(path, name) => {
                let evaluated = self.evaluator.evaluate_output(path, name);
                self.visited_with_warnings(evaluated)
            }
            Node::Provider(address) => Visit::Operations(vec![Pending::Configure(address.clone())]),
            Node::Resource(address) => self.visit_resource(address),
            Node::Import(address) => self.visit_import(address),
            Node::Object(index) => {
                let orphan = &self.orphans[*index];
                let (address, provider) = (orphan.address.clone(), orphan.provider.clone());
                Visit::Operations(self.end_orphan(&address, &provider))
            }
        }
    }

    fn start(&mut self, pending: Pending) -> Start<Outcome> {
        match pending {
            Pending::Configure(address) => self.start_configure(address),
            Pending::Managed { address, repetition, import } => {
                self.start_managed(address, repetition, import)
            }
            Pending::Generate(wanted) => self.start_generate(wanted),
            Pending::Import { address, id, provider } => self.start_import(address, id, &provider),
            Pending::Data { address, repetition } => self.start_data(address, repetition),
            Pending::Open { address, repetition } => self.start_open(address, &repetition),
            Pending::Close(lease) => start_close(lease),
            Pending::Destroy { address, deposed, object, provider, reason } => {
                self.start_destroy(address, deposed, object, &provider, reason, false)
            }
            Pending::Forget { address, deposed, object, provider, reason } => {
                self.start_forget(address, deposed, object, &provider, reason)
            }
            Pending::Refresh { address, object, provider } => {
                self.start_destroy(address, None, object, &provider, None, true)
            }
        }
    }

    fn finish(&mut self, outcome: Outcome) -> Finished<Pending> {
        let well = match outcome {
            Outcome::Configured { address, result } => match result {
                Ok((provider, warnings)) => {
                    self.diagnostics.extend(in_provider(&self.run.configuration, &address, warnings));
                    self.configured.insert(address, provider);
                    true
                }
                Err(found) => {
                    self.diagnostics.extend(in_provider(&self.run.configuration, &address, found));
                    false
                }
            },
            Outcome::Planned { subject, result } => match *result {
                Ok(planned) => self.planned(&subject, planned),
                Err(found) => self.failed(&subject.address, found),
            },
            Outcome::Generated { subject, place, result } => self.generated(&subject, &place, *result),
            Outcome::Imported { subject, result } => self.imported(&subject, result),
            Outcome::Read { subject, config, result } => match result {
                Ok((value, warnings)) => self.data_read(&subject, &config, value, warnings),
                Err(found) => self.data_unread(&subject, &config, found),
            },
            Outcome::Opened { subject, result } => self.opened(&subject, *result),
            Outcome::Closed { address, diagnostics } => self.closed(&address, diagnostics),
            Outcome::ReadLater { subject, config, reason, diagnostics } => {
                self.read_later(&subject, &config, reason, diagnostics)
            }
            Outcome::Destroyed { subject, deposed, keep, result } => match *result {
                Ok(outcome) => self.destroyed(&subject, deposed, keep, outcome),
                Err(found) => self.failed(&subject.address, found),
            },
        };
        well.into()
    }

    fn lost(&mut self, problem: String) {
        self.diagnostics.push(Diagnostic::error(
            "Planning was broken off",
            format!("A step of the plan ended unexpectedly: {problem}. This is a bug in Wardian."),
        ));
    }

    fn stop(&mut self) -> Operation<()> {
        self.configured.stop_all()
    }
}

impl PlanWalk<'_> {
    /// In a destroy plan a value that cannot be evaluated any more is no error:
    /// who needs it finds it unknown.
    fn visited(&mut self, result: Result<(), Diagnostics>) -> Visit<Pending> {
        self.visited_with_warnings(result.map(|()| Diagnostics::new()))
    }

    fn visited_with_warnings(&mut self, result: Result<Diagnostics, Diagnostics>) -> Visit<Pending> {
        match result {
            Ok(warnings) => {
                self.diagnostics.extend(warnings);
                Visit::Done
            }
            Err(_) if self.options.mode == Mode::Destroy => Visit::Done,
            Err(found) => {
                self.diagnostics.extend(found);
                Visit::Failed
            }
        }
    }

    fn failed(&mut self, address: &ResourceInstanceAddress, found: Diagnostics) -> bool {
        let located = in_resource(&self.run.configuration, address, found);
        self.diagnostics.extend(located);
        false
    }
}
