//! The walk that makes a plan.
//!
//! Every object of the configuration is visited once all that it refers to is
//! known; a resource's instances are read and planned as operations. Objects in
//! the state that the configuration has no place for are planned for destruction.
//! In a destroy plan every object is, and values come from the state alone.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use wardian_config::{IgnoreChanges as Ignored, Resource, decode_body};
use wardian_lang::{Diagnostic, Diagnostics, Reference, Subject as Named};
use wardian_plugin::{
    AbsoluteResourceAddress, ClientCapabilities, ConfigureRequest, InstanceKey, ModuleInstance, ModulePath,
    Provider, ProviderConfigAddress, ResourceAddress, ResourceInstanceAddress, ResourceMode, Schema,
};
use wardian_state::{Object, ObjectStatus, State};
use wardian_value::{PathStep, Str, Type, Value, json};

use crate::evaluator::{Evaluator, Phase};
use crate::graph::NodeId;
use crate::located::{in_provider, in_resource, resource_of};
use crate::nodes::{self, Node, NodeGraph, mode_of};
use crate::object::proposed::placeholder;
use crate::operation::data;
use crate::operation::plan::{
    DestroyOutcome, IgnoreChanges, PlanInput, PlanOutcome, plan as plan_instance, plan_destroy,
};
use crate::operation::{Replan, Subject};
use crate::plan::{Action, ActionReason, Mode, OutputChange, Plan, PlanOptions, ResourceChange};
use crate::providers::{Configured, Schemas, about};
use crate::run::{Run, is_stored, stopped};
use crate::scheduler::{Operation, Start, Visit, Walked, Walker, walk};
use crate::stop::StopSignal;
use crate::values::{Repetition, RepetitionData};
use crate::{clock, conditions, targets};

/// The version of Terraform whose behaviour this engine has.
pub const TERRAFORM_VERSION: &str = "1.11.4";

/// Plans. See [`Run::plan`].
pub async fn plan(
    run: &Run,
    schemas: &Schemas,
    state: State,
    variables: BTreeMap<Str, Value>,
    options: &PlanOptions,
    mut stop: StopSignal,
) -> (Option<Plan>, Diagnostics) {
    let timestamp = clock::now();
    let mut graph = match nodes::build(&run.configuration) {
        Ok(graph) => graph,
        Err(diagnostics) => return (None, diagnostics),
    };
    let mut evaluator = run.evaluator(schemas, Phase::Plan, timestamp.clone());
    evaluator.values.add_root();
    let mut diagnostics = Diagnostics::new();
    for (name, value) in &variables {
        match evaluator.set_root_variable(name, value.clone()) {
            Ok(found) | Err(found) => diagnostics.extend(found),
        }
    }
    if diagnostics.has_errors() {
        return (None, diagnostics);
    }
    let orphans = orphans(run, &state);
    for (index, orphan) in orphans.iter().enumerate() {
        let node = graph.add(Node::Object(index));
        let provider = graph.add(Node::Provider(orphan.provider.clone()));
        graph.graph.depend(node, provider);
    }
    let included = targets::included(&graph, &options.targets, |index| &orphans[index].address);
    let mut walker = PlanWalk {
        create_before_destroy: create_before_destroy(run, &graph),
        by_config: state_by_config(&state),
        run,
        options,
        graph: &graph,
        evaluator,
        configured: Configured::default(),
        previous: state.clone(),
        state,
        orphans,
        included,
        changes: Vec::new(),
        changes_of: HashMap::new(),
        moved: HashMap::new(),
        drift: Vec::new(),
        diagnostics,
    };
    let walked = walk(&graph.graph, &mut walker, options.parallelism, &mut stop).await;
    walker.configured.close().await;
    if walked != Walked::Fully {
        walker.diagnostics.push(stopped());
    }
    let outputs = walker.outputs();
    let errored = walker.diagnostics.has_errors();
    let mut changes = walker.changes;
    changes.sort_by(|a, b| (&a.address, &a.deposed).cmp(&(&b.address, &b.deposed)));
    walker.drift.sort_by(|a, b| a.address.cmp(&b.address));
    let plan = Plan {
        mode: options.mode,
        variables,
        targets: options.targets.clone(),
        changes,
        drift: walker.drift,
        outputs,
        previous_state: walker.previous,
        prior_state: walker.state,
        timestamp,
        errored,
    };
    (Some(plan), walker.diagnostics)
}

/// A resource in the state that the configuration does not have.
struct Orphan {
    address: AbsoluteResourceAddress,
    provider: ProviderConfigAddress,
}

fn orphans(run: &Run, state: &State) -> Vec<Orphan> {
    state
        .resources()
        .filter(|(address, _)| {
            let key = (address.mode, address.type_name.clone(), address.name.clone());
            run.configuration
                .module(&address.module.path())
                .is_none_or(|node| !node.module.resources.contains_key(&key))
        })
        .map(|(address, resource)| Orphan { address: address.clone(), provider: resource.provider.clone() })
        .collect()
}

fn state_by_config(state: &State) -> HashMap<ResourceAddress, Vec<AbsoluteResourceAddress>> {
    let mut by_config: HashMap<ResourceAddress, Vec<AbsoluteResourceAddress>> = HashMap::new();
    for (address, _) in state.resources() {
        by_config.entry(address.config()).or_default().push(address.clone());
    }
    by_config
}

/// Resources whose replacements are created first: those that say so, and all that
/// they depend on.
pub fn create_before_destroy(run: &Run, graph: &NodeGraph) -> Vec<bool> {
    let roots = graph.iter().filter_map(|(id, node)| match node {
        Node::Resource(address) => {
            let key = (address.mode, address.type_name.clone(), address.name.clone());
            let resource = run.configuration.module(&address.module)?.module.resources.get(&key)?;
            (resource.lifecycle.create_before_destroy == Some(true)).then_some(id)
        }
        _ => None,
    });
    graph.graph.closure(roots)
}

struct PlanWalk<'a> {
    run: &'a Run,
    options: &'a PlanOptions,
    graph: &'a NodeGraph,
    evaluator: Evaluator,
    configured: Configured,
    previous: State,
    state: State,
    by_config: HashMap<ResourceAddress, Vec<AbsoluteResourceAddress>>,
    orphans: Vec<Orphan>,
    included: targets::Included,
    create_before_destroy: Vec<bool>,
    changes: Vec<ResourceChange>,
    changes_of: HashMap<ResourceAddress, Vec<usize>>,
    moved: HashMap<ResourceInstanceAddress, ResourceInstanceAddress>,
    drift: Vec<ResourceChange>,
    diagnostics: Diagnostics,
}

enum Pending {
    Configure(ProviderConfigAddress),
    /// Read and plan an instance of the configuration.
    Managed {
        address: ResourceInstanceAddress,
        repetition: RepetitionData,
    },
    /// Read a data source of the configuration.
    Data {
        address: ResourceInstanceAddress,
        repetition: RepetitionData,
    },
    /// Read an object and plan its destruction.
    Destroy {
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
    Read {
        subject: Subject,
        config: Value,
        result: Result<(Value, Diagnostics), Diagnostics>,
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
                self.visited(expanded)
            }
            Node::ModuleDone(_) | Node::Gate { .. } => Visit::Done,
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
            Node::Object(index) => {
                let orphan = &self.orphans[*index];
                let (address, provider) = (orphan.address.clone(), orphan.provider.clone());
                Visit::Operations(
                    self.destroy_all(&address, &provider, |_| {
                        Some(ActionReason::DeleteBecauseNoResourceConfig)
                    }),
                )
            }
        }
    }

    fn start(&mut self, pending: Pending) -> Start<Outcome> {
        match pending {
            Pending::Configure(address) => self.start_configure(address),
            Pending::Managed { address, repetition } => self.start_managed(address, repetition),
            Pending::Data { address, repetition } => self.start_data(address, repetition),
            Pending::Destroy { address, deposed, object, provider, reason } => {
                self.start_destroy(address, deposed, object, &provider, reason, false)
            }
            Pending::Refresh { address, object, provider } => {
                self.start_destroy(address, None, object, &provider, None, true)
            }
        }
    }

    fn finish(&mut self, outcome: Outcome) -> bool {
        match outcome {
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
            Outcome::Read { subject, config, result } => match result {
                Ok((value, warnings)) => self.data_read(&subject, &config, value, warnings),
                Err(found) => self.failed(&subject.address, found),
            },
            Outcome::ReadLater { subject, config, reason, diagnostics } => {
                self.read_later(&subject, &config, reason, diagnostics)
            }
            Outcome::Destroyed { subject, deposed, keep, result } => match *result {
                Ok(outcome) => self.destroyed(&subject, deposed, keep, outcome),
                Err(found) => self.failed(&subject.address, found),
            },
        }
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

    fn visit_resource(&mut self, address: &ResourceAddress) -> Visit<Pending> {
        let run = self.run;
        let key = (address.mode, address.type_name.clone(), address.name.clone());
        let Some(resource) =
            run.configuration.module(&address.module).and_then(|m| m.module.resources.get(&key))
        else {
            return Visit::Done;
        };
        let provider = run.configuration.provider_for(&address.module, resource);
        if self.evaluator.schemas.resource(&provider.provider, resource.mode, &resource.type_name).is_none() {
            self.diagnostics.push(unknown_type(&self.evaluator, resource, &provider));
            return Visit::Failed;
        }
        if self.options.mode == Mode::Destroy {
            return Visit::Operations(self.visit_for_destroy(address));
        }
        let mut pending = Vec::new();
        let modules = self.evaluator.values.module_instances(&address.module).to_vec();
        for module in &modules {
            let count = resource.count.as_ref();
            let repetition = match self.evaluator.repetition(module, count, resource.for_each.as_ref()) {
                Ok(repetition) => repetition,
                Err(found) => {
                    let context = crate::evaluator::resource_context(resource);
                    self.diagnostics.extend(found.in_block(&context));
                    return Visit::Failed;
                }
            };
            pending.extend(self.expand(&address.in_module(module), repetition, &provider));
        }
        for stored in self.by_config.get(address).cloned().unwrap_or_default() {
            if !modules.contains(&stored.module) {
                pending.extend(
                    self.destroy_all(&stored, &provider, |_| Some(ActionReason::DeleteBecauseNoModule)),
                );
            }
        }
        Visit::Operations(pending)
    }

    /// The operations for a resource in one module instance.
    fn expand(
        &mut self,
        address: &AbsoluteResourceAddress,
        repetition: Repetition,
        provider: &ProviderConfigAddress,
    ) -> Vec<Pending> {
        self.move_key(address, &repetition);
        let mut pending = Vec::new();
        if let Some(stored) = self.state.resource(address).cloned() {
            for (key, instance) in stored.instances {
                let instance_address = address.instance(key.clone());
                for (deposed, object) in instance.deposed {
                    if self.included.instance(&instance_address) {
                        pending.push(Pending::Destroy {
                            address: instance_address.clone(),
                            deposed: Some(deposed),
                            object,
                            provider: stored.provider.clone(),
                            reason: None,
                        });
                    }
                }
                if !repetition.contains(&key)
                    && let Some(object) = instance.current
                    && self.included.instance(&instance_address)
                {
                    if address.mode != ResourceMode::Managed {
                        self.state.remove_instance(&instance_address);
                        continue;
                    }
                    pending.push(self.orphaned_instance(
                        instance_address,
                        object,
                        &repetition,
                        &stored.provider,
                    ));
                }
            }
        }
        for key in repetition.keys() {
            let instance = address.instance(key.clone());
            if !self.included.instance(&instance) {
                continue;
            }
            let data = repetition.data(&key);
            pending.push(match (address.mode, self.options.mode) {
                (ResourceMode::Data, _) => Pending::Data { address: instance, repetition: data },
                (_, Mode::RefreshOnly) => match self.state.current(&instance) {
                    Some(object) => Pending::Refresh {
                        object: Arc::clone(object),
                        address: instance,
                        provider: provider.clone(),
                    },
                    None => continue,
                },
                _ => Pending::Managed { address: instance, repetition: data },
            });
        }
        let values = self.evaluator.values.module_mut(&address.module);
        values.expand_resource(address.mode, &address.type_name, &address.name, repetition);
        pending
    }

    fn orphaned_instance(
        &self,
        address: ResourceInstanceAddress,
        object: Arc<Object>,
        repetition: &Repetition,
        provider: &ProviderConfigAddress,
    ) -> Pending {
        if self.options.mode == Mode::RefreshOnly {
            return Pending::Refresh { address, object, provider: provider.clone() };
        }
        let reason = match (repetition, &address.key) {
            (Repetition::Count(_), InstanceKey::Int(_)) => ActionReason::DeleteBecauseCountIndex,
            (Repetition::ForEach(_), InstanceKey::String(_)) => ActionReason::DeleteBecauseEachKey,
            _ => ActionReason::DeleteBecauseWrongRepetition,
        };
        Pending::Destroy { address, deposed: None, object, provider: provider.clone(), reason: Some(reason) }
    }

    /// When `count` comes or goes, the only object and the first one are the same.
    fn move_key(&mut self, address: &AbsoluteResourceAddress, repetition: &Repetition) {
        let (from, to) = match repetition {
            Repetition::Single => (InstanceKey::Int(0), InstanceKey::None),
            Repetition::Count(count) if *count > 0 => (InstanceKey::None, InstanceKey::Int(0)),
            _ => return,
        };
        let (from, to) = (address.instance(from), address.instance(to));
        if address.mode != ResourceMode::Managed || self.state.instance(&to).is_some() {
            return;
        }
        let Some(provider) = self.state.resource(address).map(|r| r.provider.clone()) else { return };
        if let Some(instance) = self.state.remove_instance(&from) {
            self.state.set_instance(&to, &provider, instance);
            self.moved.insert(to, from);
        }
    }

    /// Operations that destroy all objects of a resource in the state.
    fn destroy_all(
        &mut self,
        address: &AbsoluteResourceAddress,
        provider: &ProviderConfigAddress,
        reason: impl Fn(&InstanceKey) -> Option<ActionReason>,
    ) -> Vec<Pending> {
        let Some(resource) = self.state.resource(address).cloned() else { return Vec::new() };
        if address.mode != ResourceMode::Managed {
            self.state.remove_resource(address);
            return Vec::new();
        }
        let mut pending = Vec::new();
        for (key, instance) in resource.instances {
            let reason = reason(&key);
            let address = address.instance(key);
            if !self.included.instance(&address) {
                continue;
            }
            let provider = provider.clone();
            for (deposed, object) in instance.deposed {
                pending.push(Pending::Destroy {
                    address: address.clone(),
                    deposed: Some(deposed),
                    object,
                    provider: provider.clone(),
                    reason,
                });
            }
            if let Some(object) = instance.current {
                pending.push(if self.options.mode == Mode::RefreshOnly {
                    Pending::Refresh { address, object, provider }
                } else {
                    Pending::Destroy { address, deposed: None, object, provider, reason }
                });
            }
        }
        pending
    }

    /// In a destroy plan all values come from the state.
    fn visit_for_destroy(&mut self, address: &ResourceAddress) -> Vec<Pending> {
        let mut pending = Vec::new();
        for stored in self.by_config.get(address).cloned().unwrap_or_default() {
            set_from_state(&mut self.evaluator, &self.state, &stored);
            let provider = self.state.resource(&stored).map(|r| r.provider.clone());
            if let (Some(provider), ResourceMode::Managed) = (provider, stored.mode) {
                pending.extend(self.destroy_all(&stored, &provider, |_| None));
            }
        }
        pending
    }

    fn start_configure(&mut self, address: ProviderConfigAddress) -> Start<Outcome> {
        let config = match self.evaluator.provider_config(&address) {
            Ok(config) => config.unmark_deep(),
            Err(found) => {
                self.diagnostics.extend(found);
                return Start::Failed;
            }
        };
        let source = Arc::clone(&self.run.providers);
        Start::Running(Box::pin(async move {
            let result = configure(&*source, &address, config).await;
            Outcome::Configured { address, result }
        }))
    }

    /// The subject of an operation; `None` where the provider is not configured or
    /// has no such type any more, which was told already or is told here.
    fn subject(
        &mut self,
        address: ResourceInstanceAddress,
        provider_config: &ProviderConfigAddress,
    ) -> Option<Subject> {
        let schema =
            self.evaluator.schemas.resource(&provider_config.provider, address.mode(), address.type_name());
        let (Some(schema), Some(provider)) = (schema, self.configured.get(provider_config)) else {
            self.diagnostics.push(
                Diagnostic::error(
                    "Missing resource schema",
                    format!(
                        "The provider {} has no schema for {}, which is in the state. Use a version of the \
                         provider that has, or remove the object from the state.",
                        provider_config.provider, address
                    ),
                )
                .for_address(address.to_string()),
            );
            return None;
        };
        Some(Subject {
            address,
            provider_config: provider_config.clone(),
            provider: Arc::clone(provider),
            schema: Arc::clone(schema),
            events: Arc::clone(&self.run.events),
        })
    }

    /// The block, subject and configuration of an instance; `None` after an error.
    fn prepare(
        &mut self,
        address: ResourceInstanceAddress,
        repetition: &RepetitionData,
    ) -> Option<(&'_ Resource, Subject, Value)> {
        let run = self.run;
        let resource = resource_of(&run.configuration, &address)?;
        let provider = run.configuration.provider_for(&address.module().path(), resource);
        let subject = self.subject(address, &provider)?;
        let module = subject.address.module().clone();
        let scope = self.evaluator.scope(&module, repetition.clone());
        let mut found = conditions::check(
            &resource.lifecycle.preconditions,
            &scope,
            "Resource precondition failed",
            None,
        );
        let mut config = None;
        if !found.has_errors() {
            let (value, decoded) = decode_body(&resource.body, &subject.schema.block, &scope);
            found.extend(decoded);
            config = Some(value);
        }
        let failed = found.has_errors();
        self.diagnostics.extend(
            found
                .in_block(&crate::evaluator::resource_context(resource))
                .for_address(&subject.address.to_string()),
        );
        if failed { None } else { config.map(|config| (resource, subject, config)) }
    }

    fn start_managed(
        &mut self,
        address: ResourceInstanceAddress,
        repetition: RepetitionData,
    ) -> Start<Outcome> {
        let graph = self.graph;
        let config_address = address.config();
        let Some((resource, subject, config)) = self.prepare(address, &repetition) else {
            return Start::Failed;
        };
        let ignore_changes = match &resource.lifecycle.ignore_changes {
            Ignored::Nothing => IgnoreChanges::Nothing,
            Ignored::All => IgnoreChanges::All,
            Ignored::Paths(paths) => {
                IgnoreChanges::Paths(paths.iter().map(|(path, _)| path.clone()).collect())
            }
        };
        let triggers: Vec<Reference> = resource
            .lifecycle
            .replace_triggered_by
            .iter()
            .flat_map(|expression| expression.references().iter().cloned())
            .collect();
        let node = graph.id(&Node::Resource(config_address));
        let force_replace = if self.options.replace.contains(&subject.address) {
            Some(ActionReason::ReplaceByRequest)
        } else if triggers.iter().any(|t| self.is_triggered(subject.address.module(), t)) {
            Some(ActionReason::ReplaceByTriggers)
        } else {
            None
        };
        let input = PlanInput {
            stored: self.state.current(&subject.address).cloned(),
            refresh: self.options.refresh,
            config,
            ignore_changes,
            force_replace,
            replan: Replan {
                dependencies: node.map(|node| graph.resources_behind(node)).unwrap_or_default(),
                create_before_destroy: node.is_some_and(|node| self.create_before_destroy[node.index()]),
            },
        };
        Start::Running(Box::pin(async move {
            let result = Box::new(plan_instance(&subject, input).await);
            Outcome::Planned { subject, result }
        }))
    }

    /// Whether what `replace_triggered_by` names is changed or replaced.
    fn is_triggered(&self, module: &ModuleInstance, reference: &Reference) -> bool {
        let Named::Resource { mode, kind, name } = &reference.subject else { return false };
        let target = ResourceAddress::new(module.path(), mode_of(*mode), kind.clone(), name.clone());
        let (key, rest) = match reference.remaining.split_first() {
            Some((PathStep::Index(index), rest)) => (Some(InstanceKey::Int(*index)), rest),
            Some((PathStep::Key(key), rest)) => (Some(InstanceKey::String(key.clone())), rest),
            _ => (None, reference.remaining.as_slice()),
        };
        let path = wardian_value::Path::from(rest.to_vec());
        self.changes_of.get(&target).into_iter().flatten().any(|index| {
            let change = &self.changes[*index];
            let meant = change.address.module() == module
                && key.as_ref().is_none_or(|key| change.address.key == *key);
            meant
                && (change.action == Action::Update || change.action.is_replace())
                && (path.is_root() || path.apply(&change.before) != path.apply(&change.after))
        })
    }

    fn start_data(&mut self, address: ResourceInstanceAddress, repetition: RepetitionData) -> Start<Outcome> {
        let Some((resource, subject, config)) = self.prepare(address, &repetition) else {
            return Start::Failed;
        };
        let depends_on = resource.depends_on.clone();
        let reason = if !config.is_wholly_known() {
            Some(ActionReason::ReadBecauseConfigUnknown)
        } else if self.has_pending(subject.address.module(), &depends_on) {
            Some(ActionReason::ReadBecauseDependencyPending)
        } else {
            None
        };
        Start::Running(Box::pin(async move {
            match reason {
                None => {
                    let result = data::read(&subject, &config).await;
                    Outcome::Read { subject, config, result }
                }
                Some(reason) => {
                    let diagnostics = data::validate(&subject, &config).await;
                    Outcome::ReadLater { subject, config, reason, diagnostics }
                }
            }
        }))
    }

    /// Whether anything that a data source, or a module around it, depends on by
    /// `depends_on` is still to change.
    fn has_pending(&self, module: &ModuleInstance, depends_on: &[Reference]) -> bool {
        let mut path = module.path();
        if depends_on.iter().any(|reference| self.is_pending(&path, reference)) {
            return true;
        }
        while let Some((caller, name)) = path.parent() {
            let call = self.run.configuration.module(&caller).and_then(|m| m.module.module_calls.get(name));
            if call.is_some_and(|c| c.depends_on.iter().any(|r| self.is_pending(&caller, r))) {
                return true;
            }
            path = caller;
        }
        false
    }

    fn is_pending(&self, module: &ModulePath, reference: &Reference) -> bool {
        let changes = |address: &ResourceAddress| {
            self.changes_of.get(address).into_iter().flatten().any(|i| self.changes[*i].is_effective())
        };
        match &reference.subject {
            Named::Resource { mode, kind, name } => {
                changes(&ResourceAddress::new(module.clone(), mode_of(*mode), kind.clone(), name.clone()))
            }
            Named::Module(name) => {
                let called = module.child(name.clone());
                self.changes_of
                    .keys()
                    .filter(|address| address.module.names().starts_with(called.names()))
                    .any(changes)
            }
            _ => false,
        }
    }

    fn start_destroy(
        &mut self,
        address: ResourceInstanceAddress,
        deposed: Option<Str>,
        object: Arc<Object>,
        provider: &ProviderConfigAddress,
        reason: Option<ActionReason>,
        keep: bool,
    ) -> Start<Outcome> {
        let Some(subject) = self.subject(address, provider) else { return Start::Failed };
        let supported = !keep
            && self
                .evaluator
                .schemas
                .provider(&provider.provider)
                .is_some_and(|schema| schema.capabilities.plan_destroy);
        let read = self.options.refresh;
        Start::Running(Box::pin(async move {
            let result =
                Box::new(plan_destroy(&subject, &object, read, deposed.as_ref(), reason, supported).await);
            Outcome::Destroyed { subject, deposed, keep, result }
        }))
    }

    fn planned(&mut self, subject: &Subject, planned: PlanOutcome) -> bool {
        let PlanOutcome { stored, refreshed, current, mut change, diagnostics } = planned;
        let address = &subject.address;
        self.diagnostics.extend(in_resource(&self.run.configuration, address, diagnostics));
        self.state.set_current(address, &subject.provider_config, refreshed);
        self.note_drift(subject, &stored, &current);
        let after = change.after.clone();
        change.previous_address = self.moved.get(address).cloned();
        let destroys = change.action.is_replace();
        self.push_change(change);
        self.set_value(address, after.clone());
        let Some(resource) = resource_of(&self.run.configuration, address) else { return true };
        if destroys && resource.lifecycle.prevent_destroy {
            self.diagnostics.push(prevented(address, resource));
            return false;
        }
        check_postconditions(&mut self.diagnostics, &self.evaluator, resource, address, after)
    }

    fn set_value(&mut self, address: &ResourceInstanceAddress, value: Value) {
        self.evaluator.values.module_mut(address.module()).set_instance(
            address.mode(),
            address.type_name(),
            address.name(),
            address.key.clone(),
            value,
        );
    }

    fn push_change(&mut self, change: ResourceChange) {
        self.changes_of.entry(change.address.config()).or_default().push(self.changes.len());
        self.changes.push(change);
    }

    fn note_drift(&mut self, subject: &Subject, stored: &Value, current: &Value) {
        if stored.is_null() || stored.unmark_deep() == current.unmark_deep() {
            return;
        }
        self.drift.push(ResourceChange {
            address: subject.address.clone(),
            previous_address: None,
            deposed: None,
            provider: subject.provider_config.clone(),
            action: if current.is_null() { Action::Delete } else { Action::Update },
            reason: None,
            before: stored.clone(),
            after: current.clone(),
            required_replace: Vec::new(),
            planned_private: Arc::default(),
            schema: Arc::clone(&subject.schema),
        });
    }

    fn data_read(&mut self, subject: &Subject, config: &Value, value: Value, warnings: Diagnostics) -> bool {
        let address = &subject.address;
        self.diagnostics.extend(in_resource(&self.run.configuration, address, warnings));
        let value = data::marked(subject, config, &value);
        let replan = Replan::default();
        match subject.encode(&value, Arc::default(), ObjectStatus::Ready, &replan) {
            Ok(mut object) => {
                object.schema_version = 0;
                self.state.set_current(address, &subject.provider_config, Some(Arc::new(object)));
            }
            Err(found) => return self.failed(address, found),
        }
        self.set_value(address, value.clone());
        match resource_of(&self.run.configuration, address) {
            Some(resource) => {
                check_postconditions(&mut self.diagnostics, &self.evaluator, resource, address, value)
            }
            None => true,
        }
    }

    fn read_later(
        &mut self,
        subject: &Subject,
        config: &Value,
        reason: ActionReason,
        diagnostics: Diagnostics,
    ) -> bool {
        let address = &subject.address;
        let failed = diagnostics.has_errors();
        self.diagnostics.extend(in_resource(&self.run.configuration, address, diagnostics));
        if failed {
            return false;
        }
        let unmarked = placeholder(&subject.schema.block, &config.unmark_deep());
        let after = data::marked(subject, config, &unmarked);
        self.set_value(address, after.clone());
        self.push_change(ResourceChange {
            address: address.clone(),
            previous_address: None,
            deposed: None,
            provider: subject.provider_config.clone(),
            action: Action::Read,
            reason: Some(reason),
            before: subject.null(),
            after,
            required_replace: Vec::new(),
            planned_private: Arc::default(),
            schema: Arc::clone(&subject.schema),
        });
        true
    }

    /// An object that the configuration has no place for, or that is only read.
    fn destroyed(
        &mut self,
        subject: &Subject,
        deposed: Option<Str>,
        keep: bool,
        outcome: DestroyOutcome,
    ) -> bool {
        let address = &subject.address;
        self.diagnostics.extend(in_resource(&self.run.configuration, address, outcome.diagnostics));
        match deposed {
            Some(key) => {
                self.state.set_deposed(address, &subject.provider_config, key, outcome.refreshed);
            }
            None => {
                self.state.set_current(address, &subject.provider_config, outcome.refreshed);
                self.note_drift(subject, &outcome.stored, &outcome.current);
                if keep || self.options.mode == Mode::Destroy {
                    self.set_value(address, outcome.current);
                }
            }
        }
        if keep {
            return true;
        }
        if let Some(change) = outcome.change {
            self.push_change(change);
            if let Some(resource) = resource_of(&self.run.configuration, address)
                && resource.lifecycle.prevent_destroy
            {
                self.diagnostics.push(prevented(address, resource));
                return false;
            }
        }
        true
    }

    fn outputs(&self) -> BTreeMap<Str, OutputChange> {
        let root = self.evaluator.values.module(&ModuleInstance::root());
        let declared = &self.run.configuration.root().module.outputs;
        let names = declared.keys().chain(self.state.outputs.keys().filter(|n| !declared.contains_key(*n)));
        names
            .map(|name| {
                let stored = self.state.outputs.get(name);
                let before = stored.map_or_else(|| Value::null(Type::Dynamic), |stored| stored.value.clone());
                let sensitive_before = stored.is_some_and(|stored| stored.sensitive);
                let included = self.included.is_everything()
                    || self
                        .graph
                        .id(&Node::Output(ModulePath::root(), name.clone()))
                        .is_some_and(|id| self.included.node(id));
                let evaluated = root.and_then(|root| root.outputs.get(name));
                let sensitive = declared.get(name).map_or(sensitive_before, |o| o.sensitive);
                let after = match (self.options.mode, evaluated) {
                    _ if !included => before.clone(),
                    (Mode::Destroy, _) => Value::null(Type::Dynamic),
                    (_, Some(value)) => value.unmark_deep(),
                    (_, None) if declared.contains_key(name) => before.clone(),
                    (_, None) => Value::null(Type::Dynamic),
                };
                let action = match (before.is_null(), after.is_null()) {
                    (true, true) => Action::NoOp,
                    (true, false) => Action::Create,
                    (false, true) => Action::Delete,
                    (false, false) if before == after && sensitive == sensitive_before => Action::NoOp,
                    (false, false) => Action::Update,
                };
                (
                    name.clone(),
                    OutputChange { action, before, after, sensitive: sensitive || sensitive_before },
                )
            })
            .collect()
    }
}

/// Checks what must hold for an instance once its value is known.
pub fn check_postconditions(
    diagnostics: &mut Diagnostics,
    evaluator: &Evaluator,
    resource: &Resource,
    address: &ResourceInstanceAddress,
    value: Value,
) -> bool {
    if resource.lifecycle.postconditions.is_empty() {
        return true;
    }
    let repetition = evaluator
        .values
        .module(address.module())
        .and_then(|m| m.resource(address.mode(), address.type_name(), address.name()))
        .map(|r| r.repetition().data(&address.key))
        .unwrap_or_default();
    let scope = evaluator.scope(address.module(), repetition).with_self(value);
    let found =
        conditions::check(&resource.lifecycle.postconditions, &scope, "Resource postcondition failed", None);
    let failed = found.has_errors();
    diagnostics.extend(
        found.in_block(&crate::evaluator::resource_context(resource)).for_address(&address.to_string()),
    );
    !failed
}

fn prevented(address: &ResourceInstanceAddress, resource: &Resource) -> Diagnostic {
    Diagnostic::error(
        "Instance cannot be destroyed",
        format!(
            "Resource {address} has lifecycle.prevent_destroy set, but the plan calls for this resource to be \
             destroyed. To avoid this error and continue with the plan, either disable \
             lifecycle.prevent_destroy or reduce the scope of the plan using the -target option."
        ),
    )
    .at(resource.span.clone())
    .for_address(address.to_string())
}

/// An error for a resource type that the provider does not have.
pub fn unknown_type(
    evaluator: &Evaluator,
    resource: &Resource,
    provider: &ProviderConfigAddress,
) -> Diagnostic {
    let (summary, word) = match resource.mode {
        ResourceMode::Data => ("Invalid data source", "data source"),
        _ => ("Invalid resource type", "resource type"),
    };
    let names = evaluator.schemas.type_names(&provider.provider, resource.mode);
    let suggestion = wardian_lang::closest(&resource.type_name, names.iter().map(|name| &**name))
        .map(|name| format!(" Did you mean \"{name}\"?"))
        .unwrap_or_default();
    Diagnostic::error(
        summary,
        format!(
            "The provider {} does not support {word} \"{}\".{suggestion}",
            provider.provider.for_display(),
            resource.type_name
        ),
    )
    .at(resource.span.clone())
    .in_block(crate::evaluator::resource_context(resource))
}

/// Makes a provider and configures it.
pub async fn configure(
    source: &dyn wardian_plugin::ProviderSource,
    address: &ProviderConfigAddress,
    config: Value,
) -> Result<(Arc<dyn Provider>, Diagnostics), Diagnostics> {
    let name = address.to_string();
    let provider = source.provider(&address.provider).await.map_err(|found| about(&found, &name))?;
    let mut diagnostics = about(&provider.validate_provider_config(config.clone()).await, &name);
    if !diagnostics.has_errors() {
        let request = ConfigureRequest {
            terraform_version: Str::new(TERRAFORM_VERSION),
            config,
            capabilities: ClientCapabilities::default(),
        };
        diagnostics.extend(about(&provider.configure(request).await, &name));
    }
    diagnostics.clone().into_result(provider).map(|provider| (provider, diagnostics))
}

/// Sets the values of a resource's instances from the state, as far as they can be
/// read without the provider.
pub fn set_from_state(evaluator: &mut Evaluator, state: &State, address: &AbsoluteResourceAddress) {
    let Some(resource) = state.resource(address) else { return };
    let Some(schema) =
        evaluator.schemas.resource(&resource.provider.provider, address.mode, &address.type_name).cloned()
    else {
        return;
    };
    let repetition = repetition_of_keys(resource.instances.keys());
    let decoded: Vec<(InstanceKey, Value)> = resource
        .instances
        .iter()
        .filter_map(|(key, instance)| {
            Some((key.clone(), decode_stored(instance.current.as_deref()?, &schema)?))
        })
        .collect();
    let values = evaluator.values.module_mut(&address.module);
    values.expand_resource(address.mode, &address.type_name, &address.name, repetition);
    for (key, value) in decoded {
        values.set_instance(address.mode, &address.type_name, &address.name, key, value);
    }
}

fn repetition_of_keys<'a>(keys: impl Iterator<Item = &'a InstanceKey>) -> Repetition {
    let mut repetition = Repetition::Single;
    for key in keys {
        match key {
            InstanceKey::None => return Repetition::Single,
            InstanceKey::Int(index) => {
                let count = match repetition {
                    Repetition::Count(count) => count.max(index + 1),
                    _ => index + 1,
                };
                repetition = Repetition::Count(count);
            }
            InstanceKey::String(key) => {
                let mut values = match repetition {
                    Repetition::ForEach(values) => values,
                    _ => BTreeMap::new(),
                };
                values.insert(key.clone(), Value::unknown(Type::Dynamic));
                repetition = Repetition::ForEach(values);
            }
        }
    }
    repetition
}

/// A stored object as a value, where it is of the current schema.
pub fn decode_stored(object: &Object, schema: &Schema) -> Option<Value> {
    let wardian_state::Attributes::Json(text) = &object.attributes else { return None };
    let value = json::decode(text.as_bytes(), schema.implied_type()).ok()?;
    let stored: Vec<_> =
        object.sensitive_paths.iter().map(|path| (path.clone(), wardian_value::Marks::SENSITIVE)).collect();
    Some(crate::object::sensitive::mark_by_schema(&schema.block, &value.mark_at(&stored)))
}

/// Evaluates a whole configuration with the values that the state has, for a
/// console: what cannot be evaluated stays unknown.
pub fn evaluate_all(
    evaluator: &mut Evaluator,
    graph: &NodeGraph,
    state: &State,
    variables: BTreeMap<Str, Value>,
) {
    evaluator.values.add_root();
    for (name, value) in variables {
        // What is wrong with a variable is told when a plan is made.
        let _ = evaluator.set_root_variable(&name, value);
    }
    let by_config = state_by_config(state);
    // The graph was built without cycles.
    for id in graph.graph.order().unwrap_or_default() {
        match graph.node(id) {
            Node::Module(path) if !path.is_root() => {
                let _ = evaluator.expand_module(path);
            }
            Node::Variable(path, name) => {
                let _ = evaluator.evaluate_variable(path, name);
            }
            Node::Local(path, name) => {
                let _ = evaluator.evaluate_local(path, name);
            }
            Node::Output(path, name) => {
                let _ = evaluator.evaluate_output(path, name);
            }
            Node::Resource(address) => {
                for stored in by_config.get(address).into_iter().flatten() {
                    if is_stored(stored.mode) {
                        set_from_state(evaluator, state, stored);
                    }
                }
            }
            _ => {}
        }
    }
}
