//! Schemas: the structure of the configuration of a provider, a resource type, a data source or
//! another object.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use wardian_value::{Str, Type, Value};

use crate::schema_table::SchemaTable;

/// A schema with its version and the implied type of its values.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// The version, which is stored with each object of a resource type. For other schemas, it is
    /// 0.
    pub version: i64,
    /// The root block.
    pub block: Block,
    implied: OnceLock<Type>,
    has_secret: OnceLock<bool>,
}

impl Schema {
    /// Creates a schema of a root block.
    pub fn new(version: i64, block: Block) -> Self {
        Self { version, block, implied: OnceLock::new(), has_secret: OnceLock::new() }
    }

    /// Returns the type of values of this schema. It is computed only once.
    pub fn implied_type(&self) -> &Type {
        self.implied.get_or_init(|| self.block.implied_type())
    }

    /// Returns whether any attribute is sensitive or write-only. It is computed only once.
    pub fn has_secret(&self) -> bool {
        *self.has_secret.get_or_init(|| self.block.has_secret())
    }
}

/// The contents of a block.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Attributes by name.
    pub attributes: BTreeMap<Str, Attribute>,
    /// Nested blocks by type name.
    pub block_types: BTreeMap<Str, NestedBlock>,
    /// The purpose of the block.
    pub description: Description,
    /// Whether the block is deprecated.
    pub deprecation: Deprecation,
}

/// A description for users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The text.
    pub text: String,
    /// Whether the text is Markdown.
    pub markdown: bool,
}

/// Whether an element of a schema is deprecated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Deprecation {
    /// Not deprecated.
    #[default]
    None,
    /// Deprecated, without a message.
    Deprecated,
    /// Deprecated, with a message that states the reason or an alternative.
    Message(String),
}

impl Deprecation {
    /// Whether the element is deprecated.
    pub fn is_deprecated(&self) -> bool {
        *self != Self::None
    }
}

/// An attribute of a block or of a nested object.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// The type of the attribute's values.
    pub ty: AttributeType,
    /// The purpose of the attribute.
    pub description: Description,
    /// Whether the configuration, the provider or both set the attribute.
    pub setting: Setting,
    /// Whether the attribute's value must not be shown.
    pub sensitive: bool,
    /// Whether the attribute's value exists only in the configuration and is never stored.
    pub write_only: bool,
    /// Whether the attribute is deprecated.
    pub deprecation: Deprecation,
}

/// Whether the configuration, the provider or both set an attribute. The variants are the valid
/// combinations of three flags in the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// The configuration must set the attribute.
    Required,
    /// The configuration may set the attribute.
    Optional,
    /// The configuration may set the attribute; otherwise the provider can set it.
    OptionalComputed,
    /// Only the provider sets the attribute.
    Computed,
}

impl Setting {
    /// Returns the setting for the protocol's flags; `None` if the flags contradict each other.
    pub fn from_flags(required: bool, optional: bool, computed: bool) -> Option<Self> {
        match (required, optional, computed) {
            (true, false, false) => Some(Self::Required),
            (false, true, false) => Some(Self::Optional),
            (false, true, true) => Some(Self::OptionalComputed),
            (false, false, true) => Some(Self::Computed),
            _ => None,
        }
    }

    /// Whether the configuration must set the attribute.
    pub fn is_required(self) -> bool {
        self == Self::Required
    }

    /// Whether the configuration may omit the attribute.
    pub fn is_optional(self) -> bool {
        matches!(self, Self::Optional | Self::OptionalComputed)
    }

    /// Whether the provider may set the attribute.
    pub fn is_computed(self) -> bool {
        matches!(self, Self::Computed | Self::OptionalComputed)
    }

    /// Whether the configuration may set the attribute.
    pub fn is_configurable(self) -> bool {
        self != Self::Computed
    }
}

/// Whether an attribute's value is described by a type or by a nested schema.
#[derive(Clone, Debug)]
pub enum AttributeType {
    /// A value of this type.
    Value(Type),
    /// A structure with a separate schema.
    Nested(Arc<NestedObject>),
}

/// The structure of a nested attribute.
#[derive(Clone, Debug)]
pub struct NestedObject {
    /// Attributes by name.
    pub attributes: BTreeMap<Str, Attribute>,
    /// The collection of the objects.
    pub nesting: ObjectNesting,
}

/// The collection that contains the objects of a nested attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectNesting {
    /// One object.
    Single,
    /// A list.
    List,
    /// A set.
    Set,
    /// A map with string keys.
    Map,
}

/// A nested block type.
#[derive(Clone, Debug)]
pub struct NestedBlock {
    /// The content of each block.
    pub block: Block,
    /// The collection of the blocks.
    pub nesting: BlockNesting,
    /// The minimum number of blocks.
    pub min_items: u64,
    /// The maximum number of blocks, 0 for no limit.
    pub max_items: u64,
}

/// The collection that contains the nested blocks of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockNesting {
    /// At most one block. If it is absent, the value is null.
    Single,
    /// At most one block. If it is absent, the value is an object of empty values.
    Group,
    /// A list.
    List,
    /// A set.
    Set,
    /// A map, with the block's label as the key.
    Map,
}

impl Block {
    /// Returns the type of values of this block. Cost: O(size of the schema).
    pub fn implied_type(&self) -> Type {
        let attributes = self.attributes.iter().map(|(n, a)| (n.clone(), a.implied_type()));
        let blocks = self.block_types.iter().map(|(n, b)| (n.clone(), b.implied_type()));
        Type::object(attributes.chain(blocks))
    }

    /// Returns the value of a block without arguments: attributes are null, and collections of
    /// blocks are empty.
    pub fn empty_value(&self) -> Value {
        let attributes = self.attributes.iter().map(|(n, a)| (n.clone(), Value::null(a.implied_type())));
        let blocks = self.block_types.iter().map(|(n, b)| (n.clone(), b.empty_value()));
        Value::object(attributes.chain(blocks))
    }

    /// Whether any attribute of the block or its nested blocks is sensitive.
    pub fn has_sensitive(&self) -> bool {
        self.attributes.values().any(Attribute::has_sensitive)
            || self.block_types.values().any(|b| b.block.has_sensitive())
    }

    /// Whether any attribute of the block or its nested blocks is sensitive or write-only.
    pub fn has_secret(&self) -> bool {
        self.attributes.values().any(Attribute::has_secret)
            || self.block_types.values().any(|nested| nested.block.has_secret())
    }
}

impl Attribute {
    /// Returns the type of the attribute's values.
    pub fn implied_type(&self) -> Type {
        match &self.ty {
            AttributeType::Value(ty) => ty.clone(),
            AttributeType::Nested(object) => object.implied_type(),
        }
    }

    /// Whether the attribute, or an attribute nested in it, is sensitive.
    pub fn has_sensitive(&self) -> bool {
        self.sensitive
            || match &self.ty {
                AttributeType::Value(_) => false,
                AttributeType::Nested(object) => object.attributes.values().any(Self::has_sensitive),
            }
    }

    /// Whether the attribute, or an attribute nested in it, is sensitive or write-only.
    pub fn has_secret(&self) -> bool {
        self.sensitive
            || self.write_only
            || match &self.ty {
                AttributeType::Value(_) => false,
                AttributeType::Nested(object) => object.attributes.values().any(Self::has_secret),
            }
    }
}

impl NestedObject {
    /// Returns the type of one object.
    pub fn object_type(&self) -> Type {
        Type::object(self.attributes.iter().map(|(n, a)| (n.clone(), a.implied_type())))
    }

    /// Returns the type of the attribute's values.
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
    /// Returns the type of the collection of these blocks. If the type of a nested attribute is
    /// dynamic, the type of a list or map is dynamic as well: the value is then a tuple or an
    /// object.
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

    /// Returns the value if there are no blocks.
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

/// The schemas of all types that a provider serves.
#[derive(Clone, Debug, Default)]
pub struct ProviderSchema {
    /// Capabilities of the provider that are not part of the first version of the protocol.
    pub capabilities: ServerCapabilities,
    /// The schema of the provider's own configuration.
    pub provider: Schema,
    /// The schema of a module's metadata for the provider.
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

/// Capabilities of a provider that are not part of the first version of the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerCapabilities {
    /// The provider plans the destruction of objects.
    pub plan_destroy: bool,
    /// Additional instances of the provider can be used without requesting the schema.
    pub get_provider_schema_optional: bool,
    /// The provider can convert objects of other resource types.
    pub move_resource_state: bool,
    /// The provider can generate a configuration from a state.
    pub generate_resource_config: bool,
}

/// A function of a provider.
#[derive(Clone, Debug)]
pub struct Function {
    /// The parameters in order.
    pub parameters: Vec<Parameter>,
    /// The parameter for all additional arguments.
    pub variadic_parameter: Option<Parameter>,
    /// The type of the result.
    pub return_type: Type,
    /// A one-line summary.
    pub summary: String,
    /// A description of the function's result.
    pub description: Description,
    /// Whether the function is deprecated.
    pub deprecation: Deprecation,
}

impl Function {
    /// Returns the parameter for an argument.
    pub fn parameter(&self, index: usize) -> Option<&Parameter> {
        self.parameters.get(index).or(self.variadic_parameter.as_ref())
    }
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The parameter's name, for documentation.
    pub name: String,
    /// The type to which arguments are converted.
    pub ty: Type,
    /// Whether an argument may be null.
    pub allow_null: bool,
    /// Whether an argument may be unknown.
    pub allow_unknown: bool,
    /// The purpose of the parameter.
    pub description: Description,
}

/// The schema of the identity of a resource type's objects.
#[derive(Clone, Debug)]
pub struct IdentitySchema {
    /// The version, which is independent of the resource schema's version.
    pub version: i64,
    /// Attributes by name.
    pub attributes: BTreeMap<Str, IdentityAttribute>,
}

/// An attribute of a resource identity, with which a provider finds an object.
#[derive(Clone, Debug)]
pub struct IdentityAttribute {
    /// The type: a primitive, or a list of primitives.
    pub ty: Type,
    /// Whether an import by identity must set the attribute.
    pub required_for_import: bool,
    /// Whether an import by identity may set the attribute.
    pub optional_for_import: bool,
    /// The purpose of the attribute.
    pub description: String,
}

impl IdentitySchema {
    /// Returns the type of identities.
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
    fn value_of_absent_block_depends_on_its_nesting() {
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
    fn collections_of_dynamic_blocks_are_dynamic() {
        assert_eq!(nested(BlockNesting::List, Type::Dynamic).implied_type(), Type::Dynamic);
        assert_eq!(nested(BlockNesting::Map, Type::Dynamic).implied_type(), Type::Dynamic);
        assert_eq!(nested(BlockNesting::List, Type::Dynamic).empty_value(), Value::tuple([]));
    }

    #[test]
    fn contradictory_flags_are_rejected() {
        assert_eq!(Setting::from_flags(true, true, false), None);
        assert_eq!(Setting::from_flags(false, false, false), None);
        assert_eq!(Setting::from_flags(false, true, true), Some(Setting::OptionalComputed));
    }
}
