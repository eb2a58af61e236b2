//! What is known about an unknown value.

use crate::{Number, Str};

/// A bound of an unknown number.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The bound itself.
    pub value: Number,
    /// Whether the number may equal it.
    pub inclusive: bool,
}

/// Facts about an unknown value. The default states nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Refinement {
    /// The value is certainly not null.
    pub not_null: bool,
    /// A string starts so.
    pub prefix: Option<Str>,
    /// A number is not below.
    pub lower: Option<Bound>,
    /// A number is not above.
    pub upper: Option<Bound>,
    /// A collection has at least so many elements.
    pub min_length: Option<usize>,
    /// A collection has at most so many elements.
    pub max_length: Option<usize>,
}

impl Refinement {
    /// Only that the value is not null.
    pub fn not_null() -> Self {
        Self { not_null: true, ..Self::default() }
    }

    /// Whether nothing is stated.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
