//! Results of merging override files, in both syntaxes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

use std::path::Path;
use std::sync::Arc;

use wardian_address::ResourceMode;
use wardian_config::{IgnoreChanges, MemoryFiles, Module, load_root_from};
use wardian_lang::{Body, EmptyScope};
use wardian_value::Value;

fn load(files: &[(&str, &str)]) -> (Arc<Module>, String) {
    let files = MemoryFiles::new(files.iter().copied());
    match load_root_from(&files, Path::new("")) {
        Ok(configuration) => (Arc::clone(&configuration.root().module), configuration.warnings.to_string()),
        Err(problems) => panic!("{problems}"),
    }
}

/// Returns the arguments and block types of a body that is read without a schema.
fn content(body: &Body) -> String {
    let body = body.guessed();
    let mut parts: Vec<String> = body
        .attributes
        .iter()
        .map(|attribute| {
            format!("{}={:?}", attribute.name, attribute.expression.evaluate(&EmptyScope).unwrap())
        })
        .collect();
    parts.sort();
    parts.extend(body.blocks.iter().map(|block| format!("{}{{{}}}", block.kind, content(&block.body))));
    parts.join(" ")
}

const BASE: &str = r#"
resource "a_b" "c" {
  count = 1
  x     = 1
  y     = 1
  one {
    k = 1
  }
  two {
    k = 1
  }
  dynamic "three" {
    for_each = [1]
    content {
      k = 1
    }
  }
  lifecycle {
    create_before_destroy = true
    ignore_changes        = [x]
    precondition {
      condition     = local.l == 1
      error_message = "m"
    }
  }
  provisioner "p" {
    command = 1
  }
}
locals {
  l = 1
  m = 1
}
"#;

fn check_resource(over: &[(&str, &str)], expected: &str) {
    let mut files = vec![("main.tf", BASE)];
    files.extend(over);
    let (module, _) = load(&files);
    let resource = &module.resources[&(ResourceMode::Managed, "a_b".into(), "c".into())];
    assert_eq!(content(&resource.body), expected);
    assert_eq!(resource.lifecycle.create_before_destroy, Some(false));
    assert!(matches!(&resource.lifecycle.ignore_changes, IgnoreChanges::Paths(paths) if paths.len() == 1));
    assert_eq!(resource.lifecycle.preconditions.len(), 1);
    assert!(resource.count.is_some() && resource.for_each.is_none());
    assert_eq!(resource.provisioners.len(), 1);
    assert_eq!(content(&resource.provisioners[0].body), "command=2");
}

#[test]
fn merges_resources_in_native_syntax() {
    check_resource(
        &[
            (
                "a_override.tf",
                r#"
resource "a_b" "c" {
  for_each = {}
  y        = 2
  z        = 2
  two {
    k = 2
  }
  two {
    k = 3
  }
  three {
    k = 2
  }
  lifecycle {
    create_before_destroy = false
  }
  provisioner "p" {
    command = 2
  }
}
"#,
            ),
            ("override.tf", "resource \"a_b\" \"c\" {\n  z = 4\n}\n"),
        ],
        "x=1 y=2 z=4 one{k=1} two{k=2} two{k=3} three{k=2}",
    );
}

#[test]
fn merges_resources_in_json() {
    // Without a schema, properties that could be blocks are read as arguments.
    check_resource(
        &[(
            "a_override.tf.json",
            r#"{"resource": {"a_b": {"c": {"for_each": {}, "y": 2, "z": "${2 + 2}",
                "lifecycle": {"create_before_destroy": false}, "provisioner": {"p": {"command": 2}}}}}}"#,
        )],
        "x=1 y=2 z=4 one{k=1} two{k=1} dynamic{for_each=[1] content{k=1}}",
    );
}

#[test]
fn merges_all_other_blocks() {
    let base = r#"
variable "v" {
  type        = number
  default     = 1
  description = "base"
}
output "o" {
  value     = 1
  sensitive = true
}
module "m" {
  source = "./m"
  a      = 1
  b      = 1
}
provider "p" {
  alias = "west"
  a     = 1
}
locals {
  l = 1
  m = 1
}
terraform {
  required_version = ">= 0.1"
  backend "local" {
    path = "x"
  }
  required_providers {
    p = { source = "a/p" }
    q = { source = "a/q" }
  }
}
"#;
    let native = r#"
variable "v" {
  type    = string
  default = "2"
}
output "o" {
  value = 2
}
module "m" {
  source = "./n"
  b      = 2
}
provider "p" {
  alias = "west"
  b     = 2
}
provider "q" {
  a = 2
}
locals {
  m = 2
}
terraform {
  required_version = ">= 0.2"
  backend "local" {
    path = "y"
  }
  required_providers {
    q = { source = "b/q" }
    r = { source = "b/r" }
  }
}
removed {
  from = a_b.c
}
"#;
    let json = r#"{"variable": {"v": {"type": "string", "default": "2"}}, "output": {"o": {"value": 2}},
"module": {"m": {"source": "./n", "b": 2}}, "provider": {"p": {"alias": "west", "b": 2}, "q": {"a": 2}},
"locals": {"m": 2}, "terraform": {"required_version": ">= 0.2", "backend": {"local": {"path": "y"}},
"required_providers": {"q": {"source": "b/q"}, "r": {"source": "b/r"}}}, "removed": {"from": "a_b.c"}}"#;
    let called = "variable \"a\" {}\nvariable \"b\" {}\n";
    for (name, over) in [("override.tf", native), ("override.tf.json", json)] {
        let files = [("main.tf", base), (name, over), ("m/main.tf", ""), ("n/main.tf", called)];
        let (module, warnings) = load(&files);
        assert!(warnings.contains("Block without effect") && module.removed.is_empty(), "{warnings}");
        let variable = &module.variables["v"];
        assert_eq!(variable.default, Some(Value::string("2")));
        assert_eq!(variable.description.as_deref(), Some("base"));
        let output = &module.outputs["o"];
        assert_eq!(output.expression.evaluate(&EmptyScope).unwrap(), Value::from(2));
        assert!(output.sensitive);
        let call = &module.module_calls["m"];
        assert_eq!(call.source, "./n");
        let inputs = call.inputs.values().map(|input| input.expression.evaluate(&EmptyScope).unwrap());
        assert_eq!(inputs.collect::<Vec<_>>(), [Value::from(1), Value::from(2)]);
        let west = &module.provider_configs[&("p".into(), Some("west".into()))];
        assert_eq!(content(&west.body), "a=1 b=2");
        assert!(module.provider_configs.contains_key(&("q".into(), None)));
        let local = |name: &str| module.locals[name].expression.evaluate(&EmptyScope).unwrap();
        assert_eq!([local("l"), local("m")], [Value::from(1), Value::from(2)]);
        assert_eq!(module.required_versions.len(), 2);
        let path = &module.backend.as_ref().unwrap().body.attribute("path").unwrap().expression;
        assert_eq!(path.evaluate(&EmptyScope).unwrap(), Value::string("y"));
        let sources =
            module.required_providers.values().map(|required| required.address.for_display().to_string());
        assert_eq!(sources.collect::<Vec<_>>(), ["a/p", "b/q", "b/r"]);
    }
}

/// A JSON file can override blocks in native syntax and in JSON. Without a schema, the loader
/// cannot determine which nested blocks the override replaces.
#[test]
fn json_blocks_replace_blocks_of_the_same_type() {
    use wardian_plugin::{
        Attribute, AttributeType, Block, BlockNesting, Deprecation, Description, NestedBlock, Setting,
    };
    use wardian_value::Type;
    let number = || Attribute {
        ty: AttributeType::Value(Type::Number),
        setting: Setting::Optional,
        description: Description::default(),
        sensitive: false,
        write_only: false,
        deprecation: Deprecation::None,
    };
    let inner = Block { attributes: [("k".into(), number())].into(), ..Block::default() };
    let nested = NestedBlock { block: inner, nesting: BlockNesting::List, min_items: 0, max_items: 0 };
    let schema = Block {
        attributes: ["x", "y"].map(|name| (name.into(), number())).into(),
        block_types: ["one", "two"].map(|name| (name.into(), nested.clone())).into(),
        ..Block::default()
    };
    let native =
        "resource \"a_b\" \"c\" {\n  x = 1\n  y = 1\n  one {\n    k = 1\n  }\n  two {\n    k = 1\n  }\n}\n";
    let json = r#"{"resource": {"a_b": {"c": {"x": 1, "y": 1, "one": {"k": 1}, "two": [{"k": 1}]}}}}"#;
    let over_native = "resource \"a_b\" \"c\" {\n  y = 2\n  dynamic \"two\" {\n    for_each = [2, 3]\n    \
                       content {\n      k = two.value\n    }\n  }\n}\n";
    let over_json = r#"{"resource": {"a_b": {"c": {"y": 2, "two": [{"k": 2}, {"k": 3}]}}}}"#;
    for base in [("main.tf", native), ("main.tf.json", json)] {
        for over in [("override.tf", over_native), ("override.tf.json", over_json)] {
            let (module, _) = load(&[base, over]);
            let resource = module.resources.values().next().unwrap();
            let (value, problems) = wardian_config::decode_body(&resource.body, &schema, &EmptyScope);
            assert!(problems.is_empty(), "{problems}");
            let expected = r#"{"one": [{"k": 1}], "two": [{"k": 2}, {"k": 3}], "x": 1, "y": 2}"#;
            assert_eq!(format!("{value:?}"), expected, "{base:?} {over:?}");
        }
    }
}
