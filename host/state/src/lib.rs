//! Stores states: the state model, the state file in Terraform's format version 4, its lock, and
//! the journal, which preserves the changes of an apply after a crash.
//!
//! The crate does not depend on configuration, providers or the engine, and does not write to a
//! terminal. It accesses only the state file and its sidecar files.
//!
//! Invariants: the attributes of an object are preserved in their stored form until a caller
//! decodes them, so unknown content is not lost; a state that cannot be read causes an error, and
//! the file is not changed; reading never panics for any bytes in the file.

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
pub use lock::{LockError, LockInfo, LockRequest, remove_lock_information};
pub use model::{
    Attributes, Dependencies, Identity, Instance, Object, ObjectStatus, OutputValue, PrivateBytes,
    ResourceState, State,
};
pub use sidecar::Sidecars;
