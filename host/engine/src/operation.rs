//! What is done to one object: the calls to its provider, in the order of the
//! life cycle, and the checks of the answers.
//!
//! Operations own all that they need and know neither graph nor state: they run
//! concurrently, on any thread, and hand back an outcome. Diagnostics carry the
//! object's address and, where the provider names one, the attribute's path; who
//! started the operation knows the configuration and adds the place in the text.

pub mod apply;
pub mod data;
pub mod ephemeral;
pub mod forget;
pub mod import;
pub mod plan;
pub mod provision;
pub mod refresh;
mod subject;

pub use subject::{Ended, Replan, Subject, Telling, object_id};
