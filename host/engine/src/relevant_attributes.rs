//! The attributes on which the values of a plan depend.
//!
//! A change that was made outside of Wardian is reported only if it is relevant to the plan, that
//! is, if the configuration of a changed object refers to the drifted object, directly or through
//! variables, local values, module outputs and other resources. Each reference in the configuration
//! is followed once, regardless of values.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use wardian_address::{
    AbsoluteResourceAddress, InstanceKey, ModuleInstance, ResourceAddress, ResourceInstanceAddress,
    ResourceMode,
};
use wardian_config::{Configuration, ModuleNode, Resource, arguments_and_blocks, references, resource_mode};
use wardian_lang::{Expression, Reference, ReferenceSubject};
use wardian_state::State;
use wardian_value::{Path, PathStep, Str};

use crate::plan::{Action, Mode, OutputChange, RelevantAttribute, ResourceChange};
use crate::providers::Schemas;
use crate::values::Values;

/// The data of a plan from which the relevant attributes are determined.
pub struct PlannedObjects<'a> {
    pub mode: Mode,
    pub changes: &'a [ResourceChange],
    /// The state after refreshing.
    pub state: &'a State,
    pub outputs: &'a std::collections::BTreeMap<Str, OutputChange>,
    pub values: &'a Values,
}

/// Returns the attributes of resources on which a plan depends, sorted.
pub fn attributes(
    configuration: &Configuration,
    schemas: &Schemas,
    planned: &PlannedObjects<'_>,
) -> Vec<RelevantAttribute> {
    let mut search = Search {
        configuration,
        schemas,
        visited: HashSet::new(),
        pending: Vec::new(),
        found: BTreeSet::new(),
        bodies: HashMap::new(),
    };
    let changed: HashSet<&AbsoluteResourceAddress> = planned
        .changes
        .iter()
        .filter(|change| change.action != Action::NoOp)
        .map(|change| &change.address.resource)
        .collect();
    // A destroy plan also removes data sources, but does not list them as changes.
    let read = planned.state.resources().map(|(address, _)| address);
    let gone = read.filter(|address| planned.mode == Mode::Destroy && address.mode == ResourceMode::Data);
    for address in changed.into_iter().chain(gone) {
        search.resource(address, &[]);
    }
    for (name, _) in planned.outputs.iter().filter(|(_, change)| change.action != Action::NoOp) {
        search.output(&ModuleInstance::root(), name);
    }
    if planned.mode != Mode::Destroy {
        search.module_outputs(planned.values);
    }
    search.finish()
}

/// A reference with the module instance in which it is evaluated.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Located {
    module: ModuleInstance,
    /// The resource that contains the reference, if the reference's meaning depends on the resource.
    resource: Option<Rc<AbsoluteResourceAddress>>,
    subject: ReferenceSubject,
    remaining: Vec<PathStep>,
}

struct Search<'a> {
    configuration: &'a Configuration,
    schemas: &'a Schemas,
    visited: HashSet<Located>,
    pending: Vec<Located>,
    found: BTreeSet<(ResourceInstanceAddress, Path)>,
    /// The references of resource blocks, shared by all instances of a module.
    bodies: HashMap<ResourceAddress, Rc<[Reference]>>,
}

impl<'a> Search<'a> {
    fn finish(mut self) -> Vec<RelevantAttribute> {
        while let Some(reference) = self.pending.pop() {
            self.follow(&reference);
        }
        self.found.into_iter().map(|(resource, path)| RelevantAttribute { resource, path }).collect()
    }

    /// Visits all module outputs that have a value. The state contains no values of module outputs,
    /// so each of these outputs is treated as new.
    fn module_outputs(&mut self, values: &Values) {
        for node in self.configuration.modules().filter(|node| !node.path.is_root()) {
            for instance in values.module_instances(&node.path) {
                let Some(evaluated) = values.module(instance) else { continue };
                for name in node.module.outputs.keys() {
                    if evaluated.output(name).is_some_and(|value| !value.is_null()) {
                        self.output(instance, name);
                    }
                }
            }
        }
    }

    fn module(&self, instance: &ModuleInstance) -> Option<&'a ModuleNode> {
        self.configuration.module(&instance.path())
    }

    fn push(
        &mut self,
        module: &ModuleInstance,
        resource: Option<&Rc<AbsoluteResourceAddress>>,
        one: &Reference,
    ) {
        let repeats = matches!(
            one.subject,
            ReferenceSubject::CountIndex | ReferenceSubject::EachKey | ReferenceSubject::EachValue
        );
        let located = Located {
            module: module.clone(),
            resource: resource.filter(|_| repeats).cloned(),
            subject: one.subject.clone(),
            remaining: one.remaining.clone(),
        };
        if self.visited.insert(located.clone()) {
            self.pending.push(located);
        }
    }

    fn expression(&mut self, module: &ModuleInstance, expression: &Expression) {
        for reference in expression.references() {
            self.push(module, None, reference);
        }
    }

    fn follow(&mut self, reference: &Located) {
        let Located { module, resource, subject, remaining } = reference;
        match subject {
            ReferenceSubject::Variable(name) => {
                let Some((caller, step)) = module.parent() else { return };
                let call = self.module(&caller).and_then(|node| node.module.module_calls.get(&step.name));
                if let Some(input) = call.and_then(|call| call.inputs.get(name)) {
                    self.expression(&caller, &input.expression);
                }
            }
            ReferenceSubject::Local(name) => {
                if let Some(local) = self.module(module).and_then(|node| node.module.locals.get(name)) {
                    self.expression(module, &local.expression);
                }
            }
            ReferenceSubject::Module(name) => {
                let (key, rest) = instance_key(remaining);
                let called = module.child(name.clone(), key);
                match rest.first().and_then(step_name) {
                    Some(output) => self.output(&called, output),
                    None => {
                        let outputs = self.module(&called).map(|node| &node.module.outputs);
                        for output in outputs.into_iter().flat_map(|outputs| outputs.keys()) {
                            self.output(&called, output);
                        }
                    }
                }
            }
            ReferenceSubject::CountIndex | ReferenceSubject::EachKey | ReferenceSubject::EachValue => {
                let Some(address) = resource else { return };
                let written = self.declaration(address);
                let repetition =
                    written.and_then(|resource| resource.count.as_ref().or(resource.for_each.as_ref()));
                if let Some(repetition) = repetition {
                    self.expression(module, repetition);
                }
            }
            ReferenceSubject::Resource { mode, kind, name } => {
                let address = module.resource(resource_mode(*mode), kind.clone(), name.clone());
                let (key, rest) = instance_key(remaining);
                self.resource(&address, rest);
                self.found.insert((address.instance(key), Path::from(rest.to_vec())));
            }
            _ => {}
        }
    }

    fn output(&mut self, module: &ModuleInstance, name: &str) {
        if let Some(output) = self.module(module).and_then(|node| node.module.outputs.get(name)) {
            self.expression(module, &output.expression);
        }
    }

    fn declaration(&self, address: &AbsoluteResourceAddress) -> Option<&'a Resource> {
        let key = (address.mode, address.type_name.clone(), address.name.clone());
        self.module(&address.module)?.module.resources.get(&key)
    }

    /// Follows the references in a resource's configuration: all references, or only the references
    /// in one argument.
    fn resource(&mut self, address: &AbsoluteResourceAddress, path: &[PathStep]) {
        let Some(written) = self.declaration(address) else { return };
        let provider = self.configuration.provider_for(&address.module.path(), written).provider;
        let Some(schema) = self.schemas.resource(&provider, address.mode, &address.type_name) else { return };
        let container = Rc::new(address.clone());
        let name = path.first().and_then(step_name);
        if let Some(name) = name.filter(|name| !schema.block.block_types.contains_key(&***name)) {
            let body = arguments_and_blocks(&written.body, &schema.block);
            let argument = body.attribute(name).filter(|_| schema.block.attributes.contains_key(&**name));
            for reference in argument.into_iter().flat_map(|argument| argument.expression.references()) {
                self.push(&address.module, Some(&container), reference);
            }
            return;
        }
        let all = self
            .bodies
            .entry(address.config())
            .or_insert_with(|| references(&written.body, Some(&schema.block)).into());
        for reference in Rc::clone(all).iter() {
            self.push(&address.module, Some(&container), reference);
        }
    }
}

/// Returns the instance key, and the steps after it.
fn instance_key(steps: &[PathStep]) -> (InstanceKey, &[PathStep]) {
    match steps {
        [PathStep::Key(key), rest @ ..] => (InstanceKey::String(key.clone()), rest),
        [PathStep::Index(index), rest @ ..] => (InstanceKey::Int(*index), rest),
        _ => (InstanceKey::None, steps),
    }
}

fn step_name(step: &PathStep) -> Option<&Str> {
    match step {
        PathStep::Attribute(name) | PathStep::Key(name) => Some(name),
        PathStep::Index(_) => None,
    }
}
