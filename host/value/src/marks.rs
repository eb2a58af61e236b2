//! Marks: labels on values. Every operation propagates them, and they are never encoded in messages
//! or files.

use std::ops::{BitOr, BitOrAssign};

/// The set of marks on a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Marks(u8);

impl Marks {
    /// No marks.
    pub const NONE: Self = Self(0);
    /// The mark of a value that must not be displayed.
    pub const SENSITIVE: Self = Self(1);
    /// The mark of a value that must not be stored in a state or plan.
    pub const EPHEMERAL: Self = Self(2);

    /// Returns true if the set contains no marks.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns true if `self` contains all marks of `other`.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns true if the set contains [`Marks::SENSITIVE`].
    pub const fn is_sensitive(self) -> bool {
        self.contains(Self::SENSITIVE)
    }

    /// Returns true if the set contains [`Marks::EPHEMERAL`].
    pub const fn is_ephemeral(self) -> bool {
        self.contains(Self::EPHEMERAL)
    }

    /// Returns the marks of `self` that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the union of `self` and `other`.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOr for Marks {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

impl BitOrAssign for Marks {
    fn bitor_assign(&mut self, other: Self) {
        *self = self.union(other);
    }
}
