//! The sensitive values of all calls of one plugin.
//!
//! A plugin's memory outlives a call, so the plugin can reveal a value in a later call. Therefore
//! the sensitive values of a call are redacted for the lifetime of the plugin. The values are
//! stored unchanged until there is output or their number is large; then, only the distinct strings
//! in them are retained. If the strings exceed the limit of a search, all output is suppressed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::finder::Finder;
use super::secret_source::SecretSource;
use super::{Matches, SensitiveValues, encodings};

/// Maximum number of values that are stored unchanged.
const MAX_UNSEARCHED: usize = 1024;

/// The sensitive values that a plugin received since it started. Clones share them.
#[derive(Clone, Default)]
pub struct LifetimeSensitiveValues(Arc<Mutex<Earlier>>);

#[derive(Default)]
struct Earlier {
    unsearched: Vec<SecretSource>,
    finder: Finder,
}

impl LifetimeSensitiveValues {
    /// Adds the values of a call that has ended, and the values that its caller registered. Values
    /// that are already present are not added again.
    pub fn add_call(&self, call: &SensitiveValues, caller: &SensitiveValues) {
        let mut new = Vec::new();
        for secrets in [caller, call] {
            let mut known = secrets.lock();
            let sources = known.told.iter().skip(known.kept).filter(|source| source.may_be_secret());
            new.extend(sources.cloned());
            known.kept = known.told.len();
        }
        if new.is_empty() {
            return;
        }
        let mut earlier = self.lock();
        earlier.unsearched.append(&mut new);
        if earlier.unsearched.len() > MAX_UNSEARCHED {
            earlier.prepare();
        }
    }

    pub(super) fn find(&self, text: &str, found: &mut Matches) {
        let mut earlier = self.lock();
        earlier.prepare();
        found.add_matches(&earlier.finder, text);
    }

    fn lock(&self) -> MutexGuard<'_, Earlier> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Earlier {
    fn prepare(&mut self) {
        for source in std::mem::take(&mut self.unsearched) {
            source.each_string(&mut |text| {
                encodings::each_encoding(text, &mut |form| self.finder.add(form));
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use wardian_value::{Marks, Value};

    use super::*;

    /// Returns a context with the given sensitive values.
    fn context(secrets: &[&str]) -> SensitiveValues {
        let context = SensitiveValues::default();
        for secret in secrets {
            context.add_marked(&Value::from(*secret).with_marks(Marks::SENSITIVE));
        }
        context
    }

    /// Makes a call with the given sensitive values, after the earlier calls.
    fn call(earlier: &LifetimeSensitiveValues, secrets: &[&str]) -> SensitiveValues {
        SensitiveValues::with_earlier([context(secrets)], earlier)
    }

    #[test]
    fn values_of_ended_calls_are_redacted_in_later_calls() {
        let earlier = LifetimeSensitiveValues::default();
        let caller = context(&["part-of-it"]);
        let first = SensitiveValues::with_earlier([caller.clone()], &earlier);
        first.add_text("sent with it");
        assert_eq!(call(&earlier, &[]).redact("part-of-it"), "part-of-it", "the first call has not ended");
        earlier.add_call(&first, &caller);
        assert_eq!(call(&earlier, &[]).redact("a part-of-it"), "a (sensitive value)");
        assert_eq!(call(&earlier, &[]).redact("sent with it"), "(sensitive value)");
        let later = call(&earlier, &["another-one"]);
        assert_eq!(later.redact("another-one, part-of-it"), "(sensitive value), (sensitive value)");
        let text = "this text ends with part-of-";
        assert!(later.settled_length(text) <= text.len() - "part-of-".len());
    }

    #[test]
    fn values_of_shared_context_are_added_once() {
        let earlier = LifetimeSensitiveValues::default();
        let caller = context(&["part-of-it"]);
        for _ in 0..10 {
            earlier.add_call(&SensitiveValues::with_earlier([caller.clone()], &earlier), &caller);
        }
        assert_eq!(earlier.lock().unsearched.len(), 1);
    }

    #[test]
    fn many_values_are_retained_as_strings() {
        let earlier = LifetimeSensitiveValues::default();
        for _ in 0..10 {
            for number in 0..MAX_UNSEARCHED {
                earlier.add_call(&SensitiveValues::default(), &context(&[&format!("secret-{number:06}")]));
                assert!(earlier.lock().unsearched.len() <= MAX_UNSEARCHED);
            }
        }
        assert_eq!(
            call(&earlier, &[]).redact("secret-000000 secret-001023"),
            "(sensitive value) (sensitive value)"
        );
    }
}
