//! Redacts, in a plugin's output, the sensitive values that the plugin received.
//!
//! A marked value is passed to a plugin through
//! [`CallContext::unmark_and_register`](crate::CallContext::unmark_and_register), which removes the
//! marks and registers the marked values for the lifetime of the context.
//! [`RedactingProvider`](crate::RedactingProvider) registers the attributes that a schema declares
//! sensitive. During that time, plugin output and the records about the plugin are passed through
//! [`SensitiveValues::redact`].
//!
//! A string is found in plain form and in its encodings in JSON, URLs and base64, at any offset of
//! the encoded data (for example, a password in a header). The lines of a multi-line string are
//! also found individually. Strings shorter than four bytes are not searched for, nor are `true`,
//! `false` and `null`: such strings are so common that redacting them would make log lines useless.
//!
//! Redaction prevents a well-meaning plugin from revealing secrets accidentally. A malicious plugin
//! can encode a secret in a way that is not searched for; only the limits on its access prevent it
//! from sending the secret elsewhere.
//!
//! Values are first stored unchanged, and are processed only when the first output is received.

mod encodings;
mod finder;
mod lifetime;
mod recent;
mod secret_source;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wardian_value::{Path, Str, Value};

use crate::raw_state::RawState;
use crate::schema::{ProviderSchema, Schema};
use finder::Finder;
pub use lifetime::LifetimeSensitiveValues;
pub use recent::{CallScope, RecentSensitiveValues};
use secret_source::SecretSource;

/// The placeholder for a sensitive value.
pub const REDACTED: &str = "(sensitive value)";
/// Maximum number of bytes of a string that is searched for as a whole. Longer strings are split.
pub const MAX_SENSITIVE_LENGTH: usize = 32 << 10;
/// The text that replaces all output if there are more sensitive values than can be searched for.
const ALL_REDACTED: &str = "(not shown: the plugin received more sensitive values than can be searched for)";

/// The sensitive values of an operation, a plugin or a process. Clones share them.
#[derive(Clone, Default)]
pub struct SensitiveValues(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// Other sets of sensitive values that are included in this set.
    chain: Vec<SensitiveValues>,
    /// The values of earlier calls that are also redacted.
    earlier: Option<LifetimeSensitiveValues>,
    known: Mutex<State>,
}

#[derive(Default)]
struct State {
    told: Vec<SecretSource>,
    /// Number of sources whose strings have been added to the finder.
    prepared: usize,
    /// Number of sources that have been passed to [`LifetimeSensitiveValues`].
    kept: usize,
    finder: Finder,
}

impl SensitiveValues {
    /// Returns a combination of `others`. Values added to the combination are not added to
    /// `others`.
    pub fn chain(others: impl IntoIterator<Item = Self>) -> Self {
        Self(Arc::new(Inner { chain: others.into_iter().collect(), ..Inner::default() }))
    }

    /// Returns a combination of `others` and the values of earlier calls, like
    /// [`SensitiveValues::chain`].
    pub fn with_earlier(others: impl IntoIterator<Item = Self>, earlier: &LifetimeSensitiveValues) -> Self {
        let earlier = Some(earlier.clone());
        Self(Arc::new(Inner { chain: others.into_iter().collect(), earlier, ..Inner::default() }))
    }

    /// Adds the parts of a value that are marked as sensitive or ephemeral.
    pub fn add_marked(&self, value: &Value) {
        if !value.inside_marks().is_empty() {
            self.add(SecretSource::Marked(value.clone()));
        }
    }

    /// Adds a value with all nested values.
    pub fn add_all(&self, value: &Value) {
        if !value.is_null() {
            self.add(SecretSource::All(value.clone()));
        }
    }

    /// Adds a string.
    pub fn add_text(&self, text: impl Into<Str>) {
        self.add(SecretSource::All(Value::string(text)));
    }

    /// Adds the attributes of an object that are declared sensitive or write-only in its schema.
    pub fn add_by_schema(&self, object: &Value, schema: &Arc<Schema>) {
        if !object.is_null() && schema.has_secret() {
            self.add(SecretSource::Object(object.clone(), Arc::clone(schema)));
        }
    }

    /// Adds the sensitive attributes of a provider's configuration, like
    /// [`SensitiveValues::add_by_schema`].
    pub fn add_configuration(&self, config: &Value, schema: &Arc<ProviderSchema>) {
        if !config.is_null() {
            self.add(SecretSource::Configuration(config.clone(), Arc::clone(schema)));
        }
    }

    /// Adds the values of a stored object at the paths `parts`.
    pub fn add_stored_parts(&self, stored: &RawState, parts: &[Path]) {
        if let RawState::Json(text) = stored
            && !parts.is_empty()
        {
            self.add(SecretSource::Parts(Arc::clone(text), parts.into()));
        }
    }

    /// Adds the sensitive attributes of a stored object, like [`SensitiveValues::add_by_schema`].
    /// The object may have an older schema.
    pub fn add_stored(&self, stored: &RawState, schema: &Arc<Schema>) {
        if schema.has_secret() {
            self.add(SecretSource::Stored(stored.clone(), Arc::clone(schema)));
        }
    }

    /// Returns the text with its sensitive values redacted.
    pub fn redact<'text>(&self, text: &'text str) -> Cow<'text, str> {
        let mut found = Matches::default();
        self.find(text, &mut found);
        found.redact(text)
    }

    /// Returns the end of the text with its sensitive values redacted. This includes a value of
    /// which only the end is in the result.
    pub fn redact_end(&self, text: &str, most: usize) -> String {
        let mut found = Matches::default();
        self.find(text, &mut found);
        found.redact_from(text, text.ceil_char_boundary(text.len().saturating_sub(most)))
    }

    /// Redacts text in place, like [`SensitiveValues::redact`].
    pub fn redact_in_place(&self, text: &mut String) {
        if let Cow::Owned(masked) = self.redact(text) {
            *text = masked;
        }
    }

    /// Returns the length of the prefix of incomplete text that can already be redacted. The
    /// remaining text may be the beginning of a secret.
    pub fn settled_length(&self, text: &str) -> usize {
        let mut found = Matches::default();
        self.find(text, &mut found);
        found.settled_length(text)
    }

    fn find(&self, text: &str, found: &mut Matches) {
        {
            let mut known = self.lock();
            known.prepare();
            found.add_matches(&known.finder, text);
        }
        for other in &self.0.chain {
            other.find(text, found);
        }
        if let Some(earlier) = &self.0.earlier {
            earlier.find(text, found);
        }
    }

    fn add(&self, told: SecretSource) {
        self.lock().told.push(told);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Formats the set without its values.
impl fmt::Debug for SensitiveValues {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SensitiveValues")
    }
}

impl State {
    fn prepare(&mut self) {
        for told in self.told.iter().skip(self.prepared) {
            told.each_string(&mut |text| encodings::each_encoding(text, &mut |form| self.finder.add(form)));
        }
        self.prepared = self.told.len();
    }
}

/// The positions of secrets in a text.
#[derive(Default)]
struct Matches {
    places: Vec<Range<usize>>,
    longest: usize,
    is_too_much: bool,
}

impl Matches {
    fn add_matches(&mut self, finder: &Finder, text: &str) {
        self.is_too_much |= finder.is_full();
        self.longest = self.longest.max(finder.longest());
        finder.find(text.as_bytes(), &mut self.places);
    }

    /// Returns the positions in order. Adjacent and overlapping positions are merged.
    fn merged(mut self) -> Vec<Range<usize>> {
        self.places.sort_by_key(|place| place.start);
        let mut merged: Vec<Range<usize>> = Vec::with_capacity(self.places.len());
        for place in self.places {
            match merged.last_mut() {
                Some(last) if place.start <= last.end => last.end = last.end.max(place.end),
                _ => merged.push(place),
            }
        }
        merged
    }

    fn redact(self, text: &str) -> Cow<'_, str> {
        if self.is_too_much {
            return Cow::Borrowed(ALL_REDACTED);
        }
        if self.places.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(self.redact_from(text, 0)) }
    }

    fn redact_from(self, text: &str, from: usize) -> String {
        if self.is_too_much {
            return ALL_REDACTED.to_owned();
        }
        let mut masked = String::with_capacity(text.len().saturating_sub(from));
        let mut end = from;
        for place in self.merged().into_iter().filter(|place| place.end > from) {
            masked.push_str(text.get(end..place.start).unwrap_or_default());
            masked.push_str(REDACTED);
            end = place.end;
        }
        masked.push_str(text.get(end..).unwrap_or_default());
        masked
    }

    fn settled_length(self, text: &str) -> usize {
        let settled = text.floor_char_boundary(text.len().saturating_sub(self.longest.saturating_sub(1)));
        let across = self.merged().into_iter().find(|place| place.start < settled && settled < place.end);
        across.map_or(settled, |place| place.start)
    }
}

#[cfg(test)]
mod tests;
