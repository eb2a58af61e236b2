//! The protocol's rules for objects, which are independent of the graph and the state: computing
//! proposed objects, and checking a provider's responses. The rules are those of the provider life
//! cycle in plugin protocol 6.
//!
//! The functions are pure: they use only values and schemas, and do not call a provider.

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
