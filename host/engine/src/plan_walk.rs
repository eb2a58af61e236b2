//! The walk that creates a plan.
//!
//! The walk visits an object of the configuration once all objects to which it refers are known.
//! The instances of a resource are read and planned in operations. State objects that are not in
//! the configuration are planned for destruction. In a destroy plan, all objects are planned for
//! destruction, and values come only from the state.

mod actions;
mod check;
mod deferred_reads;
mod ephemeral;
mod expand;
mod finish;
mod import;
mod orphans;
mod prepare;
mod start;
mod summarize;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;

use wardian_address::{
    AbsoluteResourceAddress, ActionInstanceAddress, ProviderConfigAddress, ResourceAddress,
    ResourceInstanceAddress,
};
use wardian_config::RootVariables;
use wardian_diagnostic::{Diagnosed, Diagnostic, Diagnostics, Span};
use wardian_plugin::ImportTarget;
use wardian_state::{Object, State};
use wardian_value::{Str, Value};

use crate::context::{DirectImport, EngineContext, stopped};
use crate::diagnostic_spans::in_resource;
use crate::ephemeral::Ephemerals;
use crate::evaluator::Evaluator;
use crate::graph::NodeId;
use crate::import::blocks::{ImportBlocks, PlannedImport};
use crate::nodes::{Node, NodeGraph};
use crate::operation::Subject;
use crate::operation::ephemeral::Lease;
use crate::operation::import::GeneratedOutcome;
use crate::operation::plan::{DestroyOutcome, PlanOutcome};
use crate::persisted_meta::PersistedMetas;
use crate::plan::{
    ActionInvocation, ActionReason, InvocationTrigger, Mode, Plan, PlanOptions, ResourceChange,
};
use crate::providers::{Configured, Schemas};
use crate::refactoring::Forgotten;
use crate::scheduler::{StartResult, StepResult, TaskFuture, VisitResult, WalkEnd, Walker, walk};
use crate::state_values::state_by_config;
use crate::stop::StopSignal;
use crate::targets;
use crate::values::RepetitionData;
use crate::walk::{SharedOutcome, WalkParts, start_close};
use deferred_reads::PendingChanges;
use import::ImportedObject;
use orphans::Orphan;
use prepare::{PlanVariables, Prepared, Unprepared, prepare};

#[derive(Clone, Copy, Debug)]
pub enum Purpose<'a> {
    Plan,
    /// Import one object: no changes are planned, and the values of other objects come from the state.
    Import(&'a DirectImport),
}

/// Creates a plan. Also returns the evaluator with the planned values. See [`EngineContext::plan`].
pub async fn plan(
    context: &EngineContext,
    schemas: &Schemas,
    state: State,
    variables: RootVariables,
    options: &PlanOptions,
    purpose: Purpose<'_>,
    mut stop: StopSignal,
) -> Diagnosed<(Plan, Evaluator)> {
    let invoking = (!options.invoke.is_empty()).then(|| without_changes(options));
    let options = invoking.as_ref().unwrap_or(options);
    let prepared = match prepare(context, schemas, state, variables, options, purpose).await {
        Ok(prepared) => prepared,
        Err(Unprepared::Failed(errors)) => return Diagnosed::failed(errors),
        Err(Unprepared::Errored(planned, errors)) => return Diagnosed::with_diagnostics(*planned, errors),
    };
    let Prepared { graph, evaluator, state, variables, refused, .. } = prepared;
    let Prepared { mut moves, forgotten, orphans, included, for_providers, .. } = prepared;
    let moved = std::mem::take(&mut moves.moved);
    let mut walker = PlanWalk {
        metas: PersistedMetas::new(&context.configuration, &graph),
        by_config: state_by_config(&state),
        imports: ImportBlocks::from_configuration(&context.configuration),
        context,
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
        invocations: Vec::new(),
        changes_of: HashMap::new(),
        pending_changes: PendingChanges::default(),
        moved: if is_preceded_by_plan(options) { HashMap::new() } else { moved },
        forgotten,
        drift: Vec::new(),
        diagnostics: Diagnostics::new(),
        undestroyable: Vec::new(),
        variables,
        refused,
        ephemerals: Ephemerals::default(),
        for_providers,
    };
    walker.expand_root_variables();
    let end = walk(graph.graph(), &mut walker, options.parallelism, &mut stop).await;
    walker.parts().close_all(end).await;
    walker.configured.close().await;
    if end != WalkEnd::Completed {
        walker.diagnostics.push(stopped());
    }
    walker.into_plan(&moves)
}

/// Returns the options with which the objects that an invoked action refers to are read.
fn without_changes(options: &PlanOptions) -> PlanOptions {
    PlanOptions { mode: Mode::RefreshOnly, ..options.clone() }
}

/// Whether a normal plan is created before a destroy plan, to give moved objects their new
/// addresses. False if refreshing is disabled.
fn is_preceded_by_plan(options: &PlanOptions) -> bool {
    options.mode == Mode::Destroy && options.refresh
}

struct PlanWalk<'a> {
    context: &'a EngineContext,
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
    metas: PersistedMetas<'a>,
    changes: Vec<ResourceChange>,
    invocations: Vec<ActionInvocation>,
    changes_of: HashMap<ResourceAddress, Vec<usize>>,
    pending_changes: PendingChanges,
    /// The previous addresses of moved objects.
    moved: HashMap<ResourceInstanceAddress, ResourceInstanceAddress>,
    forgotten: Forgotten,
    drift: Vec<ResourceChange>,
    diagnostics: Diagnostics,
    /// Objects that the plan should destroy, but cannot.
    undestroyable: Vec<ResourceInstanceAddress>,
    /// The root module's variable values.
    variables: PlanVariables,
    /// The errors for variable values that have the wrong type.
    refused: BTreeMap<Str, Diagnostics>,
    ephemerals: Ephemerals,
    /// Ephemeral resources on which provider configurations depend.
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
    /// Import an object, generate its configuration and plan it.
    Generate(PlannedImport),
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
    Close(Box<Lease>),
    /// Plan an invocation of an action.
    Invocation {
        address: ActionInstanceAddress,
        trigger: Box<InvocationTrigger>,
    },
    /// Read an object and plan its destruction.
    Destroy {
        address: ResourceInstanceAddress,
        deposed: Option<Str>,
        object: Arc<Object>,
        provider: ProviderConfigAddress,
        reason: Option<ActionReason>,
    },
    /// Remove an object from the state without destroying it.
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
    Shared(SharedOutcome),
    Planned {
        subject: Subject,
        result: Box<Diagnosed<PlanOutcome>>,
    },
    Generated {
        subject: Subject,
        place: Span,
        result: Box<Diagnosed<GeneratedOutcome>>,
    },
    Imported {
        subject: Subject,
        result: Result<Vec<ImportedObject>, Diagnostics>,
    },
    Read {
        subject: Box<Subject>,
        config: Value,
        result: Diagnosed<Value>,
    },
    /// A data source that the apply will read.
    DeferredRead {
        subject: Subject,
        config: Value,
        reason: ActionReason,
        diagnostics: Diagnostics,
    },
    Destroyed {
        subject: Subject,
        deposed: Option<Str>,
        keep: bool,
        result: Box<Diagnosed<DestroyOutcome>>,
    },
    Invocation {
        invocation: Box<ActionInvocation>,
        diagnostics: Diagnostics,
    },
}

impl From<SharedOutcome> for Outcome {
    fn from(outcome: SharedOutcome) -> Self {
        Self::Shared(outcome)
    }
}

impl Walker for PlanWalk<'_> {
    type Pending = Pending;
    type Outcome = Outcome;
    type Recording = Infallible;

    fn describe(&self, node: NodeId) -> String {
        self.graph.node(node).to_string()
    }

    fn visit(&mut self, node: NodeId) -> VisitResult<Pending> {
        if !self.included.node(node) {
            return VisitResult::Done;
        }
        let graph = self.graph;
        match graph.node(node) {
            Node::Module(path) => {
                let expanded = self.evaluator.expand_module(path);
                self.expand_checks(path);
                self.parts().visited(expanded)
            }
            Node::ModuleDone(_)
            | Node::DestroyBarrier { .. }
            | Node::Expand(_)
            | Node::PlannedChange(_)
            | Node::Invocations(_)
            | Node::List(..)
            | Node::DependentsDone(_)
            | Node::CheckBarrier => VisitResult::Done,
            Node::Action(address) => self.visit_action(address),
            Node::ActionTriggers(address) => self.visit_action_triggers(address),
            Node::Close(address) => VisitResult::Operations(
                self.ephemerals
                    .take(address)
                    .into_iter()
                    .map(|lease| Pending::Close(Box::new(lease)))
                    .collect(),
            ),
            Node::Check(path, name) => self.parts().visit_check(path, name),
            Node::Variable(path, name) if path.is_root() => self.visit_root_variable(name),
            Node::Variable(path, name) => {
                let evaluated = self.evaluator.evaluate_variable(path, name);
                self.parts().visited(evaluated)
            }
            Node::Local(path, name) => {
                let evaluated = self.evaluator.evaluate_local(path, name);
                self.parts().visited(evaluated)
            }
            Node::Output(path, name) => {
                let evaluated = self.evaluator.evaluate_output(path, name);
                self.parts().visited(evaluated)
            }
            Node::Provider(address) => VisitResult::Operations(vec![Pending::Configure(address.clone())]),
            Node::Resource(address) => self.visit_resource(address),
            Node::Import(address) => self.visit_import(address),
            Node::StateObject(index) => {
                let orphan = &self.orphans[*index];
                let (address, provider) = (orphan.address.clone(), orphan.provider.clone());
                VisitResult::Operations(self.end_orphan(&address, &provider))
            }
        }
    }

    fn commit(&mut self) -> bool {
        // A plan changes nothing.
        true
    }

    fn start(&mut self, pending: Pending) -> StartResult<Outcome> {
        match pending {
            Pending::Configure(address) => self.start_configure(address),
            Pending::Managed { address, repetition, import } => {
                self.start_managed(address, repetition, import)
            }
            Pending::Generate(import) => self.start_generate(import),
            Pending::Import { address, id, provider } => self.start_import(address, id, &provider),
            Pending::Data { address, repetition } => self.start_data(address, repetition),
            Pending::Open { address, repetition } => self.start_open(address, &repetition),
            Pending::Close(lease) => start_close(lease),
            Pending::Invocation { address, trigger } => self.start_invocation(address, *trigger),
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

    fn finish(&mut self, outcome: Outcome) -> StepResult<Pending> {
        let well = match outcome {
            Outcome::Shared(outcome) => self.parts().finish(outcome),
            Outcome::Planned { subject, result } => self.planned(&subject, *result),
            Outcome::Generated { subject, place, result } => self.generated(&subject, &place, *result),
            Outcome::Imported { subject, result } => self.imported(&subject, result),
            Outcome::Read { subject, config, result } => self.data_read(&subject, &config, result),
            Outcome::DeferredRead { subject, config, reason, diagnostics } => {
                self.defer_read(&subject, &config, reason, diagnostics)
            }
            Outcome::Destroyed { subject, deposed, keep, result } => {
                self.destroyed(&subject, deposed, keep, *result)
            }
            Outcome::Invocation { invocation, diagnostics } => {
                self.planned_invocation(*invocation, diagnostics)
            }
        };
        well.into()
    }

    fn record(&mut self, recording: Infallible) {
        match recording {}
    }

    fn on_task_panic(&mut self, problem: String) {
        self.diagnostics.push(Diagnostic::bug(
            "Planning was aborted",
            format!("A step of the plan ended unexpectedly: {problem}. This is a bug in Wardian."),
        ));
    }

    fn stop(&mut self) -> TaskFuture<()> {
        self.configured.stop_all()
    }
}

impl PlanWalk<'_> {
    fn parts(&mut self) -> WalkParts<'_> {
        WalkParts {
            context: self.context,
            mode: self.options.mode,
            evaluator: &mut self.evaluator,
            configured: &mut self.configured,
            ephemerals: &mut self.ephemerals,
            diagnostics: &mut self.diagnostics,
        }
    }

    fn failed(&mut self, address: &ResourceInstanceAddress, found: Diagnostics) -> bool {
        let located = in_resource(&self.context.configuration, address, found);
        self.diagnostics.extend(located);
        false
    }
}
