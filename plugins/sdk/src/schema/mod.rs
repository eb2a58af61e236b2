//! Schemas of providers, resources, data sources, ephemeral resources and actions.

mod attribute;
mod block;
mod derived;
mod wire;

use wardian_value::Type;

use crate::validate::Validator;

pub use attribute::{Attribute, Nesting};
pub(crate) use attribute::{Default as DefaultValue, Deprecation, Shape};
pub use block::{Block, BlockNesting};
pub use derived::{AttributeShape, AttributeType, BlockType, Equality, HasSchema};
pub(crate) use wire::{deprecation, description, schema_record};

/// A schema: attributes and nested blocks, with a version for stored states.
///
/// ```
/// use wardian_sdk::{Attribute, Block, Schema};
///
/// let schema = Schema::new()
///     .description("A server.")
///     .attribute(Attribute::string("name").required().force_new())
///     .attribute(Attribute::string("id").computed().use_state_for_unknown())
///     .block(Block::list("disk").max(4).attribute(Attribute::integer("size").required()));
/// # assert_eq!(schema.version_number(), 0);
/// ```
#[derive(Debug, Default)]
pub struct Schema {
    version: i64,
    pub(crate) root: Root,
    /// Changes that had no effect.
    pub(crate) mistakes: Vec<String>,
}

/// The contents of a schema or block.
#[derive(Debug, Default)]
pub(crate) struct Root {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) description: String,
    pub(crate) deprecation: Deprecation,
    pub(crate) validators: Vec<Validator>,
}

impl Schema {
    /// Creates a schema of version 0 without attributes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the version with which states are stored. Increase it and add a
    /// [`crate::StateUpgrader`] if stored states must be converted.
    #[must_use]
    pub fn version(mut self, version: i64) -> Self {
        self.version = version;
        self
    }

    /// Sets the description, in Markdown.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.root.description = text.into();
        self
    }

    /// Marks the schema as deprecated. The text should name the alternative.
    #[must_use]
    pub fn deprecated(mut self, text: impl Into<String>) -> Self {
        self.root.deprecation = Deprecation::Message(text.into());
        self
    }

    /// Adds a validator of the complete configuration; see [`crate::validate::paths`].
    ///
    /// ```
    /// use wardian_sdk::{Attribute, Schema, validate};
    ///
    /// let schema = Schema::new()
    ///     .attribute(Attribute::string("token").sensitive())
    ///     .attribute(Attribute::string("token_file"))
    ///     .validate(validate::paths::exactly_one_of(["token", "token_file"]));
    /// ```
    #[must_use]
    pub fn validate(mut self, validator: Validator) -> Self {
        self.root.validators.push(validator);
        self
    }

    /// Adds an attribute.
    #[must_use]
    pub fn attribute(mut self, attribute: Attribute) -> Self {
        self.root.attributes.push(attribute);
        self
    }

    /// Adds attributes.
    #[must_use]
    pub fn attributes(mut self, attributes: impl IntoIterator<Item = Attribute>) -> Self {
        self.root.attributes.extend(attributes);
        self
    }

    /// Adds a nested block type.
    #[must_use]
    pub fn block(mut self, block: Block) -> Self {
        self.root.blocks.push(block);
        self
    }

    /// Returns the version with which states are stored.
    pub fn version_number(&self) -> i64 {
        self.version
    }

    /// Returns the type of the schema's values.
    pub fn ty(&self) -> Type {
        self.root.ty()
    }
}

impl Root {
    pub(crate) fn ty(&self) -> Type {
        let attributes = self.attributes.iter().map(|a| (a.name.as_str(), a.ty()));
        let blocks = self.blocks.iter().map(|b| (b.name.as_str(), b.ty()));
        Type::object(attributes.chain(blocks))
    }
}
