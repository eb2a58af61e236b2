//! Computes the proposed new state: the host's merge of prior state and configuration.

use wardian_value::{Str, Type, Value, View};

use crate::schema::{Attribute, Block, BlockNesting, Nesting, Root, Shape};

/// Returns the proposed new state for a configuration that is not null.
pub(super) fn proposed_new(root: &Root, prior: &Value, config: &Value) -> Value {
    let empty;
    let prior = if prior.is_null() {
        empty = root.empty_value();
        &empty
    } else {
        prior
    };
    contents(root, prior, config)
}

fn contents(root: &Root, prior: &Value, config: &Value) -> Value {
    if config.is_null() || !config.is_known() {
        return prior.clone();
    }
    let attributes = attribute_parts(&root.attributes, prior, config);
    let blocks = root.blocks.iter().map(|block| {
        let (prior, config) = (part(prior, &block.name), part(config, &block.name));
        (Str::new(&block.name), blocks(block, &prior, &config))
    });
    Value::object(attributes.into_iter().chain(blocks))
}

fn part(value: &Value, name: &str) -> Value {
    value.get(name).cloned().unwrap_or_else(|| Value::null(Type::Dynamic))
}

fn attribute_parts(attributes: &[Attribute], prior: &Value, config: &Value) -> Vec<(Str, Value)> {
    attributes
        .iter()
        .map(|attribute| {
            let prior = prior.get(&attribute.name).cloned().unwrap_or_else(|| Value::null(attribute.ty()));
            let value = attribute_value(attribute, &prior, &part(config, &attribute.name));
            (Str::new(&attribute.name), value)
        })
        .collect()
}

fn attribute_value(attribute: &Attribute, prior: &Value, config: &Value) -> Value {
    if attribute.computed && config.is_null() {
        return match &attribute.shape {
            Shape::Nested(nesting, inner)
                if attribute.is_optional() && was_configured(*nesting, inner, prior) =>
            {
                config.clone()
            }
            _ => prior.clone(),
        };
    }
    match &attribute.shape {
        Shape::Value(_) => config.clone(),
        Shape::Nested(nesting, inner) => {
            let object = |prior: &Value, config: &Value| {
                if config.is_null() || !config.is_known() {
                    return config.clone();
                }
                Value::object(attribute_parts(inner, prior, config))
            };
            collection(*nesting == Nesting::Single, prior, config, &object, &|prior, config| {
                could_come_from(inner, prior, config)
            })
        }
    }
}

/// Returns whether the value contains an object that can come only from a configuration.
fn was_configured(nesting: Nesting, inner: &[Attribute], prior: &Value) -> bool {
    let object = |value: &Value| {
        inner.iter().any(|attribute| {
            let part = part(value, &attribute.name);
            match &attribute.shape {
                Shape::Value(_) => !attribute.computed && !part.is_null(),
                Shape::Nested(nesting, inner) => was_configured(*nesting, inner, &part),
            }
        })
    };
    match prior.view() {
        View::Null | View::Unknown => false,
        _ if nesting == Nesting::Single => object(prior),
        View::List(all) | View::Set(all) | View::Tuple(all) => all.iter().any(object),
        View::Map(all) | View::Object(all) => all.values().any(object),
        _ => false,
    }
}

fn blocks(block: &Block, prior: &Value, config: &Value) -> Value {
    let single = matches!(block.nesting, BlockNesting::Single | BlockNesting::Group);
    let object = |prior: &Value, config: &Value| {
        if config.is_null() || !config.is_known() {
            return config.clone();
        }
        contents(&block.contents, prior, config)
    };
    collection(single, prior, config, &object, &|prior, config| {
        could_come_from(&block.contents.attributes, prior, config)
            && block.contents.blocks.iter().all(|b| part(prior, &b.name) == part(config, &b.name))
    })
}

type Merge<'a> = &'a dyn Fn(&Value, &Value) -> Value;
type Matches<'a> = &'a dyn Fn(&Value, &Value) -> bool;

fn collection(single: bool, prior: &Value, config: &Value, merge: Merge<'_>, matches: Matches<'_>) -> Value {
    if config.is_null() || !config.is_known() {
        return config.clone();
    }
    if single {
        return merge(prior, config);
    }
    let element = config.ty().element().cloned();
    match config.view() {
        View::List(all) | View::Tuple(all) => {
            let merged = all.iter().enumerate().map(|(index, config)| {
                prior
                    .as_elements()
                    .and_then(|p| p.get(index))
                    .map_or_else(|| config.clone(), |p| merge(p, config))
            });
            match element {
                Some(ty) => Value::list(ty, merged),
                None => Value::tuple(merged),
            }
        }
        View::Map(all) | View::Object(all) => {
            let merged = all.iter().map(|(key, config)| {
                (key.clone(), prior.get(key).map_or_else(|| config.clone(), |p| merge(p, config)))
            });
            match element {
                Some(ty) => Value::map(ty, merged),
                None => Value::object(merged),
            }
        }
        View::Set(all) => {
            let mut unused: Vec<&Value> = prior.as_elements().unwrap_or_default().iter().collect();
            let merged: Vec<Value> = all
                .iter()
                .map(|config| match unused.iter().position(|prior| matches(prior, config)) {
                    Some(place) => merge(unused.remove(place), config),
                    None => merge(&Value::null(config.ty().clone()), config),
                })
                .collect();
            Value::set(element.unwrap_or(Type::Dynamic), merged)
        }
        _ => config.clone(),
    }
}

/// Returns whether a prior element differs from the configured element only in attributes that the
/// provider may set.
fn could_come_from(attributes: &[Attribute], prior: &Value, config: &Value) -> bool {
    attributes.iter().all(|attribute| {
        let (prior, config) = (part(prior, &attribute.name), part(config, &attribute.name));
        prior == config
            || (attribute.computed && config.is_null())
            || match &attribute.shape {
                Shape::Nested(Nesting::Single, inner) if !prior.is_null() && !config.is_null() => {
                    could_come_from(inner, &prior, &config)
                }
                _ => false,
            }
    })
}
