//! Checks that native syntax and JSON result in the same module.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

use std::fmt::Debug;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use wardian_config::{MemoryFiles, Module, Resource, decode_body, load_root_from, references};
use wardian_diagnostic::{Diagnostics, Span};
use wardian_lang::{Body, Expression, ReferenceSubject, Resolved, Scope};
use wardian_plugin::{
    Attribute, AttributeType, Block, BlockNesting, Deprecation, Description, NestedBlock, Setting,
};
use wardian_value::{Type, Value};

/// A scope in which the value of every reference is its text.
struct Names;

impl Scope for Names {
    fn resolve(
        &self,
        subject: &ReferenceSubject,
        _: Option<&Value>,
        _: &Span,
    ) -> Result<Resolved, Diagnostics> {
        Ok(Resolved::Whole(Value::object([("id", Value::string(format!("<{subject}>")))])))
    }
}

fn schema() -> Block {
    let dynamic = |ty: Type| Attribute {
        ty: AttributeType::Value(ty),
        setting: Setting::Optional,
        description: Description::default(),
        sensitive: false,
        write_only: false,
        deprecation: Deprecation::None,
    };
    let inner = || Block { attributes: [("v".into(), dynamic(Type::String))].into(), ..Block::default() };
    let nested = |nesting| NestedBlock { block: inner(), nesting, min_items: 0, max_items: 0 };
    Block {
        attributes: [
            ("a".into(), dynamic(Type::Dynamic)),
            ("b".into(), dynamic(Type::Dynamic)),
            ("command".into(), dynamic(Type::Dynamic)),
            ("host".into(), dynamic(Type::Dynamic)),
            ("old".into(), dynamic(Type::list(Type::object([("v", Type::String)])))),
        ]
        .into(),
        block_types: [
            ("one".into(), nested(BlockNesting::Single)),
            ("list".into(), nested(BlockNesting::List)),
            ("map".into(), nested(BlockNesting::Map)),
        ]
        .into(),
        ..Block::default()
    }
}

/// Removes source spans such as `main.tf:1,2-3`, which are the only difference.
fn without_places(value: &impl Debug) -> String {
    let text = format!("{value:?}");
    let mut found = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("main.tf") {
        found.push_str(&rest[..at]);
        let place = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | ',' | '-');
        let length = rest[at..].find(|c| !place(c)).unwrap_or(rest.len() - at);
        rest = &rest[at + length..];
    }
    found + rest
}

fn value_of(expression: &Expression) -> String {
    let mut text = match expression.evaluate(&Names) {
        Ok(value) => format!("{value:?}"),
        Err(problems) => format!("{:?}", problems.iter().map(|p| p.summary.clone()).collect::<Vec<_>>()),
    };
    for reference in expression.references() {
        write!(text, " <- {}", reference.subject).unwrap();
    }
    text
}

fn body_of(body: &Body) -> String {
    let schema = schema();
    let (value, problems) = decode_body(body, &schema, &Names);
    let mut text = format!("{value:?} {problems}");
    let names = |schema| {
        let mut names: Vec<String> =
            references(body, schema).iter().map(|reference| reference.subject.to_string()).collect();
        names.sort();
        names.join(" ")
    };
    assert_eq!(names(None), names(Some(&schema)));
    write!(text, " <- {}", names(None)).unwrap();
    text
}

fn resource(resource: &Resource, text: &mut String) {
    writeln!(text, "{:?} {}", resource.key(), without_places(&resource.provider)).unwrap();
    for (name, expression) in [("count", &resource.count), ("for_each", &resource.for_each)] {
        if let Some(expression) = expression {
            writeln!(text, "  {name} {}", value_of(expression)).unwrap();
        }
    }
    writeln!(text, "  depends_on {}", without_places(&resource.depends_on)).unwrap();
    let lifecycle = &resource.lifecycle;
    writeln!(
        text,
        "  lifecycle {:?} {:?} {}",
        lifecycle.create_before_destroy,
        lifecycle.prevent_destroy,
        without_places(&lifecycle.ignore_changes)
    )
    .unwrap();
    for trigger in &lifecycle.replace_triggered_by {
        writeln!(text, "  trigger {}", value_of(trigger)).unwrap();
    }
    for condition in lifecycle.preconditions.iter().chain(&lifecycle.postconditions) {
        writeln!(text, "  {} {}", value_of(&condition.condition), value_of(&condition.error_message))
            .unwrap();
    }
    if let Some(connection) = &resource.connection {
        writeln!(text, "  connection {}", body_of(connection)).unwrap();
    }
    for provisioner in &resource.provisioners {
        writeln!(
            text,
            "  provisioner {} {} {} {} {:?}",
            provisioner.type_name,
            provisioner.on_destroy,
            provisioner.continue_on_failure,
            body_of(&provisioner.body),
            provisioner.connection.as_ref().map(body_of)
        )
        .unwrap();
    }
    writeln!(text, "  body {}", body_of(&resource.body)).unwrap();
}

fn describe(module: &Module) -> String {
    let mut text = String::new();
    for variable in module.variables.values() {
        writeln!(
            text,
            "variable {} {:?} {:?} {:?} {} {} {}",
            variable.name,
            variable.description,
            variable.constraint,
            variable.default,
            variable.sensitive,
            variable.nullable,
            variable.ephemeral
        )
        .unwrap();
        for condition in &variable.validations {
            let message = value_of(&condition.error_message);
            writeln!(text, "  {} {message}", value_of(&condition.condition)).unwrap();
        }
    }
    for local in module.locals.values() {
        writeln!(text, "local {} {}", local.name, value_of(&local.expression)).unwrap();
    }
    for output in module.outputs.values() {
        writeln!(
            text,
            "output {} {:?} {} {} {}",
            output.name,
            output.description,
            value_of(&output.expression),
            output.sensitive,
            without_places(&output.depends_on)
        )
        .unwrap();
    }
    module.resources.values().for_each(|found| resource(found, &mut text));
    for call in module.module_calls.values() {
        writeln!(
            text,
            "module {} {} {} {}",
            call.name,
            call.source,
            without_places(&call.providers),
            without_places(&call.depends_on)
        )
        .unwrap();
        for (name, input) in &call.inputs {
            writeln!(text, "  {name} {}", value_of(&input.expression)).unwrap();
        }
    }
    for config in module.provider_configs.values() {
        writeln!(text, "provider {} {:?} {}", config.local_name, config.alias, body_of(&config.body))
            .unwrap();
    }
    writeln!(text, "{}", without_places(&module.required_providers)).unwrap();
    writeln!(text, "{}", without_places(&module.required_versions)).unwrap();
    if let Some(backend) = &module.backend {
        let path = backend.body.attribute("path").map(|path| value_of(&path.expression));
        writeln!(text, "backend {} {path:?}", backend.type_name).unwrap();
    }
    for moved in &module.moved {
        writeln!(text, "moved {} {}", without_places(&moved.from), without_places(&moved.to)).unwrap();
    }
    for removed in &module.removed {
        writeln!(text, "removed {} {}", without_places(&removed.from), removed.destroy).unwrap();
    }
    for import in &module.imports {
        let parts = [&import.id, &import.for_each].map(|part| part.as_ref().map(value_of));
        writeln!(
            text,
            "import {} {parts:?} {}",
            without_places(&import.to),
            without_places(&import.provider)
        )
        .unwrap();
    }
    for check in module.checks.values() {
        writeln!(text, "check {} {}", check.name, check.data.is_some()).unwrap();
        for condition in &check.assertions {
            writeln!(text, "  {}", value_of(&condition.condition)).unwrap();
        }
    }
    text
}

fn module(name: &str, text: &str) -> Arc<Module> {
    let called = "variable \"x\" {}\nvariable \"y\" {\n  default = 1\n}\n\
                  terraform {\n  required_providers {\n    p = { source = \"a/p\" }\n  }\n}\n";
    let files = MemoryFiles::new([(name, text), ("m/main.tf", called)]);
    match load_root_from(&files, Path::new("")) {
        Ok(configuration) => Arc::clone(&configuration.root().module),
        Err(problems) => panic!("{name}: {problems}"),
    }
}

fn twins(native: &str, json: &str) {
    let native = describe(&module("main.tf", native));
    assert_eq!(describe(&module("main.tf.json", json)), native);
}

#[test]
fn variables_match_in_both_syntaxes() {
    twins(
        r#"
variable "a" {
  type        = map(object({ x = optional(number, 1) }))
  default     = { k = {} }
  description = "about $${a}"
  sensitive   = true
  nullable    = false
}
variable "b" {
  default = ["$${x}", 1, true, null]
  validation {
    condition     = length(var.b) > 0 && var.b.id != ""
    error_message = "no ${var.b.id}"
  }
  validation {
    condition     = var.b.id == "q\""
    error_message = "two\nlines"
  }
}
variable "c" {
  type = string
}
"#,
        r#"{"variable": [{"a": {
  "//": "a comment",
  "type": "map(object({ x = optional(number, 1) }))",
  "default": {"k": {}},
  "description": "about ${a}",
  "sensitive": true,
  "nullable": false
}}, {"b": {
  "default": ["${x}", 1, true, null],
  "validation": [
    {"condition": "${length(var.b) > 0 && var.b.id != \"\"}", "error_message": "no ${var.b.id}"},
    {"condition": "${var.b.id == \"q\\\"\"}", "error_message": "two\nlines"}
  ]
}, "c": [{"type": "string"}]}]}"#,
    );
}

#[test]
fn locals_and_outputs_match_in_both_syntaxes() {
    twins(
        r#"
locals {
  a = 1.5
  b = { "x" = [local.a.id, "t ${local.a.id}"], "k-${local.a.id}" = null }
  c = "%{ if true }é%{ endif }$${x}"
}
output "o" {
  value       = local.b
  description = "d"
  sensitive   = true
  depends_on  = [local.a]
}
"#,
        r#"{"locals": [{"a": 1.5}, {
  "b": {"x": ["${local.a.id}", "t ${local.a.id}"], "k-${local.a.id}": null},
  "c": "%{ if true }\u00e9%{ endif }$${x}"}],
"output": {"o": {"value": "${local.b}", "description": "d", "sensitive": true, "depends_on": ["local.a"]}}}"#,
    );
}

#[test]
fn resources_match_in_both_syntaxes() {
    twins(
        r#"
resource "a_b" "c" {
  count      = var.n.id
  provider   = p.west
  depends_on = [a_b.d, module.m]
  a          = { x = each.value.id }
  one {
    v = "1"
  }
  list {
    v = a_b.d.id
  }
  list {
    v = "x"
  }
  map "k" {
    v = 3
  }
  old {
    v = "o"
  }
  lifecycle {
    create_before_destroy = true
    prevent_destroy       = false
    ignore_changes        = [a, list[0].v]
    replace_triggered_by  = [a_b.d.id]
    precondition {
      condition     = var.n.id == 1
      error_message = "m"
    }
    postcondition {
      condition     = self.id == 1
      error_message = "${self.id}"
    }
  }
  connection {
    host = self.id
  }
  provisioner "local-exec" {
    command = "echo ${self.id}"
  }
  provisioner "local-exec" {
    when       = destroy
    on_failure = continue
    command    = "x"
    connection {
      host = "h"
    }
  }
}
resource "a_b" "d" {
  for_each = toset(["x"])
  dynamic "list" {
    for_each = [var.n.id]
    iterator = it
    content {
      v = it.value
    }
  }
  lifecycle {
    ignore_changes = all
  }
}
data "a_b" "c" {
  a = "x"
}
variable "n" {}
module "m" {
  source = "./m"
  x      = 1
}
provider "p" {
  alias = "west"
}
"#,
        r#"{"resource": {"a_b": {"c": {
  "count": "${var.n.id}",
  "provider": "p.west",
  "depends_on": ["a_b.d", "module.m"],
  "a": {"x": "${each.value.id}"},
  "one": {"v": "1"},
  "list": [{"v": "${a_b.d.id}"}, {"v": "x"}],
  "map": {"k": {"v": 3}},
  "old": [{"v": "o"}],
  "lifecycle": {
    "create_before_destroy": true,
    "prevent_destroy": false,
    "ignore_changes": ["a", "list[0].v"],
    "replace_triggered_by": ["a_b.d.id"],
    "precondition": {"condition": "${var.n.id == 1}", "error_message": "m"},
    "postcondition": [{"condition": "${self.id == 1}", "error_message": "${self.id}"}]
  },
  "connection": {"host": "${self.id}"},
  "provisioner": [
    {"local-exec": {"command": "echo ${self.id}"}},
    {"local-exec": [{"when": "destroy", "on_failure": "continue", "command": "x", "connection": {"host": "h"}}]}
  ]
}, "d": [{
  "for_each": "${toset([\"x\"])}",
  "dynamic": {"list": {"for_each": ["${var.n.id}"], "iterator": "it", "content": {"v": "${it.value}"}}},
  "lifecycle": {"ignore_changes": "all"}
}]}},
"data": {"a_b": {"c": {"a": "x"}}},
"variable": {"n": {}},
"module": {"m": {"source": "./m", "x": 1}},
"provider": {"p": {"alias": "west"}}}"#,
    );
}

#[test]
fn modules_providers_and_settings_match_in_both_syntaxes() {
    twins(
        r#"
terraform {
  required_version = ">= 1.0"
  backend "local" {
    path = "states/x"
  }
  required_providers {
    p = { source = "a/p", version = "~> 1.0" }
    q = "1.0"
  }
}
provider "p" {
  a = var.v.id
  dynamic "list" {
    for_each = ["a"]
    content {
      v = list.value
    }
  }
}
provider "p" {
  alias = "west"
}
variable "v" {}
module "m" {
  source     = "./m"
  providers  = { p = p.west }
  depends_on = [var.v]
  x          = { a = var.v.id }
  y          = "s"
}
"#,
        r#"{"terraform": [{"required_version": ">= 1.0"}, {
  "backend": {"local": {"path": "states/x"}},
  "required_providers": {"p": {"source": "a/p", "version": "~> 1.0"}, "q": "1.0"}
}],
"provider": {"p": [
  {"a": "${var.v.id}", "dynamic": [{"list": {"for_each": ["a"], "content": {"v": "${list.value}"}}}]},
  {"alias": "west"}
]},
"variable": {"v": {}},
"module": {"m": {"source": "./m", "providers": {"p": "p.west"}, "depends_on": ["var.v"],
  "x": {"a": "${var.v.id}"}, "y": "s"}}}"#,
    );
}

#[test]
fn refactoring_and_checks_match_in_both_syntaxes() {
    twins(
        r#"
moved {
  from = a_b.c
  to   = a_b.d[0]
}
moved {
  from = a_b.e["k"]
  to   = module.m["x"].a_b.f
}
removed {
  from = a_b.g
  lifecycle {
    destroy = false
  }
}
import {
  to = a_b.d[0]
  id = "i-${var.v.id}"
}
check "c" {
  data "a_b" "x" {
    a = 1
  }
  assert {
    condition     = data.a_b.x.id == "1"
    error_message = "m"
  }
}
variable "v" {}
resource "a_b" "d" {
  count = 1
}
module "m" {
  for_each = toset(["x"])
  source   = "./m"
  x        = 1
}
"#,
        r#"{"moved": [{"from": "a_b.c", "to": "a_b.d[0]"},
  {"from": "a_b.e[\"k\"]", "to": "module.m[\"x\"].a_b.f"}],
"removed": {"from": "a_b.g", "lifecycle": {"destroy": false}},
"import": {"to": "a_b.d[0]", "id": "i-${var.v.id}"},
"check": {"c": {"data": {"a_b": {"x": {"a": 1}}},
  "assert": {"condition": "${data.a_b.x.id == \"1\"}", "error_message": "m"}}},
"variable": {"v": {}},
"resource": {"a_b": {"d": {"count": 1}}},
"module": {"m": {"for_each": "${toset([\"x\"])}", "source": "./m", "x": 1}}}"#,
    );
}

/// The source span of an error inside a string with escapes is the position in the file.
#[test]
fn errors_after_escapes_point_at_source() {
    let text = "{\"output\": {\"o\": {\"value\":\n  \"\\u00e9\\t${local.none} \\\"${ local.b}\"}}}";
    let files = MemoryFiles::new([("main.tf.json", text)]);
    let configuration = load_root_from(&files, Path::new("")).unwrap_or_else(|problems| panic!("{problems}"));
    let places: Vec<String> = configuration
        .check_references()
        .iter()
        .map(|problem| {
            let span = problem.subject.as_ref().unwrap();
            format!("{span} {}", span.text())
        })
        .collect();
    assert_eq!(places, ["main.tf.json:2,14-24 local.none", "main.tf.json:2,31-38 local.b"]);
}
