//! Encodes and decodes values as JSON.

mod decode;
mod encode;
mod fit;
pub(crate) mod reader;
mod simple;
pub(crate) mod writer;

pub use crate::codec::{DecodeError, DecodeProblem, EncodeError, EncodeProblem};
pub use decode::decode;
pub use encode::{encode, encode_into, to_json_value};
pub use fit::{Fit, fit};
pub use simple::{decode_simple, encode_simple, implied_type};
pub use writer::Escapes;

#[cfg(test)]
mod tests;
