//! Schemas: what a provider, a resource type or a data source is configured with.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use wardian_value::{Str, Type, Value};

use crate::schema_table::SchemaTable;

/// A schema with its version and the type that values of it have.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// Stored with each object of a resource type; 0 for all else.
    pub version: i64,
    /// The root block.
    pub block: Block,
    implied: OnceLock<Type>,
}

impl Schema {
    /// A schema of a root block.
    pub fn new(version: i64, block: Block) -> Self {
        Self { version, block, implied: OnceLock::new() }
    }

    /// The type of values of this schema; computed once.
    pub fn implied_type(&self) -> &Type {
        self.implied.get_or_init(|| self.block.implied_type())
    }
}

/// The contents of a block.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Attributes by name.
    pub attributes: BTreeMap<Str, Attribute>,
    /// Nested blocks by type name.
    pub block_types: BTreeMap<Str, NestedBlock>,
    /// What it is for.
    pub description: Description,
    /// Whether it should no longer be used.
    pub deprecation: Deprecation,
}

/// Text for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The text.
    pub text: String,
    /// Whether it is Markdown.
    pub markdown: bool,
}

/// Whether something should no longer be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Deprecation {
    /// It may be used.
    #[default]
    None,
    /// It should not.
    Deprecated,
    /// It should not, and why or what else.
    Message(String),
}

impl Deprecation {
    /// Whether the thing is deprecated.
    pub fn is_deprecated(&self) -> bool {
        *self != Self::None
    }
}

/// An attribute.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// What it holds.
    pub ty: AttributeType,
    /// What it is for.
    pub description: Description,
    /// Who may set it.
    pub setting: Setting,
    /// Its value must not be shown.
    pub sensitive: bool,
    /// Its value is only ever in the configuration.
    pub write_only: bool,
    /// Whether it should no longer be used.
    pub deprecation: Deprecation,
}

/// Who sets an attribute: the valid combinations of the protocol's three flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// The configuration must.
    Required,
    /// The configuration may.
    Optional,
    /// The configuration may, else the provider may.
    OptionalComputed,
    /// The provider alone.
    Computed,
}

impl Setting {
    /// From the protocol's flags; `None` where they contradict each other.
    pub fn from_flags(required: bool, optional: bool, computed: bool) -> Option<Self> {
        match (required, optional, computed) {
            (true, false, false) => Some(Self::Required),
            (false, true, false) => Some(Self::Optional),
            (false, true, true) => Some(Self::OptionalComputed),
            (false, false, true) => Some(Self::Computed),
            _ => None,
        }
    }

    /// Whether the configuration must set it.
    pub fn is_required(self) -> bool {
        self == Self::Required
    }

    /// Whether the configuration may set it without having to.
    pub fn is_optional(self) -> bool {
        matches!(self, Self::Optional | Self::OptionalComputed)
    }

    /// Whether the provider may set it.
    pub fn is_computed(self) -> bool {
        matches!(self, Self::Computed | Self::OptionalComputed)
    }

    /// Whether the configuration may set it at all.
    pub fn is_configurable(self) -> bool {
        self != Self::Computed
    }
}

/// What an attribute holds.
#[derive(Clone, Debug)]
pub enum AttributeType {
    /// A value of a type.
    Value(Type),
    /// A structure with a schema of its own.
    Nested(Arc<NestedObject>),
}

/// The structure of a nested attribute.
#[derive(Clone, Debug)]
pub struct NestedObject {
    /// Attributes by name.
    pub attributes: BTreeMap<Str, Attribute>,
    /// How objects are collected.
    pub nesting: ObjectNesting,
}

/// How the objects of a nested attribute are collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectNesting {
    /// One object.
    Single,
    /// A list.
    List,
    /// A set.
    Set,
    /// By string key.
    Map,
}

/// A kind of nested block.
#[derive(Clone, Debug)]
pub struct NestedBlock {
    /// Its contents.
    pub block: Block,
    /// How blocks of it are collected.
    pub nesting: BlockNesting,
    /// The least number.
    pub min_items: u64,
    /// The greatest number, 0 for no limit.
    pub max_items: u64,
}

/// How nested blocks of one kind are collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockNesting {
    /// At most one; null where absent.
    Single,
    /// At most one; an object of empty values where absent.
    Group,
    /// A list.
    List,
    /// A set.
    Set,
    /// By one label.
    Map,
}

impl Block {
    /// The type of values of this block. Cost: O(size of the schema).
    pub fn implied_type(&self) -> Type {
        let attributes = self.attributes.iter().map(|(n, a)| (n.clone(), a.implied_type()));
        let blocks = self.block_types.iter().map(|(n, b)| (n.clone(), b.implied_type()));
        Type::object(attributes.chain(blocks))
    }

    /// The value of a block in which nothing is set: attributes null, collections
    /// of blocks empty.
    pub fn empty_value(&self) -> Value {
        let attributes = self.attributes.iter().map(|(n, a)| (n.clone(), Value::null(a.implied_type())));
        let blocks = self.block_types.iter().map(|(n, b)| (n.clone(), b.empty_value()));
        Value::object(attributes.chain(blocks))
    }

    /// Whether any attribute here or further inside is sensitive.
    pub fn has_sensitive(&self) -> bool {
        self.attributes.values().any(Attribute::has_sensitive)
            || self.block_types.values().any(|b| b.block.has_sensitive())
    }
}

impl Attribute {
    /// The type of its values.
    pub fn implied_type(&self) -> Type {
        match &self.ty {
            AttributeType::Value(ty) => ty.clone(),
            AttributeType::Nested(object) => object.implied_type(),
        }
    }

    /// Whether it or anything inside is sensitive.
    pub fn has_sensitive(&self) -> bool {
        self.sensitive
            || match &self.ty {
                AttributeType::Value(_) => false,
                AttributeType::Nested(object) => object.attributes.values().any(Self::has_sensitive),
            }
    }
}

impl NestedObject {
    /// The type of one object of it.
    pub fn object_type(&self) -> Type {
        Type::object(self.attributes.iter().map(|(n, a)| (n.clone(), a.implied_type())))
    }

    /// The type of the attribute's values.
    pub fn implied_type(&self) -> Type {
        match self.nesting {
            ObjectNesting::Single => self.object_type(),
            ObjectNesting::List => Type::list(self.object_type()),
            ObjectNesting::Set => Type::set(self.object_type()),
            ObjectNesting::Map => Type::map(self.object_type()),
        }
    }
}

impl NestedBlock {
    /// The type of the collection of these blocks. Lists and maps are dynamic (a
    /// tuple or an object at run time) where anything below is.
    pub fn implied_type(&self) -> Type {
        let element = self.block.implied_type();
        match self.nesting {
            BlockNesting::Single | BlockNesting::Group => element,
            BlockNesting::Set => Type::set(element),
            BlockNesting::List | BlockNesting::Map if element.has_dynamic() => Type::Dynamic,
            BlockNesting::List => Type::list(element),
            BlockNesting::Map => Type::map(element),
        }
    }

    /// The value where there is no such block.
    pub fn empty_value(&self) -> Value {
        let element = self.block.implied_type();
        match self.nesting {
            BlockNesting::Single => Value::null(element),
            BlockNesting::Group => self.block.empty_value(),
            BlockNesting::Set => Value::set(element, []),
            BlockNesting::List if element.has_dynamic() => Value::tuple([]),
            BlockNesting::Map if element.has_dynamic() => Value::empty_object(),
            BlockNesting::List => Value::list(element, []),
            BlockNesting::Map => Value::map(element, []),
        }
    }
}

/// All that a provider offers.
#[derive(Clone, Debug, Default)]
pub struct ProviderSchema {
    /// What it can do beyond the first version of the protocol.
    pub capabilities: ServerCapabilities,
    /// Its own configuration.
    pub provider: Schema,
    /// What a module may tell it about itself.
    pub provider_meta: Option<Schema>,
    /// Managed resource types.
    pub resources: SchemaTable,
    /// Data sources.
    pub data_sources: SchemaTable,
    /// Ephemeral resource types.
    pub ephemeral_resources: SchemaTable,
    /// Resource types that can be listed.
    pub list_resources: SchemaTable,
    /// Actions.
    pub actions: SchemaTable,
    /// Functions.
    pub functions: BTreeMap<Str, Function>,
    /// Identities of resource types.
    pub identities: BTreeMap<Str, Arc<IdentitySchema>>,
}

/// What a provider can do beyond the first version of the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerCapabilities {
    /// It wants to plan the destruction of an object.
    pub plan_destroy: bool,
    /// Further instances work without being asked for their schema.
    pub get_provider_schema_optional: bool,
    /// It can take over objects of other resource types.
    pub move_resource_state: bool,
    /// It can make a configuration from a state.
    pub generate_resource_config: bool,
}

/// A function of a provider.
#[derive(Clone, Debug)]
pub struct Function {
    /// Parameters in order.
    pub parameters: Vec<Parameter>,
    /// What every further argument is for.
    pub variadic_parameter: Option<Parameter>,
    /// The type of the result.
    pub return_type: Type,
    /// One line.
    pub summary: String,
    /// What it does.
    pub description: Description,
    /// Whether it should no longer be used.
    pub deprecation: Deprecation,
}

impl Function {
    /// The parameter that an argument is for.
    pub fn parameter(&self, index: usize) -> Option<&Parameter> {
        self.parameters.get(index).or(self.variadic_parameter.as_ref())
    }
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name, for documentation.
    pub name: String,
    /// The type that arguments are converted to.
    pub ty: Type,
    /// Whether null may be passed.
    pub allow_null: bool,
    /// Whether unknown values may be passed.
    pub allow_unknown: bool,
    /// What it is for.
    pub description: Description,
}

/// What identifies an object of a resource type.
#[derive(Clone, Debug)]
pub struct IdentitySchema {
    /// Independent of the resource schema's version.
    pub version: i64,
    /// Attributes by name.
    pub attributes: BTreeMap<Str, IdentityAttribute>,
}

/// An attribute of an identity.
#[derive(Clone, Debug)]
pub struct IdentityAttribute {
    /// A primitive, or a list of primitives.
    pub ty: Type,
    /// An import by identity must give it.
    pub required_for_import: bool,
    /// An import by identity may give it.
    pub optional_for_import: bool,
    /// What it is for.
    pub description: String,
}

impl IdentitySchema {
    /// The type of identities.
    pub fn implied_type(&self) -> Type {
        Type::object(self.attributes.iter().map(|(n, a)| (n.clone(), a.ty.clone())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(ty: Type) -> Attribute {
        Attribute {
            ty: AttributeType::Value(ty),
            description: Description::default(),
            setting: Setting::Optional,
            sensitive: false,
            write_only: false,
            deprecation: Deprecation::None,
        }
    }

    fn nested(nesting: BlockNesting, ty: Type) -> NestedBlock {
        let block = Block { attributes: [("a".into(), attribute(ty))].into(), ..Block::default() };
        NestedBlock { block, nesting, min_items: 0, max_items: 0 }
    }

    #[test]
    fn an_absent_block_has_the_value_of_its_nesting() {
        let element = Type::object([("a", Type::String)]);
        let cases = [
            (BlockNesting::Single, Value::null(element.clone())),
            (BlockNesting::Group, Value::object([("a", Value::null(Type::String))])),
            (BlockNesting::List, Value::list(element.clone(), [])),
            (BlockNesting::Set, Value::set(element.clone(), [])),
            (BlockNesting::Map, Value::map(element, [])),
        ];
        for (nesting, expected) in cases {
            assert_eq!(nested(nesting, Type::String).empty_value(), expected, "{nesting:?}");
        }
    }

    #[test]
    fn lists_and_maps_of_blocks_with_dynamic_parts_are_dynamic() {
        assert_eq!(nested(BlockNesting::List, Type::Dynamic).implied_type(), Type::Dynamic);
        assert_eq!(nested(BlockNesting::Map, Type::Dynamic).implied_type(), Type::Dynamic);
        assert_eq!(nested(BlockNesting::List, Type::Dynamic).empty_value(), Value::tuple([]));
    }

    #[test]
    fn contradicting_flags_are_no_setting() {
        assert_eq!(Setting::from_flags(true, true, false), None);
        assert_eq!(Setting::from_flags(false, false, false), None);
        assert_eq!(Setting::from_flags(false, true, true), Some(Setting::OptionalComputed));
    }
}
