//! Manages states: the state model, Terraform's state format version 4, state files with their
//! locks, and the journal, which preserves the changes of an apply after a crash.
//!
//! A [`StateManager`] reads and writes a state in a [`StateStorage`]. This crate implements the
//! storage in local files; `wardian-backend` implements the others.
//!
//! The crate does not depend on configuration, providers or the engine, and does not write to a
//! terminal. It accesses only state files and their sidecar files.
//!
//! Invariants: the attributes of an object are preserved in their stored form until a caller
//! decodes them, so unknown content is not lost; a state that cannot be read causes an error, and
//! the file is not changed; reading never panics for any bytes in the file.

mod checks;
mod encryption;
mod error;
mod format;
mod held_locks;
mod interim;
mod journal;
mod local;
mod lock;
mod manager;
mod model;
mod row_run;
mod row_storage;
mod rows;
mod sidecar;
mod storage;

pub use checks::{CheckKind, CheckObject, CheckResult, CheckStatus};
pub use encryption::{Decrypted, EncryptionFailure, RecordCipher, StateEncryption, StateIdentity};
pub use error::{StateError, StateProblem};
pub use format::{FORMAT_VERSION, StateOutline, decode_state, encode_state, read_outline};
pub use held_locks::release_locks;
pub use interim::{InterimState, InterimWrite};
pub use journal::{Intent, Journal};
pub use local::{BackupRule, LocalStorage};
pub use lock::{LockError, LockInfo, LockRequest, remove_lock_information};
pub use manager::{Recovery, StateFileOptions, StateManager, StateManagerOptions};
pub use model::{
    Attributes, Dependencies, Identity, Instance, Object, ObjectStatus, OutputValue, PrivateBytes,
    ResourceState, State,
};
pub use row_run::RowRun;
pub use row_storage::{
    ConflictReason, RowBatch, RowConflict, RowLockError, RowLocks, RowStorage, RunId, StateVersion, TakenOver,
};
pub use rows::{RowChanges, RowKey, RowKind, StateRow, StateRows};
pub use sidecar::Sidecars;
pub use storage::{StateContent, StateStorage, StorageEffect, StorageError, StorageVersion, StoredState};
