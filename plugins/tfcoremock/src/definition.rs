//! What a resource type consists of.

use std::collections::BTreeMap;

use wardian_sdk::{Nesting, Type, Value};

/// A type of resources, and of data sources under the same name. `id` is not part of
/// it: every type has one.
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
    /// What a computed attribute becomes that the configuration does not set; null
    /// if there is nothing here.
    pub(crate) computed_value: Option<Value>,
    pub(crate) description: &'static str,
}

/// What an attribute holds.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A whole number of 64 bits.
    Integer,
    /// A number that fits a double.
    Float,
    /// Anything else without a schema of its own.
    Plain(Type),
    /// Objects whose attributes say of themselves who sets them.
    Nested(Nesting, Attributes),
}

/// Who sets an attribute.
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

/// What a change of an attribute does to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnChange {
    Update,
    Replace,
}

/// A kind of nested block.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) nesting: BlockCollection,
    pub(crate) contents: Contents,
}

/// How the blocks of one kind are collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockCollection {
    List,
    Set,
}

impl Attribute {
    /// An optional attribute.
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

    /// The type of its values.
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
