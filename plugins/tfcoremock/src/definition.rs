//! Defines the contents of resource types.

use std::collections::BTreeMap;

use wardian_sdk::{Nesting, Type, Value};

/// The definition of a resource type, and of the data source type with the same name. It does not
/// contain `id`, which every type has.
#[derive(Debug, Default)]
pub(crate) struct Definition {
    pub(crate) description: &'static str,
    pub(crate) contents: Contents,
}

/// The contents of a type or block.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) attributes: Attributes,
    pub(crate) blocks: BTreeMap<String, Block>,
}

pub(crate) type Attributes = BTreeMap<String, Attribute>;

/// An attribute of a type, a block or a nested object.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) kind: Kind,
    pub(crate) presence: Presence,
    pub(crate) visibility: Visibility,
    pub(crate) on_change: OnChange,
    /// The value of a computed attribute that the configuration does not set; null by default.
    pub(crate) computed_value: Option<Value>,
    pub(crate) description: &'static str,
}

/// The kind of value that an attribute has.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A 64-bit integer.
    Integer,
    /// A number that a double can represent.
    Float,
    /// Any other type without nested definitions.
    Plain(Type),
    /// Objects whose attributes have separate definitions.
    Nested(Nesting, Attributes),
}

/// Whether the configuration or the provider sets an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Required,
    Optional,
    Computed,
    OptionalComputed,
}

/// Whether an attribute's value is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    Shown,
    Sensitive,
}

/// The effect of changing an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnChange {
    Update,
    Replace,
}

/// A nested block type.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) nesting: BlockCollection,
    pub(crate) contents: Contents,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockCollection {
    List,
    Set,
}

impl Attribute {
    /// Creates an optional attribute.
    pub(crate) fn optional(kind: Kind) -> Self {
        Self {
            kind,
            presence: Presence::Optional,
            visibility: Visibility::Shown,
            on_change: OnChange::Update,
            computed_value: None,
            description: "",
        }
    }

    /// Returns the type of the attribute's values.
    pub(crate) fn ty(&self) -> Type {
        match &self.kind {
            Kind::Integer | Kind::Float => Type::Number,
            Kind::Plain(ty) => ty.clone(),
            Kind::Nested(nesting, attributes) => {
                let object = Type::object(attributes.iter().map(|(name, one)| (name.as_str(), one.ty())));
                match nesting {
                    Nesting::Single => object,
                    Nesting::List => Type::list(object),
                    Nesting::Set => Type::set(object),
                    Nesting::Map => Type::map(object),
                }
            }
        }
    }
}
