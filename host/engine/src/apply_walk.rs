//! The walk that applies a plan.
//!
//! It evaluates the configuration again with the providers' results and applies the planned change
//! to each object. It makes no decisions: an object without a planned change is not changed. Each
//! finished change is recorded before an operation that depends on it starts.

mod actions;
mod ephemeral;
mod import;
mod object;
mod outputs;
mod provision;
mod read;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tokio::sync::mpsc;
use wardian_plugin::CallContext;

use wardian_address::{ProviderConfigAddress, ResourceAddress, ResourceInstanceAddress, ResourceMode};
use wardian_config::{Removed, Resource, decode_body};
use wardian_diagnostic::{Diagnosed, Diagnostic, Diagnostics};
use wardian_state::{CheckResult, Object};
use wardian_value::{Str, Value};

use crate::checks::Checks;
use crate::context::{Applied, EngineContext, StateSink, stopped};
use crate::diagnostic_spans::resource_of;
use crate::ephemeral::{Ephemerals, add_closes};
use crate::evaluator::{Evaluator, Phase};
use crate::function_results::FunctionResults;
use crate::graph::NodeId;
use crate::nodes::{self, Node, NodeGraph};
use crate::operation::apply::ApplyOutcome;
use crate::operation::ephemeral::Lease;
use crate::operation::recording::Recording;
use crate::operation::{ProgressReporter, Subject};
use crate::persisted_meta::PersistedMetas;
use crate::plan::{Action, ChangeCounts, ChangeInvocations, Mode, Plan, ResourceChange};
use crate::providers::{Configured, Schemas};
use crate::refactoring::removed_with_provisioners;
use crate::scheduler::{StartResult, StepResult, TaskFuture, VisitResult, WalkEnd, Walker, walk};
use crate::state_values::{decode_stored, set_from_state};
use crate::stop::StopSignal;
use crate::walk::{SharedOutcome, WalkParts, start_close};
use crate::{apply_order, targets};
use actions::Invoking;
use provision::Provisioning;

/// Applies a plan. Also returns the evaluator with the new values, unless nothing was evaluated. See
/// [`EngineContext::apply`].
pub async fn apply(
    context: &EngineContext,
    schemas: &Schemas,
    plan: &Plan,
    sink: &mut dyn StateSink,
    parallelism: usize,
    mut stop: StopSignal,
) -> (Applied, Option<Evaluator>) {
    let mut applied = Applied {
        state: plan.prior_state.clone(),
        counts: ChangeCounts::default(),
        diagnostics: Diagnostics::new(),
        stopped: false,
    };
    if plan.mode != Mode::Destroy {
        outputs::planned_outputs(&mut applied.state, plan, &context.configuration);
    }
    if plan.mode == Mode::RefreshOnly {
        applied.state.check_results = stored_checks(plan.checks.clone());
        return (applied, None);
    }
    let configuration = match nodes::build(&context.configuration) {
        Ok(graph) => graph,
        Err(diagnostics) => {
            applied.diagnostics = diagnostics;
            return (applied, None);
        }
    };
    let mut order = apply_order::build(&context.configuration, &configuration, plan);
    if let Err(cycles) = order.graph.order() {
        applied.diagnostics.extend(cycles);
        return (applied, None);
    }
    let mut evaluator = context.evaluator(schemas, Phase::Apply, plan.timestamp.clone());
    evaluator.values.add_root();
    evaluator.checks = Checks::from_plan(&context.configuration, &plan.checks);
    evaluator.function_results = FunctionResults::from_plan(&plan.function_results);
    let incomplete = import::incomplete(context, plan);
    if incomplete.has_errors() {
        applied.diagnostics.extend(incomplete);
        return (applied, None);
    }
    let included = targets::Included::from_plan(&configuration, plan);
    let for_providers = add_closes(&mut order.graph);
    let (to_walk, recordings) = mpsc::unbounded_channel();
    let mut walker = ApplyWalk {
        context,
        plan,
        sink,
        included,
        metas: PersistedMetas::new(&context.configuration, &configuration),
        changes_of: changes_by_config(plan),
        invocations: plan.invocations_by_change(),
        graph: &order.graph,
        destructions: &order.destructions,
        evaluator,
        configured: Configured::default(),
        applied,
        deposed: HashMap::new(),
        removed: removed_with_provisioners(&context.configuration),
        uncommitted: Vec::new(),
        unrecorded: None,
        ephemerals: Ephemerals::default(),
        for_providers,
        to_walk,
        recordings: Some(recordings),
    };
    walker.forget();
    walker.import_all();
    let walked = walk(order.graph.graph(), &mut walker, parallelism, &mut stop).await;
    walker.parts().close_all(walked).await;
    if let Some(unrecorded) = &walker.unrecorded {
        walker.applied.diagnostics.push(unrecorded.diagnostic());
    }
    walker.configured.close().await;
    walker.applied.stopped = walked != WalkEnd::Completed;
    if walker.applied.stopped {
        walker.applied.diagnostics.push(stopped());
    }
    walker.set_outputs();
    let checks = match plan.mode {
        Mode::Destroy => plan.checks.clone(),
        Mode::Normal | Mode::RefreshOnly => walker.evaluator.checks.results(),
    };
    walker.applied.state.check_results = stored_checks(checks);
    let ApplyWalk { applied, evaluator, .. } = walker;
    (applied, Some(evaluator))
}

/// Returns the check results to store; `None` for a configuration without conditions.
fn stored_checks(results: Vec<CheckResult>) -> Option<Vec<CheckResult>> {
    (!results.is_empty()).then_some(results)
}

fn changes_by_config(plan: &Plan) -> HashMap<ResourceAddress, Vec<usize>> {
    let mut changes: HashMap<ResourceAddress, Vec<usize>> = HashMap::new();
    for (index, change) in plan.changes.iter().enumerate() {
        if !matches!(change.action, Action::Delete | Action::Forget) {
            changes.entry(change.address.config()).or_default().push(index);
        }
    }
    changes
}

struct ApplyWalk<'a> {
    context: &'a EngineContext,
    plan: &'a Plan,
    sink: &'a mut dyn StateSink,
    included: targets::Included,
    graph: &'a NodeGraph,
    destructions: &'a [usize],
    metas: PersistedMetas<'a>,
    changes_of: HashMap<ResourceAddress, Vec<usize>>,
    /// The invocations that changes trigger, by the index of the change.
    invocations: HashMap<usize, ChangeInvocations>,
    evaluator: Evaluator,
    configured: Configured,
    applied: Applied,
    /// The keys of the objects that this run has deposed, by the index of the change.
    deposed: HashMap<usize, Str>,
    /// The `removed` blocks with provisioners to run before objects are destroyed.
    removed: HashMap<ResourceAddress, &'a Removed>,
    /// The objects whose records are not committed yet.
    uncommitted: Vec<ResourceInstanceAddress>,
    /// The changes that could not be recorded; if there are any, no new operation starts.
    unrecorded: Option<UnrecordedChanges>,
    ephemerals: Ephemerals,
    /// The ephemeral resources that provider configurations depend on.
    for_providers: HashSet<ResourceAddress>,
    /// Sends the states that operations record to this walk.
    to_walk: mpsc::UnboundedSender<Recording>,
    /// The receiver of `to_walk`, until the walk begins.
    recordings: Option<mpsc::UnboundedReceiver<Recording>>,
}

/// Changes that could not be recorded.
struct UnrecordedChanges {
    first: String,
    further: Vec<String>,
    /// The reason why the first of them could not be recorded.
    problem: String,
}

impl UnrecordedChanges {
    fn add(&mut self, address: String) {
        if self.first != address && !self.further.contains(&address) {
            self.further.push(address);
        }
    }

    fn diagnostic(&self) -> Diagnostic {
        let Self { first, further, problem } = self;
        let changes = if further.is_empty() {
            format!("The change of {first}")
        } else {
            format!("The changes of {first}, {}", further.join(", "))
        };
        let detail = format!("{changes} could not be recorded: {problem}. No further changes are started.");
        Diagnostic::error("Failed to save the state", detail).for_address(first.clone())
    }
}

enum Pending {
    Configure(ProviderConfigAddress),
    /// Create, update or recreate an object.
    Change(usize),
    /// Read a data source.
    Read(usize),
    /// Open an ephemeral resource.
    Open(ResourceInstanceAddress),
    /// Close an ephemeral resource.
    Close(Box<Lease>),
    /// Run the next invocation of a group.
    Invoke(Invoking),
    /// Destroy an object.
    Destroy(usize),
    /// Run the next provisioner of an object.
    Provision(Box<Provisioning>),
    /// Destroy an object whose provisioners have finished.
    DestroyProvisioned {
        index: usize,
        subject: Box<Subject>,
        change: Box<ResourceChange>,
        object: Arc<Object>,
        progress: ProgressReporter,
    },
}

enum Outcome {
    Shared(SharedOutcome),
    Changed { index: usize, subject: Subject, outcome: ApplyOutcome },
    Read { subject: Box<Subject>, config: Value, result: Diagnosed<Value> },
    Destroyed { index: usize, subject: Subject, outcome: ApplyOutcome },
    Provisioned { provisioning: Box<Provisioning>, diagnostics: Diagnostics },
    Invoked { invoking: Invoking, diagnostics: Diagnostics },
}

impl From<SharedOutcome> for Outcome {
    fn from(outcome: SharedOutcome) -> Self {
        Self::Shared(outcome)
    }
}

impl Walker for ApplyWalk<'_> {
    type Pending = Pending;
    type Outcome = Outcome;
    type Recording = Recording;

    fn describe(&self, node: NodeId) -> String {
        self.graph.node(node).to_string()
    }

    fn visit(&mut self, node: NodeId) -> VisitResult<Pending> {
        let graph = self.graph;
        if !self.included.node(node) {
            return VisitResult::Done;
        }
        let evaluated: Diagnosed<()> = match graph.node(node) {
            Node::Module(path) => self.evaluator.expand_module(path).into(),
            Node::ModuleDone(_)
            | Node::DestroyBarrier { .. }
            | Node::DependentsDone(_)
            | Node::Import(_)
            | Node::ActionTriggers(_)
            | Node::List(..)
            | Node::CheckBarrier => return VisitResult::Done,
            Node::Action(_) if self.plan.mode == Mode::Destroy => return VisitResult::Done,
            Node::Action(address) => self.evaluator.expand_action(address).into(),
            Node::Invocations(group) => return self.visit_invocations(*group),
            Node::Close(address) => {
                let leases = self.ephemerals.take(address);
                return VisitResult::Operations(
                    leases.into_iter().map(|lease| Pending::Close(Box::new(lease))).collect(),
                );
            }
            Node::Resource(address) if address.mode == ResourceMode::Ephemeral => {
                return self.visit_ephemeral(address);
            }
            Node::Check(path, name) => return self.parts().visit_check(path, name),
            Node::Variable(path, name) if path.is_root() => {
                let Some(value) = self.plan.variables.get(name).cloned() else { return VisitResult::Done };
                return self.parts().set_root_variable(name, value, None);
            }
            Node::Expand(address) => return self.expand_resource(address),
            Node::PlannedChange(index) => return VisitResult::Operations(vec![Pending::Change(*index)]),
            Node::Variable(path, name) => self.evaluator.evaluate_variable(path, name),
            Node::Local(path, name) => self.evaluator.evaluate_local(path, name).into(),
            Node::Output(path, name) => self.evaluator.evaluate_output(path, name),
            Node::Provider(address) => {
                return VisitResult::Operations(vec![Pending::Configure(address.clone())]);
            }
            Node::Resource(address) => return self.visit_resource(address),
            Node::StateObject(number) => {
                return VisitResult::Operations(vec![Pending::Destroy(self.destructions[*number])]);
            }
        };
        self.parts().visited(evaluated)
    }

    fn start(&mut self, pending: Pending) -> StartResult<Outcome> {
        if self.unrecorded.is_some() && !matches!(pending, Pending::Close(_)) {
            return StartResult::Failed;
        }
        match pending {
            Pending::Configure(address) => self.start_configure(address),
            Pending::Change(index) => self.start_change(index),
            Pending::Read(index) => self.start_read(index),
            Pending::Open(address) => self.start_open(address),
            Pending::Close(lease) => start_close(lease),
            Pending::Invoke(invoking) => self.start_invoke(invoking),
            Pending::Destroy(index) => self.start_destroy(index),
            Pending::Provision(provisioning) => self.start_provision(*provisioning),
            Pending::DestroyProvisioned { index, subject, change, object, progress } => {
                self.start_destruction(index, *subject, *change, object, Some(progress))
            }
        }
    }

    fn commit(&mut self) -> bool {
        ApplyWalk::commit(self)
    }

    fn finish(&mut self, outcome: Outcome) -> StepResult<Pending> {
        let well = match outcome {
            Outcome::Shared(outcome) => self.parts().finish(outcome),
            Outcome::Changed { index, subject, outcome } => return self.changed(index, subject, outcome),
            Outcome::Provisioned { provisioning, diagnostics } => {
                return self.provisioned(*provisioning, diagnostics);
            }
            Outcome::Invoked { invoking, diagnostics } => return self.invoked(invoking, diagnostics),
            Outcome::Read { subject, config, result } => self.read(&subject, &config, result),
            Outcome::Destroyed { index, subject, outcome } => self.destroyed(index, &subject, outcome),
        };
        well.into()
    }

    fn recordings(&mut self) -> mpsc::UnboundedReceiver<Recording> {
        self.recordings.take().unwrap_or_else(|| mpsc::unbounded_channel().1)
    }

    fn record(&mut self, recording: Recording) {
        self.record_state(recording);
    }

    fn on_task_panic(&mut self, problem: String) {
        self.applied.diagnostics.push(Diagnostic::bug(
            "A change was aborted",
            format!(
                "A step of the apply ended unexpectedly: {problem}. This is a bug in Wardian. The object may \
                 exist without being in the state."
            ),
        ));
    }

    fn stop(&mut self) -> TaskFuture<()> {
        let providers = self.configured.stop_all();
        let provisioners = self.evaluator.schemas.provisioners().stop_all();
        Box::pin(async move {
            futures::join!(providers, provisioners);
        })
    }
}

impl ApplyWalk<'_> {
    fn visit_resource(&mut self, address: &ResourceAddress) -> VisitResult<Pending> {
        // Changes to a resource with an expansion node have nodes of their own.
        let mut pending = Vec::new();
        if self.graph.id(&Node::Expand(address.clone())).is_none() {
            if let VisitResult::Failed = self.expand_resource(address) {
                return VisitResult::Failed;
            }
            for index in self.changes_of.get(address).cloned().unwrap_or_default() {
                match self.plan.changes[index].action {
                    Action::NoOp | Action::Delete => {}
                    Action::Read => pending.push(Pending::Read(index)),
                    _ => pending.push(Pending::Change(index)),
                }
            }
        }
        VisitResult::Operations(pending)
    }

    /// Determines the instances of a resource and sets the values of those that do not change.
    fn expand_resource(&mut self, address: &ResourceAddress) -> VisitResult<Pending> {
        let context = self.context;
        let key = (address.mode, address.type_name.clone(), address.name.clone());
        let Some(resource) =
            context.configuration.module(&address.module).and_then(|m| m.module.resources.get(&key))
        else {
            return VisitResult::Done;
        };
        for module in self.evaluator.values.module_instances(&address.module).to_vec() {
            let absolute = address.in_module(&module);
            if self.plan.mode == Mode::Destroy {
                set_from_state(&mut self.evaluator, &self.plan.prior_state, &absolute);
                continue;
            }
            let count = resource.count.as_ref();
            match self.evaluator.repetition(&module, count, resource.for_each.as_ref()) {
                Ok(repetition) => {
                    self.evaluator.checks.expand_resource(&absolute, repetition.keys());
                    let values = self.evaluator.values.module_mut(&module);
                    values.expand_resource(address.mode, &address.type_name, &address.name, repetition);
                }
                Err(found) => {
                    self.applied.diagnostics.extend(found.in_block(&resource.context()));
                    return VisitResult::Failed;
                }
            }
            self.set_unchanged_values(&absolute);
        }
        let plan = self.plan;
        let mut holds = true;
        for index in self.changes_of.get(address).cloned().unwrap_or_default() {
            let change = &plan.changes[index];
            if change.action == Action::NoOp && plan.mode == Mode::Normal {
                self.evaluator.values.set_instance(&change.address, change.after.clone());
                holds &= self.conditions_hold(resource, &change.address, &change.after);
            }
        }
        if holds { VisitResult::Done } else { VisitResult::Failed }
    }

    /// Checks the conditions of an unchanged object, now that all values are known.
    fn conditions_hold(
        &mut self,
        resource: &Resource,
        address: &ResourceInstanceAddress,
        value: &Value,
    ) -> bool {
        if resource.lifecycle.preconditions.is_empty() && resource.lifecycle.postconditions.is_empty() {
            return true;
        }
        let repetition = self.evaluator.values.repetition_data(address);
        let mut found = self.evaluator.check_preconditions(resource, address, repetition);
        if !found.has_errors() {
            found.extend(self.evaluator.check_postconditions(resource, address, value.clone()));
        }
        let hold = !found.has_errors();
        self.applied.diagnostics.extend(found.in_block(&resource.context()));
        hold
    }

    /// Sets the values of instances for which the plan contains no change: data sources that were
    /// read, and instances that were not targeted.
    fn set_unchanged_values(&mut self, address: &wardian_address::AbsoluteResourceAddress) {
        let Some(resource) = self.plan.prior_state.resource(address) else { return };
        let Some(schema) = self
            .evaluator
            .schemas
            .resource(&resource.provider.provider, address.mode, &address.type_name)
            .cloned()
        else {
            return;
        };
        for (key, instance) in &resource.instances {
            if let Some(value) = instance.current.as_deref().and_then(|o| decode_stored(o, &schema)) {
                self.evaluator.values.set_instance(&address.instance(key.clone()), value);
            }
        }
    }

    fn parts(&mut self) -> WalkParts<'_> {
        WalkParts {
            context: self.context,
            mode: self.plan.mode,
            evaluator: &mut self.evaluator,
            configured: &mut self.configured,
            ephemerals: &mut self.ephemerals,
            diagnostics: &mut self.applied.diagnostics,
        }
    }

    fn start_configure(&mut self, address: ProviderConfigAddress) -> StartResult<Outcome> {
        let mut parts = self.parts();
        let Some(config) = parts.provider_config(&address) else { return StartResult::Failed };
        parts.start_configure(address, config)
    }

    fn subject(&mut self, change: &ResourceChange) -> Option<Subject> {
        let provider = self.configured.get(&change.provider)?;
        let provider = self.context.provider_for_instance(&change.address, &change.provider, provider);
        let meta = self.evaluator.provider_meta(change.address.module(), &change.provider.provider);
        let provider_meta = meta.map_err(|found| self.applied.diagnostics.extend(found)).ok()?;
        Some(Subject {
            context: CallContext::new(change.address.to_string()),
            address: change.address.clone(),
            provider_config: change.provider.clone(),
            provider,
            schema: Arc::clone(&change.schema),
            provider_meta,
            events: Arc::clone(&self.context.events),
        })
    }

    /// Evaluates the configuration of an instance with the values that are now known; `None` after
    /// an error.
    fn config(&mut self, subject: &Subject) -> Option<Value> {
        let context = self.context;
        let address = &subject.address;
        let resource = resource_of(&context.configuration, address)?;
        let repetition = self.evaluator.values.repetition_data(address);
        let mut found = self.evaluator.check_preconditions(resource, address, repetition.clone());
        let scope = self.evaluator.scope(address.module(), repetition);
        let evaluating =
            tracing::debug_span!(target: "wardian::evaluation", "evaluate", address = %subject.address)
                .entered();
        let (config, decoded) = decode_body(&resource.body, &subject.schema.block, &scope);
        drop(evaluating);
        found.extend(decoded);
        let failed = found.has_errors();
        if !found.is_empty() {
            let located = found.in_block(&resource.context()).for_address(&address.to_string());
            self.applied.diagnostics.extend(located);
        }
        (!failed).then_some(config)
    }
}
