//! The two predefined resource types.

use std::collections::BTreeMap;

use wardian_sdk::{Nesting, Type};

use crate::definition::{Attribute, Attributes, Block, BlockCollection, Contents, Definition, Kind};

/// Number of levels of nested attributes and blocks in the complex type.
const LEVELS: usize = 3;

/// Returns both types by name.
pub(crate) fn all() -> BTreeMap<String, Definition> {
    let simple = Definition {
        description: "A resource with an attribute of each primitive type.",
        contents: Contents { attributes: primitives(), blocks: BTreeMap::new() },
    };
    let complex = Definition {
        description: "A resource with attributes of each primitive type, and with nested attributes and \
            blocks that have the same attributes, three levels deep.",
        contents: contents(LEVELS),
    };
    BTreeMap::from([
        ("tfcoremock_simple_resource".to_owned(), simple),
        ("tfcoremock_complex_resource".to_owned(), complex),
    ])
}

fn primitives() -> Attributes {
    let primitive = |name: &str, kind, description| {
        (name.to_owned(), Attribute { description, ..Attribute::optional(kind) })
    };
    BTreeMap::from([
        primitive("bool", Kind::Plain(Type::Bool), "A truth value."),
        primitive("number", Kind::Plain(Type::Number), "A number, with or without a fraction."),
        primitive("string", Kind::Plain(Type::String), "A string."),
        primitive("float", Kind::Float, "A number that a double can represent."),
        primitive("integer", Kind::Integer, "A 64-bit integer."),
    ])
}

fn attributes(levels_below: usize) -> Attributes {
    let mut all = primitives();
    if let Some(levels) = levels_below.checked_sub(1) {
        let nested = [
            ("list", Nesting::List, "A list of objects with the same attributes."),
            ("map", Nesting::Map, "A map of objects with the same attributes."),
            ("object", Nesting::Single, "An object with the same attributes."),
            ("set", Nesting::Set, "A set of objects with the same attributes."),
        ];
        for (name, nesting, description) in nested {
            let kind = Kind::Nested(nesting, attributes(levels));
            all.insert(name.to_owned(), Attribute { description, ..Attribute::optional(kind) });
        }
    }
    all
}

fn contents(levels_below: usize) -> Contents {
    let mut blocks = BTreeMap::new();
    if let Some(levels) = levels_below.checked_sub(1) {
        for (name, nesting) in [("list_block", BlockCollection::List), ("set_block", BlockCollection::Set)] {
            blocks.insert(name.to_owned(), Block { nesting, contents: contents(levels) });
        }
    }
    Contents { attributes: attributes(levels_below), blocks }
}
