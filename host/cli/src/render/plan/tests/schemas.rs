//! Changes of objects whose schema has attributes of all types, nested attributes and blocks of all
//! nesting modes, compared with Terraform 1.11.4's output (`snapshots/schemas.json`). The output
//! was recorded with a provider of this schema.

use wardian_plugin::{BlockNesting, NestedBlock, NestedObject, ObjectNesting};

use super::*;

fn nested(nesting: ObjectNesting) -> Attribute {
    let attributes = [("a", Type::String), ("b", Type::Number), ("s", Type::String)];
    let mut object = NestedObject {
        attributes: attributes.map(|(name, ty)| (name.into(), attribute(ty))).into(),
        nesting,
    };
    object.attributes.get_mut("s").unwrap().sensitive = true;
    Attribute { ty: AttributeType::Nested(Arc::new(object)), ..attribute(Type::Dynamic) }
}

fn block(nesting: BlockNesting) -> NestedBlock {
    let inner = NestedBlock {
        block: schema_of([("x", Type::String)]).block,
        nesting: BlockNesting::List,
        min_items: 0,
        max_items: 0,
    };
    let mut block = schema_of([("a", Type::String), ("b", Type::Number), ("s", Type::String)]).block;
    block.attributes.get_mut("s").unwrap().sensitive = true;
    block.block_types.insert("inner".into(), inner);
    NestedBlock { block, nesting, min_items: 0, max_items: 0 }
}

/// Returns the schema of `mock_thing`.
pub(super) fn thing() -> Arc<Schema> {
    let object = Type::object([("a", Type::String), ("b", Type::Number)]);
    let mut schema = schema_of([
        ("id", Type::String),
        ("name", Type::String),
        ("str", Type::String),
        ("num", Type::Number),
        ("flag", Type::Bool),
        ("list", Type::list(Type::String)),
        ("listobj", Type::list(object.clone())),
        ("map", Type::map(Type::String)),
        ("mapobj", Type::map(object.clone())),
        ("maplist", Type::map(Type::list(Type::String))),
        ("set", Type::set(Type::String)),
        ("setobj", Type::set(object.clone())),
        ("obj", object),
        ("tup", Type::tuple([Type::String, Type::Number])),
        ("secret", Type::String),
        ("secrets", Type::list(Type::String)),
        ("wo", Type::String),
        ("force", Type::list(Type::String)),
        ("any", Type::Dynamic),
        ("tags", Type::map(Type::String)),
    ]);
    let attributes = &mut schema.block.attributes;
    attributes.get_mut("secret").unwrap().sensitive = true;
    attributes.get_mut("secrets").unwrap().sensitive = true;
    attributes.get_mut("wo").unwrap().write_only = true;
    for (name, nesting) in [
        ("nsingle", ObjectNesting::Single),
        ("nlist", ObjectNesting::List),
        ("nset", ObjectNesting::Set),
        ("nmap", ObjectNesting::Map),
    ] {
        attributes.insert(name.into(), nested(nesting));
    }
    for (name, nesting) in [
        ("bsingle", BlockNesting::Single),
        ("blist", BlockNesting::List),
        ("bset", BlockNesting::Set),
        ("bmap", BlockNesting::Map),
        ("bgroup", BlockNesting::Group),
    ] {
        schema.block.block_types.insert(name.into(), block(nesting));
    }
    Arc::new(schema)
}

/// Returns a schema without attributes.
fn bare() -> Arc<Schema> {
    let nested = || NestedBlock {
        block: schema_of([("a", Type::String)]).block,
        nesting: BlockNesting::List,
        min_items: 0,
        max_items: 0,
    };
    let mut schema = Schema::default();
    schema.block.block_types = [("one".into(), nested()), ("two".into(), nested())].into();
    Arc::new(schema)
}

#[test]
fn all_nestings_are_rendered_as_in_terraform() {
    compare(include_str!("../../snapshots/schemas.json"), |address| {
        if address.starts_with("mock_bare") { bare() } else { thing() }
    });
}
