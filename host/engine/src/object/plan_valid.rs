//! Checks that a provider's plan matches the configuration.
//!
//! A planned value must be the configured value or the prior value (if the provider considers them
//! equivalent). If no value is configured, only a computed attribute may have a planned value. The
//! provider must never change the number of nested blocks.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use wardian_plugin::{
    Attribute, AttributeType, Block, BlockNesting, NestedBlock, NestedObject, ObjectNesting,
};
use wardian_value::{Path, Str, Type, Value, View};

/// A path, and the violation at that path as the end of the sentence "for {path}: ...".
pub type Violation = (Path, String);

/// Returns all violations of a plan. Values have no marks.
pub fn plan_violations(block: &Block, prior: &Value, config: &Value, planned: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    check_block(block, prior, config, planned, &Path::root(), &mut found);
    found
}

fn check_block(
    block: &Block,
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    found: &mut Vec<Violation>,
) {
    match (planned.is_null(), config.is_null()) {
        (true, false) => {
            found.push((path.clone(), "it is planned to be absent, but the configuration has it".into()));
            return;
        }
        (false, true) => {
            found.push((path.clone(), "it is planned, but the configuration does not have it".into()));
            return;
        }
        (true, true) => return,
        (false, false) => {}
    }
    check_attributes(&block.attributes, prior, config, planned, path, found);
    for (name, nested) in &block.block_types {
        let path = path.attribute(name.clone());
        let ty = || nested.implied_type();
        let planned = part(planned, name, ty);
        check_nested_block(nested, &part(prior, name, ty), &part(config, name, ty), &planned, &path, found);
    }
}

fn part(object: &Value, name: &str, ty: impl FnOnce() -> Type) -> Value {
    match object.view() {
        View::Unknown => Value::unknown(ty()),
        _ => object.get(name).cloned().unwrap_or_else(|| Value::null(ty())),
    }
}

fn check_nested_block(
    nested: &NestedBlock,
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    found: &mut Vec<Violation>,
) {
    if !config.is_known() {
        // Unknown blocks, as from a `dynamic` block, remain unchanged until they are known.
        if planned.is_known() {
            found.push((path.clone(), format!("{planned:?} is planned for blocks that are not known yet")));
        }
        return;
    }
    if !planned.is_known() {
        let text = "the block is planned as unknown; only values in it may be unknown";
        found.push((path.clone(), text.into()));
        return;
    }
    let block = &nested.block;
    match nested.nesting {
        BlockNesting::Single | BlockNesting::Group => check_block(block, prior, config, planned, path, found),
        BlockNesting::List => {
            let (Some(config), Some(planned)) = (config.as_elements(), planned.as_elements()) else {
                null_collection("list", path, found);
                return;
            };
            if config.len() != planned.len() {
                block_count(planned.len(), config.len(), path, found);
                return;
            }
            let prior = prior.as_elements().unwrap_or_default();
            for (index, (config, planned)) in config.iter().zip(planned).enumerate() {
                let path = path.index(index as u64);
                if unknown_element(planned, &path, found) {
                    continue;
                }
                let absent = Value::null(config.ty().clone());
                check_block(block, prior.get(index).unwrap_or(&absent), config, planned, &path, found);
            }
        }
        BlockNesting::Map => {
            let (Some(config), Some(planned)) = (config.as_mapping(), planned.as_mapping()) else {
                null_collection("map", path, found);
                return;
            };
            for (key, planned) in planned {
                let path = path.key(key.clone());
                let Some(config) = config.get(key) else {
                    found.push((
                        path,
                        format!("the plan has a block {key:?}, which the configuration does not have"),
                    ));
                    continue;
                };
                if unknown_element(planned, &path, found) {
                    continue;
                }
                let absent = Value::null(config.ty().clone());
                check_block(block, prior.get(key).unwrap_or(&absent), config, planned, &path, found);
            }
            for key in config.keys().filter(|key| !planned.contains_key(key)) {
                let text = format!("the block {key:?} of the configuration is not planned");
                found.push((path.clone(), text));
            }
        }
        // Blocks of two sets cannot be matched, so their contents are not checked.
        BlockNesting::Set => {
            let Some(planned) = planned.as_elements() else {
                null_collection("set", path, found);
                return;
            };
            for element in planned {
                unknown_element(element, path, found);
            }
        }
    }
}

fn null_collection(kind: &str, path: &Path, found: &mut Vec<Violation>) {
    let text = format!("an empty set of blocks must be planned as an empty {kind}, not as null");
    found.push((path.clone(), text));
}

fn block_count(planned: usize, config: usize, path: &Path, found: &mut Vec<Violation>) {
    found.push((path.clone(), format!("{planned} blocks are planned, but the configuration has {config}")));
}

fn unknown_element(element: &Value, path: &Path, found: &mut Vec<Violation>) -> bool {
    if !element.is_known() {
        found.push((path.clone(), "a block is planned as unknown; only values in it may be unknown".into()));
        return true;
    }
    false
}

fn check_attributes(
    attributes: &BTreeMap<Str, Attribute>,
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    found: &mut Vec<Violation>,
) {
    for (name, attribute) in attributes {
        if let (Some(config), Some(planned)) = (config.get(name), planned.get(name))
            && (config == planned || attribute.setting.is_computed() && config.is_null())
        {
            continue;
        }
        let ty = || attribute.implied_type();
        let (prior, config, planned) =
            (part(prior, name, ty), part(config, name, ty), part(planned, name, ty));
        check_attribute(attribute, &prior, &config, &planned, &path.attribute(name.clone()), found);
    }
}

fn check_attribute(
    attribute: &Attribute,
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    found: &mut Vec<Violation>,
) {
    if same(planned, config) || (attribute.write_only && planned.is_null()) {
        return;
    }
    // A provider plans the prior value instead of the configured one if the difference has no
    // effect.
    if !prior.is_null() && !config.is_null() && same(planned, prior) {
        return;
    }
    let computed = attribute.setting.is_computed();
    if computed && config.is_null() {
        return;
    }
    if let AttributeType::Nested(object) = &attribute.ty
        && !config.is_null()
        && config.is_known()
    {
        check_nested_object(object, prior, config, planned, path, found);
        return;
    }
    let shown = |value: &Value| format!("{value:?}");
    let text = if attribute.sensitive {
        if config.is_null() {
            "a sensitive value is planned, although only the configuration may set it".to_owned()
        } else {
            "a planned sensitive value differs from the configuration".to_owned()
        }
    } else if config.is_null() {
        format!("{} is planned, although only the configuration may set it", shown(planned))
    } else if prior.is_null() {
        format!("{} is planned, but the configuration sets {}", shown(planned), shown(config))
    } else {
        format!(
            "{} is planned; the configuration sets {}, and the prior value is {}",
            shown(planned),
            shown(config),
            shown(prior)
        )
    };
    found.push((path.clone(), text));
}

/// Whether values are equal apart from refinements of unknown values.
fn same(a: &Value, b: &Value) -> bool {
    if a == b {
        return true;
    }
    if a.is_wholly_known() || b.is_wholly_known() {
        return false;
    }
    match (a.view(), b.view()) {
        (View::Unknown, View::Unknown) => true,
        (View::List(a), View::List(b)) | (View::Tuple(a), View::Tuple(b)) | (View::Set(a), View::Set(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (View::Map(a), View::Map(b)) | (View::Object(a), View::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| k == l && same(a, b))
        }
        _ => false,
    }
}

fn check_nested_object(
    object: &NestedObject,
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    found: &mut Vec<Violation>,
) {
    if !planned.is_known() {
        found.push((path.clone(), "it is planned as unknown, but the configuration sets it".into()));
        return;
    }
    if planned.is_null() {
        found.push((path.clone(), "it is planned to be absent, but the configuration has it".into()));
        return;
    }
    match object.nesting {
        ObjectNesting::Single => check_attributes(&object.attributes, prior, config, planned, path, found),
        ObjectNesting::List => {
            let (config, planned) =
                (config.as_elements().unwrap_or_default(), planned.as_elements().unwrap_or_default());
            if config.len() != planned.len() {
                let text = format!(
                    "{} elements are planned, but the configuration has {}",
                    planned.len(),
                    config.len()
                );
                found.push((path.clone(), text));
                return;
            }
            let prior = prior.as_elements().unwrap_or_default();
            for (index, (config, planned)) in config.iter().zip(planned).enumerate() {
                let absent = Value::null(config.ty().clone());
                let prior = prior.get(index).unwrap_or(&absent);
                check_attributes(
                    &object.attributes,
                    prior,
                    config,
                    planned,
                    &path.index(index as u64),
                    found,
                );
            }
        }
        ObjectNesting::Map => {
            let (config, planned) =
                (config.as_mapping().unwrap_or_default(), planned.as_mapping().unwrap_or_default());
            for (key, planned) in planned {
                let Some(config) = config.get(key) else {
                    found.push((
                        path.clone(),
                        format!("the key {key:?} is planned, but the configuration does not have it"),
                    ));
                    continue;
                };
                let absent = Value::null(config.ty().clone());
                let prior = prior.get(key).unwrap_or(&absent);
                check_attributes(&object.attributes, prior, config, planned, &path.key(key.clone()), found);
            }
            for key in config.keys().filter(|key| !planned.contains_key(key)) {
                found.push((path.clone(), format!("the key {key:?} of the configuration is not planned")));
            }
        }
        ObjectNesting::Set => {
            // Elements that are not wholly known may become equal.
            let (config_sizes, planned_sizes) = (possible_sizes(config), possible_sizes(planned));
            if planned_sizes.start() > config_sizes.end() || planned_sizes.end() < config_sizes.start() {
                let text = format!(
                    "{} elements are planned, but the configuration has {}",
                    planned_sizes.end(),
                    config_sizes.end()
                );
                found.push((path.clone(), text));
            }
        }
    }
}

/// Returns the range of the number of elements that a set may have.
fn possible_sizes(set: &Value) -> RangeInclusive<usize> {
    let elements = set.as_elements().unwrap_or_default();
    let known = elements.iter().filter(|element| element.is_wholly_known()).count();
    let least = if known < elements.len() { known.max(1) } else { known };
    least..=elements.len()
}
