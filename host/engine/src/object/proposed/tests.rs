//! Properties of proposed objects for generated configurations and prior objects.

use proptest::prelude::*;
use wardian_plugin::{Deprecation, Description, Setting};

use super::*;
use crate::object::compatible::completion_violations;
use crate::object::plan_valid::plan_violations;

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

fn leaves() -> BTreeMap<Str, Attribute> {
    let text = |setting| attribute(AttributeType::Value(Type::String), setting);
    [
        ("both".into(), text(Setting::OptionalComputed)),
        ("id".into(), text(Setting::Computed)),
        ("name".into(), text(Setting::Optional)),
    ]
    .into()
}

const OBJECTS: [(&str, ObjectNesting); 4] = [
    ("list", ObjectNesting::List),
    ("map", ObjectNesting::Map),
    ("set", ObjectNesting::Set),
    ("single", ObjectNesting::Single),
];

const BLOCKS: [(&str, BlockNesting); 5] = [
    ("group_block", BlockNesting::Group),
    ("list_block", BlockNesting::List),
    ("map_block", BlockNesting::Map),
    ("set_block", BlockNesting::Set),
    ("single_block", BlockNesting::Single),
];

/// Returns a schema with every kind of attribute and block. Each nested attribute occurs twice: one
/// can be set only by the configuration; the other, named `x_...`, can also be set by the provider.
fn schema() -> Block {
    let mut attributes = leaves();
    for (name, nesting) in OBJECTS {
        let ty = || AttributeType::Nested(NestedObject { attributes: leaves(), nesting }.into());
        attributes.insert(name.into(), attribute(ty(), Setting::Optional));
        attributes.insert(format!("x_{name}").into(), attribute(ty(), Setting::OptionalComputed));
    }
    let inner = || Block { attributes: leaves(), ..Block::default() };
    let blocks = BLOCKS.map(|(name, nesting)| {
        (name.into(), NestedBlock { block: inner(), nesting, min_items: 0, max_items: 0 })
    });
    Block { attributes, block_types: blocks.into(), ..Block::default() }
}

#[derive(Clone, Copy, PartialEq)]
enum Of {
    Configuration,
    State,
}

fn text() -> impl Strategy<Value = Value> {
    prop_oneof![Just(Value::null(Type::String)), "[ab]".prop_map(Value::string),]
}

fn element(of: Of) -> impl Strategy<Value = Value> {
    (text(), text(), text()).prop_map(move |(both, id, name)| {
        let id = if of == Of::Configuration { Value::null(Type::String) } else { id };
        Value::object([("both", both), ("id", id), ("name", name)])
    })
}

fn part(of: Of, nesting: ObjectNesting, nullable: bool) -> impl Strategy<Value = Value> {
    let ty = Block { attributes: leaves(), ..Block::default() }.implied_type();
    let elements = prop::collection::vec(element(of), 0..4);
    (any::<bool>(), elements).prop_map(move |(is_null, elements)| {
        let keyed = || ["k", "l", "m"].iter().map(|key| Str::new(key)).zip(elements.iter().cloned());
        let (whole, value) = match nesting {
            ObjectNesting::Single => {
                (ty.clone(), elements.first().cloned().unwrap_or(Value::null(ty.clone())))
            }
            ObjectNesting::List => (Type::list(ty.clone()), Value::list(ty.clone(), elements.clone())),
            ObjectNesting::Set => (Type::set(ty.clone()), Value::set(ty.clone(), elements.clone())),
            ObjectNesting::Map => (Type::map(ty.clone()), Value::map(ty.clone(), keyed())),
        };
        if is_null && nullable { Value::null(whole) } else { value }
    })
}

fn object(of: Of) -> BoxedStrategy<Value> {
    let mut parts: Vec<BoxedStrategy<(String, Value)>> = Vec::new();
    for (name, nesting) in OBJECTS {
        for name in [name.to_owned(), format!("x_{name}")] {
            parts.push(part(of, nesting, true).prop_map(move |value| (name.clone(), value)).boxed());
        }
    }
    for (name, nesting) in BLOCKS {
        let value = match nesting {
            BlockNesting::Group => element(of).boxed(),
            BlockNesting::Single => part(of, ObjectNesting::Single, true).boxed(),
            BlockNesting::List => part(of, ObjectNesting::List, false).boxed(),
            BlockNesting::Set => part(of, ObjectNesting::Set, false).boxed(),
            BlockNesting::Map => part(of, ObjectNesting::Map, false).boxed(),
        };
        parts.push(value.prop_map(move |value| (name.to_owned(), value)).boxed());
    }
    (element(of), parts)
        .prop_map(|(leaves, parts)| {
            let leaves = leaves.as_mapping().unwrap_or_default().to_map();
            Value::object(leaves.into_iter().chain(parts.into_iter().map(|(name, v)| (Str::new(&name), v))))
        })
        .boxed()
}

/// Returns a configuration for which an object could have been planned, without values that only
/// the provider sets. The sets in it contain no elements that differ only in computed attributes.
fn asked_for(block: &Block, object: &Value) -> Value {
    crate::object::ignored::IgnoredAttributes::All.in_configuration(block, object, object)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn proposed_object_is_valid_plan(config in object(Of::Configuration), prior in object(Of::State)) {
        let block = schema();
        for prior in [prior.clone(), Value::null(block.implied_type())] {
            let proposed = proposed_new(&block, &prior, &config);
            prop_assert_eq!(proposed.ty(), &block.implied_type());
            prop_assert_eq!(plan_violations(&block, &prior, &config, &proposed), vec![]);
            prop_assert_eq!(completion_violations(&block, &proposed, &proposed), vec![]);
        }
    }

    #[test]
    fn unchanged_object_is_proposed_again(prior in object(Of::State)) {
        let block = schema();
        let config = asked_for(&block, &prior);
        let proposed = proposed_new(&block, &prior, &config);
        for (name, value) in prior.as_mapping().unwrap() {
            // Set elements that differ only in computed attributes are a single element in the
            // configuration.
            if !name.contains("set") {
                prop_assert_eq!(proposed.get(name), Some(value), "{}", name);
            }
        }
    }

    #[test]
    fn configured_values_are_proposed(config in object(Of::Configuration), prior in object(Of::State)) {
        let block = schema();
        let proposed = proposed_new(&block, &prior, &config);
        prop_assert_eq!(proposed.get("name"), config.get("name"));
        for (name, _) in OBJECTS.iter().filter(|(_, nesting)| *nesting != ObjectNesting::Set) {
            let names = |whole: &Value| {
                let part = whole.get(name).unwrap();
                let elements: Vec<Value> = match (part.as_mapping(), part.as_elements()) {
                    (Some(parts), _) if *name == "single" => vec![Value::object(parts.to_map())],
                    (Some(parts), _) => parts.values().cloned().collect(),
                    (None, elements) => elements.unwrap_or_default().to_vec(),
                };
                elements.iter().map(|element| element.get("name").cloned()).collect::<Vec<_>>()
            };
            prop_assert_eq!(names(&proposed), names(&config), "{}", name);
        }
    }

    #[test]
    fn placeholder_accepts_any_completion(config in object(Of::Configuration), answer in object(Of::State)) {
        let block = schema();
        let placeholder = placeholder(&block, &config);
        // Values that only the provider sets can become any value.
        let answered = placeholder.transform(&mut |path, part| match part.view() {
            View::Unknown => path
                .apply(&answer)
                .filter(|value| value.ty() == part.ty())
                .cloned()
                .unwrap_or_else(|| Value::null(part.ty().clone())),
            _ => part,
        });
        prop_assert_eq!(completion_violations(&block, &placeholder, &answered), vec![]);
    }
}
