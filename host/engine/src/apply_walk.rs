//! The walk that carries out a plan.
//!
//! It evaluates the configuration once more, now with what providers answer, and
//! does to each object what the plan says. It decides nothing: an object that the
//! plan does not change is not touched. Each finished change is recorded before
//! anything that depends on it begins.

mod check;
mod ephemeral;
mod import;
mod object;
mod outputs;
mod provision;
mod read;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use wardian_address::{ProviderConfigAddress, ResourceAddress, ResourceInstanceAddress, ResourceMode};
use wardian_config::{Removed, Resource, decode_body};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_plugin::Provider;
use wardian_state::{CheckResult, Object};
use wardian_value::{Str, Value};

use crate::checks::Checks;
use crate::ephemeral::{Ephemerals, add_closes};
use crate::evaluator::{Evaluator, Phase};
use crate::function_results::FunctionResults;
use crate::graph::NodeId;
use crate::located::{in_provider, resource_of};
use crate::nodes::{self, Node, NodeGraph};
use crate::operation::apply::ApplyOutcome;
use crate::operation::ephemeral::{Lease, Opened};
use crate::operation::{Subject, Telling};
use crate::plan::{Action, ChangeCounts, Mode, Plan, ResourceChange};
use crate::providers::{Configured, Schemas, configure};
use crate::refactoring::removed_with_provisioners;
use crate::replan::Replans;
use crate::run::{Applied, Run, StateSink, stopped};
use crate::scheduler::{Finished, Operation, Start, Visit, Walked, Walker, walk};
use crate::stop::StopSignal;
use crate::stored::{decode_stored, set_from_state};
use crate::{apply_order, targets};
use ephemeral::start_close;
use provision::Provisioning;

/// Applies. See [`Run::apply`].
pub async fn apply(
    run: &Run,
    schemas: &Schemas,
    plan: &Plan,
    sink: &mut dyn StateSink,
    parallelism: usize,
    mut stop: StopSignal,
) -> Applied {
    let mut applied = Applied {
        state: plan.prior_state.clone(),
        counts: ChangeCounts::default(),
        diagnostics: Diagnostics::new(),
        stopped: false,
    };
    if plan.mode != Mode::Destroy {
        outputs::planned_outputs(&mut applied.state, plan, &run.configuration);
    }
    if plan.mode == Mode::RefreshOnly {
        applied.state.check_results = stored_checks(plan.checks.clone());
        return applied;
    }
    let configuration = match nodes::build(&run.configuration) {
        Ok(graph) => graph,
        Err(diagnostics) => {
            applied.diagnostics = diagnostics;
            return applied;
        }
    };
    let mut order = apply_order::build(&run.configuration, &configuration, plan);
    if let Err(cycle) = order.graph.graph.order() {
        applied.diagnostics.push(order.graph.cycle_error(&cycle));
        return applied;
    }
    let mut evaluator = run.evaluator(schemas, Phase::Apply, plan.timestamp.clone());
    evaluator.values.add_root();
    evaluator.checks = Checks::of_plan(&run.configuration, &plan.checks);
    evaluator.function_results = FunctionResults::of_plan(&plan.function_results);
    let incomplete = import::incomplete(run, plan);
    if incomplete.has_errors() {
        applied.diagnostics.extend(incomplete);
        return applied;
    }
    let included = targets::Included::of_plan(&configuration, plan);
    let for_providers = add_closes(&mut order.graph);
    let mut walker = ApplyWalk {
        run,
        plan,
        sink,
        included,
        replans: Replans::new(&run.configuration, &configuration),
        changes_of: changes_by_config(plan),
        graph: &order.graph,
        destructions: &order.destructions,
        evaluator,
        configured: Configured::default(),
        applied,
        deposed: HashMap::new(),
        removed: removed_with_provisioners(&run.configuration),
        unrecorded: false,
        ephemerals: Ephemerals::default(),
        for_providers,
    };
    walker.forget();
    walker.import_all();
    let walked = walk(&order.graph.graph, &mut walker, parallelism, &mut stop).await;
    walker.close_all(walked).await;
    walker.configured.close().await;
    walker.applied.stopped = walked != Walked::Fully;
    if walker.applied.stopped {
        walker.applied.diagnostics.push(stopped());
    }
    walker.set_outputs();
    let checks = match plan.mode {
        Mode::Destroy => plan.checks.clone(),
        Mode::Normal | Mode::RefreshOnly => walker.evaluator.checks.results(),
    };
    walker.applied.state.check_results = stored_checks(checks);
    walker.applied
}

/// A state of a configuration without conditions has no results.
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
    run: &'a Run,
    plan: &'a Plan,
    sink: &'a mut dyn StateSink,
    included: targets::Included,
    graph: &'a NodeGraph,
    destructions: &'a [usize],
    replans: Replans<'a>,
    changes_of: HashMap<ResourceAddress, Vec<usize>>,
    evaluator: Evaluator,
    configured: Configured,
    applied: Applied,
    /// The keys of objects that were deposed in this run, by change.
    deposed: HashMap<usize, Str>,
    /// What says what to run before objects go that the configuration has not.
    removed: HashMap<ResourceAddress, &'a Removed>,
    /// Something could not be recorded: nothing more is begun.
    unrecorded: bool,
    ephemerals: Ephemerals,
    /// Ephemeral resources that provider configurations are made from.
    for_providers: HashSet<ResourceAddress>,
}

enum Pending {
    Configure(ProviderConfigAddress),
    /// Create, update, or make anew.
    Change(usize),
    /// Read a data source.
    Read(usize),
    /// Open an ephemeral resource.
    Open(ResourceInstanceAddress),
    /// Close one.
    Close(Box<Lease>),
    /// Destroy an object.
    Destroy(usize),
    /// Run the next provisioner of an object.
    Provision(Box<Provisioning>),
    /// Destroy an object whose provisioners are through.
    DestroyProvisioned {
        index: usize,
        subject: Box<Subject>,
        change: Box<ResourceChange>,
        object: Arc<Object>,
        telling: Telling,
    },
}

enum Outcome {
    Configured {
        address: ProviderConfigAddress,
        result: Result<(Arc<dyn Provider>, Diagnostics), Diagnostics>,
    },
    Changed {
        index: usize,
        subject: Subject,
        outcome: ApplyOutcome,
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
    Destroyed {
        index: usize,
        subject: Subject,
        outcome: ApplyOutcome,
    },
    Provisioned {
        provisioning: Box<Provisioning>,
        diagnostics: Diagnostics,
    },
}

impl Walker for ApplyWalk<'_> {
    type Pending = Pending;
    type Outcome = Outcome;

    fn visit(&mut self, node: NodeId) -> Visit<Pending> {
        let graph = self.graph;
        if !self.included.node(node) {
            return Visit::Done;
        }
        let evaluated = match graph.node(node) {
            Node::Module(path) => self.evaluator.expand_module(path).map(|()| Diagnostics::new()),
            Node::ModuleDone(_)
            | Node::Gate { .. }
            | Node::DependentsDone(_)
            | Node::Import(_)
            | Node::Settled => return Visit::Done,
            Node::Close(address) => {
                let leases = self.ephemerals.take(address);
                return Visit::Operations(
                    leases.into_iter().map(|lease| Pending::Close(Box::new(lease))).collect(),
                );
            }
            Node::Resource(address) if address.mode == ResourceMode::Ephemeral => {
                return self.visit_ephemeral(address);
            }
            Node::Check(path, name) => return self.visit_check(path, name),
            Node::Variable(path, name) if path.is_root() => return self.visit_root_variable(name),
            Node::Expand(address) => return self.expand_resource(address),
            Node::Change(index) => return Visit::Operations(vec![Pending::Change(*index)]),
            Node::Variable(path, name) => self.evaluator.evaluate_variable(path, name),
            Node::Local(path, name) => self.evaluator.evaluate_local(path, name).map(|()| Diagnostics::new()),
            Node::Output(path, name) => self.evaluator.evaluate_output(path, name),
            Node::Provider(address) => return Visit::Operations(vec![Pending::Configure(address.clone())]),
            Node::Resource(address) => return self.visit_resource(address),
            Node::Object(number) => {
                return Visit::Operations(vec![Pending::Destroy(self.destructions[*number])]);
            }
        };
        match evaluated {
            Ok(warnings) => {
                self.applied.diagnostics.extend(warnings);
                Visit::Done
            }
            Err(_) if self.plan.mode == Mode::Destroy => Visit::Done,
            Err(found) => {
                self.applied.diagnostics.extend(found);
                Visit::Failed
            }
        }
    }

    fn start(&mut self, pending: Pending) -> Start<Outcome> {
        if self.unrecorded && !matches!(pending, Pending::Close(_)) {
            return Start::Failed;
        }
        match pending {
            Pending::Configure(address) => self.start_configure(address),
            Pending::Change(index) => self.start_change(index),
            Pending::Read(index) => self.start_read(index),
            Pending::Open(address) => self.start_open(address),
            Pending::Close(lease) => start_close(lease),
            Pending::Destroy(index) => self.start_destroy(index),
            Pending::Provision(provisioning) => self.start_provision(*provisioning),
            Pending::DestroyProvisioned { index, subject, change, object, telling } => {
                self.start_destruction(index, *subject, *change, object, Some(telling))
            }
        }
    }

    fn finish(&mut self, outcome: Outcome) -> Finished<Pending> {
        let well = match outcome {
            Outcome::Configured { address, result } => {
                let (provider, found) = match result {
                    Ok((provider, warnings)) => (Some(provider), warnings),
                    Err(found) => (None, found),
                };
                self.applied.diagnostics.extend(in_provider(&self.run.configuration, &address, found));
                provider.map(|provider| self.configured.insert(address, provider)).is_some()
            }
            Outcome::Changed { index, subject, outcome } => return self.changed(index, subject, outcome),
            Outcome::Provisioned { provisioning, diagnostics } => {
                return self.provisioned(*provisioning, diagnostics);
            }
            Outcome::Read { subject, config, result } => self.read(&subject, &config, result),
            Outcome::Opened { subject, result } => self.opened(&subject, *result),
            Outcome::Closed { address, diagnostics } => self.closed(&address, diagnostics),
            Outcome::Destroyed { index, subject, outcome } => self.destroyed(index, &subject, outcome),
        };
        well.into()
    }

    fn lost(&mut self, problem: String) {
        self.applied.diagnostics.push(Diagnostic::error(
            "A change was broken off",
            format!(
                "A step of the apply ended unexpectedly: {problem}. This is a bug in Wardian. The object may \
                 exist without being in the state."
            ),
        ));
    }

    fn stop(&mut self) -> Operation<()> {
        let providers = self.configured.stop_all();
        let provisioners = self.evaluator.schemas.provisioners().stop_all();
        Box::pin(async move {
            futures::join!(providers, provisioners);
        })
    }
}

impl ApplyWalk<'_> {
    fn visit_resource(&mut self, address: &ResourceAddress) -> Visit<Pending> {
        // The changes of an expanded resource were steps of their own.
        let mut pending = Vec::new();
        if self.graph.id(&Node::Expand(address.clone())).is_none() {
            if let Visit::Failed = self.expand_resource(address) {
                return Visit::Failed;
            }
            for index in self.changes_of.get(address).cloned().unwrap_or_default() {
                match self.plan.changes[index].action {
                    Action::NoOp | Action::Delete => {}
                    Action::Read => pending.push(Pending::Read(index)),
                    _ => pending.push(Pending::Change(index)),
                }
            }
        }
        Visit::Operations(pending)
    }

    /// It becomes known which instances a resource has, and what those are that do
    /// not change.
    fn expand_resource(&mut self, address: &ResourceAddress) -> Visit<Pending> {
        let run = self.run;
        let key = (address.mode, address.type_name.clone(), address.name.clone());
        let Some(resource) =
            run.configuration.module(&address.module).and_then(|m| m.module.resources.get(&key))
        else {
            return Visit::Done;
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
                    return Visit::Failed;
                }
            }
            self.keep_values(&absolute);
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
        if holds { Visit::Done } else { Visit::Failed }
    }

    /// Whether the conditions of an object that does not change hold, now that
    /// everything around it is known.
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

    /// Values of instances that the plan has no change for: data sources that were
    /// read, and what it was told to leave alone.
    fn keep_values(&mut self, address: &wardian_address::AbsoluteResourceAddress) {
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

    fn start_configure(&mut self, address: ProviderConfigAddress) -> Start<Outcome> {
        let config = match self.evaluator.provider_config(&address) {
            Ok(config) => config,
            Err(found) => {
                self.applied.diagnostics.extend(found);
                return Start::Failed;
            }
        };
        let source = Arc::clone(&self.run.providers);
        let secrets = self.evaluator.schemas.secrets().clone();
        Start::running(address.to_string(), async move {
            let result = configure(&*source, &address, config, &secrets).await;
            Outcome::Configured { address, result }
        })
    }

    fn subject(&mut self, change: &ResourceChange) -> Option<Subject> {
        let provider = self.configured.get(&change.provider)?;
        let meta = self.evaluator.provider_meta(change.address.module(), &change.provider.provider);
        let provider_meta = meta.map_err(|found| self.applied.diagnostics.extend(found)).ok()?;
        Some(Subject {
            address: change.address.clone(),
            provider_config: change.provider.clone(),
            provider: Arc::clone(provider),
            schema: Arc::clone(&change.schema),
            provider_meta,
            events: Arc::clone(&self.run.events),
        })
    }

    /// The configuration of an instance as it is known now; `None` after an error.
    fn config(&mut self, subject: &Subject) -> Option<Value> {
        let run = self.run;
        let address = &subject.address;
        let resource = resource_of(&run.configuration, address)?;
        let repetition = self.evaluator.values.repetition_data(address);
        let mut found = self.evaluator.check_preconditions(resource, address, repetition.clone());
        let scope = self.evaluator.scope(address.module(), repetition);
        let (config, decoded) = decode_body(&resource.body, &subject.schema.block, &scope);
        found.extend(decoded);
        let failed = found.has_errors();
        let located = found.in_block(&resource.context()).for_address(&address.to_string());
        self.applied.diagnostics.extend(located);
        (!failed).then_some(config)
    }
}
