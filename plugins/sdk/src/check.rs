//! Checks a configuration against a schema: the properties of each attribute and block, and
//! their validators.

use wardian_value::{Path, PathStep, Str, Type, Value, View};

use crate::schema::{Attribute, Block, BlockNesting, Nesting, Root, Shape};
use crate::validate::{ValidationContext, Validator};
use crate::{Diagnostic, Diagnostics, Schema};

/// The features that the host supports.
#[derive(Clone, Copy)]
pub(crate) struct Allowed {
    pub(crate) write_only: bool,
}

pub(crate) fn check(schema: &Schema, config: &Value, allowed: Allowed) -> Diagnostics {
    let mut walk = Walk { root: config, allowed, diagnostics: Diagnostics::new() };
    walk.contents(&schema.root, config, &Path::root());
    walk.validators(&schema.root.validators, config, config, &Path::root());
    walk.diagnostics
}

struct Walk<'a> {
    root: &'a Value,
    allowed: Allowed,
    diagnostics: Diagnostics,
}

impl Walk<'_> {
    fn contents(&mut self, contents: &Root, object: &Value, path: &Path) {
        self.attributes(&contents.attributes, object, path);
        for block in &contents.blocks {
            if let Some(value) = object.get(&block.name) {
                self.block(block, value, object, &path.attribute(block.name.as_str()));
            }
        }
    }

    fn attributes(&mut self, attributes: &[Attribute], object: &Value, path: &Path) {
        for attribute in attributes {
            if let Some(value) = object.get(&attribute.name) {
                self.attribute(attribute, value, object, &path.attribute(attribute.name.as_str()));
            }
        }
    }

    fn attribute(&mut self, attribute: &Attribute, value: &Value, parent: &Value, path: &Path) {
        let name = &attribute.name;
        if attribute.required && value.is_null() {
            let detail = format!("The attribute {name:?} must be set.");
            self.error("Missing Configuration for Required Attribute", detail, path);
        }
        if !attribute.is_configurable() && !value.is_null() {
            let detail = format!("Only the provider can set the attribute {name:?}.");
            self.error("Invalid Configuration for Read-Only Attribute", detail, path);
        }
        if attribute.write_only && !value.is_null() && !self.allowed.write_only {
            let detail =
                format!("The attribute {name:?} is write-only, which needs Terraform 1.11 or later.");
            self.error("WriteOnly Attribute Not Allowed", detail, path);
        }
        self.validators(&attribute.validators, value, parent, path);
        if let Shape::Nested(nesting, inner) = &attribute.shape {
            each(*nesting == Nesting::Single, value, path, &mut |object, path| {
                self.attributes(inner, object, path);
            });
        }
    }

    fn block(&mut self, block: &Block, value: &Value, parent: &Value, path: &Path) {
        self.counts(block, value, path);
        self.validators(&block.validators, value, parent, path);
        let single = matches!(block.nesting, BlockNesting::Single | BlockNesting::Group);
        each(single, value, path, &mut |object, path| self.contents(&block.contents, object, path));
    }

    fn counts(&mut self, block: &Block, value: &Value, path: &Path) {
        let count = match value.view() {
            View::Unknown => return,
            View::Null => 0,
            View::List(all) | View::Tuple(all) | View::Set(all) => all.len() as u64,
            _ => 1,
        };
        let name = &block.name;
        if count < block.min {
            let detail = format!("At least {} {name:?} block(s) are required.", block.min);
            self.error("Insufficient Blocks", detail, path);
        }
        if block.max > 0 && count > block.max {
            let detail = format!("At most {} {name:?} block(s) are allowed.", block.max);
            self.error("Too Many Blocks", detail, path);
        }
    }

    fn validators(&mut self, validators: &[Validator], value: &Value, parent: &Value, path: &Path) {
        let write_only_allowed = self.allowed.write_only;
        let check = ValidationContext { path, value, parent, root: self.root, write_only_allowed };
        for validator in validators {
            validator.run(&check, &mut self.diagnostics);
        }
    }

    fn error(&mut self, summary: &str, detail: String, path: &Path) {
        self.diagnostics.push(Diagnostic::error(summary, detail).at(path.clone()));
    }
}

/// Calls `check` for each object of a nested attribute or block. Elements of a set have the path of
/// the set.
fn each(single: bool, value: &Value, path: &Path, check: &mut dyn FnMut(&Value, &Path)) {
    match value.view() {
        _ if single => check(value, path),
        View::List(elements) | View::Tuple(elements) => {
            for (index, element) in (0u64..).zip(elements) {
                check(element, &path.index(index));
            }
        }
        View::Set(elements) => elements.iter().for_each(|element| check(element, path)),
        View::Map(elements) | View::Object(elements) => {
            for (key, element) in elements {
                check(element, &path.child(PathStep::Key(Str::clone(key))));
            }
        }
        _ => {}
    }
}

/// Sets all write-only attributes to null, since only a configuration may contain their values.
pub(crate) fn without_write_only(schema: &Schema, value: &Value) -> Value {
    strip_contents(&schema.root, value)
}

fn strip_contents(contents: &Root, value: &Value) -> Value {
    let value = strip_attributes(&contents.attributes, value);
    let Some(parts) = value.as_mapping() else { return value };
    let mut parts = parts.to_map();
    for block in &contents.blocks {
        if let Some(part) = parts.get_mut(block.name.as_str()) {
            let single = matches!(block.nesting, BlockNesting::Single | BlockNesting::Group);
            *part = map_each(single, part, &|object| strip_contents(&block.contents, object));
        }
    }
    Value::object(parts)
}

fn strip_attributes(attributes: &[Attribute], value: &Value) -> Value {
    let Some(parts) = value.as_mapping() else { return value.clone() };
    let mut parts = parts.to_map();
    for attribute in attributes {
        let Some(part) = parts.get_mut(attribute.name.as_str()) else { continue };
        if attribute.write_only {
            *part = Value::null(attribute.ty());
        } else if let Shape::Nested(nesting, inner) = &attribute.shape {
            *part = map_each(*nesting == Nesting::Single, part, &|object| strip_attributes(inner, object));
        }
    }
    Value::object(parts)
}

fn map_each(single: bool, value: &Value, change: &dyn Fn(&Value) -> Value) -> Value {
    let element = value.ty().element().cloned();
    match value.view() {
        _ if single => change(value),
        View::List(all) => Value::list(element.unwrap_or(Type::Dynamic), all.iter().map(change)),
        View::Tuple(all) => Value::tuple(all.iter().map(change)),
        View::Set(all) => Value::set(element.unwrap_or(Type::Dynamic), all.iter().map(change)),
        View::Map(all) => Value::map(
            element.unwrap_or(Type::Dynamic),
            all.iter().map(|(key, value)| (key.clone(), change(value))),
        ),
        View::Object(all) => Value::object(all.iter().map(|(key, value)| (key.clone(), change(value)))),
        _ => value.clone(),
    }
}
