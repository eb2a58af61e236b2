//! Schemas with mistakes, selected by a variant.
//!
//! A schema call has no input. Therefore, tests that need a variant grant a directory with a file
//! that contains the variant's name.

use crate::behaviour;
use crate::bindings::exports::wardian::plugin::provider as wit;
use crate::bindings::wardian::plugin::types::{
    Attribute, AttributeType, Block, BlockNesting, Deprecation, Description, NestedBlock, NestedObject,
    ObjectNesting, Schema, StringKind,
};
use crate::{named, probe};

fn variant() -> String {
    std::fs::read_to_string("variant").unwrap_or_default()
}

pub(crate) fn capabilities() -> wit::ServerCapabilities {
    wit::ServerCapabilities {
        plan_destroy: true,
        get_provider_schema_optional: true,
        move_resource_state: true,
        generate_resource_config: true,
    }
}

pub(crate) fn provider() -> wit::ProviderSchema {
    let variant = variant();
    if variant == "loop" {
        behaviour::behave("hostile_loop", "");
    }
    let mut resources: Vec<(String, Schema)> =
        behaviour::NAMES.iter().map(|name| ((*name).to_owned(), usual())).collect();
    resources.extend(named::NAMES.iter().map(|name| ((*name).to_owned(), named())));
    if let Some(wrong) = wrong(&variant) {
        resources.push(("hostile_wrong".into(), wrong));
    }
    if variant == "twice" {
        resources.push(("hostile_honest".into(), usual()));
    }
    wit::ProviderSchema {
        server_capabilities: capabilities(),
        diagnostics: Vec::new(),
        provider: usual(),
        provider_meta: None,
        resources,
        data_sources: vec![(probe::NAME.into(), usual())],
        ephemeral_resources: vec![("hostile_honest".into(), usual())],
        list_resources: vec![("hostile_honest".into(), usual())],
        actions: vec![("hostile_act".into(), usual())],
        functions: ["first", "garbage", "panic", "refuse"]
            .map(|name| (name.to_owned(), function(&variant)))
            .into(),
    }
}

pub(crate) fn identities() -> wit::IdentitySchemas {
    let ty = if variant() == "identity" { r#"["map","string"]"# } else { r#""string""# };
    let attribute = wit::IdentityAttribute {
        name: "id".into(),
        type_: ty.into(),
        required_for_import: true,
        optional_for_import: false,
        description: String::new(),
    };
    let schema = wit::IdentitySchema { version: 0, attributes: vec![attribute] };
    wit::IdentitySchemas { schemas: vec![("hostile_identity".into(), schema)], diagnostics: Vec::new() }
}

fn function(variant: &str) -> wit::Function {
    let ty = if variant == "function" { "[" } else { r#""dynamic""# };
    let parameter = wit::Parameter {
        name: "value".into(),
        type_: ty.into(),
        allow_null_value: true,
        allow_unknown_values: true,
        description: text(),
    };
    wit::Function {
        parameters: vec![parameter],
        variadic_parameter: None,
        return_type: r#""dynamic""#.into(),
        summary: String::new(),
        description: text(),
        deprecation: Deprecation::None,
    }
}

/// Returns the schema with the argument `input` and the computed attribute `result`.
fn usual() -> Schema {
    schema(vec![block(vec![string("input", false), string("result", true)], Vec::new())], Vec::new())
}

/// Returns the schema of an object with an ID and a secret.
fn named() -> Schema {
    let mut secret = string("secret", false);
    secret.sensitive = true;
    let attributes = vec![string("id", true), string("input", false), string("result", true), secret];
    schema(vec![block(attributes, Vec::new())], Vec::new())
}

/// Returns an invalid schema.
fn wrong(variant: &str) -> Option<Schema> {
    let nested = |index| attribute("a", AttributeType::Nested(index), false);
    let empty = || block(Vec::new(), Vec::new());
    Some(match variant {
        "no-root" => schema(Vec::new(), Vec::new()),
        "block-range" => schema(vec![block(Vec::new(), vec![inner("b", 4_000_000_000)])], Vec::new()),
        "block-cycle" => schema(vec![block(Vec::new(), vec![inner("b", 0)])], Vec::new()),
        "block-back" => schema(
            vec![
                block(Vec::new(), vec![inner("b", 1)]),
                block(Vec::new(), vec![inner("c", 2)]),
                block(Vec::new(), vec![inner("d", 1)]),
            ],
            Vec::new(),
        ),
        "object-range" => schema(vec![block(vec![nested(0)], Vec::new())], Vec::new()),
        "object-cycle" => schema(vec![block(vec![nested(0)], Vec::new())], vec![object(vec![nested(0)])]),
        "block-bomb" => {
            let mut blocks: Vec<Block> =
                (1..40).map(|next| block(Vec::new(), vec![inner("a", next), inner("b", next)])).collect();
            blocks.push(empty());
            schema(blocks, Vec::new())
        }
        "object-bomb" => {
            let mut objects: Vec<NestedObject> = (1..40)
                .map(|next| {
                    let again = attribute("b", AttributeType::Nested(next), false);
                    object(vec![nested(next), again])
                })
                .collect();
            objects.push(object(vec![string("end", false)]));
            schema(vec![block(vec![nested(0)], Vec::new())], objects)
        }
        "deep" => {
            let mut blocks: Vec<Block> =
                (1..100_000).map(|next| block(Vec::new(), vec![inner("a", next)])).collect();
            blocks.push(empty());
            schema(blocks, Vec::new())
        }
        "type-json" => with_type(r#"["list""#.into()),
        "type-name" => with_type(r#""strnig""#.into()),
        "type-deep" => {
            with_type(format!("{}\"string\"{}", r#"["list","#.repeat(100_000), "]".repeat(100_000)))
        }
        "flags" => {
            let mut contradiction = string("a", false);
            contradiction.required = true;
            schema(vec![block(vec![contradiction], Vec::new())], Vec::new())
        }
        "same-name" => {
            schema(vec![block(vec![string("a", false), string("a", false)], Vec::new())], Vec::new())
        }
        "no-name" => schema(vec![block(vec![string("", false)], Vec::new())], Vec::new()),
        "items" => {
            let mut few = inner("b", 1);
            few.min_items = 2;
            few.max_items = 1;
            schema(vec![block(Vec::new(), vec![few]), empty()], Vec::new())
        }
        _ => return None,
    })
}

fn with_type(json: String) -> Schema {
    schema(vec![block(vec![attribute("a", AttributeType::Value(json), false)], Vec::new())], Vec::new())
}

fn schema(blocks: Vec<Block>, objects: Vec<NestedObject>) -> Schema {
    Schema { version: 0, blocks, objects }
}

fn block(attributes: Vec<Attribute>, block_types: Vec<NestedBlock>) -> Block {
    Block { attributes, block_types, description: text(), deprecation: Deprecation::None }
}

fn object(attributes: Vec<Attribute>) -> NestedObject {
    NestedObject { attributes, nesting: ObjectNesting::Single }
}

fn inner(name: &str, block: u32) -> NestedBlock {
    NestedBlock { type_name: name.into(), block, nesting: BlockNesting::List, min_items: 0, max_items: 0 }
}

fn string(name: &str, computed: bool) -> Attribute {
    attribute(name, AttributeType::Value(r#""string""#.into()), computed)
}

fn attribute(name: &str, type_: AttributeType, computed: bool) -> Attribute {
    Attribute {
        name: name.into(),
        type_,
        description: text(),
        required: false,
        optional: !computed,
        computed,
        sensitive: false,
        write_only: false,
        deprecation: Deprecation::None,
    }
}

fn text() -> Description {
    Description { text: String::new(), kind: StringKind::Plain }
}
