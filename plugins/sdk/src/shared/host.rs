//! The shared memory in the sandbox: `wardian:plugin/shared`.

use super::{Expectation, SharedError};
use crate::bindings::wardian::plugin::shared;

pub(super) struct HeldLock(shared::HeldLock);

fn expectation(expected: Expectation) -> shared::Expectation {
    match expected {
        Expectation::Any => shared::Expectation::Any,
        Expectation::Absent => shared::Expectation::Absent,
        Expectation::Version(version) => shared::Expectation::Version(version),
    }
}

fn error(error: shared::SharedError) -> SharedError {
    match error {
        shared::SharedError::Conflict(_) => SharedError::Conflict,
        shared::SharedError::Limit(problem) => SharedError::Limit(problem),
        shared::SharedError::Interrupted => SharedError::Interrupted,
    }
}

pub(super) fn get(key: &str) -> Option<(Vec<u8>, u64)> {
    shared::get(key).map(|found| (found.value, found.version))
}

pub(super) fn put(key: &str, value: &[u8], expected: Expectation) -> Result<u64, SharedError> {
    shared::put(key, value, expectation(expected)).map_err(error)
}

pub(super) fn remove(key: &str, expected: Expectation) -> Result<(), SharedError> {
    shared::remove(key, expectation(expected)).map_err(error)
}

pub(super) fn lock(name: &str, lease_milliseconds: u64) -> Result<HeldLock, SharedError> {
    shared::lock(name, lease_milliseconds).map(HeldLock).map_err(error)
}

impl HeldLock {
    pub(super) fn renew(&self, lease_milliseconds: u64) -> bool {
        self.0.renew(lease_milliseconds)
    }
}

pub(super) fn take(name: &str, (events, seconds, burst): (u32, u32, u32)) -> Result<(), SharedError> {
    shared::take(name, shared::Rate { events, seconds, burst }).map_err(error)
}
