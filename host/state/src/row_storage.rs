//! The interface of a storage that keeps the rows of a state separately, so that several runs can
//! change different objects at the same time.
//!
//! A run has a lease, which the storage renews while the run lasts. A run locks the rows that it
//! writes and the resources that it reads before it changes anything. Every write checks that the
//! lease has not ended: a run that has lost its lease, because its process was suspended or the
//! network failed, cannot write again.
//!
//! Before a request is sent to a provider, the storage records that it has begun. If the run is
//! interrupted, other runs can use all rows except those with requests whose results are not known.

use std::collections::BTreeSet;
use std::fmt;

use async_trait::async_trait;

use crate::error::StateError;
use crate::lock::LockInfo;
use crate::rows::{RowKey, StateRow, StateRows};

/// The ID of a run in a storage, which is never used again.
pub type RunId = u64;

/// The rows that a run locks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowLocks {
    /// The rows that may change.
    pub write: BTreeSet<RowKey>,
    /// The addresses of resources. All their rows are read, including those that do not exist.
    pub read: BTreeSet<String>,
}

/// A row that prevents a run from continuing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowConflict {
    pub key: RowKey,
    pub reason: ConflictReason,
    /// The other run.
    pub holder: LockInfo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictReason {
    /// Another run has locked the row.
    Locked,
    /// An interrupted run has sent a request for the row to a provider, and its result is not known.
    Interrupted,
    /// Another run has changed the row after it was read.
    Changed,
}

/// Rows could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum RowLockError {
    #[error("{} cannot be locked", conflicts.iter().map(|conflict| conflict.key.to_string()).collect::<Vec<_>>().join(", "))]
    Conflicts {
        /// At least one conflict, sorted.
        conflicts: Vec<RowConflict>,
    },
    #[error(transparent)]
    Storage(#[from] StateError),
}

impl RowLockError {
    /// Returns whether all conflicts are rows that have changed. A new plan can then succeed.
    pub fn is_stale(&self) -> bool {
        matches!(self, Self::Conflicts { conflicts } if conflicts.iter().all(|c| c.reason == ConflictReason::Changed))
    }
}

/// Changes that are stored in one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowBatch {
    /// The rows for which requests are about to be sent to providers, with the actions.
    pub begun: Vec<(RowKey, String)>,
    /// The new rows.
    pub set: Vec<StateRow>,
    pub removed: Vec<RowKey>,
    pub lineage: String,
    pub terraform_version: String,
    /// The minimum of the new serial. A new version is created even if no row changes, unless this is
    /// zero.
    pub least_serial: u64,
}

/// The locks of an interrupted run that another run has taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenOver {
    /// The rows for which requests had been sent to providers, or which were locked when the run was
    /// interrupted.
    pub rows: BTreeSet<RowKey>,
    /// Whether somebody had released the locks of the run.
    pub was_ended: bool,
}

/// A version of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateVersion {
    pub serial: u64,
    pub operation: String,
    pub who: String,
    /// The time, in RFC 3339 format.
    pub created: String,
    /// The number of rows that were added or replaced.
    pub set: u64,
    /// The number of rows that were removed or replaced.
    pub ended: u64,
}

/// Stores the rows of one state.
#[async_trait]
pub trait RowStorage: fmt::Debug + Send + Sync {
    /// Returns the rows of the newest state, or of the state with a serial; [`None`] if there is none.
    ///
    /// # Errors
    /// Returns an error if the rows cannot be read.
    async fn read_rows(&self, serial: Option<u64>) -> Result<Option<StateRows>, StateError>;

    /// Returns the run that holds the storage's lock.
    fn run(&self) -> Option<RunId>;

    /// Locks rows for the run, if none of them has changed after `base`, the serial that was read.
    ///
    /// # Errors
    /// Returns all conflicts; nothing is locked in this case.
    async fn lock_rows(&self, locks: &RowLocks, base: u64) -> Result<(), RowLockError>;

    /// Stores changes in one transaction. All rows must be locked. Returns the serial of the state.
    ///
    /// # Errors
    /// Returns an error if the storage has not confirmed the transaction, or the run has lost its
    /// lease.
    async fn store_rows(&self, batch: &RowBatch) -> Result<u64, StateError>;

    /// Takes the locks of an interrupted run, whose changes this run then stores.
    ///
    /// # Errors
    /// Returns an error if the storage has not confirmed it.
    async fn take_over(&self, interrupted: RunId) -> Result<TakenOver, StateError>;

    /// Notes that the changes of all interrupted runs are stored.
    ///
    /// # Errors
    /// Returns an error if the storage has not confirmed it.
    async fn end_recovery(&self) -> Result<(), StateError>;

    /// Returns the versions of the state, the newest first.
    ///
    /// # Errors
    /// Returns an error if the versions cannot be read.
    async fn versions(&self, limit: usize) -> Result<Vec<StateVersion>, StateError>;
}
