//! Converts values to types, and determines the common type of several types.
//!
//! A value is converted to the declared type of its argument. The possible conversions (from rows
//! to columns; `*` fails for some values, `-` is impossible):
//!
//! | from | string | number | bool | list | set | map | object | tuple |
//! |---|---|---|---|---|---|---|---|---|
//! | string | = | * | * | - | - | - | - | - |
//! | number | yes | = | - | - | - | - | - | - |
//! | bool | yes | - | = | - | - | - | - | - |
//! | list | - | - | - | by element | yes | - | - | - |
//! | set | - | - | - | sorted | by element | - | - | - |
//! | map | - | - | - | - | - | by element | * | - |
//! | object | - | - | - | - | - | by attribute | subset | - |
//! | tuple | - | - | - | by element | by element | - | - | same length |
//!
//! A dynamic element type is replaced by the common type of all elements ([`unify`]). Null and
//! unknown values remain null and unknown, with the new type. Marks are preserved.

mod apply;
mod error;
mod possible;
mod unify;

pub use apply::convert;
pub use error::{ConversionError, ConversionProblem};
pub use unify::{unify, unify_values};

#[cfg(test)]
mod tests;
