//! What is known of the objects that exist: the state model, the state file in
//! Terraform's version 4, its lock, and the journal that keeps an apply safe.
//!
//! Knows no configuration, no provider and no engine, and writes to no terminal.
//! The only files it touches are the state file and those beside it.
//!
//! Always holds: an object's attributes are kept as the text they were stored
//! as until somebody decodes them, so that what is not understood is not lost;
//! a state that cannot be read is an error and left untouched; whatever bytes a
//! file holds, reading it never panics.

mod beside;
mod checks;
mod error;
mod file;
mod format;
mod journal;
mod lock;
mod model;

pub use checks::{CheckKind, CheckObject, CheckResult, CheckStatus};
pub use error::{StateError, StateProblem};
pub use file::{BackupRule, Recovery, StateFile, StateFileOptions};
pub use format::{FORMAT_VERSION, decode_state, encode_state};
pub use journal::{Intent, Journal};
pub use lock::{LockError, LockInfo, LockRequest};
pub use model::{
    Attributes, Dependencies, Identity, Instance, Object, ObjectStatus, OutputValue, PrivateBytes, Resource,
    State,
};
