//! What the protocol demands of objects, independent of graph and state: how a
//! proposed object is made, and what a provider's answers are held against.
//! Rules: the provider life cycle of plugin protocol 6.
//!
//! Pure functions over values and schemas; nothing here calls a provider.

pub mod compatible;
pub mod conforming;
pub mod ephemeral;
pub mod ignored;
pub mod legacy;
pub mod plan_valid;
pub mod proposed;
pub mod replace_paths;
pub mod sensitive;
pub mod stale_attributes;
pub mod write_only;
