//! Unique names for objects whose names the configuration does not determine.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

use crate::clock;

/// Returns a name that starts with a prefix and is different in each call: 24 hexadecimal digits
/// with the time, a random number and a counter. Names that are created later are sorted later.
/// The names are unique, but can be guessed: do not use them as secrets.
///
/// ```
/// let (one, other) = (wardian_sdk::unique_id("server-"), wardian_sdk::unique_id("server-"));
/// assert!(one.starts_with("server-") && one != other && one.len() == 31);
/// ```
pub fn unique_id(prefix: &str) -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let elapsed = clock::system_time().duration_since(UNIX_EPOCH).unwrap_or_default();
    let milliseconds = elapsed.as_millis() & 0xfff_ffff_ffff;
    let random = RandomState::new().hash_one(elapsed.as_nanos()) & 0xff_ffff;
    format!("{prefix}{milliseconds:011x}{count:07x}{random:06x}", count = count & 0xfff_ffff)
}
