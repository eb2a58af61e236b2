//! The references in a configuration, from which dependencies and causes follow.
//!
//! The document contains the references of each expression, but neither the local values nor the
//! references in `replace_triggered_by`. A program that has the configuration itself provides these, and
//! the positions of blocks, as [`ConfigurationFacts`].

use std::collections::{BTreeMap, HashMap, HashSet};
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
    /// The references in `replace_triggered_by` by the address of the resource in the configuration.
    pub triggers: HashMap<String, Vec<String>>,
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
    count_expression: Value,
    #[serde(default)]
    for_each_expression: Value,
    #[serde(default)]
    depends_on: Vec<String>,
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
    /// A whole module.
    Module(Arc<str>),
}

/// The references of one resource.
#[derive(Default)]
pub(crate) struct ResourceReferences {
    module: Arc<str>,
    /// References by the name of the attribute or block at the top level.
    attributes: BTreeMap<String, Vec<String>>,
    repetition: Vec<String>,
    depends_on: Vec<String>,
    /// References in `replace_triggered_by`.
    triggers: Vec<String>,
}

/// The references of a module call, apart from the module's variables.
struct CallReferences {
    /// The module with the call.
    parent: Arc<str>,
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
    calls: HashMap<Arc<str>, CallReferences>,
}

impl References {
    pub(crate) fn new(document: ConfigurationDocument, facts: &ConfigurationFacts) -> Self {
        let mut references = Self::default();
        references.add_module("".into(), document.root_module, &facts.triggers);
        for local in &facts.locals {
            let module: Arc<str> = local.module.as_str().into();
            let key = (Arc::clone(&module), NamedValue::Local(local.name.clone()));
            references.values.insert(key, (module, local.references.clone()));
        }
        references
    }

    /// Adds the references of a module. The parser of the document limits the recursion.
    fn add_module(
        &mut self,
        path: Arc<str>,
        module: ModuleDocument,
        triggers: &HashMap<String, Vec<String>>,
    ) {
        for (name, output) in module.outputs {
            let key = (Arc::clone(&path), NamedValue::Output(name));
            self.values.insert(key, (Arc::clone(&path), references(&output.expression)));
        }
        for resource in module.resources {
            let mut repetition = references(&resource.count_expression);
            repetition.extend(references(&resource.for_each_expression));
            let attributes = resource.expressions.iter();
            let address = within(&path, &resource.address);
            let references = ResourceReferences {
                module: Arc::clone(&path),
                attributes: attributes.map(|(name, value)| (name.clone(), references(value))).collect(),
                repetition,
                depends_on: resource.depends_on,
                triggers: triggers.get(&address).cloned().unwrap_or_default(),
            };
            self.resources.insert(address, references);
        }
        for (name, call) in module.module_calls {
            let child: Arc<str> = within(&path, &format!("module.{name}")).into();
            let mut repetition = references(&call.count_expression);
            repetition.extend(references(&call.for_each_expression));
            for (input, expression) in call.expressions {
                let key = (Arc::clone(&child), NamedValue::Variable(input));
                let mut texts = references(&expression);
                if texts.iter().any(|text| is_of_instance(text)) {
                    texts.extend(repetition.iter().cloned());
                }
                self.values.insert(key, (Arc::clone(&path), texts));
            }
            let parent = Arc::clone(&path);
            let call_references = CallReferences { parent, repetition, depends_on: call.depends_on };
            self.calls.insert(Arc::clone(&child), call_references);
            self.add_module(child, call.module, triggers);
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
            if expressions.iter().any(|text| is_of_instance(text)) {
                resolution.resolve_all(&resource.module, &resource.repetition, 0);
            }
        }
        resolution.found
    }

    /// Returns the origins of `count` or `for_each` of a resource and of the calls of its modules.
    pub(crate) fn repetition_origins(&self, resource: &ResourceReferences) -> Vec<Origin> {
        let mut resolution = Resolution::new(self);
        resolution.resolve_all(&resource.module, &resource.repetition, 0);
        for call in self.calls_of(resource) {
            resolution.resolve_all(&call.parent, &call.repetition, 0);
        }
        resolution.found
    }

    /// Returns what `depends_on` of a resource and of the calls of its modules contains.
    pub(crate) fn ordering_origins(&self, resource: &ResourceReferences) -> Vec<Origin> {
        let mut resolution = Resolution::new(self);
        resolution.resolve_all(&resource.module, &resource.depends_on, 0);
        for call in self.calls_of(resource) {
            resolution.resolve_all(&call.parent, &call.depends_on, 0);
        }
        resolution.found
    }

    /// Returns what `replace_triggered_by` contains.
    pub(crate) fn trigger_origins(&self, resource: &ResourceReferences) -> Vec<Origin> {
        let mut resolution = Resolution::new(self);
        resolution.resolve_all(&resource.module, &resource.triggers, 0);
        resolution.found
    }

    /// Returns the origins of everything that a resource refers to.
    pub(crate) fn all_origins(&self, resource: &ResourceReferences) -> Vec<Origin> {
        let mut resolution = Resolution::new(self);
        let own = [&resource.repetition, &resource.depends_on, &resource.triggers];
        for expressions in resource.attributes.values().chain(own) {
            resolution.resolve_all(&resource.module, expressions, 0);
        }
        for call in self.calls_of(resource) {
            resolution.resolve_all(&call.parent, &call.repetition, 0);
            resolution.resolve_all(&call.parent, &call.depends_on, 0);
        }
        resolution.found
    }

    /// Returns the calls of the modules that contain a resource, the innermost one first.
    fn calls_of(&self, resource: &ResourceReferences) -> impl Iterator<Item = &CallReferences> {
        std::iter::successors(self.calls.get(&resource.module), |call| self.calls.get(&call.parent))
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
                (Some(call), None) => {
                    self.push(Origin::Module(within(module, &format!("module.{call}")).into()));
                    return;
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

/// Returns whether a reference is to the key or the value of an instance.
fn is_of_instance(text: &str) -> bool {
    text.starts_with("each.") || text.starts_with("count.")
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
    fn calls_of_modules_and_triggers_have_origins() {
        let document = serde_json::json!({"root_module": {
            "module_calls": {
                "a": {"module": {"resources": [{"address": "aws_x.a"}]}},
                "b": {
                    "expressions": {"name": {"references": ["each.value.name", "each.value"]}},
                    "for_each_expression": {"references": ["var.teams"]},
                    "depends_on": ["module.a", "aws_x.first"],
                    "module": {
                        "module_calls": {"c": {
                            "expressions": {"name": {"references": ["var.name"]}},
                            "module": {"resources": [
                                {"address": "aws_x.y", "expressions": {"name": {"references": ["var.name"]}}}
                            ]}
                        }}
                    }
                }
            }
        }});
        let address = "module.b.module.c.aws_x.y";
        let facts = ConfigurationFacts {
            triggers: [(address.to_owned(), vec!["aws_x.z.id".to_owned()])].into(),
            ..ConfigurationFacts::default()
        };
        let references = References::new(serde_json::from_value(document).unwrap(), &facts);
        let resource = references.resource(address).unwrap();
        let teams = Origin::Variable("teams".into());
        let module = Origin::Module("module.a".into());
        let whole = |name: &str| Origin::Resource { resource: name.into(), attribute: None };
        let trigger =
            Origin::Resource { resource: "module.b.module.c.aws_x.z".into(), attribute: Some("id".into()) };
        assert_eq!(references.attribute_origins(resource, "name"), std::slice::from_ref(&teams));
        assert_eq!(references.repetition_origins(resource), std::slice::from_ref(&teams));
        assert_eq!(references.ordering_origins(resource), [module.clone(), whole("aws_x.first")]);
        assert_eq!(references.trigger_origins(resource), std::slice::from_ref(&trigger));
        assert_eq!(references.all_origins(resource), [teams, trigger, module, whole("aws_x.first")]);
    }

    #[test]
    fn number_of_origins_is_limited_in_the_order_of_names() {
        let attributes: serde_json::Map<String, Value> = (0..200)
            .map(|index| {
                (format!("a{index:03}"), serde_json::json!({"references": [format!("var.v{index:03}")]}))
            })
            .collect();
        let document = serde_json::json!({"root_module": {"resources": [
            {"address": "aws_x.y", "expressions": attributes}
        ]}});
        let expected: Vec<Origin> =
            (0..MAX_ORIGINS).map(|index| Origin::Variable(format!("v{index:03}").into())).collect();
        for _ in 0..5 {
            let document = serde_json::from_value(document.clone()).unwrap();
            let references = References::new(document, &ConfigurationFacts::default());
            assert_eq!(references.all_origins(references.resource("aws_x.y").unwrap()), expected);
        }
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
