//! Nested blocks of a schema.

use wardian_value::{Type, Value};

use super::attribute::Deprecation;
use super::derived::{BlockType, HasSchema as _};
use super::{Attribute, Root};
use crate::validate::Validator;

/// A nested block type. Nested attributes are preferred in new schemas; blocks are for
/// compatibility with existing configurations.
#[derive(Debug)]
pub struct Block {
    pub(crate) name: String,
    pub(crate) nesting: BlockNesting,
    pub(crate) contents: Root,
    pub(crate) min: u64,
    pub(crate) max: u64,
    pub(crate) force_new: bool,
    pub(crate) validators: Vec<Validator>,
    pub(crate) mistakes: Vec<String>,
}

/// The collection that contains the blocks of a block type.
///
/// ```
/// use wardian_sdk::{BlockNesting, BlockType, Schema};
///
/// #[derive(Schema)]
/// #[schema(nested)]
/// struct Disk {
///     size: i64,
/// }
///
/// assert_eq!(<Vec<Disk> as BlockType>::NESTING, BlockNesting::List);
/// assert_eq!(<Option<Disk> as BlockType>::NESTING, BlockNesting::Single);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockNesting {
    /// At most one block; null if it is absent.
    Single,
    /// At most one block; if it is absent, an object with null attributes.
    Group,
    /// A list.
    List,
    /// A set.
    Set,
    /// A map, with the block's label as the key.
    Map,
}

impl Block {
    /// Creates a block type with at most one block; null if it is absent.
    pub fn single(name: impl Into<String>) -> Self {
        Self::new(name.into(), BlockNesting::Single)
    }

    /// Creates a block type with at most one block; if it is absent, an object with null
    /// attributes.
    pub fn group(name: impl Into<String>) -> Self {
        Self::new(name.into(), BlockNesting::Group)
    }

    /// Creates a block type with a list of blocks.
    pub fn list(name: impl Into<String>) -> Self {
        Self::new(name.into(), BlockNesting::List)
    }

    /// Creates a block type with a set of blocks.
    pub fn set(name: impl Into<String>) -> Self {
        Self::new(name.into(), BlockNesting::Set)
    }

    /// Creates a block type with a map of blocks, by label.
    pub fn map(name: impl Into<String>) -> Self {
        Self::new(name.into(), BlockNesting::Map)
    }

    /// Creates a block type for a field of type `T`, as `#[derive(Schema)]` does.
    ///
    /// ```
    /// use serde::{Deserialize, Serialize};
    /// use wardian_sdk::{Block, Schema};
    ///
    /// #[derive(Serialize, Deserialize, Schema)]
    /// struct Rule {
    ///     port: u16,
    /// }
    ///
    /// let rules = Block::for_type::<Vec<Rule>>("rule").max(10);
    /// ```
    pub fn for_type<T: BlockType>(name: impl Into<String>) -> Self {
        let schema = T::Contents::schema();
        let block =
            Self { contents: schema.root, mistakes: schema.mistakes, ..Self::new(name.into(), T::NESTING) };
        if T::IS_REQUIRED { block.required() } else { block }
    }

    /// Converts a block type with a list of blocks to one with a set of blocks.
    ///
    /// ```
    /// use wardian_sdk::Block;
    ///
    /// let rules = Block::list("rule").into_set();
    /// ```
    #[must_use]
    pub fn into_set(mut self) -> Self {
        self.nesting = BlockNesting::Set;
        self
    }

    /// Converts a block type with at most one block to one that is an object with null attributes
    /// if the block is absent.
    ///
    /// ```
    /// use wardian_sdk::Block;
    ///
    /// let options = Block::single("options").into_group();
    /// ```
    #[must_use]
    pub fn into_group(mut self) -> Self {
        self.nesting = BlockNesting::Group;
        self.min = 0;
        self
    }

    fn new(name: String, nesting: BlockNesting) -> Self {
        Self {
            name,
            nesting,
            contents: Root::default(),
            min: 0,
            max: 0,
            force_new: false,
            validators: Vec::new(),
            mistakes: Vec::new(),
        }
    }

    /// Sets the minimum number of blocks.
    #[must_use]
    pub fn min(mut self, min: u64) -> Self {
        self.min = min;
        self
    }

    /// Sets the maximum number of blocks.
    #[must_use]
    pub fn max(mut self, max: u64) -> Self {
        self.max = max;
        self
    }

    /// Requires one block.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.min = 1;
        self
    }

    /// Sets the description, in Markdown.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.contents.description = text.into();
        self
    }

    /// Marks the block as deprecated. The text should name the alternative.
    #[must_use]
    pub fn deprecated(mut self, text: impl Into<String>) -> Self {
        self.contents.deprecation = Deprecation::Message(text.into());
        self
    }

    /// Adds an attribute.
    #[must_use]
    pub fn attribute(mut self, attribute: Attribute) -> Self {
        self.contents.attributes.push(attribute);
        self
    }

    /// Adds attributes.
    #[must_use]
    pub fn attributes(mut self, attributes: impl IntoIterator<Item = Attribute>) -> Self {
        self.contents.attributes.extend(attributes);
        self
    }

    /// Adds a block type nested in this block type.
    #[must_use]
    pub fn block(mut self, block: Self) -> Self {
        self.contents.blocks.push(block);
        self
    }

    /// Requires that any change to the blocks replaces the object.
    #[must_use]
    pub fn force_new(mut self) -> Self {
        self.force_new = true;
        self
    }

    /// Adds a validator for the collection of blocks; see [`crate::validate`].
    #[must_use]
    pub fn validate(mut self, validator: Validator) -> Self {
        self.validators.push(validator);
        self
    }

    /// Returns the type of the collection of blocks. The type of a list or map is dynamic (a tuple
    /// or an object at run time) if the type of any nested attribute is dynamic.
    pub(crate) fn ty(&self) -> Type {
        let element = self.contents.ty();
        match self.nesting {
            BlockNesting::Single | BlockNesting::Group => element,
            BlockNesting::Set => Type::set(element),
            BlockNesting::List | BlockNesting::Map if element.has_dynamic() => Type::Dynamic,
            BlockNesting::List => Type::list(element),
            BlockNesting::Map => Type::map(element),
        }
    }

    /// Returns the value for a configuration without such a block.
    pub(crate) fn empty_value(&self) -> Value {
        let element = self.contents.ty();
        match self.nesting {
            BlockNesting::Single => Value::null(element),
            BlockNesting::Group => self.contents.empty_value(),
            BlockNesting::Set => Value::set(element, []),
            BlockNesting::List if element.has_dynamic() => Value::tuple([]),
            BlockNesting::Map if element.has_dynamic() => Value::empty_object(),
            BlockNesting::List => Value::list(element, []),
            BlockNesting::Map => Value::map(element, []),
        }
    }
}

impl Root {
    /// Returns the value of an empty configuration: attributes are null, and collections of blocks
    /// are empty.
    pub(crate) fn empty_value(&self) -> Value {
        let attributes = self.attributes.iter().map(|a| (a.name.as_str(), Value::null(a.ty())));
        let blocks = self.blocks.iter().map(|b| (b.name.as_str(), b.empty_value()));
        Value::object(attributes.chain(blocks))
    }
}
