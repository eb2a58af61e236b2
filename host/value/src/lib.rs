//! Types and values of the Terraform language, in one implementation for host, providers and
//! codecs.
//!
//! A [`Value`] is immutable and cheap to clone; it has a [`Type`], may be null or unknown (with a
//! [`Refinement`]), and has [`Marks`] (sensitive, ephemeral) that operations propagate. The crate
//! performs no I/O, does not depend on providers and does not parse configurations; it compiles for
//! hosts and for guests.
//!
//! Invariants: strings are NFC; sets are sorted and free of duplicates; each element of a
//! collection has exactly the collection's element type; whether a value contains unknown values or
//! marks is determined in constant time.

#![warn(missing_docs)]

mod codec;
pub mod convert;
pub mod duration;
mod graphemes;
pub mod json;
mod mapping;
mod marks;
pub mod msgpack;
mod number;
mod path;
mod refinement;
mod set;
#[cfg(test)]
mod testing;
mod text;
mod type_json;
mod types;
mod value;

pub use codec::{DecodeError, DecodeProblem, EncodeError, EncodeProblem, MAX_DEPTH, MAX_VALUES};
pub use graphemes::{Graphemes, graphemes};
pub use mapping::{Mapping, MappingIter};
pub use marks::Marks;
pub use number::{Number, NumberError};
pub use path::{Path, PathMarks, PathStep};
pub use refinement::{Bound, Refinement};
pub use text::{Str, go_quote};
pub use types::{ObjectType, Type};
pub use value::{Value, View};
