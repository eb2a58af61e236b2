//! Generates the configuration of an imported object.
//!
//! | value | generated configuration |
//! |---|---|
//! | a computed attribute that cannot be set | omitted |
//! | a deprecated attribute or block | omitted |
//! | an optional and computed `id` of the resource | omitted: legacy providers declare it, but do not support it as an argument |
//! | an unset attribute | `null` |
//! | an empty optional string | `null`: legacy providers return it for an unset attribute |
//! | a sensitive value | `null`, or an empty collection, with a comment |
//! | a string that contains an object or a list in JSON | `jsonencode(...)` |
//! | blocks | one for each block of the object |
//!
//! Arguments precede blocks; both are sorted by name.

mod text;

use std::fmt::Write as _;
use std::sync::Arc;

use wardian_address::ResourceInstanceAddress;
use wardian_config::{ProviderReference, decode_body};
use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile};
use wardian_lang::{EmptyScope, format_text, parse_body};
use wardian_plugin::{Attribute, AttributeType, Block, BlockNesting, NestedObject, ObjectNesting};
use wardian_value::{Path, Str, Value};

use text::{quoted, write_value};

/// The generated configuration of an object.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The resource block in canonical format, without a trailing line break.
    pub text: String,
    /// The value of the block; invalid arguments are unknown.
    pub value: Value,
    /// The errors of the block: required arguments that the object does not have.
    pub problems: Diagnostics,
}

/// Generates the configuration of an object. `object` must be wholly known and unmarked. The
/// `provider` argument is written if the resource type does not imply it.
pub fn generate(
    address: &ResourceInstanceAddress,
    provider: &ProviderReference,
    schema: &Block,
    object: &Value,
) -> Generated {
    let mut writer = Writer { text: String::new() };
    let (type_name, name) = (address.type_name(), address.name());
    let _ = writeln!(writer.text, "resource {} {} {{", quoted(type_name), quoted(name));
    write_provider(&mut writer.text, type_name, provider);
    writer.block(schema, object, &Path::root());
    writer.text.push_str("}\n");

    let file = SourceFile::new(format!("(generated for {address})"), writer.text);
    let formatted = match format_text(&file) {
        Ok(text) => text,
        Err(problems) => {
            return Generated { text: file.text().to_owned(), value: schema.empty_value(), problems };
        }
    };
    let file = SourceFile::new(file.name(), formatted);
    let (body, mut problems) = parse_body(&file);
    let value = match body.blocks.first() {
        Some(block) => {
            let mut arguments = block.body.clone();
            arguments.attributes.retain(|argument| *argument.name != *"provider");
            let (value, found) = decode_body(&arguments, schema, &EmptyScope);
            problems.extend(found);
            value
        }
        None => schema.empty_value(),
    };
    Generated { text: file.text().trim_end().to_owned(), value, problems: incomplete(&problems) }
}

/// Returns an import block in canonical format that imports an object by its identity, without a
/// trailing line break.
pub fn import_block(
    address: &ResourceInstanceAddress,
    provider: &ProviderReference,
    identity: &Value,
) -> String {
    let mut text = format!("import {{\nto = {address}\n");
    write_provider(&mut text, address.type_name(), provider);
    text.push_str("identity = {\n");
    for (name, part) in identity.as_mapping().into_iter().flatten().filter(|(_, part)| !part.is_null()) {
        let _ = write!(text, "{} = ", text::key(name));
        write_value(&mut text, part);
        text.push('\n');
    }
    text.push_str("}\n}\n");
    let file = SourceFile::new(format!("(generated for {address})"), text);
    let formatted = format_text(&file).unwrap_or_else(|_| file.text().to_owned());
    formatted.trim_end().to_owned()
}

/// Writes the `provider` argument if the resource type does not imply it.
fn write_provider(text: &mut String, type_name: &str, provider: &ProviderReference) {
    let implied = type_name.split('_').next().unwrap_or_default();
    match &provider.alias {
        Some(alias) => {
            let _ = writeln!(text, "provider = {}.{alias}", provider.local_name);
        }
        None if *provider.local_name != *implied => {
            let _ = writeln!(text, "provider = {}", provider.local_name);
        }
        None => {}
    }
}

/// Adds the line of the generated block to the text of each error, because the block is not in a
/// file yet.
fn incomplete(problems: &Diagnostics) -> Diagnostics {
    let mut told = Diagnostics::new();
    for problem in problems {
        let line = problem
            .subject
            .as_ref()
            .map(|span| format!(" (line {} of the block)", span.start_position().line))
            .unwrap_or_default();
        let detail = format!(
            "The generated configuration of the object is not complete: {}{line}. Complete it, and plan \
             again.",
            problem.detail.trim_end_matches('.')
        );
        told.push(Diagnostic::error(problem.summary.clone(), detail));
    }
    told
}

struct Writer {
    text: String,
}

impl Writer {
    /// Writes the body of a block. `path` is the block's path in the object.
    fn block(&mut self, block: &Block, object: &Value, path: &Path) {
        for (name, attribute) in &block.attributes {
            let is_old_id = path.is_root() && **name == *"id" && attribute.setting.is_computed();
            if !is_old_id {
                self.attribute(name, attribute, object);
            }
        }
        for (name, nested) in &block.block_types {
            if nested.block.deprecation.is_deprecated() {
                continue;
            }
            let Some(found) = object.get(name).filter(|found| !found.is_null()) else { continue };
            let path = path.clone().attribute(name.clone());
            match nested.nesting {
                BlockNesting::Single | BlockNesting::Group => {
                    self.one_block(name, None, &nested.block, found, &path);
                }
                BlockNesting::List | BlockNesting::Set => {
                    for element in found.as_elements().unwrap_or_default() {
                        self.one_block(name, None, &nested.block, element, &path);
                    }
                }
                BlockNesting::Map => {
                    for (key, element) in found.as_mapping().into_iter().flatten() {
                        self.one_block(name, Some(key), &nested.block, element, &path);
                    }
                }
            }
        }
    }

    fn one_block(&mut self, name: &str, label: Option<&Str>, block: &Block, object: &Value, path: &Path) {
        self.text.push_str(name);
        if let Some(label) = label {
            self.text.push(' ');
            self.text.push_str(&quoted(label));
        }
        self.text.push_str(" {\n");
        self.block(block, object, path);
        self.text.push_str("}\n");
    }

    fn attribute(&mut self, name: &str, attribute: &Attribute, object: &Value) {
        if !attribute.setting.is_configurable() || attribute.deprecation.is_deprecated() {
            return;
        }
        let _ = write!(self.text, "{name} = ");
        let value = object.get(name).filter(|value| !value.is_null());
        match (&attribute.ty, value) {
            (AttributeType::Nested(nested), _) if attribute.sensitive => {
                let empty = match nested.nesting {
                    ObjectNesting::Single | ObjectNesting::Map => "{}",
                    ObjectNesting::List | ObjectNesting::Set => "[]",
                };
                let _ = writeln!(self.text, "{empty} # sensitive");
            }
            (AttributeType::Value(_), _) if attribute.sensitive => self.text.push_str("null # sensitive\n"),
            (_, None) => self.text.push_str("null\n"),
            (AttributeType::Nested(nested), Some(value)) => {
                self.nested(nested, value);
                self.text.push('\n');
            }
            (AttributeType::Value(_), Some(value)) => {
                if value.as_str() == Some("") && attribute.setting.is_optional() {
                    self.text.push_str("null");
                } else {
                    write_value(&mut self.text, value);
                }
                self.text.push('\n');
            }
        }
    }

    fn nested(&mut self, nested: &Arc<NestedObject>, value: &Value) {
        match nested.nesting {
            ObjectNesting::Single => self.object(nested, value),
            ObjectNesting::List | ObjectNesting::Set => {
                self.text.push_str("[\n");
                for element in value.as_elements().unwrap_or_default() {
                    self.object(nested, element);
                    self.text.push_str(",\n");
                }
                self.text.push(']');
            }
            ObjectNesting::Map => {
                self.text.push_str("{\n");
                for (key, element) in value.as_mapping().into_iter().flatten() {
                    let _ = write!(self.text, "{} = ", text::key(key));
                    self.object(nested, element);
                    self.text.push('\n');
                }
                self.text.push('}');
            }
        }
    }

    fn object(&mut self, nested: &Arc<NestedObject>, value: &Value) {
        if value.is_null() {
            self.text.push_str("null");
            return;
        }
        self.text.push_str("{\n");
        for (name, attribute) in &nested.attributes {
            self.attribute(name, attribute, value);
        }
        self.text.push('}');
    }
}

#[cfg(test)]
mod tests;
