//! Values that can be null or unknown.

use serde::{Deserialize, Serialize};

pub(crate) const ATTR: &str = "$wardian::Attr";

/// A value that can be null or unknown, for a field of a state.
///
/// `Option<T>` is sufficient if a value is never unknown. It is also sufficient in `create` and
/// `update`, since an unknown value is a value that these operations must compute, and is passed as
/// `None`.
///
/// ```
/// use wardian_sdk::Attr;
///
/// let name = Attr::Known("web");
/// assert_eq!(name.known(), Some(&"web"));
/// assert_eq!(Attr::Unknown.known_or("later"), "later");
/// assert!(Attr::<i64>::from(None).is_null());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename = "$wardian::Attr")]
pub enum Attr<T> {
    /// Null: the attribute is not set.
    #[default]
    Null,
    /// Unknown until the apply.
    Unknown,
    /// Known and not null.
    Known(T),
}

impl<T> Attr<T> {
    /// Returns whether the value is null.
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Returns whether the value is unknown.
    pub const fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown)
    }

    /// Returns the value if it is known and not null.
    pub const fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the value if it is known and not null.
    pub fn into_known(self) -> Option<T> {
        match self {
            Self::Known(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the value, or `other` if the value is null or unknown.
    pub fn known_or(self, other: T) -> T {
        self.into_known().unwrap_or(other)
    }

    /// Returns a reference to the value.
    pub const fn as_ref(&self) -> Attr<&T> {
        match self {
            Self::Null => Attr::Null,
            Self::Unknown => Attr::Unknown,
            Self::Known(value) => Attr::Known(value),
        }
    }

    /// Applies a function to the value if it is known and not null.
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
