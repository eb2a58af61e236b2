//! Implements the protocol's rules for objects: computes proposed new states and checks providers'
//! responses. The rules are defined by the provider life cycle of plugin protocol 6, and do not
//! depend on the graph or the state.
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
