//! The graph of a configuration: one node per object, regardless of its `count` or `for_each`.
//! Cost: O(objects + references).

use std::collections::{HashMap, HashSet};

use wardian_address::{ActionAddress, ModulePath, ProviderConfigAddress, ResourceAddress};
use wardian_config::{
    ActionReference, ActionTrigger, Configuration, Import, Module, ProviderConfig, Resource, ResourceKey,
    references, resource_mode,
};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_lang::{Expression, Reference, ReferenceSubject};
use wardian_value::{PathStep, Str};

use petgraph::visit::IntoNodeReferences as _;

use crate::graph::{self, Graph, NodeId, NodeSet};

/// A node: an object of the configuration, or a step of a walk.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// The expansion of a module. It determines the instances of the module.
    Module(ModulePath),
    /// The end of a module: all nodes of the module and of its child modules are done.
    ModuleDone(ModulePath),
    Variable(ModulePath, Str),
    Local(ModulePath, Str),
    Output(ModulePath, Str),
    Provider(ProviderConfigAddress),
    /// A resource with all its instances.
    Resource(ResourceAddress),
    /// The end of an ephemeral resource, when its instances are no longer needed.
    Close(ResourceAddress),
    /// The assertions of a check.
    Check(ModulePath, Str),
    /// The barrier before the data sources of checks: it waits for all managed objects.
    CheckBarrier,
    /// A resource that is the target of an `import` block but has no configuration. Its
    /// configuration is generated.
    Import(ResourceAddress),
    /// An object in the state that is not in the configuration or will be destroyed, by its index
    /// in the walk's list.
    StateObject(usize),
    /// The expansion of a resource whose changes have separate nodes.
    Expand(ResourceAddress),
    /// A planned change, by its index in the plan.
    PlannedChange(usize),
    /// An action with all its instances.
    Action(ActionAddress),
    /// The invocations that the objects of a resource trigger. A plan determines them after the
    /// objects are planned; in an apply, the node waits for those that follow a change.
    ActionTriggers(ResourceAddress),
    /// Planned invocations of actions, which run one after the other.
    Invocations(InvocationGroup),
    /// A list of the root module's query files, with all its instances: the resource type and the
    /// name.
    List(Str, Str),
    /// The barrier after the destruction, in one phase, of all objects that depend on a
    /// resource.
    DestroyBarrier {
        /// The resource on which the objects depend.
        resource: ResourceAddress,
        /// The phase in which the objects are destroyed.
        phase: DestroyPhase,
    },
    /// The barrier after all resources that depend on a node, directly or indirectly.
    DependentsDone(Box<Node>),
}

/// Invocations that run one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InvocationGroup {
    /// Before the change with this index in the plan.
    Before(usize),
    /// After the change with this index in the plan.
    After(usize),
    /// The invocation with this index in the plan, which the user requested.
    Command(usize),
}

/// The phase of an apply in which an object is destroyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DestroyPhase {
    /// Before its replacement is created and its dependencies are changed.
    BeforeChanges,
    /// After everything that depends on it is changed.
    AfterChanges,
}

/// The graph of a configuration's objects, with an index to find nodes by object.
#[derive(Clone, Debug, Default)]
pub struct NodeGraph {
    graph: Graph<Node>,
    ids: HashMap<Node, NodeId>,
}

impl NodeGraph {
    /// Returns the number of a node, and adds the node if it is missing.
    pub fn add(&mut self, node: Node) -> NodeId {
        if let Some(id) = self.ids.get(&node) {
            return *id;
        }
        let id = self.graph.add_node(node.clone());
        self.ids.insert(node, id);
        id
    }

    /// Adds an edge: `node` waits for `dependency`.
    pub fn depend(&mut self, node: NodeId, dependency: NodeId) {
        graph::add_dependency(&mut self.graph, node, dependency);
    }

    pub fn graph(&self) -> &Graph<Node> {
        &self.graph
    }

    pub fn node(&self, id: NodeId) -> &Node {
        &self.graph[id]
    }

    pub fn id(&self, node: &Node) -> Option<NodeId> {
        self.ids.get(node).copied()
    }

    pub fn size(&self) -> usize {
        self.graph.node_count()
    }

    /// Returns the nodes that a node waits for.
    pub fn dependencies(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        graph::dependencies(&self.graph, id)
    }

    /// Returns the nodes that wait for a node.
    pub fn dependents(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        graph::dependents(&self.graph, id)
    }

    /// Returns the nodes for which `roots` wait, directly or indirectly, and the roots themselves.
    pub fn closure(&self, roots: impl IntoIterator<Item = NodeId>) -> NodeSet {
        graph::closure(&self.graph, roots)
    }

    /// Returns the nodes that wait for `roots`, directly or indirectly. The roots are included only
    /// if they wait for each other.
    pub fn dependents_closure(&self, roots: &[NodeId]) -> NodeSet {
        graph::dependents_closure(&self.graph, roots)
    }

    /// Returns all nodes, each after the nodes that it waits for.
    ///
    /// # Errors
    /// Returns one error for each cycle.
    pub fn order(&self) -> Result<Vec<NodeId>, Diagnostics> {
        graph::order(&self.graph)
            .map_err(|cycles| cycles.iter().map(|nodes| self.cycle_error(nodes)).collect())
    }

    /// Returns the nodes to which a reference in a module refers. Undeclared objects are omitted:
    /// their evaluation reports the error.
    pub fn named(&self, module: &ModulePath, reference: &Reference) -> Vec<NodeId> {
        let target = match &reference.subject {
            ReferenceSubject::Variable(name) => Node::Variable(module.clone(), name.clone()),
            ReferenceSubject::Local(name) => Node::Local(module.clone(), name.clone()),
            ReferenceSubject::Resource { mode, kind, name } => Node::Resource(ResourceAddress::new(
                module.clone(),
                resource_mode(*mode),
                kind.clone(),
                name.clone(),
            )),
            ReferenceSubject::List { kind, name } => Node::List(kind.clone(), name.clone()),
            ReferenceSubject::Module(name) => {
                return self.called(&module.child(name.clone()), &reference.remaining);
            }
            _ => return Vec::new(),
        };
        self.id(&target).into_iter().collect()
    }

    /// Returns the output to which the reference refers, or else the whole module. In both cases,
    /// the result includes the expansion of the module.
    fn called(&self, module: &ModulePath, remaining: &[PathStep]) -> Vec<NodeId> {
        let output = remaining.iter().find_map(|step| match step {
            PathStep::Attribute(name) => self.id(&Node::Output(module.clone(), name.clone())),
            _ => None,
        });
        let whole = || self.id(&Node::ModuleDone(module.clone()));
        let instances = self.id(&Node::Module(module.clone()));
        output.into_iter().chain(instances).chain(output.map_or_else(whole, |_| None)).collect()
    }

    /// Returns all nodes with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.graph.node_references()
    }

    /// Returns the error for nodes that wait for each other.
    fn cycle_error(&self, cycle: &[NodeId]) -> Diagnostic {
        let path: Vec<&Node> =
            graph::path_through(&self.graph, cycle).into_iter().map(|id| self.node(id)).collect();
        // The summary contains Terraform's names for the nodes.
        let steps = path.iter().map(|node| match node {
            Node::Variable(..) | Node::Local(..) | Node::Output(..) => format!("{node} (expand)"),
            _ => node.to_string(),
        });
        let around = path.iter().zip(path.iter().cycle().skip(1));
        let mut needs: Vec<String> =
            around.map(|(needed, node)| format!("  - {node} needs {needed}")).collect();
        needs.reverse();
        Diagnostic::error(
            format!("Cycle: {}", steps.collect::<Vec<_>>().join(", ")),
            format!(
                "These objects depend on each other:\n{}\nRemove one of these references.",
                needs.join("\n")
            ),
        )
    }
}

impl std::fmt::Display for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let within = |path: &ModulePath| if path.is_root() { String::new() } else { format!("{path}.") };
        match self {
            Self::Module(path) if path.is_root() => f.write_str("root (expand)"),
            Self::ModuleDone(path) if path.is_root() => f.write_str("root (close)"),
            Self::Module(path) => write!(f, "{path} (expand)"),
            Self::ModuleDone(path) => write!(f, "{path} (close)"),
            Self::Variable(path, name) => write!(f, "{}var.{name}", within(path)),
            Self::Local(path, name) => write!(f, "{}local.{name}", within(path)),
            Self::Output(path, name) => write!(f, "{}output.{name}", within(path)),
            Self::Check(path, name) => write!(f, "{}check.{name}", within(path)),
            Self::Close(address) => write!(f, "{address} (close)"),
            Self::CheckBarrier => f.write_str("resources (settled)"),
            Self::Provider(address) => address.fmt(f),
            Self::Resource(address) => address.fmt(f),
            Self::Import(address) => write!(f, "{address} (import)"),
            Self::StateObject(index) => write!(f, "object {index}"),
            Self::Expand(address) => write!(f, "{address} (expand)"),
            Self::PlannedChange(index) => write!(f, "change {index}"),
            Self::Action(address) => address.fmt(f),
            Self::ActionTriggers(address) => write!(f, "{address} (actions)"),
            Self::Invocations(InvocationGroup::Before(index)) => write!(f, "actions before change {index}"),
            Self::Invocations(InvocationGroup::After(index)) => write!(f, "actions after change {index}"),
            Self::Invocations(InvocationGroup::Command(index)) => write!(f, "invocation {index}"),
            Self::List(kind, name) => write!(f, "list.{kind}.{name}"),
            Self::DependentsDone(node) => write!(f, "{node} (dependents done)"),
            Self::DestroyBarrier { resource, .. } => write!(f, "{resource} (dependents destroyed)"),
        }
    }
}

/// Builds the graph of a configuration.
///
/// # Errors
/// Returns one error for each cycle.
pub fn build(configuration: &Configuration) -> Result<NodeGraph, Diagnostics> {
    let graph = build_unchecked(configuration);
    graph.order()?;
    Ok(graph)
}

/// Builds the graph of a configuration. The graph may have cycles.
pub fn build_unchecked(configuration: &Configuration) -> NodeGraph {
    let mut builder = Builder { graph: NodeGraph::default(), configuration };
    for node in configuration.modules() {
        builder.declare(&node.path, &node.module);
    }
    for node in configuration.modules() {
        builder.connect(&node.path, &node.module);
    }
    builder.graph
}

struct Builder<'a> {
    graph: NodeGraph,
    configuration: &'a Configuration,
}

impl Builder<'_> {
    fn declare(&mut self, path: &ModulePath, module: &Module) {
        self.graph.add(Node::Module(path.clone()));
        for name in module.variables.keys() {
            self.graph.add(Node::Variable(path.clone(), name.clone()));
        }
        for name in module.locals.keys() {
            self.graph.add(Node::Local(path.clone(), name.clone()));
        }
        for resource in module.resources.values() {
            self.graph.add(Node::Resource(address_of(path, resource)));
        }
        for (type_name, name) in module.actions.keys() {
            self.graph.add(Node::Action(action_address(path, type_name, name)));
        }
        for (type_name, name) in module.lists.keys() {
            self.graph.add(Node::List(type_name.clone(), name.clone()));
        }
        for name in module.outputs.keys() {
            self.graph.add(Node::Output(path.clone(), name.clone()));
        }
        for name in module.checks.keys() {
            self.graph.add(Node::Check(path.clone(), name.clone()));
        }
        self.graph.add(Node::ModuleDone(path.clone()));
    }

    fn connect(&mut self, path: &ModulePath, module: &Module) {
        let expansion = self.graph.add(Node::Module(path.clone()));
        let done = self.graph.add(Node::ModuleDone(path.clone()));
        self.depend(done, expansion);

        if let Some((caller, name)) = path.parent() {
            self.depend_on(expansion, Node::Module(caller.clone()));
            if let Some(call) =
                self.configuration.module(&caller).and_then(|m| m.module.module_calls.get(name))
            {
                let call = call.clone();
                for expression in call.count.iter().chain(&call.for_each) {
                    self.expression(expansion, &caller, expression);
                }
                for target in &call.depends_on {
                    self.reference(expansion, &caller, target);
                }
                for variable in module.variables.keys() {
                    if let Some(argument) = call.inputs.get(variable) {
                        let node = self.graph.add(Node::Variable(path.clone(), variable.clone()));
                        self.expression(node, &caller, &argument.expression);
                    }
                }
            }
            let caller_done = self.graph.add(Node::ModuleDone(caller));
            self.depend(caller_done, done);
        }

        for (name, variable) in &module.variables {
            let node = self.graph.add(Node::Variable(path.clone(), name.clone()));
            self.depend(node, expansion);
            for validation in &variable.validations {
                for expression in [&validation.condition, &validation.error_message] {
                    // A validation may refer to its own variable.
                    for reference in expression.references() {
                        if reference.subject != ReferenceSubject::Variable(name.clone()) {
                            self.reference(node, path, reference);
                        }
                    }
                }
            }
        }
        for (name, local) in &module.locals {
            let node = self.graph.add(Node::Local(path.clone(), name.clone()));
            self.depend(node, expansion);
            self.expression(node, path, &local.expression);
        }
        for (name, output) in &module.outputs {
            let node = self.graph.add(Node::Output(path.clone(), name.clone()));
            self.depend(node, expansion);
            self.depend(done, node);
            self.expression(node, path, &output.expression);
            for target in &output.depends_on {
                self.reference(node, path, target);
            }
            for condition in &output.preconditions {
                self.expression(node, path, &condition.condition);
                self.expression(node, path, &condition.error_message);
            }
        }
        let nested = self.connect_checks(path, module, expansion);
        for resource in module.resources.values() {
            let address = address_of(path, resource);
            let node = self.graph.add(Node::Resource(address.clone()));
            self.depend(node, expansion);
            if !nested.contains(&resource.key()) {
                self.depend(done, node);
            }
            for reference in resource_references(resource) {
                let is_self = matches!(&reference.subject, ReferenceSubject::Resource { mode, kind, name }
                    if resource_mode(*mode) == address.mode && *kind == address.type_name && *name == address.name);
                if !is_self {
                    self.reference(node, path, &reference);
                }
            }
            for target in &resource.depends_on {
                self.reference(node, path, target);
            }
            let provider = self.configuration.provider_for(path, resource);
            self.provider(node, &provider);
            self.action_triggers(node, done, path, resource);
        }
        self.actions(path, module, expansion);
        self.lists(path, module, expansion);
        for import in &module.imports {
            if let Some(id) = import.resource().and_then(|to| self.graph.id(&Node::Resource(to))) {
                self.import(id, path, import);
            }
        }
    }

    /// Adds the edges of the actions in a module.
    fn actions(&mut self, path: &ModulePath, module: &Module, expansion: NodeId) {
        for action in module.actions.values() {
            let node = self.graph.add(Node::Action(action_address(path, &action.type_name, &action.name)));
            self.depend(node, expansion);
            for expression in action.count.iter().chain(&action.for_each) {
                self.expression(node, path, expression);
            }
            for reference in references(&action.config, None) {
                self.reference(node, path, &reference);
            }
            let provider = self.configuration.provider_for_action(path, action);
            self.provider(node, &provider);
        }
    }

    /// Adds the edges of the actions that a resource triggers. The resource waits for everything to
    /// which actions before its changes refer.
    fn action_triggers(
        &mut self,
        resource_node: NodeId,
        done: NodeId,
        path: &ModulePath,
        resource: &Resource,
    ) {
        if resource.lifecycle.action_triggers.is_empty() {
            return;
        }
        let triggers = self.graph.add(Node::ActionTriggers(address_of(path, resource)));
        self.depend(triggers, resource_node);
        self.depend(done, triggers);
        for trigger in &resource.lifecycle.action_triggers {
            for expression in condition_and_keys(trigger) {
                self.expression(triggers, path, expression);
            }
            for ActionReference { key: (type_name, name), .. } in &trigger.actions {
                let Some(action) = self.graph.id(&Node::Action(action_address(path, type_name, name))) else {
                    continue;
                };
                self.depend(triggers, action);
                if trigger.has_before_events() {
                    self.depend(resource_node, action);
                }
            }
        }
    }

    /// Adds the edges of the lists in query files.
    fn lists(&mut self, path: &ModulePath, module: &Module, expansion: NodeId) {
        for list in module.lists.values() {
            let node = self.graph.add(Node::List(list.type_name.clone(), list.name.clone()));
            self.depend(node, expansion);
            for expression in list.expressions() {
                self.expression(node, path, expression);
            }
            for reference in references(&list.config, None) {
                self.reference(node, path, &reference);
            }
            let reference = &list.provider;
            let provider =
                self.configuration.provider_named(path, &reference.local_name, reference.alias.as_ref());
            self.provider(node, &provider);
        }
    }

    /// Makes a resource wait for all objects to which its `import` block refers. A reference to the
    /// resource itself is omitted: the evaluation of the block reports the error.
    fn import(&mut self, node: NodeId, module: &ModulePath, import: &Import) {
        let keys = import.to.address_keys();
        let said = [&import.for_each, &import.id, &import.identity].into_iter().flatten();
        for expression in said.chain(keys.iter().flatten()) {
            self.expression(node, module, expression);
        }
    }

    /// Adds the edges of the checks in a module. No node waits for a check or its data source.
    /// Returns the keys of these data sources.
    fn connect_checks(
        &mut self,
        path: &ModulePath,
        module: &Module,
        expansion: NodeId,
    ) -> HashSet<ResourceKey> {
        let mut nested = HashSet::new();
        for (name, check) in &module.checks {
            let node = self.graph.add(Node::Check(path.clone(), name.clone()));
            self.depend(node, expansion);
            if let Some(data) = &check.data {
                self.depend_on(node, Node::Resource(address_of(path, data)));
                nested.insert(data.key());
            }
            for assertion in &check.assertions {
                self.expression(node, path, &assertion.condition);
                self.expression(node, path, &assertion.error_message);
            }
        }
        nested
    }

    /// Adds an edge: `node` waits for a provider configuration.
    fn provider(&mut self, node: NodeId, address: &ProviderConfigAddress) {
        let id = self.provider_node(address);
        self.depend(node, id);
    }

    fn provider_node(&mut self, address: &ProviderConfigAddress) -> NodeId {
        let provider = Node::Provider(address.clone());
        if let Some(id) = self.graph.id(&provider) {
            return id;
        }
        let id = self.graph.add(provider);
        self.depend_on(id, Node::Module(address.module.clone()));
        if let Some(config) = provider_block(self.configuration, address) {
            for reference in references(&config.body, None) {
                self.reference(id, &address.module, &reference);
            }
        }
        id
    }

    fn depend(&mut self, node: NodeId, dependency: NodeId) {
        self.graph.depend(node, dependency);
    }

    fn depend_on(&mut self, node: NodeId, dependency: Node) {
        let dependency = self.graph.add(dependency);
        self.depend(node, dependency);
    }

    fn expression(&mut self, node: NodeId, module: &ModulePath, expression: &Expression) {
        for reference in expression.references() {
            self.reference(node, module, reference);
        }
    }

    fn reference(&mut self, node: NodeId, module: &ModulePath, reference: &Reference) {
        for target in self.graph.named(module, reference) {
            self.depend(node, target);
        }
    }
}

/// Adds the node of a provider configuration, and the edges to all objects to which its block refers.
pub fn add_provider(
    graph: &mut NodeGraph,
    configuration: &Configuration,
    address: &ProviderConfigAddress,
) -> NodeId {
    let mut builder = Builder { graph: std::mem::take(graph), configuration };
    let id = builder.provider_node(address);
    *graph = builder.graph;
    id
}

/// Adds the node of an `import` block of the root module whose target resource has no
/// configuration.
pub fn add_import(graph: &mut NodeGraph, configuration: &Configuration, import: &Import) {
    let Some(address) = import.resource() else { return };
    let mut builder = Builder { graph: std::mem::take(graph), configuration };
    let id = builder.graph.add(Node::Import(address));
    builder.import(id, &ModulePath::root(), import);
    if let Some(provider) = configuration.provider_of_import(import) {
        builder.provider(id, &provider);
    }
    *graph = builder.graph;
}

fn condition_and_keys(trigger: &ActionTrigger) -> impl Iterator<Item = &Expression> {
    trigger.condition.iter().chain(trigger.actions.iter().map(|reference| &reference.expression))
}

pub fn action_address(module: &ModulePath, type_name: &Str, name: &Str) -> ActionAddress {
    ActionAddress { module: module.clone(), type_name: type_name.clone(), name: name.clone() }
}

pub fn address_of(module: &ModulePath, resource: &Resource) -> ResourceAddress {
    ResourceAddress::new(module.clone(), resource.mode, resource.type_name.clone(), resource.name.clone())
}

/// Returns all references in a resource's block.
pub fn resource_references(resource: &Resource) -> Vec<Reference> {
    let lifecycle = &resource.lifecycle;
    let conditions = lifecycle.preconditions.iter().chain(&lifecycle.postconditions);
    let mut found: Vec<Reference> = resource
        .count
        .iter()
        .chain(&resource.for_each)
        .chain(&lifecycle.replace_triggered_by)
        .chain(conditions.flat_map(|c| [&c.condition, &c.error_message]))
        .flat_map(|expression| expression.references().iter().cloned())
        .collect();
    found.extend(references(&resource.body, None));
    // Destroy-time provisioners can refer only to their own object.
    let created = resource.provisioners.iter().filter(|provisioner| !provisioner.on_destroy);
    let bodies = created.flat_map(|provisioner| [Some(&provisioner.body), provisioner.connection.as_ref()]);
    for body in bodies.chain([resource.connection.as_ref()]).flatten() {
        found.extend(references(body, None));
    }
    found
}

/// Returns the block of a provider configuration; `None` if no block configures the provider.
pub fn provider_block<'a>(
    configuration: &'a Configuration,
    address: &ProviderConfigAddress,
) -> Option<&'a ProviderConfig> {
    let module = &configuration.module(&address.module)?.module;
    module
        .provider_configs
        .iter()
        .find(|((local_name, alias), _)| {
            *alias == address.alias && module.provider_address(local_name) == address.provider
        })
        .map(|(_, config)| config)
}

/// Returns the resources whose replacements are created before they are destroyed: the resources
/// with `create_before_destroy`, and all their dependencies.
pub fn create_before_destroy(configuration: &Configuration, graph: &NodeGraph) -> NodeSet {
    let roots = graph.iter().filter_map(|(id, node)| match node {
        Node::Resource(address) => {
            let key = (address.mode, address.type_name.clone(), address.name.clone());
            let resource = configuration.module(&address.module)?.module.resources.get(&key)?;
            (resource.lifecycle.create_before_destroy == Some(true)).then_some(id)
        }
        _ => None,
    });
    graph.closure(roots)
}
