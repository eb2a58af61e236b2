//! Redacts the sensitive values of concurrent calls in one process.
//!
//! A process has one standard error stream, and the lines in it do not identify the call that wrote
//! them. Therefore, every line is searched for the sensitive values of all active and recent calls.
//! The values are retained for at most two periods after the call, so the cost depends only on
//! recent calls, not on all calls of the run.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::finder::Finder;
use super::{Matches, SensitiveValues, encodings};

/// The length of a period.
const PERIOD: Duration = Duration::from_secs(5);

/// The sensitive values that a process received recently. Clones share them.
#[derive(Clone, Default)]
pub struct RecentSensitiveValues(Arc<Mutex<Recent>>);

#[derive(Default)]
struct Recent {
    /// Values that are redacted during the whole lifetime of the process.
    kept: Vec<SensitiveValues>,
    running: BTreeMap<u64, SensitiveValues>,
    next: u64,
    current: Period,
    before: Period,
}

#[derive(Default)]
struct Period {
    began: Option<Instant>,
    /// Values that have not been searched for yet.
    new: Vec<SensitiveValues>,
    /// Values that have been searched for, by address. Each set of values is stored with the number
    /// of sources that it had at that time.
    seen: HashMap<usize, (SensitiveValues, usize)>,
    finder: Finder,
}

/// An active call.
#[must_use = "dropping it ends the call"]
pub struct CallScope {
    recent: RecentSensitiveValues,
    number: u64,
}

impl RecentSensitiveValues {
    /// Begins a call with the given sensitive values.
    pub fn begin(&self, secrets: SensitiveValues) -> CallScope {
        let mut recent = self.lock();
        recent.turn(Instant::now());
        recent.current.new.push(secrets.clone());
        let number = recent.next;
        recent.next += 1;
        recent.running.insert(number, secrets);
        CallScope { recent: self.clone(), number }
    }

    /// Adds values that are redacted during the whole lifetime of the process.
    pub fn keep(&self, secrets: SensitiveValues) {
        self.lock().kept.push(secrets);
    }

    /// Returns the text with its sensitive values redacted.
    pub fn redact<'text>(&self, text: &'text str) -> Cow<'text, str> {
        self.find(text).redact(text)
    }

    /// Returns the settled length; see [`SensitiveValues::settled_length`].
    pub fn settled_length(&self, text: &str) -> usize {
        self.find(text).settled_length(text)
    }

    fn find(&self, text: &str) -> Matches {
        let mut recent = self.lock();
        recent.turn(Instant::now());
        let Recent { kept, current, before, .. } = &mut *recent;
        let mut found = Matches::default();
        for period in [current, before] {
            period.prepare();
            found.add_matches(&period.finder, text);
        }
        for secrets in kept {
            secrets.find(text, &mut found);
        }
        found
    }

    fn lock(&self) -> MutexGuard<'_, Recent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CallScope {
    fn drop(&mut self) {
        let mut recent = self.recent.lock();
        recent.turn(Instant::now());
        if let Some(secrets) = recent.running.remove(&self.number) {
            // The values are added to the current period, because the call may have begun several
            // periods ago.
            recent.current.new.push(secrets);
        }
    }
}

impl Recent {
    /// Begins a new period if the current period has ended.
    fn turn(&mut self, now: Instant) {
        let began = *self.current.began.get_or_insert(now);
        if now.duration_since(began) < PERIOD {
            return;
        }
        let new = self.running.values().cloned().collect();
        let next = Period { began: Some(now), new, ..Period::default() };
        let last = std::mem::replace(&mut self.current, next);
        // If no search occurred in a period, each call that began in that period has ended in it or
        // is still active.
        self.before = if now.duration_since(began) < 2 * PERIOD { last } else { Period::default() };
    }
}

impl Period {
    fn prepare(&mut self) {
        let mut new = std::mem::take(&mut self.new);
        while let Some(secrets) = new.pop() {
            let (_, count) =
                self.seen.entry(Arc::as_ptr(&secrets.0).addr()).or_insert_with(|| (secrets.clone(), 0));
            let known = secrets.lock();
            for told in known.told.iter().skip(*count) {
                told.each_string(&mut |text| {
                    encodings::each_encoding(text, &mut |form| self.finder.add(form));
                });
            }
            *count = known.told.len();
            new.extend(secrets.0.chain.iter().cloned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> SensitiveValues {
        let secrets = SensitiveValues::default();
        secrets.add_text(text);
        secrets
    }

    #[test]
    fn values_are_redacted_during_call_and_shortly_after() {
        let recent = RecentSensitiveValues::default();
        let long = recent.begin(secret("the long one"));
        drop(recent.begin(secret("the short one")));
        let said = "the long one, the short one";
        let begin = Instant::now();
        let after = |periods: u32| {
            recent.lock().turn(begin + PERIOD * periods + Duration::from_millis(100) * periods);
            recent.lock().current.prepare();
            let mut found = Matches::default();
            let known = recent.lock();
            found.add_matches(&known.current.finder, said);
            found.add_matches(&known.before.finder, said);
            found.redact(said).into_owned()
        };
        assert_eq!(recent.redact(said), "(sensitive value), (sensitive value)");
        assert_eq!(after(1), "(sensitive value), (sensitive value)");
        assert_eq!(after(2), "(sensitive value), the short one");
        drop(long);
        assert_eq!(after(3), "(sensitive value), the short one");
        assert_eq!(after(5), said);
    }

    #[test]
    fn retained_values_are_redacted_until_the_process_exits() {
        let recent = RecentSensitiveValues::default();
        recent.keep(SensitiveValues::chain([secret("of the configuration")]));
        recent.lock().turn(Instant::now() + 10 * PERIOD);
        assert_eq!(recent.redact("of the configuration"), "(sensitive value)");
    }

    #[test]
    fn values_added_during_call_are_redacted() {
        let recent = RecentSensitiveValues::default();
        let secrets = SensitiveValues::default();
        let call = recent.begin(secrets.clone());
        secrets.add_text("added later");
        assert_eq!(recent.redact("added later"), "(sensitive value)");
        drop(call);
        assert_eq!(recent.redact("added later"), "(sensitive value)");
    }
}
