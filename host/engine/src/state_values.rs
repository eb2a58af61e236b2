//! Values from the state, decoded without a provider.

use std::collections::{BTreeMap, HashMap};

use wardian_address::{AbsoluteResourceAddress, InstanceKey, ResourceAddress};
use wardian_plugin::Schema;
use wardian_state::{Object, State};
use wardian_value::{Str, Type, Value, json};

use crate::evaluator::Evaluator;
use crate::nodes::{Node, NodeGraph};
use crate::object::stale_attributes::without_stale;
use crate::values::Repetition;

/// Returns the resources of a state, by their address in the configuration.
pub fn state_by_config(state: &State) -> HashMap<ResourceAddress, Vec<AbsoluteResourceAddress>> {
    let mut by_config: HashMap<ResourceAddress, Vec<AbsoluteResourceAddress>> = HashMap::new();
    for (address, _) in state.resources() {
        by_config.entry(address.config()).or_default().push(address.clone());
    }
    by_config
}

/// Sets the values of a resource's instances from the state, if they can be decoded without the
/// provider.
pub fn set_from_state(evaluator: &mut Evaluator, state: &State, address: &AbsoluteResourceAddress) {
    let Some(resource) = state.resource(address) else { return };
    let Some(schema) =
        evaluator.schemas.resource(&resource.provider.provider, address.mode, &address.type_name).cloned()
    else {
        return;
    };
    let repetition = repetition_of_keys(resource.instances.keys());
    let secrets = evaluator.values.secrets();
    let decoded: Vec<(InstanceKey, Value)> = resource
        .instances
        .iter()
        .filter_map(|(key, instance)| {
            let value = decode_stored(instance.current.as_deref()?, &schema)?;
            Some((key.clone(), secrets.keep_marks(&schema.block, &[&value], value.clone())))
        })
        .collect();
    let values = evaluator.values.module_mut(&address.module);
    values.expand_resource(address.mode, &address.type_name, &address.name, repetition);
    for (key, value) in decoded {
        evaluator.values.set_instance(&address.instance(key), value);
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

/// Decodes a stored object if it has the current schema.
pub fn decode_stored(object: &Object, schema: &Schema) -> Option<Value> {
    let wardian_state::Attributes::Json(text) = &object.attributes else { return None };
    let ty = schema.implied_type();
    let text = without_stale(text, ty);
    let value = json::decode(text.as_bytes(), ty).ok()?;
    let stored: Vec<_> =
        object.sensitive_paths.iter().map(|path| (path.clone(), wardian_value::Marks::SENSITIVE)).collect();
    Some(crate::object::sensitive::mark_by_schema(&schema.block, &value.mark_at(&stored)))
}

/// Evaluates a configuration for a console, with the values in the state. Values that cannot be
/// evaluated are unknown.
pub fn evaluate_all(
    evaluator: &mut Evaluator,
    graph: &NodeGraph,
    state: &State,
    variables: BTreeMap<Str, Value>,
) {
    evaluator.values.add_root();
    for (name, value) in variables {
        // Errors in variables are reported when a plan is created.
        let _ = evaluator.set_root_variable(&name, value, None);
    }
    let by_config = state_by_config(state);
    // Building the graph rejects cycles, so an order exists.
    for id in graph.order().unwrap_or_default() {
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
                    set_from_state(evaluator, state, stored);
                }
            }
            _ => {}
        }
    }
}
