//! The results of all conditions of a run.
//!
//! Every block with conditions is listed from the start with an unknown result. The objects of a
//! block are added when they become known, and the result of each condition is added when it is
//! evaluated. The result of a condition that is not evaluated remains unknown. The status of a
//! block is the worst status of its objects, and the status of an object is the worst result of its
//! conditions.

use std::collections::{BTreeMap, HashMap};

use wardian_address::{
    AbsoluteResourceAddress, InstanceKey, ModuleInstance, ModulePath, ResourceAddress,
    ResourceInstanceAddress,
};
use wardian_config::{Configuration, ModuleNode, Resource};
use wardian_diagnostic::{Diagnostic, DiagnosticOrigin, Diagnostics, Severity};
use wardian_state::{CheckKind, CheckObject, CheckResult, CheckStatus};
use wardian_value::Str;

use crate::nodes::address_of;

/// A block that can have conditions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Checkable {
    Resource(ResourceAddress),
    Output(ModulePath, Str),
    Check(ModulePath, Str),
    Variable(ModulePath, Str),
}

/// An object to which the conditions of a block apply.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CheckedObject {
    module: ModuleInstance,
    key: InstanceKey,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionResult {
    /// The condition is true.
    Pass,
    /// The condition is false. Contains the error message.
    Fail(String),
    /// The condition could not be evaluated.
    Error,
    /// The result is not known yet.
    Unknown,
}

/// The results of all conditions.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    blocks: HashMap<Checkable, Block>,
    /// Data sources that only a check reads, with the name of the check.
    nested: HashMap<ResourceAddress, Str>,
}

#[derive(Clone, Debug)]
struct Block {
    /// The number of conditions of each object.
    conditions: usize,
    /// The objects, if they are known.
    objects: Option<BTreeMap<CheckedObject, Vec<ConditionResult>>>,
}

impl CheckedObject {
    /// Returns the object of a block that has one object per module instance.
    pub fn for_module(module: &ModuleInstance) -> Self {
        Self { module: module.clone(), key: InstanceKey::None }
    }
}

impl Checks {
    /// Lists the conditions of a configuration with unknown results.
    pub fn for_configuration(configuration: &Configuration) -> Self {
        let mut checks = Self::default();
        for node in configuration.modules() {
            checks.declare(node);
        }
        checks
    }

    /// Lists the conditions for an apply, with the objects in the plan.
    pub fn from_plan(configuration: &Configuration, planned: &[CheckResult]) -> Self {
        let mut checks = Self::for_configuration(configuration);
        let named: HashMap<String, Checkable> =
            checks.blocks.keys().map(|checkable| (checkable.to_string(), checkable.clone())).collect();
        for result in planned {
            let Some(checkable) = named.get(&*result.config_address) else { continue };
            let objects: &[CheckObject] = match &result.objects {
                Some(objects) => objects,
                // The block has no objects.
                None if result.status == CheckStatus::Pass => &[],
                None => continue,
            };
            let objects = objects.iter().filter_map(|object| checkable.parse_object(&object.address));
            checks.expand(checkable, objects.collect::<Vec<_>>());
        }
        checks
    }

    fn declare(&mut self, node: &ModuleNode) {
        let (path, module) = (&node.path, &node.module);
        for (name, variable) in &module.variables {
            self.add(Checkable::Variable(path.clone(), name.clone()), variable.validations.len());
        }
        for (name, output) in &module.outputs {
            self.add(Checkable::Output(path.clone(), name.clone()), output.preconditions.len());
        }
        for resource in module.resources.values() {
            self.add(Checkable::Resource(address_of(path, resource)), conditions_of(resource));
        }
        for (name, check) in &module.checks {
            // Reading the data source is an additional condition.
            let conditions = check.assertions.len() + usize::from(check.data.is_some());
            self.add(Checkable::Check(path.clone(), name.clone()), conditions);
            if let Some(data) = &check.data {
                self.nested.insert(address_of(path, data), name.clone());
            }
        }
    }

    fn add(&mut self, checkable: Checkable, conditions: usize) {
        if conditions > 0 {
            self.blocks.insert(checkable, Block { conditions, objects: None });
        }
    }

    /// Returns the check that contains a data source.
    pub fn check_around(&self, address: &ResourceAddress) -> Option<Checkable> {
        let name = self.nested.get(address)?;
        Some(Checkable::Check(address.module.clone(), name.clone()))
    }

    /// Sets the objects of a block.
    pub fn expand(&mut self, checkable: &Checkable, objects: impl IntoIterator<Item = CheckedObject>) {
        let Some(block) = self.blocks.get_mut(checkable) else { return };
        let conditions = block.conditions;
        let known = block.objects.get_or_insert_default();
        for object in objects {
            known.entry(object).or_insert_with(|| vec![ConditionResult::Unknown; conditions]);
        }
    }

    /// Sets one object for each of these module instances.
    pub fn expand_in(&mut self, checkable: &Checkable, modules: &[ModuleInstance]) {
        self.expand(checkable, modules.iter().map(CheckedObject::for_module));
    }

    /// Sets the instances of a resource in one module instance.
    pub fn expand_resource(
        &mut self,
        address: &AbsoluteResourceAddress,
        keys: impl IntoIterator<Item = InstanceKey>,
    ) {
        let module = &address.module;
        let object = |key| CheckedObject { module: module.clone(), key };
        self.expand(&Checkable::Resource(address.config()), keys.into_iter().map(object));
    }

    /// Sets the results of consecutive conditions of an object, beginning at number `first`.
    pub fn report(
        &mut self,
        checkable: &Checkable,
        object: CheckedObject,
        first: usize,
        found: Vec<ConditionResult>,
    ) {
        let Some(block) = self.blocks.get_mut(checkable) else { return };
        let conditions = block.conditions;
        let known = block.objects.get_or_insert_default();
        let of_object = known.entry(object).or_insert_with(|| vec![ConditionResult::Unknown; conditions]);
        for (place, found) in of_object.iter_mut().skip(first).zip(found) {
            *place = found;
        }
    }

    /// Sets the results of conditions of a resource instance, like [`Checks::report`].
    pub fn report_resource(
        &mut self,
        address: &ResourceInstanceAddress,
        first: usize,
        found: Vec<ConditionResult>,
    ) {
        let object = CheckedObject { module: address.module().clone(), key: address.key.clone() };
        self.report(&Checkable::Resource(address.config()), object, first, found);
    }

    /// Sets the result of reading the data source of a check.
    pub fn report_data(&mut self, check: &Checkable, module: &ModuleInstance, found: ConditionResult) {
        self.report(check, CheckedObject::for_module(module), 0, vec![found]);
    }

    /// Whether a condition of an object failed.
    pub fn has_failed(&self, checkable: &Checkable, object: &CheckedObject) -> bool {
        let found = self.blocks.get(checkable).and_then(|block| block.objects.as_ref()?.get(object));
        found.is_some_and(|found| matches!(status(found), CheckStatus::Fail | CheckStatus::Error))
    }

    /// Returns all results, sorted by address.
    pub fn results(&self) -> Vec<CheckResult> {
        let mut results: Vec<CheckResult> =
            self.blocks.iter().map(|(checkable, block)| block.result(checkable)).collect();
        results.sort_by(|a, b| a.config_address.cmp(&b.config_address));
        results
    }
}

fn conditions_of(resource: &Resource) -> usize {
    resource.lifecycle.preconditions.len() + resource.lifecycle.postconditions.len()
}

impl Block {
    fn result(&self, checkable: &Checkable) -> CheckResult {
        let objects = self.objects.as_ref().map(|objects| {
            let one = |(object, found): (&CheckedObject, &Vec<ConditionResult>)| CheckObject {
                address: Str::new(&checkable.object_address(object)),
                status: status(found),
                failure_messages: found.iter().filter_map(ConditionResult::message).collect(),
            };
            objects.iter().map(one).collect::<Vec<CheckObject>>()
        });
        let status = match &objects {
            None => CheckStatus::Unknown,
            Some(objects) => worst(objects.iter().map(|object| object.status)),
        };
        CheckResult {
            kind: checkable.kind(),
            config_address: Str::new(&checkable.to_string()),
            status,
            // A block without objects is stored in the same form as a block with unknown objects.
            objects: objects.filter(|objects| !objects.is_empty()),
        }
    }
}

impl ConditionResult {
    fn status(&self) -> CheckStatus {
        match self {
            Self::Pass => CheckStatus::Pass,
            Self::Fail(_) => CheckStatus::Fail,
            Self::Error => CheckStatus::Error,
            Self::Unknown => CheckStatus::Unknown,
        }
    }

    fn message(&self) -> Option<String> {
        match self {
            Self::Fail(message) => Some(message.clone()),
            _ => None,
        }
    }
}

fn status(found: &[ConditionResult]) -> CheckStatus {
    worst(found.iter().map(ConditionResult::status))
}

/// Returns the worst status: an error is worse than a failure, and a failure is worse than an
/// unknown result.
fn worst(statuses: impl Iterator<Item = CheckStatus>) -> CheckStatus {
    let rank = |status: &CheckStatus| match status {
        CheckStatus::Pass => 0,
        CheckStatus::Unknown => 1,
        CheckStatus::Fail => 2,
        CheckStatus::Error => 3,
    };
    statuses.max_by_key(rank).unwrap_or(CheckStatus::Pass)
}

impl Checkable {
    fn kind(&self) -> CheckKind {
        match self {
            Self::Resource(_) => CheckKind::Resource,
            Self::Output(..) => CheckKind::Output,
            Self::Check(..) => CheckKind::Check,
            Self::Variable(..) => CheckKind::Variable,
        }
    }

    /// Returns the name, within its module, of a block that is not a resource.
    fn name_in_module(&self) -> Option<(&ModulePath, String)> {
        match self {
            Self::Resource(_) => None,
            Self::Output(module, name) | Self::Check(module, name) | Self::Variable(module, name) => {
                Some((module, format!("{}.{name}", self.kind().as_str())))
            }
        }
    }

    /// Returns the address of an object of the block.
    pub fn object_address(&self, object: &CheckedObject) -> String {
        match self {
            Self::Resource(address) => {
                address.in_module(&object.module).instance(object.key.clone()).to_string()
            }
            _ => {
                let name = self.name_in_module().map(|(_, name)| name).unwrap_or_default();
                if object.module.is_root() { name } else { format!("{}.{name}", object.module) }
            }
        }
    }

    fn parse_object(&self, text: &str) -> Option<CheckedObject> {
        let Some((_, name)) = self.name_in_module() else {
            let address: ResourceInstanceAddress = text.parse().ok()?;
            return Some(CheckedObject { module: address.module().clone(), key: address.key.clone() });
        };
        let module = match text.strip_suffix(&*name)? {
            "" => ModuleInstance::root(),
            module => module.strip_suffix('.')?.parse().ok()?,
        };
        Some(CheckedObject::for_module(&module))
    }
}

/// Converts errors in the data source of a check, in a module instance, to warnings.
pub fn as_warnings(found: Diagnostics, check: &Checkable, module: &ModuleInstance) -> Diagnostics {
    let address = check.object_address(&CheckedObject::for_module(module));
    let weaker = |diagnostic: Diagnostic| Diagnostic {
        severity: Severity::Warning,
        origin: DiagnosticOrigin::Check,
        checked_object: Some(address.as_str().into()),
        ..diagnostic
    };
    found.into_iter().map(weaker).collect()
}

impl ConditionResult {
    /// Returns the result for a data source that could not be read.
    pub fn unreadable(problems: &Diagnostics) -> Self {
        let errors = problems.iter().filter(|problem| problem.severity == Severity::Error);
        let texts: Vec<String> = errors.map(|error| format!("{}: {}", error.summary, error.detail)).collect();
        Self::Fail(texts.join("\n"))
    }
}

/// Writes the address in the configuration.
impl std::fmt::Display for Checkable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self, self.name_in_module()) {
            (_, Some((module, name))) if module.is_root() => f.write_str(&name),
            (_, Some((module, name))) => write!(f, "{module}.{name}"),
            (Self::Resource(address), None) => address.fmt(f),
            (_, None) => Ok(()),
        }
    }
}
