//! The references in a configuration, from which dependencies and causes follow.
//!
//! The document contains the references of each expression, but not the local values. A program that
//! has the configuration itself provides these, and the positions of blocks, as
//! [`ConfigurationFacts`].

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

/// Maximum number of references between an attribute and its origin.
const MAX_REFERENCE_DEPTH: usize = 128;
/// Maximum number of origins of one expression that are collected.
const MAX_ORIGINS: usize = 64;

/// The position of a block in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourcePosition {
    pub file: Arc<str>,
    pub line: u32,
}

/// The references in a local value.
#[derive(Clone, Debug)]
pub struct LocalReferences {
    /// The path of the module; empty for the root module.
    pub module: String,
    pub name: String,
    pub references: Vec<String>,
}

/// Facts about the configuration that the JSON document does not contain.
#[derive(Clone, Debug, Default)]
pub struct ConfigurationFacts {
    /// The positions of resources and variables by their addresses in the configuration:
    /// `module.a.aws_instance.web`, `var.region`.
    pub positions: HashMap<String, SourcePosition>,
    pub locals: Vec<LocalReferences>,
}

#[derive(Default, Deserialize)]
pub(crate) struct ConfigurationDocument {
    #[serde(default)]
    root_module: ModuleDocument,
}

#[derive(Default, Deserialize)]
struct ModuleDocument {
    #[serde(default)]
    outputs: HashMap<String, OutputDocument>,
    #[serde(default)]
    resources: Vec<ResourceDocument>,
    #[serde(default)]
    module_calls: HashMap<String, CallDocument>,
}

#[derive(Deserialize)]
struct OutputDocument {
    #[serde(default)]
    expression: Value,
}

#[derive(Deserialize)]
struct ResourceDocument {
    address: String,
    #[serde(default)]
    expressions: HashMap<String, Value>,
    #[serde(default)]
    count_expression: Value,
    #[serde(default)]
    for_each_expression: Value,
    #[serde(default)]
    depends_on: Vec<String>,
}

#[derive(Deserialize)]
struct CallDocument {
    #[serde(default)]
    expressions: HashMap<String, Value>,
    #[serde(default)]
    module: ModuleDocument,
}

/// The origin of a value: the end of a chain of references.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// A variable of the root module.
    Variable(Arc<str>),
    /// An attribute of a resource; `None` for the whole object.
    Resource { resource: Arc<str>, attribute: Option<Arc<str>> },
}

/// The references of one resource.
#[derive(Default)]
pub(crate) struct ResourceReferences {
    module: Arc<str>,
    /// References by the name of the attribute or block at the top level.
    attributes: HashMap<String, Vec<String>>,
    repetition: Vec<String>,
    depends_on: Vec<String>,
}

/// A named value that refers to others, in a module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum NamedValue {
    Variable(String),
    Local(String),
    Output(String),
}

/// A named value and the path of its module.
type NamedValueKey = (Arc<str>, NamedValue);
/// References, and the path of the module in which they are resolved.
type ScopedReferences = (Arc<str>, Vec<String>);

/// All references of a configuration, by the path of the module.
#[derive(Default)]
pub(crate) struct References {
    resources: HashMap<String, ResourceReferences>,
    values: HashMap<NamedValueKey, ScopedReferences>,
}

impl References {
    pub(crate) fn new(document: ConfigurationDocument, facts: &ConfigurationFacts) -> Self {
        let mut references = Self::default();
        references.add_module("".into(), document.root_module);
        for local in &facts.locals {
            let module: Arc<str> = local.module.as_str().into();
            let key = (Arc::clone(&module), NamedValue::Local(local.name.clone()));
            references.values.insert(key, (module, local.references.clone()));
        }
        references
    }

    /// Adds the references of a module. The parser of the document limits the recursion.
    fn add_module(&mut self, path: Arc<str>, module: ModuleDocument) {
        for (name, output) in module.outputs {
            let key = (Arc::clone(&path), NamedValue::Output(name));
            self.values.insert(key, (Arc::clone(&path), references(&output.expression)));
        }
        for resource in module.resources {
            let mut repetition = references(&resource.count_expression);
            repetition.extend(references(&resource.for_each_expression));
            let attributes = resource.expressions.iter();
            self.resources.insert(
                within(&path, &resource.address),
                ResourceReferences {
                    module: Arc::clone(&path),
                    attributes: attributes.map(|(name, value)| (name.clone(), references(value))).collect(),
                    repetition,
                    depends_on: resource.depends_on,
                },
            );
        }
        for (name, call) in module.module_calls {
            let child: Arc<str> = within(&path, &format!("module.{name}")).into();
            for (input, expression) in call.expressions {
                let key = (Arc::clone(&child), NamedValue::Variable(input));
                self.values.insert(key, (Arc::clone(&path), references(&expression)));
            }
            self.add_module(child, call.module);
        }
    }

    pub(crate) fn resource(&self, address: &str) -> Option<&ResourceReferences> {
        self.resources.get(address)
    }

    /// Returns the origins of an attribute's value.
    pub(crate) fn attribute_origins(&self, resource: &ResourceReferences, attribute: &str) -> Vec<Origin> {
        let mut resolution = Resolution::new(self);
        if let Some(expressions) = resource.attributes.get(attribute) {
            resolution.resolve_all(&resource.module, expressions, 0);
            if expressions.iter().any(|text| text.starts_with("each.") || text.starts_with("count.")) {
                resolution.resolve_all(&resource.module, &resource.repetition, 0);
            }
        }
        resolution.found
    }

    /// Returns the origins of `count` or `for_each`.
    pub(crate) fn repetition_origins(&self, resource: &ResourceReferences) -> Vec<Origin> {
        let mut resolution = Resolution::new(self);
        resolution.resolve_all(&resource.module, &resource.repetition, 0);
        resolution.found
    }

    /// Returns the origins of everything that a resource refers to.
    pub(crate) fn all_origins(&self, resource: &ResourceReferences) -> Vec<Origin> {
        let mut resolution = Resolution::new(self);
        for expressions in resource.attributes.values().chain([&resource.repetition, &resource.depends_on]) {
            resolution.resolve_all(&resource.module, expressions, 0);
        }
        resolution.found
    }
}

/// The search for the origins of one expression. Each named value is resolved once.
struct Resolution<'a> {
    references: &'a References,
    resolved: HashSet<NamedValueKey>,
    found: Vec<Origin>,
}

impl<'a> Resolution<'a> {
    fn new(references: &'a References) -> Self {
        Self { references, resolved: HashSet::new(), found: Vec::new() }
    }

    fn resolve_all(&mut self, module: &Arc<str>, texts: &[String], depth: usize) {
        for (position, text) in texts.iter().enumerate() {
            // The document contains each reference, followed by its prefixes.
            let previous = position.checked_sub(1).and_then(|previous| texts.get(previous));
            if previous.is_some_and(|previous| is_prefix(text, previous)) {
                continue;
            }
            self.resolve(module, text, depth);
        }
    }

    fn resolve(&mut self, module: &Arc<str>, text: &str, depth: usize) {
        if depth >= MAX_REFERENCE_DEPTH || self.found.len() >= MAX_ORIGINS {
            return;
        }
        let mut names = Names(text);
        let Some(first) = names.next() else { return };
        let value = match first {
            "var" => names.next().map(|name| (Arc::clone(module), NamedValue::Variable(name.to_owned()))),
            "local" => names.next().map(|name| (Arc::clone(module), NamedValue::Local(name.to_owned()))),
            "module" => match (names.next(), names.next()) {
                (Some(call), Some(output)) => {
                    let child = within(module, &format!("module.{call}"));
                    Some((child.into(), NamedValue::Output(output.to_owned())))
                }
                _ => None,
            },
            "each" | "count" | "path" | "terraform" | "self" => None,
            first => {
                let is_data = first == "data";
                let kind = if is_data { names.next() } else { Some(first) };
                if let (Some(kind), Some(name)) = (kind, names.next()) {
                    let data = if is_data { "data." } else { "" };
                    self.push(Origin::Resource {
                        resource: within(module, &format!("{data}{kind}.{name}")).into(),
                        attribute: names.next().map(Into::into),
                    });
                }
                return;
            }
        };
        let Some(key) = value else { return };
        if self.resolved.contains(&key) {
            return;
        }
        let references = self.references;
        if let Some((scope, texts)) = references.values.get(&key) {
            self.resolved.insert(key);
            self.resolve_all(scope, texts, depth + 1);
        } else if module.is_empty()
            && let NamedValue::Variable(name) = key.1
        {
            self.push(Origin::Variable(name.into()));
        }
    }

    fn push(&mut self, origin: Origin) {
        if self.found.len() < MAX_ORIGINS && !self.found.contains(&origin) {
            self.found.push(origin);
        }
    }
}

/// Returns an address in a module.
fn within(module: &str, address: &str) -> String {
    if module.is_empty() { address.to_owned() } else { format!("{module}.{address}") }
}

/// Returns whether a reference is a part of another one.
fn is_prefix(text: &str, other: &str) -> bool {
    other.strip_prefix(text).is_some_and(|rest| rest.starts_with(['.', '[']))
}

/// Returns the references in an expression, or in the nested expressions of a block.
fn references(expression: &Value) -> Vec<String> {
    let mut found = Vec::new();
    push_references(expression, &mut found);
    found
}

fn push_references(expression: &Value, found: &mut Vec<String>) {
    match expression {
        Value::Array(elements) => elements.iter().for_each(|element| push_references(element, found)),
        Value::Object(entries) => {
            for (key, value) in entries {
                match value {
                    Value::Array(texts) if key == "references" && texts.iter().all(Value::is_string) => {
                        found.extend(texts.iter().filter_map(Value::as_str).map(str::to_owned));
                    }
                    _ if key == "constant_value" => {}
                    _ => push_references(value, found),
                }
            }
        }
        _ => {}
    }
}

/// The names in a reference, without instance keys: `a["x"].b[0].c` has the names a, b and c.
struct Names<'a>(&'a str);

impl<'a> Iterator for Names<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        while let Some(rest) = self.0.strip_prefix('[') {
            self.0 = after_key(rest)?;
        }
        self.0 = self.0.strip_prefix('.').unwrap_or(self.0);
        let end = self.0.find(['.', '[']).unwrap_or(self.0.len());
        let (name, rest) = self.0.split_at_checked(end)?;
        self.0 = rest;
        (!name.is_empty()).then_some(name)
    }
}

/// Returns the text after the bracket that ends a key, which can be quoted.
fn after_key(text: &str) -> Option<&str> {
    let mut is_quoted = false;
    let mut is_escaped = false;
    for (position, character) in text.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ']' if !is_quoted => return text.get(position + 1..),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_references_skip_keys() {
        let names: Vec<&str> = Names("module.m[\"a]\\\"b\"].x[0].y").collect();
        assert_eq!(names, ["module", "m", "x", "y"]);
        assert_eq!(Names("a[").count(), 1);
        assert_eq!(Names("").count(), 0);
    }

    #[test]
    fn origins_are_found_through_modules_and_locals() {
        let document = serde_json::json!({"root_module": {
            "module_calls": {"net": {
                "expressions": {"cidr": {"references": ["local.cidr"]}},
                "module": {
                    "outputs": {"id": {"expression": {"references": ["aws_vpc.v.id", "aws_vpc.v"]}}},
                    "resources": [{"address": "aws_vpc.v", "expressions": {"cidr": {"references": ["var.cidr"]}}}]
                }
            }},
            "resources": [{"address": "aws_x.y", "expressions": {
                "vpc": {"references": ["module.net.id", "module.net"]}
            }}]
        }});
        let facts = ConfigurationFacts {
            locals: vec![LocalReferences {
                module: String::new(),
                name: "cidr".into(),
                references: vec!["var.range".into()],
            }],
            ..ConfigurationFacts::default()
        };
        let references = References::new(serde_json::from_value(document).unwrap(), &facts);
        let origins = |address: &str, attribute: &str| {
            let resource = references.resource(address).unwrap();
            references.attribute_origins(resource, attribute)
        };
        assert_eq!(origins("module.net.aws_vpc.v", "cidr"), [Origin::Variable("range".into())]);
        assert_eq!(
            origins("aws_x.y", "vpc"),
            [Origin::Resource { resource: "module.net.aws_vpc.v".into(), attribute: Some("id".into()) }]
        );
    }

    #[test]
    fn cyclic_references_end() {
        let document = serde_json::json!({"root_module": {"resources": [
            {"address": "a.b", "expressions": {"c": {"references": ["local.x"]}}}
        ]}});
        let local = |name: &str, to: &str| LocalReferences {
            module: String::new(),
            name: name.into(),
            references: vec![to.into(), to.into()],
        };
        let facts = ConfigurationFacts {
            locals: vec![local("x", "local.y"), local("y", "local.x")],
            ..ConfigurationFacts::default()
        };
        let references = References::new(serde_json::from_value(document).unwrap(), &facts);
        assert!(references.attribute_origins(references.resource("a.b").unwrap(), "c").is_empty());
    }
}
