//! Refinements: partial knowledge about unknown values.

use crate::{Number, Str, Value, View};

/// A bound of an unknown number.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The bound itself.
    pub value: Number,
    /// True if the number may be equal to the bound.
    pub inclusive: bool,
}

/// Partial knowledge about an unknown value. The default is no knowledge.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Refinement {
    /// Whether the value is known not to be null.
    pub not_null: bool,
    /// The prefix of the string.
    pub prefix: Option<Str>,
    /// The lower bound of the number.
    pub lower: Option<Bound>,
    /// The upper bound of the number.
    pub upper: Option<Bound>,
    /// The minimum number of elements of the collection.
    pub min_length: Option<usize>,
    /// The maximum number of elements of the collection.
    pub max_length: Option<usize>,
}

impl Refinement {
    /// Returns the refinement that only states that the value is not null.
    pub fn not_null() -> Self {
        Self { not_null: true, ..Self::default() }
    }

    /// Returns true if the unknown value cannot be `value`. `value` must be known, but may contain
    /// unknown values.
    pub fn excludes(&self, value: &Value) -> bool {
        let length_excluded = |length: usize| {
            self.min_length.is_some_and(|min| length < min) || self.max_length.is_some_and(|max| length > max)
        };
        match value.view() {
            View::Null => self.not_null,
            View::String(text) => self.prefix.as_ref().is_some_and(|prefix| !text.starts_with(&**prefix)),
            View::Number(number) => {
                let below = self.lower.as_ref().is_some_and(|lower| {
                    *number < lower.value || (!lower.inclusive && *number == lower.value)
                });
                let above = self.upper.as_ref().is_some_and(|upper| {
                    *number > upper.value || (!upper.inclusive && *number == upper.value)
                });
                below || above
            }
            View::List(elements) => length_excluded(elements.len()),
            View::Map(elements) => length_excluded(elements.len()),
            View::Set(elements) => value.is_wholly_known() && length_excluded(elements.len()),
            View::Unknown | View::Bool(_) | View::Tuple(_) | View::Object(_) => false,
        }
    }

    /// Returns the knowledge that both refinements have in common, for a choice between two values
    /// that is not known yet.
    #[must_use]
    pub fn either(&self, other: &Self) -> Self {
        let bound = |a: &Option<Bound>, b: &Option<Bound>, wider: std::cmp::Ordering| {
            let (a, b) = (a.as_ref()?, b.as_ref()?);
            Some(match a.value.cmp(&b.value) {
                std::cmp::Ordering::Equal => {
                    Bound { value: a.value.clone(), inclusive: a.inclusive || b.inclusive }
                }
                order if order == wider => a.clone(),
                _ => b.clone(),
            })
        };
        let prefix = self.prefix.as_ref().zip(other.prefix.as_ref()).and_then(|(a, b)| {
            let common = a.char_indices().zip(b.chars()).take_while(|((_, a), b)| a == b);
            let end = common.last().map_or(0, |((at, character), _)| at + character.len_utf8());
            (end > 0).then(|| Str::new(&a[..end]))
        });
        Self {
            not_null: self.not_null && other.not_null,
            prefix,
            lower: bound(&self.lower, &other.lower, std::cmp::Ordering::Less),
            upper: bound(&self.upper, &other.upper, std::cmp::Ordering::Greater),
            min_length: self.min_length.zip(other.min_length).map(|(a, b)| a.min(b)),
            max_length: self.max_length.zip(other.max_length).map(|(a, b)| a.max(b)),
        }
    }

    /// Returns true if the refinement contains no knowledge.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
