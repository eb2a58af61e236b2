//! Converts between values and Rust types with serde, according to the type of the schema.

mod attr;
mod convert;
mod dynamic;
mod error;
mod from_value;
mod object;
mod to_value;

pub use attr::Attr;
pub(crate) use convert::Convert;
pub use convert::{ConfigModel, Model};
pub use dynamic::Dynamic;
pub use error::ModelError;
pub(crate) use from_value::{Unknowns, from_value};
pub use object::Object;
pub(crate) use to_value::to_value;
