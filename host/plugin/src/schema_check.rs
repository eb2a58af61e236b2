//! Finds mistakes in a provider's schema that the protocol permits, but that cause errors or surprises
//! when the provider is used.
//!
//! The host cannot see the program behind a schema, so this complements the checks of the SDKs. It runs
//! for plugins under development, and when a component is checked before its release. Cost: O(size of the
//! schema).

use std::collections::BTreeMap;
use std::fmt;

use wardian_value::{Str, Type};

use crate::schema::{
    Attribute, AttributeType, Block, BlockNesting, Function, IdentitySchema, NestedBlock, ObjectNesting,
    ProviderSchema, Schema, Setting,
};

/// Names that have a meaning in the blocks of resources, data sources and ephemeral resources.
const RESERVED: [&str; 7] =
    ["connection", "count", "depends_on", "for_each", "lifecycle", "provider", "provisioner"];

/// Names that have a meaning in `provider` blocks.
const RESERVED_IN_PROVIDER: [&str; 2] = ["alias", "version"];

/// Parts of names of attributes that usually contain secrets.
const SECRET_WORDS: [&str; 5] = ["password", "secret", "token", "api_key", "private_key"];

/// Maximum number of reported mistakes.
const MAX_MISTAKES: usize = 1000;

/// Whether a mistake makes a schema unusable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MistakeKind {
    /// The affected object or attribute cannot be used as described.
    Error,
    /// The schema can be used, but probably does not express what its author wants.
    Warning,
}

/// A mistake in a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaMistake {
    /// Whether the schema is unusable.
    pub kind: MistakeKind,
    /// The type and the path in it, such as `dns_zone.record.name`.
    pub location: String,
    /// The mistake and its remedy.
    pub text: String,
}

impl fmt::Display for SchemaMistake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.location, self.text)
    }
}

/// Returns the mistakes in the schema of a provider with this type name, in the order of the schema.
pub fn schema_mistakes(schema: &ProviderSchema, type_name: &str) -> Vec<SchemaMistake> {
    let mut report = Report { mistakes: Vec::new(), type_name };
    report.schema("provider", &schema.provider, Owner::Provider);
    if let Some(meta) = &schema.provider_meta {
        report.schema("provider_meta", meta, Owner::Other);
    }
    let tables = [
        ("", &schema.resources, Owner::Resource),
        ("data.", &schema.data_sources, Owner::Other),
        ("ephemeral.", &schema.ephemeral_resources, Owner::Ephemeral),
        ("list.", &schema.list_resources, Owner::Other),
        ("action.", &schema.actions, Owner::Action),
    ];
    for (prefix, table, owner) in tables {
        for (name, schema) in table.iter() {
            let location = format!("{prefix}{name}");
            report.type_name(&location, name);
            report.schema(&location, schema, owner);
        }
    }
    for name in schema.list_resources.keys() {
        if !schema.resources.contains_key(name) || !schema.identities.contains_key(name) {
            report.error(
                &format!("list.{name}"),
                "there is no resource type of this name with an identity; add the identity",
            );
        }
    }
    for (name, identity) in &schema.identities {
        report.identity(name, identity);
    }
    for (name, function) in &schema.functions {
        report.function(name, function);
    }
    report.mistakes
}

/// The kind of object to which a schema belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Provider,
    Resource,
    Ephemeral,
    Action,
    Other,
}

/// The enclosing blocks and attributes of a member.
#[derive(Clone, Copy)]
struct Enclosing {
    owner: Owner,
    in_set: bool,
    in_computed: bool,
}

struct Report<'a> {
    mistakes: Vec<SchemaMistake>,
    type_name: &'a str,
}

impl Report<'_> {
    fn push(&mut self, kind: MistakeKind, location: &str, text: String) {
        if self.mistakes.len() < MAX_MISTAKES {
            self.mistakes.push(SchemaMistake { kind, location: location.to_owned(), text });
        }
    }

    fn error(&mut self, location: &str, text: impl Into<String>) {
        self.push(MistakeKind::Error, location, text.into());
    }

    fn warning(&mut self, location: &str, text: impl Into<String>) {
        self.push(MistakeKind::Warning, location, text.into());
    }

    fn type_name(&mut self, location: &str, name: &str) {
        self.name(location, name);
        let rest = name.strip_prefix(self.type_name);
        if !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_')) {
            let text = format!(
                "the name does not begin with \"{}_\", so configurations must select the provider with the \
                 argument \"provider\"; rename the type",
                self.type_name
            );
            self.warning(location, text);
        }
    }

    fn name(&mut self, location: &str, name: &str) {
        let mut bytes = name.bytes();
        let is_first = bytes.next().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_');
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if !is_first || !bytes.all(is_plain) {
            self.error(location, "the name must consist of lower-case letters, digits and underscores");
        }
    }

    fn schema(&mut self, location: &str, schema: &Schema, owner: Owner) {
        if schema.version < 0 {
            self.error(location, "the version is negative; use 0 or a positive number");
        }
        if schema.version != 0 && owner != Owner::Resource {
            self.warning(location, "only the schemas of resource types have versions; remove the version");
        }
        let reserved: &[&str] = match owner {
            Owner::Provider => &RESERVED_IN_PROVIDER,
            _ => &RESERVED,
        };
        let block = &schema.block;
        let members = block.attributes.keys().chain(block.block_types.keys());
        for name in members.filter(|name| reserved.contains(&&***name)) {
            let text = "the name has a meaning in every block of this kind, so it cannot be configured; choose \
                another name";
            self.error(&format!("{location}.{name}"), text);
        }
        self.block(location, block, Enclosing { owner, in_set: false, in_computed: false });
    }

    fn block(&mut self, location: &str, block: &Block, enclosing: Enclosing) {
        self.attributes(location, &block.attributes, enclosing);
        for (name, nested) in &block.block_types {
            let location = format!("{location}.{name}");
            self.name(&location, name);
            if block.attributes.contains_key(name) {
                self.error(&location, "an attribute and a block have the same name; rename one of them");
            }
            self.nested_block(&location, nested, enclosing);
        }
    }

    fn nested_block(&mut self, location: &str, nested: &NestedBlock, enclosing: Enclosing) {
        let (min, max) = (nested.min_items, nested.max_items);
        if max > 0 && min > max {
            self.error(
                location,
                format!("at least {min} blocks are required, but at most {max} are allowed"),
            );
        }
        match nested.nesting {
            BlockNesting::Single | BlockNesting::Group if min > 1 || max > 1 => {
                self.error(location, "there is at most one block, but the limits allow more; use a list");
            }
            BlockNesting::Map if min > 0 || max > 0 => {
                self.error(location, "maps of blocks have no limits; remove them, or use a list or a set");
            }
            BlockNesting::Set if nested.block.implied_type().has_dynamic() => {
                self.error(location, "the elements of a set cannot have dynamic attributes; use a list");
            }
            _ => {}
        }
        let in_set = enclosing.in_set || nested.nesting == BlockNesting::Set;
        self.block(location, &nested.block, Enclosing { in_set, ..enclosing });
    }

    fn attributes(&mut self, location: &str, attributes: &BTreeMap<Str, Attribute>, enclosing: Enclosing) {
        for (name, attribute) in attributes {
            let location = format!("{location}.{name}");
            self.name(&location, name);
            self.attribute(&location, name, attribute, enclosing);
        }
    }

    fn attribute(&mut self, location: &str, name: &str, attribute: &Attribute, enclosing: Enclosing) {
        if attribute.write_only {
            if enclosing.owner != Owner::Resource {
                self.error(location, "only attributes of resource types can be write-only");
            }
            if attribute.setting.is_computed() {
                self.error(location, "a write-only attribute is never stored, so it cannot be computed");
            }
            if enclosing.in_set {
                self.error(location, "an element of a set cannot be write-only; use a list");
            }
        }
        if attribute.setting.is_computed() && matches!(enclosing.owner, Owner::Provider | Owner::Action) {
            self.error(
                location,
                "nothing stores a computed value here; make the attribute optional or remove it",
            );
        }
        if enclosing.in_computed && attribute.setting == Setting::Required {
            self.error(
                location,
                "the enclosing attribute is only computed, so nothing can be required in it",
            );
        }
        let is_secret = SECRET_WORDS.iter().any(|word| name == *word || name.ends_with(&format!("_{word}")));
        let is_text = matches!(&attribute.ty, AttributeType::Value(Type::String));
        if is_secret && is_text && !attribute.sensitive && enclosing.owner != Owner::Ephemeral {
            self.warning(location, "the name suggests a secret, but the attribute is not sensitive");
        }
        match &attribute.ty {
            AttributeType::Value(ty) => self.value_type(location, ty),
            AttributeType::Nested(object) => {
                let in_set = enclosing.in_set || object.nesting == ObjectNesting::Set;
                if object.nesting == ObjectNesting::Set && object.object_type().has_dynamic() {
                    self.error(location, "the elements of a set cannot have dynamic attributes; use a list");
                }
                let in_computed = enclosing.in_computed || attribute.setting == Setting::Computed;
                let enclosing = Enclosing { in_set, in_computed, ..enclosing };
                self.attributes(location, &object.attributes, enclosing);
            }
        }
    }

    fn value_type(&mut self, location: &str, ty: &Type) {
        match ty {
            Type::Set(element) if element.has_dynamic() => {
                self.error(location, "the elements of a set cannot be dynamic; use a dynamic attribute");
            }
            Type::List(element) | Type::Map(element) if **element == Type::Dynamic => {
                self.warning(
                    location,
                    "all elements must have the same type; use a dynamic attribute if they can differ",
                );
            }
            Type::Object(object) if object.is_empty() => {
                self.warning(location, "the object has no attributes");
            }
            _ => {}
        }
    }

    fn identity(&mut self, name: &str, identity: &IdentitySchema) {
        let location = format!("identity.{name}");
        if identity.attributes.is_empty() {
            self.error(&location, "the identity has no attributes, so it identifies nothing");
        }
        for (attribute_name, attribute) in &identity.attributes {
            let location = format!("{location}.{attribute_name}");
            self.name(&location, attribute_name);
            let is_primitive = |ty: &Type| matches!(ty, Type::Bool | Type::Number | Type::String);
            let is_valid = match &attribute.ty {
                Type::List(element) => is_primitive(element),
                ty => is_primitive(ty),
            };
            if !is_valid {
                self.error(&location, "the type must be a string, a number, a boolean, or a list of these");
            }
            if attribute.required_for_import && attribute.optional_for_import {
                self.error(&location, "it is both required and optional for an import; choose one of them");
            }
        }
        if !identity.attributes.values().any(|one| one.required_for_import || one.optional_for_import) {
            self.warning(
                &location,
                "no attribute can be set by an import; make at least one required for it",
            );
        }
    }

    fn function(&mut self, name: &str, function: &Function) {
        let location = format!("function.{name}");
        self.name(&location, name);
        let mut names = std::collections::BTreeSet::new();
        for parameter in function.parameters.iter().chain(&function.variadic_parameter) {
            let location = format!("{location}.{}", parameter.name);
            self.name(&location, &parameter.name);
            if !names.insert(parameter.name.as_str()) {
                self.error(&location, "two parameters have this name; rename one of them");
            }
        }
        if function.summary.trim().is_empty() {
            self.warning(&location, "the function has no summary");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use std::fmt::Write as _;

    use super::*;
    use crate::schema::{Deprecation, Description, IdentityAttribute, NestedObject, Parameter};

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

    fn block(attributes: impl IntoIterator<Item = (&'static str, Attribute)>) -> Block {
        let attributes = attributes.into_iter().map(|(name, one)| (Str::new(name), one)).collect();
        Block { attributes, ..Block::default() }
    }

    fn table(name: &str, block: Block) -> crate::SchemaTable {
        [(Str::new(name), Arc::new(Schema::new(0, block)))].into_iter().collect()
    }

    fn nested(block: Block, nesting: BlockNesting, min_items: u64, max_items: u64) -> NestedBlock {
        NestedBlock { block, nesting, min_items, max_items }
    }

    fn text(schema: &ProviderSchema) -> String {
        let mistakes = schema_mistakes(schema, "dns");
        mistakes.iter().fold(String::new(), |mut text, one| {
            let _ = writeln!(text, "{:?} {one}", one.kind);
            text
        })
    }

    #[test]
    fn sound_schema_has_no_mistakes() {
        let zone = block([
            ("name", attribute(Type::String, Setting::Required)),
            ("id", attribute(Type::String, Setting::Computed)),
        ]);
        let schema = ProviderSchema { resources: table("dns_zone", zone), ..ProviderSchema::default() };
        assert_eq!(text(&schema), "");
    }

    #[test]
    fn each_mistake_is_reported_with_its_location() {
        let write_only = Attribute { write_only: true, ..attribute(Type::String, Setting::OptionalComputed) };
        let objects = NestedObject {
            attributes: [("must".into(), attribute(Type::String, Setting::Required))].into(),
            nesting: ObjectNesting::Set,
        };
        let mut zone = block([
            ("count", attribute(Type::Number, Setting::Optional)),
            ("Name", attribute(Type::String, Setting::Optional)),
            ("rule", attribute(Type::String, Setting::Optional)),
            ("admin_password", attribute(Type::String, Setting::Optional)),
            ("set", attribute(Type::set(Type::Dynamic), Setting::Optional)),
            ("list", attribute(Type::list(Type::Dynamic), Setting::Optional)),
            (
                "computed",
                Attribute {
                    ty: AttributeType::Nested(Arc::new(objects)),
                    ..attribute(Type::Dynamic, Setting::Computed)
                },
            ),
        ]);
        let rule = block([("write", write_only)]);
        zone.block_types.insert("rule".into(), nested(rule, BlockNesting::Set, 3, 2));
        zone.block_types.insert("one".into(), nested(Block::default(), BlockNesting::Single, 0, 2));
        zone.block_types.insert("map".into(), nested(Block::default(), BlockNesting::Map, 1, 0));
        let identity = IdentitySchema {
            version: 0,
            attributes: [(
                "id".into(),
                IdentityAttribute {
                    ty: Type::map(Type::String),
                    required_for_import: false,
                    optional_for_import: false,
                    description: String::new(),
                },
            )]
            .into(),
        };
        let parameter = |name: &str| Parameter {
            name: name.to_owned(),
            ty: Type::String,
            allow_null: false,
            allow_unknown: false,
            description: Description::default(),
        };
        let function = Function {
            parameters: vec![parameter("a"), parameter("a")],
            variadic_parameter: Some(parameter("B")),
            return_type: Type::String,
            summary: String::new(),
            description: Description::default(),
            deprecation: Deprecation::None,
        };
        let provider = block([("alias", attribute(Type::String, Setting::Computed))]);
        let schema = ProviderSchema {
            provider: Schema::new(2, provider),
            resources: table("dns_zone", zone),
            data_sources: table("other_zone", Block::default()),
            list_resources: table("dns_zones", Block::default()),
            identities: [("dns_zone".into(), Arc::new(identity))].into(),
            functions: [("split".into(), function)].into(),
            ..ProviderSchema::default()
        };
        insta::assert_snapshot!(text(&schema));
    }
}
