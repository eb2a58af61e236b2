//! The Markdown text of a schema: lists of attributes and blocks, grouped by whether the configuration
//! sets them, and a section for each nested schema.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use wardian_plugin::{
    Attribute, AttributeType, Block, BlockNesting, Deprecation, Function, IdentityAttribute, IdentitySchema,
    NestedBlock, NestedObject, ObjectNesting, Setting,
};
use wardian_value::{ObjectType, Str, Type};

/// Maximum depth of nested schemas. The host accepts no deeper schemas.
const MAX_DEPTH: usize = 64;

/// A nested schema whose section follows.
struct NestedSection<'a> {
    path: String,
    anchor: String,
    content: NestedContent<'a>,
    depth: usize,
}

enum NestedContent<'a> {
    Block(&'a Block),
    Object(&'a NestedObject),
    /// The attributes of an object type, which have no descriptions of their own.
    Type(&'a ObjectType, Setting),
}

/// Returns the text of a block's schema. `name` is the name of its type.
pub(super) fn of_block(block: &Block, name: &str, missing: &mut Vec<String>) -> String {
    let mut text = "## Schema\n".to_owned();
    let none = BTreeMap::new();
    let mut pending = Vec::new();
    let mut writer = Writer { text: &mut text, type_name: name, missing };
    writer.members(&block.attributes, &block.block_types, "", 0, &mut pending);
    // The sections are in the order of a depth-first traversal.
    pending.reverse();
    while let Some(section) = pending.pop() {
        let NestedSection { path, anchor, content, depth } = section;
        let _ = write!(writer.text, "\n\n<a id=\"{anchor}\"></a>\n### Nested Schema for `{path}`\n");
        let mut nested = Vec::new();
        match content {
            NestedContent::Block(block) => {
                writer.members(&block.attributes, &block.block_types, &path, depth, &mut nested);
            }
            NestedContent::Object(object) => {
                writer.members(&object.attributes, &none, &path, depth, &mut nested);
            }
            NestedContent::Type(object, setting) => {
                writer.object_members(object, setting, &path, depth, &mut nested);
            }
        }
        nested.reverse();
        pending.extend(nested);
    }
    text.trim_end().to_owned()
}

struct Writer<'w> {
    text: &'w mut String,
    type_name: &'w str,
    missing: &'w mut Vec<String>,
}

impl Writer<'_> {
    /// Appends the lists of attributes and blocks, and collects their nested schemas.
    fn members<'a>(
        &mut self,
        attributes: &'a BTreeMap<Str, Attribute>,
        blocks: &'a BTreeMap<Str, NestedBlock>,
        parent: &str,
        depth: usize,
        pending: &mut Vec<NestedSection<'a>>,
    ) {
        type Group = (&'static str, fn(Setting) -> bool);
        let groups: [Group; 3] = [
            ("Required", Setting::is_required),
            ("Optional", Setting::is_optional),
            ("Read-Only", |setting| setting == Setting::Computed),
        ];
        for (title, belongs) in groups {
            let mut lines = Vec::new();
            for (name, attribute) in attributes.iter().filter(|(_, one)| belongs(one.setting)) {
                lines.push(self.attribute(name, attribute, parent, depth, pending));
            }
            for (name, block) in blocks.iter().filter(|(_, one)| belongs(block_setting(one))) {
                lines.push(self.block(name, block, parent, depth, pending));
            }
            self.group(title, depth, &lines);
        }
    }

    /// Appends a list under its title, which is a heading only at the top level.
    fn group(&mut self, title: &str, depth: usize, lines: &[String]) {
        if lines.is_empty() {
            return;
        }
        let title = if depth == 0 { format!("### {title}") } else { format!("{title}:") };
        let _ = write!(self.text, "\n{title}\n\n{}\n", lines.join("\n"));
    }

    /// Appends the attributes of an object type.
    fn object_members<'a>(
        &mut self,
        object: &'a ObjectType,
        setting: Setting,
        parent: &str,
        depth: usize,
        pending: &mut Vec<NestedSection<'a>>,
    ) {
        let mut lines = Vec::new();
        for (name, ty) in object.iter() {
            let path = joined(parent, name);
            let mut line = format!("- `{name}` ({})", type_text(ty));
            if let Some(inner) = object_in(ty)
                && depth < MAX_DEPTH
            {
                let content = NestedContent::Type(inner, setting);
                reference(&mut line, "nestedobjatt", path, content, depth, pending);
            }
            lines.push(line);
        }
        self.group(if setting == Setting::Computed { "Read-Only" } else { "Optional" }, depth, &lines);
    }

    fn attribute<'a>(
        &mut self,
        name: &str,
        attribute: &'a Attribute,
        parent: &str,
        depth: usize,
        pending: &mut Vec<NestedSection<'a>>,
    ) -> String {
        let path = joined(parent, name);
        let mut traits = match &attribute.ty {
            AttributeType::Value(ty) => type_text(ty),
            AttributeType::Nested(object) => match object.nesting {
                ObjectNesting::Single => "Attributes".to_owned(),
                ObjectNesting::List => "Attributes List".to_owned(),
                ObjectNesting::Set => "Attributes Set".to_owned(),
                ObjectNesting::Map => "Attributes Map".to_owned(),
            },
        };
        if attribute.sensitive {
            traits.push_str(", Sensitive");
        }
        if attribute.write_only {
            traits.push_str(", Write-only");
        }
        if attribute.deprecation.is_deprecated() {
            traits.push_str(", Deprecated");
        }
        if attribute.description.text.trim().is_empty() {
            self.missing.push(format!("{}.{path}", self.type_name));
        }
        let description = described(&attribute.description.text, &attribute.deprecation);
        let mut line = format!("- `{name}` ({traits}){description}");
        let content = match &attribute.ty {
            AttributeType::Nested(object) => Some(NestedContent::Object(object)),
            AttributeType::Value(ty) => {
                object_in(ty).map(|object| NestedContent::Type(object, attribute.setting))
            }
        };
        if let Some(content) = content.filter(|_| depth < MAX_DEPTH) {
            reference(&mut line, "nestedatt", path, content, depth, pending);
        }
        line
    }

    fn block<'a>(
        &mut self,
        name: &str,
        block: &'a NestedBlock,
        parent: &str,
        depth: usize,
        pending: &mut Vec<NestedSection<'a>>,
    ) -> String {
        let path = joined(parent, name);
        let mut traits = match block.nesting {
            BlockNesting::Single if block.min_items > 0 => "Block, Required".to_owned(),
            BlockNesting::Single | BlockNesting::Group => "Block, Optional".to_owned(),
            BlockNesting::List => "Block List".to_owned(),
            BlockNesting::Set => "Block Set".to_owned(),
            BlockNesting::Map => "Block Map".to_owned(),
        };
        if matches!(block.nesting, BlockNesting::List | BlockNesting::Set) {
            for (limit, value) in [("Min", block.min_items), ("Max", block.max_items)] {
                if value > 0 {
                    let _ = write!(traits, ", {limit}: {value}");
                }
            }
        }
        if block.block.deprecation.is_deprecated() {
            traits.push_str(", Deprecated");
        }
        if block.block.description.text.trim().is_empty() {
            self.missing.push(format!("{}.{path}", self.type_name));
        }
        let description = described(&block.block.description.text, &block.block.deprecation);
        let mut line = format!("- `{name}` ({traits}){description}");
        if depth < MAX_DEPTH {
            let content = NestedContent::Block(&block.block);
            reference(&mut line, "nestedblock", path, content, depth, pending);
        }
        line
    }
}

fn joined(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") }
}

/// Appends a link to the section of a nested schema, which is written later.
fn reference<'a>(
    line: &mut String,
    kind: &str,
    path: String,
    content: NestedContent<'a>,
    depth: usize,
    pending: &mut Vec<NestedSection<'a>>,
) {
    let anchor = format!("{kind}--{}", path.replace('.', "--"));
    let _ = write!(line, " (see [below for nested schema](#{anchor}))");
    pending.push(NestedSection { path, anchor, content, depth: depth + 1 });
}

/// Returns the object type of a value or of the elements of a collection.
fn object_in(ty: &Type) -> Option<&ObjectType> {
    match ty {
        Type::Object(object) if object.iter().next().is_some() => Some(object),
        Type::List(element) | Type::Set(element) | Type::Map(element) => object_in(element),
        _ => None,
    }
}

/// A block is required if the configuration must contain at least one, and read-only if the configuration
/// can set none of its attributes. Blocks inside of blocks are few, so they are visited again for each level.
fn block_setting(block: &NestedBlock) -> Setting {
    let is_computed = |block: &NestedBlock| block_setting(block) == Setting::Computed;
    let contents = &block.block;
    let is_empty = contents.attributes.is_empty() && contents.block_types.is_empty();
    let is_read_only = contents.attributes.values().all(|one| one.setting == Setting::Computed)
        && contents.block_types.values().all(is_computed);
    match block.min_items {
        0 if is_read_only && !is_empty => Setting::Computed,
        0 => Setting::Optional,
        _ => Setting::Required,
    }
}

/// Returns the section about the identity of a resource.
pub(super) fn of_identity(identity: &IdentitySchema) -> String {
    let mut text = "### Identity Schema\n".to_owned();
    type Group = (&'static str, fn(&IdentityAttribute) -> bool);
    let groups: [Group; 2] = [
        ("Required", |attribute| attribute.required_for_import),
        ("Optional", |attribute| !attribute.required_for_import),
    ];
    for (title, belongs) in groups {
        let line = |(name, attribute): (&Str, &IdentityAttribute)| {
            let description = described(&attribute.description, &Deprecation::None);
            format!("- `{name}` ({}){description}", type_text(&attribute.ty))
        };
        let members = identity.attributes.iter().filter(|(_, attribute)| belongs(attribute));
        let lines: Vec<String> = members.map(line).collect();
        if !lines.is_empty() {
            let _ = write!(text, "\n#### {title}\n\n{}\n", lines.join("\n"));
        }
    }
    text.trim_end().to_owned()
}

/// Returns a description on one line, with a leading space; empty if there is none.
fn described(text: &str, deprecation: &Deprecation) -> String {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    if let Deprecation::Message(message) = deprecation {
        words.push("Deprecated:");
        words.extend(message.split_whitespace());
    }
    if words.is_empty() { String::new() } else { format!(" {}", words.join(" ")) }
}

/// Returns the name of a type in documentation.
pub(super) fn type_text(ty: &Type) -> String {
    match ty {
        Type::Dynamic => "Dynamic".to_owned(),
        Type::Bool => "Boolean".to_owned(),
        Type::Number => "Number".to_owned(),
        Type::String => "String".to_owned(),
        Type::List(element) => format!("List of {}", type_text(element)),
        Type::Set(element) => format!("Set of {}", type_text(element)),
        Type::Map(element) => format!("Map of {}", type_text(element)),
        Type::Object(_) => "Object".to_owned(),
        Type::Tuple(elements) => {
            let elements: Vec<String> = elements.iter().map(type_text).collect();
            format!("Tuple({})", elements.join(", "))
        }
    }
}

/// Returns the signature and the parameters of a function.
pub(super) fn of_function(name: &str, function: &Function, missing: &mut Vec<String>) -> String {
    let parameter = |name: &str, ty: &Type| format!("{name} {}", type_text(ty).to_lowercase());
    let mut parameters: Vec<String> =
        function.parameters.iter().map(|one| parameter(&one.name, &one.ty)).collect();
    if let Some(variadic) = &function.variadic_parameter {
        parameters.push(format!("{}...", parameter(&variadic.name, &variadic.ty)));
    }
    let mut text = format!(
        "## Signature\n\n```text\n{name}({}) {}\n```\n",
        parameters.join(", "),
        type_text(&function.return_type).to_lowercase()
    );
    if !function.parameters.is_empty() {
        text.push_str("\n## Arguments\n\n");
    }
    for (index, one) in function.parameters.iter().enumerate() {
        let nullable = if one.allow_null { ", Nullable" } else { "" };
        let description = described(&one.description.text, &Deprecation::None);
        let ty = type_text(&one.ty);
        let _ = writeln!(text, "{}. `{}` ({ty}{nullable}){description}", index + 1, one.name);
        if one.description.text.trim().is_empty() {
            missing.push(format!("{name}.{}", one.name));
        }
    }
    if let Some(one) = &function.variadic_parameter {
        let nullable = if one.allow_null { ", Nullable" } else { "" };
        let description = described(&one.description.text, &Deprecation::None);
        let ty = type_text(&one.ty);
        let _ = write!(
            text,
            "\n## Variadic Argument\n\n- `{}` (Variadic, {ty}{nullable}){description}\n",
            one.name
        );
        if one.description.text.trim().is_empty() {
            missing.push(format!("{name}.{}", one.name));
        }
    }
    text.trim_end().to_owned()
}
