//! Nested blocks of a schema.

use wardian_value::{Type, Value};

use super::attribute::Deprecation;
use super::{Attribute, Root};
use crate::validate::Validator;

/// A kind of nested block. New designs mostly want nested attributes; blocks
/// are for what existing configurations write as blocks.
#[derive(Debug)]
pub struct Block {
    pub(crate) name: String,
    pub(crate) nesting: BlockNesting,
    pub(crate) contents: Root,
    pub(crate) min: u64,
    pub(crate) max: u64,
    pub(crate) force_new: bool,
    pub(crate) validators: Vec<Validator>,
}

/// How nested blocks of one kind are collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockNesting {
    /// At most one; null where absent.
    Single,
    /// At most one; an object of nulls where absent.
    Group,
    /// A list.
    List,
    /// A set.
    Set,
    /// By one label.
    Map,
}

impl Block {
    /// At most one block; null where it is absent.
    pub fn single(name: impl Into<String>) -> Self {
        Self::new(name.into(), BlockNesting::Single)
    }

    /// At most one block; an object of nulls where it is absent.
    pub fn group(name: impl Into<String>) -> Self {
        Self::new(name.into(), BlockNesting::Group)
    }

    /// Blocks in order.
    pub fn list(name: impl Into<String>) -> Self {
        Self::new(name.into(), BlockNesting::List)
    }

    /// Blocks without order.
    pub fn set(name: impl Into<String>) -> Self {
        Self::new(name.into(), BlockNesting::Set)
    }

    /// Blocks by label.
    pub fn map(name: impl Into<String>) -> Self {
        Self::new(name.into(), BlockNesting::Map)
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
        }
    }

    /// The least number of blocks.
    #[must_use]
    pub fn min(mut self, min: u64) -> Self {
        self.min = min;
        self
    }

    /// The greatest number of blocks.
    #[must_use]
    pub fn max(mut self, max: u64) -> Self {
        self.max = max;
        self
    }

    /// A single block that must be there.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.min = 1;
        self
    }

    /// What it is for, in Markdown.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.contents.description = text.into();
        self
    }

    /// It should no longer be used; the text says what to do instead.
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

    /// Adds a kind of block inside this one.
    #[must_use]
    pub fn block(mut self, block: Self) -> Self {
        self.contents.blocks.push(block);
        self
    }

    /// Any change of it replaces the object.
    #[must_use]
    pub fn force_new(mut self) -> Self {
        self.force_new = true;
        self
    }

    /// A check of the blocks as a whole; see [`crate::validate`].
    #[must_use]
    pub fn validate(mut self, validator: Validator) -> Self {
        self.validators.push(validator);
        self
    }

    /// The type of the collection of these blocks. Lists and maps are dynamic (a
    /// tuple or an object at run time) where anything below is.
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

    /// The value where there is no such block.
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
    /// The value in which nothing is set: attributes null, collections of blocks
    /// empty.
    pub(crate) fn empty_value(&self) -> Value {
        let attributes = self.attributes.iter().map(|a| (a.name.as_str(), Value::null(a.ty())));
        let blocks = self.blocks.iter().map(|b| (b.name.as_str(), b.empty_value()));
        Value::object(attributes.chain(blocks))
    }
}
