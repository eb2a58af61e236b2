//! A value that may be null or not known yet.

use serde::{Deserialize, Serialize};

pub(crate) const ATTR: &str = "$wardian::Attr";

/// A value that may be null or not known yet, for fields of a state.
///
/// `Option<T>` suffices where a value is never unknown, and in `create` and
/// `update`, where an unknown value is one that the operation has to find: there
/// it arrives as `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename = "$wardian::Attr")]
pub enum Attr<T> {
    /// Null: not set.
    #[default]
    Null,
    /// To be known later.
    Unknown,
    /// Known and not null.
    Known(T),
}

impl<T> Attr<T> {
    /// Whether this is null.
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether this is not known yet.
    pub const fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown)
    }

    /// The value where there is one.
    pub const fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            _ => None,
        }
    }

    /// The value where there is one.
    pub fn into_known(self) -> Option<T> {
        match self {
            Self::Known(value) => Some(value),
            _ => None,
        }
    }

    /// The value, or another one where this is null or unknown.
    pub fn known_or(self, other: T) -> T {
        self.into_known().unwrap_or(other)
    }

    /// A view of the value.
    pub const fn as_ref(&self) -> Attr<&T> {
        match self {
            Self::Null => Attr::Null,
            Self::Unknown => Attr::Unknown,
            Self::Known(value) => Attr::Known(value),
        }
    }

    /// The value changed, where there is one.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Attr<U> {
        match self {
            Self::Null => Attr::Null,
            Self::Unknown => Attr::Unknown,
            Self::Known(value) => Attr::Known(change(value)),
        }
    }
}

impl<T> From<T> for Attr<T> {
    fn from(value: T) -> Self {
        Self::Known(value)
    }
}

impl<T> From<Option<T>> for Attr<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Self::Known)
    }
}
