//! Operations on one object: the calls to its provider, in the order of the life cycle, and the
//! checks of the responses.
//!
//! Operations own their data and do not depend on the graph or the state, so they can run
//! concurrently on any thread. Each operation returns an outcome. Its diagnostics contain the
//! object's address and, if the provider returned it, the attribute's path; the walk that started
//! the operation adds the source span from the configuration.

pub mod action;
pub mod apply;
pub mod data;
pub mod ephemeral;
pub mod forget;
pub mod import;
pub mod list;
pub mod plan;
pub mod provision;
pub mod recording;
pub mod refresh;
mod subject;

pub use subject::{Completion, PersistedMeta, ProgressReporter, Subject, object_id};
