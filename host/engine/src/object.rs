//! The protocol's rules for objects, independent of graph and state: the computation of proposed
//! objects and the checks of a provider's responses. The rules are those of the provider life
//! cycle in plugin protocol 6.
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
