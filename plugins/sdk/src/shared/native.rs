//! The shared memory in unit tests: one for each thread.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::{Expectation, SharedError};
use crate::clock;

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

#[derive(Default)]
struct Memory {
    values: HashMap<String, (Vec<u8>, u64)>,
    locks: HashMap<String, u64>,
    rates: HashMap<String, Instant>,
    last_number: u64,
}

impl Memory {
    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn expect(&self, key: &str, expected: Expectation) -> Result<(), SharedError> {
        let current = self.values.get(key).map(|(_, version)| *version);
        let is_expected = match expected {
            Expectation::Any => true,
            Expectation::Absent => current.is_none(),
            Expectation::Version(version) => current == Some(version),
        };
        if is_expected { Ok(()) } else { Err(SharedError::Conflict) }
    }
}

pub(super) struct HeldLock {
    name: String,
    number: u64,
}

pub(super) fn get(key: &str) -> Option<(Vec<u8>, u64)> {
    MEMORY.with_borrow(|memory| memory.values.get(key).cloned())
}

pub(super) fn put(key: &str, value: &[u8], expected: Expectation) -> Result<u64, SharedError> {
    MEMORY.with_borrow_mut(|memory| {
        memory.expect(key, expected)?;
        let version = memory.next_number();
        memory.values.insert(key.to_owned(), (value.to_vec(), version));
        Ok(version)
    })
}

pub(super) fn remove(key: &str, expected: Expectation) -> Result<(), SharedError> {
    MEMORY.with_borrow_mut(|memory| {
        memory.expect(key, expected)?;
        memory.values.remove(key);
        Ok(())
    })
}

pub(super) fn lock(name: &str, _lease_milliseconds: u64) -> Result<HeldLock, SharedError> {
    MEMORY.with_borrow_mut(|memory| {
        if memory.locks.contains_key(name) {
            let problem = format!("the lock {name:?} is held by the same thread, so the wait would not end");
            return Err(SharedError::Limit(problem));
        }
        let number = memory.next_number();
        memory.locks.insert(name.to_owned(), number);
        Ok(HeldLock { name: name.to_owned(), number })
    })
}

impl HeldLock {
    pub(super) fn renew(&self, _lease_milliseconds: u64) -> bool {
        MEMORY.with_borrow(|memory| memory.locks.get(&self.name) == Some(&self.number))
    }
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        MEMORY.with_borrow_mut(|memory| memory.locks.remove(&self.name));
    }
}

pub(super) fn take(name: &str, (events, seconds, burst): (u32, u32, u32)) -> Result<(), SharedError> {
    if events == 0 || seconds == 0 || burst == 0 {
        let problem = "a rate has at least one event per period, and a burst of one";
        return Err(SharedError::Limit(problem.to_owned()));
    }
    let interval = Duration::from_secs(seconds.into()) / events;
    let wait = MEMORY.with_borrow_mut(|memory| {
        let now = clock::now();
        let next = memory.rates.get(name).map_or(now, |next| (*next).max(now));
        memory.rates.insert(name.to_owned(), next + interval);
        let earlier = interval.saturating_mul(burst - 1);
        next.saturating_duration_since(now).saturating_sub(earlier)
    });
    crate::run::sleep(wait).map_err(|_| SharedError::Interrupted)
}
