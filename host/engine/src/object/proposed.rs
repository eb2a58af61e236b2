//! Computes the proposed new object. It combines the prior state and the configuration before the
//! provider creates a plan.
//!
//! A computed attribute that cannot be set keeps its prior value; an optional and computed
//! attribute keeps its prior value if the configuration does not set the attribute; all other
//! values come from the configuration. Elements of nested lists are matched by position, elements
//! of maps by key, and elements of sets if the prior element could have been planned from the
//! configured element. Cost: O(size of both objects), but O(n·m) for nested sets of n and m
//! elements.

use std::collections::BTreeMap;

use wardian_plugin::{
    Attribute, AttributeType, Block, BlockNesting, NestedBlock, NestedObject, ObjectNesting,
};
use wardian_value::{Mapping, Str, Type, Value, View};

/// Returns the proposed new object of a managed resource.
pub fn proposed_new(block: &Block, prior: &Value, config: &Value) -> Value {
    if config.is_null() && prior.is_null() {
        return prior.clone();
    }
    propose_block(block, (!prior.is_null()).then_some(prior), config)
}

/// Returns a placeholder for an unknown object: every attribute that the provider determines is
/// unknown.
pub fn placeholder(block: &Block, config: &Value) -> Value {
    propose_block(block, Some(&Value::unknown(block.implied_type())), config)
}

/// Proposes the object of a block. Without a prior object, the block's empty value takes its place.
fn propose_block(block: &Block, prior: Option<&Value>, config: &Value) -> Value {
    let Some(config_attributes) = config.as_mapping() else {
        return prior.map_or_else(|| block.empty_value(), Clone::clone);
    };
    let attributes = block.attributes.iter().map(|(name, attribute)| {
        let absent = || Value::null(attribute.implied_type());
        let before = prior.map_or_else(absent, |prior| prior_part(prior, name, || attribute.implied_type()));
        let proposed = match config_attributes.get(name) {
            Some(configured) => propose_attribute(attribute, &before, configured),
            None => propose_attribute(attribute, &before, &absent()),
        };
        (name.clone(), proposed)
    });
    let blocks = block.block_types.iter().map(|(name, nested)| {
        let absent = || nested.empty_value();
        let before = prior.map_or_else(absent, |prior| prior_part(prior, name, || nested.implied_type()));
        let proposed = match config_attributes.get(name) {
            Some(configured) => propose_nested_block(nested, &before, configured),
            None => propose_nested_block(nested, &before, &absent()),
        };
        (name.clone(), proposed)
    });
    Value::object(attributes.chain(blocks))
}

fn part(attributes: Mapping<'_>, name: &str, absent: impl FnOnce() -> Value) -> Value {
    attributes.get(name).cloned().unwrap_or_else(absent)
}

/// Returns an attribute of the prior object. If the prior object is unknown or null, so is the
/// attribute.
fn prior_part(prior: &Value, name: &str, ty: impl FnOnce() -> Type) -> Value {
    match prior.view() {
        View::Object(attributes) | View::Map(attributes) => {
            attributes.get(name).cloned().unwrap_or_else(|| Value::null(ty()))
        }
        View::Unknown => Value::unknown(ty()),
        _ => Value::null(ty()),
    }
}

fn propose_attribute(attribute: &Attribute, prior: &Value, config: &Value) -> Value {
    if attribute.setting.is_computed() && config.is_null() {
        if let AttributeType::Nested(object) = &attribute.ty
            && attribute.setting.is_optional()
            && was_configured(object, prior)
        {
            return config.clone();
        }
        return prior.clone();
    }
    match &attribute.ty {
        AttributeType::Value(_) => config.clone(),
        AttributeType::Nested(object) => propose_nested_object(object, prior, config),
    }
}

/// Whether the prior value of an optional and computed structure contains a value that only a
/// configuration can have set. Such a value was removed from the configuration if it is no longer
/// configured.
fn was_configured(object: &NestedObject, prior: &Value) -> bool {
    let objects: Vec<&Value> = match (object.nesting, prior.view()) {
        (ObjectNesting::Single, View::Object(_)) => vec![prior],
        (_, View::List(elements) | View::Set(elements) | View::Tuple(elements)) => elements.iter().collect(),
        (_, View::Map(elements)) => elements.values().collect(),
        _ => return false,
    };
    objects.iter().any(|element| {
        object.attributes.iter().any(|(name, attribute)| {
            let Some(value) = element.get(name).filter(|v| !v.is_null()) else {
                return false;
            };
            match &attribute.ty {
                AttributeType::Nested(inner) if attribute.setting.is_computed() => {
                    was_configured(inner, value)
                }
                _ => !attribute.setting.is_computed(),
            }
        })
    })
}

fn propose_nested_object(object: &NestedObject, prior: &Value, config: &Value) -> Value {
    if !config.is_known() || config.is_null() {
        return config.clone();
    }
    let propose = |prior: &Value, config: &Value| propose_object_attributes(object, prior, config);
    match object.nesting {
        ObjectNesting::Single => propose(prior, config),
        ObjectNesting::List => by_index(prior, config, &propose),
        ObjectNesting::Map => by_key(prior, config, &propose),
        ObjectNesting::Set => by_match(prior, config, &propose, &|prior, config| {
            attributes_could_come_from(&object.attributes, prior, config)
        }),
    }
}

fn propose_object_attributes(object: &NestedObject, prior: &Value, config: &Value) -> Value {
    let Some(configured) = config.as_mapping() else {
        return config.clone();
    };
    Value::object(object.attributes.iter().map(|(name, attribute)| {
        let configured = part(configured, name, || Value::null(attribute.implied_type()));
        let before = prior_part(prior, name, || attribute.implied_type());
        (name.clone(), propose_attribute(attribute, &before, &configured))
    }))
}

fn propose_nested_block(nested: &NestedBlock, prior: &Value, config: &Value) -> Value {
    if !config.is_known() {
        return config.clone();
    }
    let propose = |prior: &Value, config: &Value| propose_block(&nested.block, Some(prior), config);
    match nested.nesting {
        BlockNesting::Single if config.is_null() => config.clone(),
        BlockNesting::Single | BlockNesting::Group => propose(prior, config),
        BlockNesting::List => by_index(prior, config, &propose),
        BlockNesting::Map => by_key(prior, config, &propose),
        BlockNesting::Set => by_match(prior, config, &propose, &|prior, config| {
            block_could_come_from(&nested.block, prior, config)
        }),
    }
}

fn by_index(prior: &Value, config: &Value, propose: &dyn Fn(&Value, &Value) -> Value) -> Value {
    let Some(elements) = config.as_elements().filter(|e| !e.is_empty()) else {
        return config.clone();
    };
    // An unknown prior value has unknown elements at every position.
    let before = |index: usize| match prior.view() {
        View::Unknown => Some(Value::unknown(elements[index].ty().clone())),
        _ => prior.as_elements().and_then(|e| e.get(index)).cloned(),
    };
    let proposed = elements.iter().enumerate().map(|(index, element)| match before(index) {
        Some(prior) => propose(&prior, element),
        None => element.clone(),
    });
    match config.ty() {
        Type::List(element) => Value::list((**element).clone(), proposed),
        _ => Value::tuple(proposed),
    }
}

fn by_key(prior: &Value, config: &Value, propose: &dyn Fn(&Value, &Value) -> Value) -> Value {
    let Some(elements) = config.as_mapping().filter(|e| !e.is_empty()) else {
        return config.clone();
    };
    let before = |key: &str, element: &Value| match prior.view() {
        View::Unknown => Some(Value::unknown(element.ty().clone())),
        _ => prior.get(key).cloned(),
    };
    let proposed = elements.iter().map(|(key, element)| {
        let proposed = match before(key, element) {
            Some(prior) => propose(&prior, element),
            None => element.clone(),
        };
        (key.clone(), proposed)
    });
    match config.ty() {
        Type::Map(element) => Value::map((**element).clone(), proposed),
        _ => Value::object(proposed),
    }
}

fn by_match(
    prior: &Value,
    config: &Value,
    propose: &dyn Fn(&Value, &Value) -> Value,
    could_come_from: &dyn Fn(&Value, &Value) -> bool,
) -> Value {
    let (Some(elements), Type::Set(element_type)) = (config.as_elements(), config.ty()) else {
        return config.clone();
    };
    if elements.is_empty() {
        return config.clone();
    }
    let unknown_prior = !prior.is_known();
    let candidates = prior.as_elements().unwrap_or_default();
    let mut used = vec![false; candidates.len()];
    let proposed: Vec<Value> = elements
        .iter()
        .map(|element| {
            if unknown_prior {
                return propose(&Value::unknown(element.ty().clone()), element);
            }
            let found =
                (0..candidates.len()).find(|i| !used[*i] && could_come_from(&candidates[*i], element));
            match found {
                Some(index) => {
                    used[index] = true;
                    propose(&candidates[index], element)
                }
                None => propose(&Value::null(element.ty().clone()), element),
            }
        })
        .collect();
    Value::set((**element_type).clone(), proposed)
}

/// Whether a prior element and a configured element differ only in attributes that the provider
/// determines.
fn attributes_could_come_from(attributes: &BTreeMap<Str, Attribute>, prior: &Value, config: &Value) -> bool {
    if prior == config {
        return true;
    }
    let (Some(before), Some(configured)) = (prior.as_mapping(), config.as_mapping()) else {
        return false;
    };
    attributes.iter().all(|(name, attribute)| match (before.get(name), configured.get(name)) {
        (Some(prior), Some(config)) => attribute_could_come_from(attribute, prior, config),
        _ => true,
    })
}

fn attribute_could_come_from(attribute: &Attribute, prior: &Value, config: &Value) -> bool {
    if prior == config || attribute.setting.is_computed() && config.is_null() {
        return true;
    }
    let AttributeType::Nested(object) = &attribute.ty else {
        return false;
    };
    let matches =
        |prior: &Value, config: &Value| attributes_could_come_from(&object.attributes, prior, config);
    match object.nesting {
        ObjectNesting::Single => matches(prior, config),
        ObjectNesting::List => pairs_match(prior, config, &matches),
        ObjectNesting::Map => entries_match(prior, config, &matches),
        ObjectNesting::Set => false,
    }
}

fn block_could_come_from(block: &Block, prior: &Value, config: &Value) -> bool {
    if !attributes_could_come_from(&block.attributes, prior, config) {
        return false;
    }
    block.block_types.iter().all(|(name, nested)| {
        let (Some(prior), Some(config)) = (prior.get(name), config.get(name)) else {
            return prior == config;
        };
        let matches = |prior: &Value, config: &Value| block_could_come_from(&nested.block, prior, config);
        prior == config
            || match nested.nesting {
                BlockNesting::Single | BlockNesting::Group => {
                    !prior.is_null() && !config.is_null() && matches(prior, config)
                }
                BlockNesting::List => pairs_match(prior, config, &matches),
                BlockNesting::Map => entries_match(prior, config, &matches),
                BlockNesting::Set => false,
            }
    })
}

fn pairs_match(prior: &Value, config: &Value, matches: &dyn Fn(&Value, &Value) -> bool) -> bool {
    match (prior.as_elements(), config.as_elements()) {
        (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| matches(a, b)),
        _ => false,
    }
}

fn entries_match(prior: &Value, config: &Value, matches: &dyn Fn(&Value, &Value) -> bool) -> bool {
    match (prior.as_mapping(), config.as_mapping()) {
        (Some(a), Some(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| k == l && matches(a, b))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
