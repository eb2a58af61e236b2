//! Between values of the language and Rust types: serde in both directions,
//! driven by the type that the schema states.

mod attr;
mod convert;
mod error;
mod from_value;
mod object;
mod raw;
mod to_value;

pub use attr::Attr;
pub(crate) use convert::Convert;
pub use convert::Model;
pub use error::ModelError;
pub(crate) use from_value::{Unknowns, from_value};
pub use object::Object;
pub use raw::Raw;
pub(crate) use to_value::to_value;
