use std::collections::BTreeMap;

use wardian_plugin::{Deprecation, Description, NestedBlock, Setting};
use wardian_value::Type;

use super::*;

fn attribute(ty: Type, setting: Setting) -> Attribute {
    Attribute {
        ty: AttributeType::Value(ty),
        description: Description::default(),
        setting,
        sensitive: false,
        write_only: false,
        deprecation: Deprecation::None,
    }
}

fn nested(nesting: ObjectNesting) -> Attribute {
    let attributes = BTreeMap::from([
        (Str::new("made"), attribute(Type::String, Setting::Computed)),
        (Str::new("size"), attribute(Type::Number, Setting::Optional)),
    ]);
    Attribute {
        ty: AttributeType::Nested(Arc::new(NestedObject { attributes, nesting })),
        ..attribute(Type::Dynamic, Setting::Optional)
    }
}

fn block_type(nesting: BlockNesting) -> NestedBlock {
    let attributes = BTreeMap::from([(Str::new("port"), attribute(Type::Number, Setting::Optional))]);
    NestedBlock { block: Block { attributes, ..Block::default() }, nesting, min_items: 0, max_items: 0 }
}

fn schema(attributes: &[(&str, Attribute)], blocks: &[(&str, NestedBlock)]) -> Block {
    Block {
        attributes: attributes.iter().map(|(name, a)| (Str::new(name), a.clone())).collect(),
        block_types: blocks.iter().map(|(name, b)| (Str::new(name), b.clone())).collect(),
        ..Block::default()
    }
}

fn generated_by(schema: &Block, provider: (&str, Option<&str>), set: &[(&str, Value)]) -> Generated {
    let object = set
        .iter()
        .fold(schema.empty_value(), |object, (name, value)| object.with_attribute(name, value.clone()));
    let (local_name, alias) = provider;
    let provider =
        ProviderReference { local_name: Str::new(local_name), alias: alias.map(Str::new), span: None };
    generate(&"test_thing.a".parse().unwrap(), &provider, schema, &object)
}

fn generated(schema: &Block, set: &[(&str, Value)]) -> String {
    let generated = generated_by(schema, ("test", None), set);
    assert!(!generated.problems.has_errors(), "{}\n{}", generated.problems, generated.text);
    generated.text
}

fn lines(text: &[&str]) -> String {
    text.join("\n")
}

#[test]
fn arguments_are_sorted_and_unset_arguments_are_null() {
    let schema = schema(
        &[
            ("id", attribute(Type::String, Setting::OptionalComputed)),
            ("arn", attribute(Type::String, Setting::Computed)),
            ("name", attribute(Type::String, Setting::Required)),
            ("description", attribute(Type::String, Setting::Optional)),
            ("size", attribute(Type::Number, Setting::Optional)),
            ("on", attribute(Type::Bool, Setting::OptionalComputed)),
            ("secret", Attribute { sensitive: true, ..attribute(Type::String, Setting::Optional) }),
            (
                "old",
                Attribute {
                    deprecation: Deprecation::Deprecated,
                    ..attribute(Type::String, Setting::Optional)
                },
            ),
        ],
        &[],
    );
    let text = generated(
        &schema,
        &[
            ("id", Value::string("i-1")),
            ("arn", Value::string("arn:1")),
            ("name", Value::string("a \"${b}\"\n\\")),
            ("description", Value::string("")),
            ("size", Value::number(3_i64)),
            ("secret", Value::string("s")),
            ("old", Value::string("o")),
        ],
    );
    let expected = lines(&[
        "resource \"test_thing\" \"a\" {",
        "  description = null",
        "  name        = \"a \\\"$${b}\\\"\\n\\\\\"",
        "  on          = null",
        "  secret      = null # sensitive",
        "  size        = 3",
        "}",
    ]);
    assert_eq!(text, expected);
}

#[test]
fn writes_collections_and_encodes_json_strings() {
    let schema = schema(
        &[
            ("list", attribute(Type::list(Type::String), Setting::Optional)),
            ("map", attribute(Type::map(Type::String), Setting::Optional)),
            ("none", attribute(Type::map(Type::String), Setting::Optional)),
            ("plain", attribute(Type::String, Setting::Optional)),
            ("policy", attribute(Type::String, Setting::Optional)),
        ],
        &[],
    );
    let map = [("a-b", "1"), ("for", "2"), ("x y", "3")];
    let text = generated(
        &schema,
        &[
            ("list", Value::list(Type::String, [Value::string("x"), Value::string("y")])),
            ("map", Value::map(Type::String, map.map(|(key, value)| (Str::new(key), Value::string(value))))),
            ("none", Value::map(Type::String, [])),
            ("plain", Value::string("12")),
            ("policy", Value::string("{\"Statement\":[{\"Action\":\"s3:*\"}],\"Version\":1}")),
        ],
    );
    let expected = lines(&[
        "resource \"test_thing\" \"a\" {",
        "  list = [\"x\", \"y\"]",
        "  map = {",
        "    a-b   = \"1\"",
        "    \"for\" = \"2\"",
        "    \"x y\" = \"3\"",
        "  }",
        "  none  = {}",
        "  plain = \"12\"",
        "  policy = jsonencode({",
        "    Statement = [{",
        "      Action = \"s3:*\"",
        "    }]",
        "    Version = 1",
        "  })",
        "}",
    ]);
    assert_eq!(text, expected);
}

#[test]
fn writes_settable_nested_attributes_and_blocks() {
    let schema = schema(
        &[
            ("list", nested(ObjectNesting::List)),
            ("map", nested(ObjectNesting::Map)),
            ("none", nested(ObjectNesting::Single)),
            ("one", nested(ObjectNesting::Single)),
            ("hidden", Attribute { sensitive: true, ..nested(ObjectNesting::List) }),
        ],
        &[
            ("empty", block_type(BlockNesting::Single)),
            ("rule", block_type(BlockNesting::List)),
            ("named", block_type(BlockNesting::Map)),
        ],
    );
    let object =
        |size: i64| Value::object([("made", Value::string("by provider")), ("size", Value::number(size))]);
    let object_type = object(1).ty().clone();
    let rule = |port: i64| Value::object([("port", Value::number(port))]);
    let rule_type = rule(1).ty().clone();
    let text = generated(
        &schema,
        &[
            ("list", Value::list(object_type.clone(), [object(1)])),
            ("map", Value::map(object_type, [(Str::new("k"), object(2))])),
            ("one", object(3)),
            ("rule", Value::list(rule_type.clone(), [rule(1), rule(2)])),
            ("named", Value::map(rule_type, [(Str::new("web"), rule(80))])),
        ],
    );
    let expected = lines(&[
        "resource \"test_thing\" \"a\" {",
        "  hidden = [] # sensitive",
        "  list = [",
        "    {",
        "      size = 1",
        "    },",
        "  ]",
        "  map = {",
        "    k = {",
        "      size = 2",
        "    }",
        "  }",
        "  none = null",
        "  one = {",
        "    size = 3",
        "  }",
        "  named \"web\" {",
        "    port = 80",
        "  }",
        "  rule {",
        "    port = 1",
        "  }",
        "  rule {",
        "    port = 2",
        "  }",
        "}",
    ]);
    assert_eq!(text, expected);
}

#[test]
fn writes_provider_that_type_does_not_imply() {
    let schema = schema(&[("size", attribute(Type::Number, Setting::Optional))], &[]);
    let of = |provider| generated_by(&schema, provider, &[]).text;
    let with =
        |argument: &str| lines(&["resource \"test_thing\" \"a\" {", argument, "  size     = null", "}"]);
    assert_eq!(of(("test", Some("west"))), with("  provider = test.west"));
    assert_eq!(of(("other", None)), with("  provider = other"));
    assert_eq!(of(("test", None)), lines(&["resource \"test_thing\" \"a\" {", "  size = null", "}"]));
}

#[test]
fn reports_required_arguments_without_value() {
    let needed = NestedBlock { min_items: 1, ..block_type(BlockNesting::List) };
    let schema = schema(&[("size", attribute(Type::Number, Setting::Optional))], &[("rule", needed)]);
    let generated = generated_by(&schema, ("test", None), &[]);
    assert!(generated.text.contains("size = null"), "{}", generated.text);
    assert!(generated.problems.has_errors());
    let told = generated.problems.to_string();
    assert!(told.contains("not complete"), "{told}");
}
