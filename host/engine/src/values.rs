//! The values of a run: one table per module instance.
//!
//! A reference to one instance (`a[count.index]`) is a lookup. The value of a resource or module
//! call as a whole, with all its instances, is built on first use and shared until it changes.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use wardian_address::{InstanceKey, ModuleInstance, ModulePath, ResourceInstanceAddress, ResourceMode};
use wardian_config::ActionKey;
use wardian_plugin::SensitiveValues;
use wardian_value::{Str, Type, Value};

use crate::object_secrets::ObjectSecrets;

/// The instances of a resource or a module.
#[derive(Clone, Debug)]
pub enum Repetition {
    /// One instance without a key.
    Single,
    /// Instances with the indexes less than `count`.
    Count(u64),
    /// The instances of a `for_each`: the value for each key.
    ForEach(BTreeMap<Str, Value>),
}

impl Repetition {
    /// Returns the keys of the instances in order.
    pub fn keys(&self) -> Vec<InstanceKey> {
        match self {
            Self::Single => vec![InstanceKey::None],
            Self::Count(count) => (0..*count).map(InstanceKey::Int).collect(),
            Self::ForEach(values) => values.keys().cloned().map(InstanceKey::String).collect(),
        }
    }

    /// Returns true if there are no instances.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Single => false,
            Self::Count(count) => *count == 0,
            Self::ForEach(values) => values.is_empty(),
        }
    }

    pub fn contains(&self, key: &InstanceKey) -> bool {
        match (self, key) {
            (Self::Single, InstanceKey::None) => true,
            (Self::Count(count), InstanceKey::Int(index)) => index < count,
            (Self::ForEach(values), InstanceKey::String(key)) => values.contains_key(key),
            _ => false,
        }
    }

    /// Returns the values of `count` and `each` for an instance.
    pub fn data(&self, key: &InstanceKey) -> RepetitionData {
        match (self, key) {
            (Self::Count(_), InstanceKey::Int(index)) => RepetitionData::Count(*index),
            (Self::ForEach(values), InstanceKey::String(key)) => match values.get(key) {
                Some(value) => RepetitionData::Each { key: Value::string(key.clone()), value: value.clone() },
                None => RepetitionData::None,
            },
            _ => RepetitionData::None,
        }
    }
}

/// The values of `count` and `each`.
#[derive(Clone, Debug, Default)]
pub enum RepetitionData {
    /// Neither is available.
    #[default]
    None,
    /// `count.index`
    Count(u64),
    /// `count.index` is available, for an unspecified instance.
    UnknownCount,
    /// `each` is available, for an unspecified instance.
    UnknownEach,
    /// `each.key` and `each.value`
    Each {
        /// `each.key`: a string; for a list in an import block, a number.
        key: Value,
        /// `each.value`
        value: Value,
    },
}

#[derive(Debug, Default)]
pub struct Values {
    secrets: ObjectSecrets,
    /// The sensitive values of objects, if they are withheld.
    sensitive: SensitiveValues,
    instances_of: BTreeMap<ModulePath, Vec<ModuleInstance>>,
    modules: HashMap<ModuleInstance, ModuleValues>,
}

/// The values in one module instance.
#[derive(Debug, Default)]
pub struct ModuleValues {
    /// The values of `count` and `each` in the call of this instance.
    pub repetition: RepetitionData,
    /// The variable values, after defaults, conversion and validation.
    pub variables: HashMap<Str, Value>,
    pub locals: HashMap<Str, Value>,
    outputs: HashMap<Str, Value>,
    /// All outputs as one object.
    object: OnceLock<Value>,
    calls: HashMap<Str, Call>,
    resources: HashMap<ResourceKey, ResourceValues>,
    /// The instances of actions, by type and name.
    pub actions: HashMap<ActionKey, Repetition>,
    /// The results of lists, by resource type and name.
    pub lists: HashMap<(Str, Str), Value>,
}

/// A module call in one instance of the caller.
#[derive(Debug)]
struct Call {
    repetition: Repetition,
    whole: OnceLock<Value>,
}

type ResourceKey = (ResourceMode, Str, Str);

/// The instances of one resource in one module instance.
#[derive(Debug)]
pub struct ResourceValues {
    repetition: Repetition,
    instances: BTreeMap<InstanceKey, Value>,
    whole: OnceLock<Value>,
}

impl Values {
    /// Returns the empty tables of a run.
    pub fn new(secrets: ObjectSecrets) -> Self {
        Self { secrets, ..Self::default() }
    }

    /// Sets the sensitive values of the state.
    pub(crate) fn withhold(&mut self, sensitive: SensitiveValues) {
        self.sensitive = sensitive;
    }

    /// Returns the sensitive values of objects, if they are withheld.
    pub(crate) fn withheld(&self) -> &SensitiveValues {
        &self.sensitive
    }

    /// Returns the value of an object for expressions.
    pub(crate) fn for_expressions(&self, object: Value) -> Value {
        self.secrets.for_expressions(object, &self.sensitive)
    }

    /// Returns whether the tables contain the sensitive values of objects.
    pub fn secrets(&self) -> ObjectSecrets {
        self.secrets
    }

    /// Returns the instances of a module; none if its call has not been expanded.
    pub fn module_instances(&self, path: &ModulePath) -> &[ModuleInstance] {
        self.instances_of.get(path).map_or(&[], Vec::as_slice)
    }

    /// Adds the instance of the root module.
    pub fn add_root(&mut self) {
        self.instances_of.insert(ModulePath::root(), vec![ModuleInstance::root()]);
        self.modules.insert(ModuleInstance::root(), ModuleValues::default());
    }

    /// Sets the instances of a module call in one instance of the calling module. `overridden`
    /// returns the outputs of an instance of which nothing is evaluated.
    pub fn expand(
        &mut self,
        caller: &ModuleInstance,
        name: &Str,
        repetition: Repetition,
        overridden: &dyn Fn(&ModuleInstance) -> Option<HashMap<Str, Value>>,
    ) {
        let instances = self.instances_of.entry(caller.path().child(name.clone())).or_default();
        for key in repetition.keys() {
            let instance = caller.child(name.clone(), key.clone());
            let mut values = ModuleValues { repetition: repetition.data(&key), ..ModuleValues::default() };
            if let Some(outputs) = overridden(&instance) {
                values.outputs = outputs;
                self.modules.insert(instance, values);
                continue;
            }
            self.modules.insert(instance.clone(), values);
            instances.push(instance);
        }
        if let Some(caller) = self.modules.get_mut(caller) {
            caller.calls.insert(name.clone(), Call { repetition, whole: OnceLock::new() });
        }
    }

    pub fn module(&self, instance: &ModuleInstance) -> Option<&ModuleValues> {
        self.modules.get(instance)
    }

    /// Returns a mutable reference to the values in a module instance.
    pub fn module_mut(&mut self, instance: &ModuleInstance) -> &mut ModuleValues {
        self.modules.entry(instance.clone()).or_default()
    }

    pub fn set_output(&mut self, instance: &ModuleInstance, name: &Str, value: Value) {
        let values = self.module_mut(instance);
        values.outputs.insert(name.clone(), value);
        values.object = OnceLock::new();
        if let Some((caller, step)) = instance.parent()
            && let Some(call) =
                self.modules.get_mut(&caller).and_then(|caller| caller.calls.get_mut(&step.name))
        {
            call.whole = OnceLock::new();
        }
    }

    /// Sets the value of a resource instance for expressions.
    pub fn set_instance(&mut self, address: &ResourceInstanceAddress, value: Value) {
        let value = self.for_expressions(value);
        self.module_mut(address.module()).set_instance(
            address.mode(),
            address.type_name(),
            address.name(),
            address.key.clone(),
            value,
        );
    }

    /// Returns the values of `count` and `each` for a resource instance.
    pub fn repetition_data(&self, address: &ResourceInstanceAddress) -> RepetitionData {
        self.module(address.module())
            .and_then(|m| m.resource(address.mode(), address.type_name(), address.name()))
            .map(|values| values.repetition().data(&address.key))
            .unwrap_or_default()
    }

    /// Returns the value of a module call: the outputs of one instance as an object, or all
    /// instances. `declared` contains the names of the module's outputs.
    pub fn call_value<'a>(
        &self,
        caller: &ModuleInstance,
        name: &str,
        declared: impl Iterator<Item = &'a Str> + Clone,
        index: Option<&InstanceKey>,
    ) -> Option<CallValue> {
        let call = self.modules.get(caller)?.calls.get(name)?;
        let repetition = &call.repetition;
        let outputs = |key: InstanceKey| self.outputs(&caller.child(name, key), declared.clone());
        if let Some(key) = index
            && !matches!(repetition, Repetition::Single)
            && repetition.contains(key)
        {
            return Some(CallValue::Element(outputs(key.clone())));
        }
        let whole = call.whole.get_or_init(|| match repetition {
            Repetition::Single => outputs(InstanceKey::None),
            Repetition::Count(count) => Value::tuple((0..*count).map(|i| outputs(InstanceKey::Int(i)))),
            Repetition::ForEach(values) => Value::object(
                values.keys().map(|key| (key.clone(), outputs(InstanceKey::String(key.clone())))),
            ),
        });
        Some(CallValue::Whole(whole.clone()))
    }

    fn outputs<'a>(&self, module: &ModuleInstance, declared: impl Iterator<Item = &'a Str>) -> Value {
        let values = self.modules.get(module);
        let build = || {
            Value::object(declared.map(|name| {
                // Outputs on which nothing depends may not have been evaluated yet.
                let value = values
                    .and_then(|m| m.outputs.get(name))
                    .cloned()
                    .unwrap_or_else(|| Value::unknown(Type::Dynamic));
                (name.clone(), value)
            }))
        };
        match values {
            Some(values) => values.object.get_or_init(build).clone(),
            None => build(),
        }
    }
}

#[derive(Debug)]
pub enum CallValue {
    /// All instances.
    Whole(Value),
    /// The requested instance.
    Element(Value),
}

impl ModuleValues {
    /// Returns the value of an output, if it has been evaluated.
    pub fn output(&self, name: &Str) -> Option<&Value> {
        self.outputs.get(name)
    }

    pub fn resource(&self, mode: ResourceMode, type_name: &Str, name: &Str) -> Option<&ResourceValues> {
        self.resources.get(&(mode, type_name.clone(), name.clone()))
    }

    /// Sets the instances of a resource.
    pub fn expand_resource(
        &mut self,
        mode: ResourceMode,
        type_name: &Str,
        name: &Str,
        repetition: Repetition,
    ) {
        let values = ResourceValues { repetition, instances: BTreeMap::new(), whole: OnceLock::new() };
        self.resources.insert((mode, type_name.clone(), name.clone()), values);
    }

    fn set_instance(
        &mut self,
        mode: ResourceMode,
        type_name: &Str,
        name: &Str,
        key: InstanceKey,
        value: Value,
    ) {
        if let Some(resource) = self.resources.get_mut(&(mode, type_name.clone(), name.clone())) {
            resource.instances.insert(key, value);
            resource.whole = OnceLock::new();
        }
    }
}

impl ResourceValues {
    pub fn repetition(&self) -> &Repetition {
        &self.repetition
    }

    pub fn instance(&self, key: &InstanceKey) -> Option<&Value> {
        // Instances that will be destroyed are in the table, but not in the configuration.
        self.instances.get(key).filter(|_| self.repetition.contains(key))
    }

    /// Returns the value of the resource: an object; with `count`, a tuple of objects; with
    /// `for_each`, an object of objects. An instance that has no value yet is an unknown value of
    /// type `ty`.
    pub fn whole(&self, ty: &Type) -> &Value {
        self.whole.get_or_init(|| {
            let instance = |key: InstanceKey| {
                self.instances.get(&key).cloned().unwrap_or_else(|| Value::unknown(ty.clone()))
            };
            match &self.repetition {
                Repetition::Single => instance(InstanceKey::None),
                Repetition::Count(count) => {
                    Value::tuple((0..*count).map(|index| instance(InstanceKey::Int(index))))
                }
                Repetition::ForEach(values) => Value::object(
                    values.keys().map(|key| (key.clone(), instance(InstanceKey::String(key.clone())))),
                ),
            }
        })
    }
}

pub fn instance_key(index: &Value) -> Option<InstanceKey> {
    if let Some(number) = index.as_number() {
        return u64::try_from(number.as_i64()?).ok().map(InstanceKey::Int);
    }
    index.as_str().map(|key| InstanceKey::String(Str::new(key)))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn module_value_is_rebuilt_only_after_change() {
        const INSTANCES: u64 = 100;
        let root = ModuleInstance::root();
        let (call, output) = (Str::new("m"), Str::new("id"));
        let mut values = Values::default();
        values.add_root();
        values.expand(&root, &call, Repetition::Count(INSTANCES), &|_| None);
        for index in 0..INSTANCES {
            values.set_output(&root.child("m", InstanceKey::Int(index)), &output, Value::number(index));
        }
        let names = [output.clone()];
        let built = Cell::new(0_u64);
        let whole = |values: &Values, index: Option<InstanceKey>| {
            let declared = names.iter().inspect(|_| built.set(built.get() + 1));
            match values.call_value(&root, "m", declared, index.as_ref()) {
                Some(CallValue::Whole(value) | CallValue::Element(value)) => value,
                None => panic!("the call was expanded"),
            }
        };
        let object = |number: u64| Value::object([(output.clone(), Value::number(number))]);

        for _ in 0..INSTANCES {
            assert_eq!(whole(&values, None), Value::tuple((0..INSTANCES).map(object)));
            assert_eq!(whole(&values, Some(InstanceKey::Int(7))), object(7));
        }
        assert_eq!(built.get(), INSTANCES);

        values.set_output(&root.child("m", InstanceKey::Int(0)), &output, Value::number(5_u64));
        let changed = Value::tuple((0..INSTANCES).map(|index| object(if index == 0 { 5 } else { index })));
        assert_eq!(whole(&values, None), changed);
        assert_eq!(built.get(), INSTANCES + 1);
    }
}
