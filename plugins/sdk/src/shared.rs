//! Memory, locks and rate limits that all instances of a provider configuration share during a run.
//!
//! The host runs the concurrent calls of a provider in separate instances with separate memory, so a
//! `static` exists once per instance. What must exist once per run is kept here: a session, a token, a
//! lock for each zone, the request rate of an API. Values are encoded as JSON. The host keeps them in
//! memory only, redacts them in the provider's output, and limits a value to 64 KiB.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use wardian_sdk::shared::{self, RateLimiter};
//!
//! #[derive(Clone, Serialize, Deserialize)]
//! struct Session {
//!     token: String,
//! }
//!
//! fn log_in() -> wardian_sdk::Result<Session> {
//!     Ok(Session { token: "t-17".into() })
//! }
//!
//! # fn call() -> wardian_sdk::Result<()> {
//! // One instance logs in; the others wait and use its session.
//! let session: Session = shared::once("session", log_in)?;
//!
//! // At most 10 requests per second, in all instances together.
//! RateLimiter::per_second("api", 10).wait()?;
//!
//! // One change of a zone at a time.
//! let _zone = shared::lock("zone/example.com")?;
//! # Ok(())
//! # }
//! # call().unwrap();
//! ```
//!
//! In unit tests, each thread has a memory of its own.

#[cfg(target_os = "wasi")]
#[path = "shared/host.rs"]
mod imports;
#[cfg(not(target_os = "wasi"))]
#[path = "shared/native.rs"]
mod imports;

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Diagnostics, Result, run};

/// The lease of a lock whose holder sets none.
const DEFAULT_LEASE: Duration = Duration::from_mins(10);

/// A value and its version.
///
/// ```
/// use wardian_sdk::shared::{self, Expectation};
///
/// shared::put("count", &1, Expectation::Any)?;
/// let count = shared::get::<i64>("count")?.unwrap();
/// shared::put("count", &(count.value + 1), Expectation::Version(count.version))?;
/// assert_eq!(shared::get::<i64>("count")?.unwrap().value, 2);
/// # Ok::<(), wardian_sdk::Diagnostics>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SharedValue<T> {
    /// The value.
    pub value: T,
    /// The version, which grows with each change.
    pub version: u64,
}

/// The state of a key in which a value is set or removed.
///
/// ```
/// use wardian_sdk::shared::{self, Expectation};
///
/// assert!(shared::put("token", "a", Expectation::Absent)?.is_some());
/// assert!(shared::put("token", "b", Expectation::Absent)?.is_none());
/// # Ok::<(), wardian_sdk::Diagnostics>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// Any state.
    Any,
    /// The key has no value.
    Absent,
    /// The value has this version.
    Version(u64),
}

/// The reason why an operation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SharedError {
    /// The key is not in the expected state.
    Conflict,
    /// A limit of the host.
    Limit(String),
    Interrupted,
}

impl From<SharedError> for Diagnostics {
    fn from(error: SharedError) -> Self {
        match error {
            SharedError::Conflict => {
                Self::error("Shared value changed", "Another instance changed the value at the same time.")
            }
            SharedError::Limit(problem) => Self::error("Shared memory limit reached", problem),
            SharedError::Interrupted => run::interruption(),
        }
    }
}

/// Returns the value of a key.
///
/// ```
/// use wardian_sdk::shared::{self, Expectation};
///
/// shared::put("zone", &"eu-1", Expectation::Any).unwrap();
/// assert_eq!(shared::get::<String>("zone").unwrap().unwrap().value, "eu-1");
/// ```
///
/// # Errors
/// Returns an error if the value does not match the type.
pub fn get<T: DeserializeOwned>(key: &str) -> Result<Option<SharedValue<T>>> {
    let Some((bytes, version)) = imports::get(key) else { return Ok(None) };
    // The error of the decoder is not shown, because it may contain a part of the value.
    let value = serde_json::from_slice(&bytes).map_err(|_| {
        Diagnostics::error("Shared value does not match", format!("The value of {key:?} has another type."))
    })?;
    Ok(Some(SharedValue { value, version }))
}

/// Sets the value of a key if the key is in the expected state. Returns the new version, or `None` if
/// the key is in another state.
///
/// ```
/// use wardian_sdk::shared::{self, Expectation};
///
/// let first = shared::put("next", &1, Expectation::Absent).unwrap().unwrap();
/// assert!(shared::put("next", &2, Expectation::Version(first)).unwrap().is_some());
/// assert!(shared::put("next", &3, Expectation::Version(first)).unwrap().is_none());
/// ```
///
/// # Errors
/// Returns an error if the value cannot be encoded, or exceeds a limit.
pub fn put<T: Serialize + ?Sized>(key: &str, value: &T, expected: Expectation) -> Result<Option<u64>> {
    let bytes = serde_json::to_vec(value).map_err(|_| {
        Diagnostics::error("Shared value cannot be encoded", format!("The value of {key:?} is not JSON."))
    })?;
    or_conflict(imports::put(key, &bytes, expected))
}

/// Removes the value of a key if the key is in the expected state. Returns whether it was.
///
/// ```
/// use wardian_sdk::shared::{self, Expectation};
///
/// assert!(shared::remove("old", Expectation::Any).unwrap());
/// ```
///
/// # Errors
/// Returns an error if the key exceeds a limit.
pub fn remove(key: &str, expected: Expectation) -> Result<bool> {
    Ok(or_conflict(imports::remove(key, expected))?.is_some())
}

fn or_conflict<T>(result: std::result::Result<T, SharedError>) -> Result<Option<T>> {
    match result {
        Ok(done) => Ok(Some(done)),
        Err(SharedError::Conflict) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the value of a key, which the first instance creates. The other instances wait meanwhile. If
/// `create` fails, its error is returned, and the next instance tries it.
///
/// ```
/// let zones: Vec<String> = wardian_sdk::shared::once("zones", || Ok(vec!["eu-1".into()])).unwrap();
/// assert_eq!(zones, ["eu-1"]);
/// ```
///
/// # Errors
/// Returns the error of `create`, or an error if the value exceeds a limit or the run is interrupted.
pub fn once<T>(key: &str, create: impl FnOnce() -> Result<T>) -> Result<T>
where
    T: Serialize + DeserializeOwned,
{
    once_while(key, |_| true, create)
}

/// The same as [`once`] for a value that expires: it is created again when `is_valid` returns false.
///
/// ```
/// # use serde::{Deserialize, Serialize};
/// #[derive(Serialize, Deserialize)]
/// struct Token {
///     text: String,
///     uses: u32,
/// }
///
/// let create = || Ok(Token { text: "t-1".into(), uses: 3 });
/// let token = wardian_sdk::shared::once_while("token", |token: &Token| token.uses > 0, create);
/// assert_eq!(token.unwrap().text, "t-1");
/// ```
///
/// # Errors
/// The same as [`once`].
pub fn once_while<T>(
    key: &str,
    is_valid: impl Fn(&T) -> bool,
    create: impl FnOnce() -> Result<T>,
) -> Result<T>
where
    T: Serialize + DeserializeOwned,
{
    let valid =
        |found: Option<SharedValue<T>>| found.map(|found| found.value).filter(|value| is_valid(value));
    if let Some(value) = valid(get(key)?) {
        return Ok(value);
    }
    let _creating = lock(&format!("once/{key}"))?;
    if let Some(value) = valid(get(key)?) {
        return Ok(value);
    }
    let value = create()?;
    put(key, &value, Expectation::Any)?;
    Ok(value)
}

/// A lock that is held. Dropping it releases the lock.
#[must_use = "the lock is released when this value is dropped"]
pub struct SharedLock {
    held: imports::HeldLock,
}

/// Waits for a lock, and holds it for at most 10 minutes.
///
/// ```
/// let zone = wardian_sdk::shared::lock("zone/example.com").unwrap();
/// drop(zone);
/// ```
///
/// # Errors
/// Returns an error if the run is interrupted, or a limit is reached.
pub fn lock(name: &str) -> Result<SharedLock> {
    lock_for(name, DEFAULT_LEASE)
}

/// Waits for a lock, and holds it for at most the duration of the lease. When the lease ends, another
/// instance may take the lock; [`SharedLock::renew`] extends it.
///
/// ```
/// use std::time::Duration;
///
/// let _zone = wardian_sdk::shared::lock_for("zone", Duration::from_secs(90)).unwrap();
/// ```
///
/// # Errors
/// The same as [`lock`].
pub fn lock_for(name: &str, lease: Duration) -> Result<SharedLock> {
    Ok(SharedLock { held: imports::lock(name, milliseconds(lease))? })
}

impl SharedLock {
    /// Extends the lease, to the given duration from now. Returns false if the lease has ended.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let zone = wardian_sdk::shared::lock("zone").unwrap();
    /// assert!(zone.renew(Duration::from_secs(60)));
    /// ```
    pub fn renew(&self, lease: Duration) -> bool {
        self.held.renew(milliseconds(lease))
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A rate that all instances together do not exceed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLimiter {
    name: String,
    events: u32,
    seconds: u32,
    burst: u32,
}

impl RateLimiter {
    /// Creates a limiter for a number of events per second. Limiters with one name share their events.
    ///
    /// ```
    /// use wardian_sdk::shared::RateLimiter;
    ///
    /// RateLimiter::per_second("api", 10).wait().unwrap();
    /// ```
    pub fn per_second(name: impl Into<String>, events: u32) -> Self {
        Self { name: name.into(), events, seconds: 1, burst: 1 }
    }

    /// Creates a limiter for a number of events per minute.
    ///
    /// ```
    /// use wardian_sdk::shared::RateLimiter;
    ///
    /// RateLimiter::per_minute("api", 600).wait().unwrap();
    /// ```
    pub fn per_minute(name: impl Into<String>, events: u32) -> Self {
        Self { seconds: 60, ..Self::per_second(name, events) }
    }

    /// Sets the number of events that may occur at once after a pause; by default 1.
    ///
    /// ```
    /// use wardian_sdk::shared::RateLimiter;
    ///
    /// let limiter = RateLimiter::per_second("api", 10).burst(5);
    /// for _ in 0..5 {
    ///     limiter.wait().unwrap();
    /// }
    /// ```
    #[must_use]
    pub fn burst(self, burst: u32) -> Self {
        Self { burst, ..self }
    }

    /// Waits until one more event may occur.
    ///
    /// # Errors
    /// Returns an error if the run is interrupted, a limit is reached, or the rate is zero.
    pub fn wait(&self) -> Result<()> {
        imports::take(&self.name, (self.events, self.seconds, self.burst)).map_err(Into::into)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::testing::with_interruption_after;

    #[test]
    fn value_is_created_once_until_it_is_invalid() {
        let create = |value: u32| move || Ok(value);
        assert_eq!(once("number", create(1)), Ok(1));
        assert_eq!(once("number", create(2)), Ok(1));
        assert_eq!(once_while("number", |number| *number > 1, create(3)), Ok(3));
        assert!(once("other", || Err::<u32, _>(Diagnostics::error("no", ""))).is_err());
        assert_eq!(once("other", create(4)), Ok(4), "a failed creation is tried again");
    }

    #[test]
    fn value_of_another_type_is_reported_without_the_value() {
        put("secret", &"hunter22", Expectation::Any).unwrap();
        let error = get::<u32>("secret").unwrap_err();
        assert!(format!("{error:?}").contains("another type") && !format!("{error:?}").contains("hunter22"));
    }

    #[test]
    fn held_lock_is_reported_in_a_unit_test() {
        let held = lock("zone").unwrap();
        assert!(lock("zone").is_err(), "a wait on the same thread would not end");
        drop(held);
        assert!(lock("zone").is_ok());
    }

    #[test]
    fn rate_limit_spreads_events_and_ends_with_an_interruption() {
        let limiter = RateLimiter::per_second("api", 100).burst(2);
        let begun = Instant::now();
        for _ in 0..5 {
            limiter.wait().unwrap();
        }
        assert!(begun.elapsed() >= Duration::from_millis(30));
        let slow = RateLimiter::per_minute("slow", 1);
        slow.wait().unwrap();
        with_interruption_after(Duration::ZERO, || assert!(slow.wait().is_err()));
        assert!(RateLimiter::per_second("never", 0).wait().is_err());
    }
}
