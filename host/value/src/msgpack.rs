//! Values as MessagePack, the encoding for plugin calls and plan files.
//!
//! A type determines how bytes are written and read, as the plugin protocol defines it:
//!
//! | value | bytes |
//! |---|---|
//! | unknown | extension `d4 00 00`; with facts, extension 12 holding a map of them |
//! | null | nil |
//! | bool, string | bool, str |
//! | number | the smallest integer that holds it, else a double that equals it, else its decimal text |
//! | list, set, tuple | array |
//! | map, object | map, keys sorted, all attributes |
//! | any value of dynamic type | array of the type as JSON (bin) and the value |

mod decode;
mod encode;
mod refinement;

pub use crate::codec::{DecodeError, DecodeProblem, EncodeError, EncodeProblem};
pub use decode::decode;
pub use encode::{encode, encode_into};

#[cfg(test)]
mod tests;
