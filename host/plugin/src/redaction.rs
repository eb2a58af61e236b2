//! Sensitive values that a plugin was told, and that it must not repeat to people.
//!
//! A marked value is passed to a plugin through
//! [`CallContext::unmark_and_register`](crate::CallContext::unmark_and_register), which
//! removes the marks and registers the marked parts for as long as the context lives. The
//! parts that a schema declares sensitive are registered by
//! [`RedactingProvider`](crate::RedactingProvider). Whatever the plugin says meanwhile, and what
//! is recorded of it, goes through [`SensitiveValues::redact`].
//!
//! A text is found as it is, and as it stands in JSON, in a URL and in base64, wherever in
//! what is encoded it begins (a password in a header, say); of a text with several lines
//! each line is found too. What is shorter than four bytes is not looked for, nor are
//! `true`, `false` and `null`: they would be found everywhere, and a log without them says
//! nothing.
//!
//! This keeps secrets from being shown by a plugin that means well. One that does not can
//! write a secret in a way that nobody looks for; what it can reach is what keeps it from
//! telling somebody.
//!
//! While nothing is said nothing is searched for: values are kept as they came, and are
//! looked into when the first text is there.

mod encodings;
mod finder;
mod recent;
mod secret_source;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wardian_value::{Path, Str, Value};

use crate::provider::RawState;
use crate::schema::{ProviderSchema, Schema};
use finder::Finder;
pub use recent::{CallScope, RecentSensitiveValues};
use secret_source::SecretSource;

/// What stands in a secret's place.
pub const REDACTED: &str = "(sensitive value)";
/// No text that is looked for is longer than that, in bytes: what is, is found piece by piece.
pub const MAX_SENSITIVE_LENGTH: usize = 32 << 10;
/// What stands in the place of everything that is said, where more was to be looked for
/// than can be.
const ALL_REDACTED: &str = "(not shown: the plugin was told more sensitive values than can be looked for)";

/// What must not be repeated of some work. Clones are the same.
#[derive(Clone, Default)]
pub struct SensitiveValues(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// Others whose secrets count here as well.
    chain: Vec<SensitiveValues>,
    known: Mutex<State>,
}

#[derive(Default)]
struct State {
    told: Vec<SecretSource>,
    /// How many of those the finder has.
    prepared: usize,
    finder: Finder,
}

impl SensitiveValues {
    /// Those of others, and what is added to these.
    pub fn chain(others: impl IntoIterator<Item = Self>) -> Self {
        Self(Arc::new(Inner { chain: others.into_iter().collect(), known: Mutex::default() }))
    }

    /// Adds what of a value is marked as sensitive or ephemeral.
    pub fn add_marked(&self, value: &Value) {
        if !value.inside_marks().is_empty() {
            self.add(SecretSource::Marked(value.clone()));
        }
    }

    /// Adds a value with all its parts.
    pub fn add_all(&self, value: &Value) {
        if !value.is_null() {
            self.add(SecretSource::All(value.clone()));
        }
    }

    /// Adds a text.
    pub fn add_text(&self, text: impl Into<Str>) {
        self.add(SecretSource::All(Value::string(text)));
    }

    /// Adds what of an object its schema calls sensitive or write-only.
    pub fn add_by_schema(&self, object: &Value, schema: &Arc<Schema>) {
        if !object.is_null() {
            self.add(SecretSource::Object(object.clone(), Arc::clone(schema)));
        }
    }

    /// As [`SensitiveValues::add_by_schema`], of a provider's own configuration.
    pub fn add_configuration(&self, config: &Value, schema: &Arc<ProviderSchema>) {
        if !config.is_null() {
            self.add(SecretSource::Configuration(config.clone(), Arc::clone(schema)));
        }
    }

    /// Adds parts of an object as it is stored.
    pub fn add_stored_parts(&self, stored: &RawState, parts: &[Path]) {
        if let RawState::Json(text) = stored
            && !parts.is_empty()
        {
            self.add(SecretSource::Parts(Arc::clone(text), parts.into()));
        }
    }

    /// As [`SensitiveValues::add_by_schema`], of an object as it is stored, maybe by an older schema.
    pub fn add_stored(&self, stored: &RawState, schema: &Arc<Schema>) {
        self.add(SecretSource::Stored(stored.clone(), Arc::clone(schema)));
    }

    /// The text without what is secret.
    pub fn redact<'text>(&self, text: &'text str) -> Cow<'text, str> {
        let mut found = Matches::default();
        self.find(text, &mut found);
        found.redact(text)
    }

    /// The end of the text, without what is secret, or of what begins before.
    pub fn redact_end(&self, text: &str, most: usize) -> String {
        let mut found = Matches::default();
        self.find(text, &mut found);
        found.redact_from(text, text.ceil_char_boundary(text.len().saturating_sub(most)))
    }

    /// [`SensitiveValues::redact`], in place.
    pub fn redact_in_place(&self, text: &mut String) {
        if let Cow::Owned(masked) = self.redact(text) {
            *text = masked;
        }
    }

    /// How much of a text that goes on can be masked already: what comes after may be the
    /// beginning of a secret.
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
    }

    fn add(&self, told: SecretSource) {
        self.lock().told.push(told);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says nothing of what it knows.
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

/// Where secrets are in a text.
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

    /// In their order, those that touch as one.
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
