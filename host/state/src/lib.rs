//! The record of existing objects: the state model, the state file in Terraform's format version
//! 4, its lock, and the journal that keeps an apply safe.
//!
//! The crate does not depend on configuration, providers or the engine, and does not write to a
//! terminal. The only files it accesses are the state file and its sidecar files.
//!
//! Invariants: an object's attributes are retained as the text that was stored until a caller
//! decodes them, so unknown content is not lost; a state that cannot be read is an error and is
//! not changed; reading a file never panics, whatever bytes it contains.

mod checks;
mod error;
mod file;
mod format;
mod journal;
mod lock;
mod model;
mod sidecar;

pub use checks::{CheckKind, CheckObject, CheckResult, CheckStatus};
pub use error::{StateError, StateProblem};
pub use file::{BackupRule, Recovery, StateFile, StateFileOptions};
pub use format::{FORMAT_VERSION, decode_state, encode_state};
pub use journal::{Intent, Journal};
pub use lock::{LockError, LockInfo, LockRequest};
pub use model::{
    Attributes, Dependencies, Identity, Instance, Object, ObjectStatus, OutputValue, PrivateBytes,
    ResourceState, State,
};
pub use sidecar::Sidecars;
