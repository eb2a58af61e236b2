//! The effect of `ignore_changes`: values of the prior object replace values of the configuration.

use std::collections::BTreeMap;

use wardian_plugin::{Attribute, AttributeType, Block, BlockNesting, ObjectNesting};
use wardian_value::convert::unify_values;
use wardian_value::{Path, PathStep, Str, Type, Value};

use super::legacy::each;

/// The attributes whose changes are ignored.
#[derive(Clone, Debug, Default)]
pub enum IgnoredAttributes {
    #[default]
    Nothing,
    All,
    /// The attributes at and below these paths.
    Paths(Vec<Path>),
}

impl From<&wardian_config::IgnoreChanges> for IgnoredAttributes {
    fn from(written: &wardian_config::IgnoreChanges) -> Self {
        match written {
            wardian_config::IgnoreChanges::Nothing => Self::Nothing,
            wardian_config::IgnoreChanges::All => Self::All,
            wardian_config::IgnoreChanges::Paths(paths) => {
                Self::Paths(paths.iter().map(wardian_lang::Traversal::relative_path).collect())
            }
        }
    }
}

impl IgnoredAttributes {
    /// Returns the configuration, with the prior object's values for ignored attributes.
    pub fn in_configuration(&self, block: &Block, prior: &Value, config: &Value) -> Value {
        if prior.is_null() {
            return config.clone();
        }
        match self {
            Self::Nothing => config.clone(),
            Self::All => configurable(block, prior),
            Self::Paths(paths) => taken_over(paths, prior, config),
        }
    }

    /// Returns the planned object, with the prior object's values for ignored attributes. This is
    /// necessary because legacy SDKs plan changes that the configuration does not contain.
    pub fn in_plan(&self, prior: &Value, planned: &Value) -> Value {
        if prior.is_null() {
            return planned.clone();
        }
        match self {
            Self::Nothing => planned.clone(),
            Self::All => prior.clone(),
            Self::Paths(paths) => taken_over(paths, prior, planned),
        }
    }
}

/// Returns the values of the object that a configuration could have set. Computed values that
/// cannot be set are omitted.
fn configurable(block: &Block, object: &Value) -> Value {
    let Some(parts) = object.as_mapping() else { return object.clone() };
    Value::object(parts.iter().map(|(name, part)| {
        let part = match (block.attributes.get(name), block.block_types.get(name)) {
            (Some(attribute), _) => configurable_attribute(attribute, part),
            (None, Some(nested)) => match nested.nesting {
                BlockNesting::Single | BlockNesting::Group => configurable(&nested.block, part),
                _ => each(part, &|element| configurable(&nested.block, element)),
            },
            (None, None) => part.clone(),
        };
        (name.clone(), part)
    }))
}

fn configurable_attribute(attribute: &Attribute, value: &Value) -> Value {
    if !attribute.setting.is_configurable() {
        return Value::null(value.ty().clone());
    }
    match &attribute.ty {
        AttributeType::Value(_) => value.clone(),
        AttributeType::Nested(object) => {
            let inside = |element: &Value| configurable_parts(&object.attributes, element);
            match object.nesting {
                ObjectNesting::Single => inside(value),
                _ => each(value, &inside),
            }
        }
    }
}

fn configurable_parts(attributes: &BTreeMap<Str, Attribute>, object: &Value) -> Value {
    let Some(parts) = object.as_mapping() else { return object.clone() };
    Value::object(parts.iter().map(|(name, part)| match attributes.get(name) {
        Some(attribute) => (name.clone(), configurable_attribute(attribute, part)),
        None => (name.clone(), part.clone()),
    }))
}

/// Replaces several attributes of an object, or several elements of a map, in one step, because the
/// type of a map depends on all its elements.
fn taken_over(paths: &[Path], prior: &Value, value: &Value) -> Value {
    let mut taken: Vec<(&[PathStep], Vec<&Str>)> = Vec::new();
    for path in paths {
        match path.steps().split_last() {
            Some((PathStep::Attribute(name) | PathStep::Key(name), around)) => {
                match taken.iter_mut().find(|(known, names)| *known == around && !names.is_empty()) {
                    Some((_, names)) => names.push(name),
                    None => taken.push((around, vec![name])),
                }
            }
            _ => taken.push((path.steps(), Vec::new())),
        }
    }
    taken.iter().fold(value.clone(), |value, (steps, names)| keep_ignored(&value, prior, steps, names))
}

/// Replaces the value at the end of the steps, or only its attributes in `names` if `names` is not empty.
fn keep_ignored(value: &Value, prior: &Value, steps: &[PathStep], names: &[&Str]) -> Value {
    let Some((step, rest)) = steps.split_first() else {
        return if names.is_empty() { prior.clone() } else { take_parts(value, prior, names) };
    };
    match step {
        PathStep::Attribute(name) | PathStep::Key(name) => match (value.get(name), prior.get(name)) {
            (Some(now), Some(before)) => {
                let part = keep_ignored(now, before, rest, names);
                match (value.ty(), value.as_mapping()) {
                    (Type::Map(_), Some(parts)) => {
                        let mut parts = parts.to_map();
                        parts.insert(name.clone(), part);
                        map_of(value, parts)
                    }
                    _ => value.with_attribute(name, part),
                }
            }
            _ => value.clone(),
        },
        PathStep::Index(index) => {
            let at = usize::try_from(*index).unwrap_or(usize::MAX);
            let (Some(now), Some(before)) = (value.as_elements(), prior.as_elements()) else {
                return value.clone();
            };
            if at >= now.len() || at >= before.len() {
                return value.clone();
            }
            let elements = now.iter().enumerate().map(|(i, element)| {
                if i == at { keep_ignored(element, &before[at], rest, names) } else { element.clone() }
            });
            match value.ty() {
                Type::List(element) => Value::list((**element).clone(), elements),
                Type::Tuple(_) => Value::tuple(elements),
                _ => value.clone(),
            }
        }
    }
}

fn take_parts(value: &Value, prior: &Value, names: &[&Str]) -> Value {
    let is_map = |value: &Value| matches!(value.ty(), Type::Map(_));
    match value.as_mapping() {
        // An ignored key exists in the result only if it exists in the prior object's map.
        Some(parts) if is_map(value) => {
            let mut parts = parts.to_map();
            for name in names {
                match prior.get(name) {
                    Some(before) => _ = parts.insert((*name).clone(), before.clone()),
                    None => _ = parts.remove(*name),
                }
            }
            map_of(value, parts)
        }
        Some(_) => names.iter().fold(value.clone(), |value, name| match prior.get(name) {
            Some(before) => value.with_attribute(name, before.clone()),
            None => value,
        }),
        None if value.is_null() && is_map(prior) => {
            let kept: BTreeMap<Str, Value> =
                names.iter().filter_map(|name| Some(((*name).clone(), prior.get(name)?.clone()))).collect();
            if kept.is_empty() { value.clone() } else { map_of(prior, kept) }
        }
        None => value.clone(),
    }
}

/// Returns a map with the elements `parts`, converted to the type of `map` if possible. Returns
/// `map` if the elements have no common type.
fn map_of(map: &Value, parts: BTreeMap<Str, Value>) -> Value {
    let Type::Map(declared) = map.ty() else { return map.clone() };
    let has_type = |ty: &Type| parts.values().all(|part| part.ty() == ty);
    if has_type(declared) {
        return Value::map((**declared).clone(), parts);
    }
    let first = parts.values().next().map(|part| part.ty().clone());
    if let Some(first) = first.filter(has_type) {
        return Value::map(first, parts);
    }
    let (names, values): (Vec<Str>, Vec<Value>) = parts.into_iter().unzip();
    match unify_values(&values) {
        Ok((ty, values)) => Value::map(ty, names.into_iter().zip(values)),
        Err(_) => map.clone(),
    }
}

#[cfg(test)]
mod tests {
    use wardian_plugin::{Deprecation, Description, NestedBlock, NestedObject, Setting};

    use wardian_value::Number;

    use super::*;

    fn attribute(ty: AttributeType, setting: Setting) -> Attribute {
        Attribute {
            ty,
            description: Description::default(),
            setting,
            sensitive: false,
            write_only: false,
            deprecation: Deprecation::None,
        }
    }

    fn text(setting: Setting) -> Attribute {
        attribute(AttributeType::Value(Type::String), setting)
    }

    fn s(text: &str) -> Value {
        Value::string(text)
    }

    #[test]
    fn ignoring_all_proposes_no_computed_values() {
        let parts: BTreeMap<Str, Attribute> =
            [("id".into(), text(Setting::Computed)), ("name".into(), text(Setting::Optional))].into();
        let nested = attribute(
            AttributeType::Nested(
                NestedObject { attributes: parts.clone(), nesting: ObjectNesting::List }.into(),
            ),
            Setting::Optional,
        );
        let rule = NestedBlock {
            block: Block { attributes: parts.clone(), ..Block::default() },
            nesting: BlockNesting::Set,
            min_items: 0,
            max_items: 0,
        };
        let block = Block {
            attributes: parts.into_iter().chain([("nested".into(), nested)]).collect(),
            block_types: [("rule".into(), rule)].into(),
            ..Block::default()
        };
        let part = |id: Value| Value::object([("id", id), ("name", s("n"))]);
        let whole = |id: &Value| {
            let ty = part(s("")).ty().clone();
            Value::object([
                ("id", id.clone()),
                ("name", s("n")),
                ("nested", Value::list(ty.clone(), [part(id.clone())])),
                ("rule", Value::set(ty, [part(id.clone())])),
            ])
        };
        let ignored = IgnoredAttributes::All.in_configuration(&block, &whole(&s("1")), &whole(&s("2")));
        assert_eq!(ignored, whole(&Value::null(Type::String)));
        assert_eq!(IgnoredAttributes::All.in_plan(&whole(&s("1")), &whole(&s("2"))), whole(&s("1")));
    }

    #[test]
    fn ignored_map_keys_come_from_prior_object() {
        let map = |elements: &[(&str, &str)]| {
            Value::object([(
                "tags",
                Value::map(Type::String, elements.iter().map(|(k, v)| (Str::new(k), s(v)))),
            )])
        };
        let null = || Value::object([("tags", Value::null(Type::map(Type::String)))]);
        let path = |key: &str| Path::root().attribute("tags").key(key);
        let ignored = IgnoredAttributes::Paths(vec![path("a"), path("b")]);
        let cases = [
            (map(&[("a", "1")]), map(&[("a", "2"), ("c", "3")]), map(&[("a", "1"), ("c", "3")])),
            (map(&[("c", "1")]), map(&[("a", "2"), ("b", "3")]), map(&[])),
            (map(&[("a", "1"), ("b", "2")]), map(&[]), map(&[("a", "1"), ("b", "2")])),
            (map(&[("a", "1"), ("c", "2")]), null(), map(&[("a", "1")])),
            (null(), map(&[("a", "1"), ("c", "2")]), map(&[("c", "2")])),
            (null(), null(), null()),
        ];
        for (prior, config, expected) in cases {
            let found = ignored.in_configuration(&Block::default(), &prior, &config);
            assert_eq!(found, expected, "{prior:?} {config:?}");
        }
    }

    #[test]
    fn ignored_map_keys_have_element_type() {
        let number = |n: i64| Value::number(Number::from(n));
        let map = |ty: Type, elements: Vec<(&str, Value)>| {
            let elements = elements.into_iter().map(|(key, value)| (Str::new(key), value));
            Value::object([("input", Value::map(ty, elements))])
        };
        let path = |key: &str| Path::root().attribute("input").key(key);
        let ignored = IgnoredAttributes::Paths(vec![path("a"), path("old"), path("new")]);
        let prior = map(Type::Number, vec![("a", number(1)), ("old", number(5))]);
        let cases = [
            (map(Type::String, vec![("a", s("2")), ("new", s("5"))]), prior.clone()),
            (
                map(Type::String, vec![("a", s("2")), ("other", s("5"))]),
                map(Type::String, vec![("a", s("1")), ("old", s("5")), ("other", s("5"))]),
            ),
        ];
        for (config, expected) in cases {
            let found = ignored.in_configuration(&Block::default(), &prior, &config);
            assert_eq!(found, expected, "{config:?}");
        }
    }

    #[test]
    fn nothing_is_ignored_without_prior_object() {
        let config = Value::object([("name", s("n"))]);
        let none = Value::null(config.ty().clone());
        for ignored in
            [IgnoredAttributes::All, IgnoredAttributes::Paths(vec![Path::root().attribute("name")])]
        {
            assert_eq!(ignored.in_configuration(&Block::default(), &none, &config), config);
        }
    }
}
