//! The shared memory of the instances of one provider configuration.
//!
//! Everything is bounded: the sizes of keys and values, their sum, and the number of entries. An entry
//! of a lock or a rate limit is removed when it no longer has an effect.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// Maximum number of bytes of a key or a name.
const MAX_KEY_BYTES: usize = 256;
/// Maximum number of bytes of a value.
const MAX_VALUE_BYTES: usize = 64 << 10;
/// Maximum number of bytes of all keys and values together.
const MAX_TOTAL_BYTES: usize = 1 << 20;
/// Maximum number of values, locks and rate limits together.
const MAX_ENTRIES: usize = 1024;
/// Maximum duration of a lease.
const MAX_LEASE: Duration = Duration::from_hours(1);
/// Maximum time for which events of a rate can be reserved.
const MAX_BACKLOG: Duration = Duration::from_hours(1);

/// The memory of one provider configuration. It is never written to a file.
#[derive(Default)]
pub(crate) struct SharedMemory {
    entries: Mutex<Entries>,
    /// Notified when a lock is released.
    released: Notify,
}

#[derive(Default)]
struct Entries {
    values: HashMap<String, Versioned>,
    locks: HashMap<String, Lease>,
    rates: HashMap<String, Instant>,
    /// The bytes of all keys and values.
    bytes: usize,
    /// The last version of a value, or number of a lease.
    last_number: u64,
}

/// A value and its version.
#[derive(Clone)]
pub(crate) struct Versioned {
    pub(crate) value: Arc<[u8]>,
    pub(crate) version: u64,
}

/// A lock that is held.
struct Lease {
    number: u64,
    until: Instant,
}

/// The state of a key in which a change is made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expected {
    Any,
    Absent,
    Version(u64),
}

/// A rate with which events may occur.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    /// The time between two events.
    pub(crate) interval: Duration,
    /// The number of events that may occur at once.
    pub(crate) burst: u32,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SharedProblem {
    /// The version that the key has instead of the expected one.
    Conflict(Option<u64>),
    /// The limit that would be exceeded.
    Limit(String),
}

/// A lock that is held until it is dropped.
pub struct HeldLock {
    memory: Arc<SharedMemory>,
    name: String,
    number: u64,
}

impl fmt::Debug for SharedMemory {
    /// Values are secrets, so only their number is shown.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.entries();
        formatter.debug_struct("SharedMemory").field("values", &entries.values.len()).finish_non_exhaustive()
    }
}

impl SharedMemory {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, key: &str) -> Option<Versioned> {
        self.entries().values.get(key).cloned()
    }

    /// Sets a value, and returns its version.
    pub(crate) fn put(&self, key: String, value: &[u8], expected: Expected) -> Result<u64, SharedProblem> {
        check_key(&key)?;
        if value.len() > MAX_VALUE_BYTES {
            return Err(limit(format!("a value of {} bytes exceeds {MAX_VALUE_BYTES} bytes", value.len())));
        }
        let mut entries = self.entries();
        entries.expect(&key, expected)?;
        let replaced = entries.values.get(&key).map(|old| key.len() + old.value.len());
        let bytes = entries.bytes - replaced.unwrap_or_default() + key.len() + value.len();
        if bytes > MAX_TOTAL_BYTES {
            return Err(limit(format!("all values together would exceed {MAX_TOTAL_BYTES} bytes")));
        }
        if replaced.is_none() {
            entries.check_room()?;
        }
        let version = entries.next_number();
        entries.bytes = bytes;
        entries.values.insert(key, Versioned { value: value.into(), version });
        Ok(version)
    }

    pub(crate) fn remove(&self, key: &str, expected: Expected) -> Result<(), SharedProblem> {
        let mut entries = self.entries();
        entries.expect(key, expected)?;
        if let Some(old) = entries.values.remove(key) {
            entries.bytes -= key.len() + old.value.len();
        }
        Ok(())
    }

    /// Waits for a lock.
    pub(crate) async fn lock(
        self: &Arc<Self>,
        name: String,
        lease: Duration,
    ) -> Result<HeldLock, SharedProblem> {
        check_key(&name)?;
        loop {
            // Registered before the lock is tried, so no release is missed.
            let released = self.released.notified();
            let mut released = std::pin::pin!(released);
            released.as_mut().enable();
            let until = match self.try_lock(&name, lease)? {
                Ok(number) => return Ok(HeldLock { memory: Arc::clone(self), name, number }),
                Err(until) => until,
            };
            // A timeout means that the lease has ended.
            let _ = tokio::time::timeout_at(until, released).await;
        }
    }

    /// Takes a lock; returns the end of the lease if it is held.
    fn try_lock(&self, name: &str, lease: Duration) -> Result<Result<u64, Instant>, SharedProblem> {
        let mut entries = self.entries();
        let now = Instant::now();
        match entries.locks.get(name).map(|held| held.until) {
            Some(until) if until > now => return Ok(Err(until)),
            Some(_) => {}
            None => entries.check_room()?,
        }
        let number = entries.next_number();
        entries.locks.insert(name.to_owned(), Lease { number, until: now + lease.min(MAX_LEASE) });
        Ok(Ok(number))
    }

    /// Reserves an event, and returns the time at which it may occur.
    pub(crate) fn reserve(&self, name: String, rate: Rate) -> Result<Instant, SharedProblem> {
        check_key(&name)?;
        let mut entries = self.entries();
        let now = Instant::now();
        let next = match entries.rates.get(&name) {
            Some(next) => (*next).max(now),
            None => {
                entries.check_room()?;
                now
            }
        };
        if next.saturating_duration_since(now) > MAX_BACKLOG {
            return Err(limit(format!("more than an hour of the rate {name:?} is reserved")));
        }
        entries.rates.insert(name, next + rate.interval);
        // The events of a burst occur earlier than the rate alone would allow.
        let earlier = rate.interval.saturating_mul(rate.burst.saturating_sub(1));
        Ok(next.checked_sub(earlier).map_or(now, |time| time.max(now)))
    }
}

impl Entries {
    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn expect(&self, key: &str, expected: Expected) -> Result<(), SharedProblem> {
        let current = self.values.get(key).map(|value| value.version);
        let is_expected = match expected {
            Expected::Any => true,
            Expected::Absent => current.is_none(),
            Expected::Version(version) => current == Some(version),
        };
        if is_expected { Ok(()) } else { Err(SharedProblem::Conflict(current)) }
    }

    /// Checks whether there is room for a further entry. Linear in the number of entries only if there
    /// seems to be none.
    fn check_room(&mut self) -> Result<(), SharedProblem> {
        if self.count() >= MAX_ENTRIES {
            let now = Instant::now();
            self.locks.retain(|_, held| held.until > now);
            self.rates.retain(|_, next| *next > now);
        }
        if self.count() >= MAX_ENTRIES {
            return Err(limit(format!("there are already {MAX_ENTRIES} values, locks and rate limits")));
        }
        Ok(())
    }

    fn count(&self) -> usize {
        self.values.len() + self.locks.len() + self.rates.len()
    }
}

impl HeldLock {
    /// Extends the lease. Returns false if the lock is no longer held.
    pub(crate) fn renew(&self, lease: Duration) -> bool {
        let now = Instant::now();
        match self.memory.entries().locks.get_mut(&self.name) {
            Some(held) if held.number == self.number && held.until > now => {
                held.until = now + lease.min(MAX_LEASE);
                true
            }
            _ => false,
        }
    }
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        let mut entries = self.memory.entries();
        if entries.locks.get(&self.name).is_some_and(|held| held.number == self.number) {
            entries.locks.remove(&self.name);
        }
        drop(entries);
        self.memory.released.notify_waiters();
    }
}

fn check_key(key: &str) -> Result<(), SharedProblem> {
    if key.len() > MAX_KEY_BYTES {
        return Err(limit(format!("a key of {} bytes exceeds {MAX_KEY_BYTES} bytes", key.len())));
    }
    Ok(())
}

fn limit(problem: String) -> SharedProblem {
    SharedProblem::Limit(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_change_only_in_the_expected_version() {
        let memory = SharedMemory::default();
        let first = memory.put("token".into(), b"one", Expected::Absent).unwrap();
        assert_eq!(
            memory.put("token".into(), b"two", Expected::Absent),
            Err(SharedProblem::Conflict(Some(first)))
        );
        let second = memory.put("token".into(), b"two", Expected::Version(first)).unwrap();
        assert_eq!(
            memory.remove("token", Expected::Version(first)),
            Err(SharedProblem::Conflict(Some(second)))
        );
        assert_eq!(memory.get("token").map(|found| found.value.to_vec()), Some(b"two".to_vec()));
        memory.remove("token", Expected::Version(second)).unwrap();
        assert!(memory.get("token").is_none());
        assert_eq!(
            memory.put("token".into(), b"", Expected::Version(second)),
            Err(SharedProblem::Conflict(None))
        );
    }

    #[test]
    fn memory_is_bounded() {
        let memory = SharedMemory::default();
        let is_limit = |result: Result<u64, SharedProblem>| matches!(result, Err(SharedProblem::Limit(_)));
        assert!(is_limit(memory.put("k".repeat(257), b"", Expected::Any)));
        assert!(is_limit(memory.put("k".into(), &vec![0; MAX_VALUE_BYTES + 1], Expected::Any)));
        let full =
            (0..16).all(|at| memory.put(format!("{at}"), &vec![0; MAX_VALUE_BYTES], Expected::Any).is_ok());
        assert!(!full, "the keys count too");
        // A value can be replaced when the memory is full, and its room is free after its removal.
        memory.put("0".into(), b"", Expected::Any).unwrap();
        for at in 0..16 {
            memory.remove(&format!("{at}"), Expected::Any).unwrap();
        }
        assert_eq!(memory.entries().bytes, 0);
        for at in 0..MAX_ENTRIES {
            memory.put(format!("{at}"), b"", Expected::Any).unwrap();
        }
        assert!(is_limit(memory.put("one more".into(), b"", Expected::Any)));
        let rate = Rate { interval: Duration::from_secs(1), burst: 1 };
        assert!(matches!(memory.reserve("rate".into(), rate), Err(SharedProblem::Limit(_))));
    }

    #[tokio::test]
    async fn lock_is_released_by_drop_and_by_the_end_of_its_lease() {
        let memory = Arc::new(SharedMemory::default());
        let hour = Duration::from_hours(1);
        let held = memory.lock("zone".into(), hour).await.unwrap();
        let waiting = tokio::spawn({
            let memory = Arc::clone(&memory);
            async move { memory.lock("zone".into(), Duration::from_secs(5)).await.is_ok() }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        assert!(held.renew(hour));
        drop(held);
        assert!(waiting.await.unwrap());

        let (begun, lease) = (Instant::now(), Duration::from_millis(30));
        let lost = memory.lock("other".into(), lease).await.unwrap();
        let next = memory.lock("other".into(), hour).await.unwrap();
        assert!(begun.elapsed() >= lease);
        assert!(!lost.renew(hour));
        drop(lost);
        assert!(next.renew(hour), "the lock of the next holder is not released");
    }

    #[tokio::test]
    async fn rate_allows_a_burst_and_then_its_interval() {
        let memory = SharedMemory::default();
        let rate = Rate { interval: Duration::from_millis(100), burst: 3 };
        let begun = Instant::now();
        let times: Vec<Instant> = (0..6).map(|_| memory.reserve("api".into(), rate).unwrap()).collect();
        assert!(times[..3].iter().all(|time| *time <= Instant::now()), "the burst");
        assert!(times[3] >= begun + rate.interval);
        assert!(times[3..].windows(2).all(|pair| pair[1] - pair[0] == rate.interval));
    }
}
