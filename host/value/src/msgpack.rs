//! Encodes and decodes values as MessagePack, the encoding for plugin calls and plan files.
//!
//! The type determines the encoding. The plugin protocol defines it as follows:
//!
//! | value | bytes |
//! |---|---|
//! | unknown | extension `d4 00 00`; with a refinement, extension 12, which contains a map |
//! | null | nil |
//! | bool, string | bool, str |
//! | number | the smallest integer type that can represent it, otherwise a double if it is exact, otherwise decimal text |
//! | list, set, tuple | array |
//! | map, object | map with sorted keys and all attributes |
//! | any value of dynamic type | array of the type as JSON (bin) and the value |

mod decode;
mod encode;
mod refinement;

pub use crate::codec::{DecodeError, DecodeProblem, EncodeError, EncodeProblem};
pub use decode::decode;
pub use encode::{encode, encode_into};

#[cfg(test)]
mod tests;
