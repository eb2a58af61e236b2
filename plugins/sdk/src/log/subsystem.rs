//! Log lines of one part of a provider, with values masked.

use std::borrow::Cow;

use regex_lite::Regex;

use super::{Level, enabled, write_to};

const MASK: &str = "***";

/// A part of a provider with its own name in the log, such as its HTTP client. It masks values
/// before the host receives them.
///
/// ```
/// use wardian_sdk::log::Subsystem;
///
/// let log = Subsystem::new("http").mask_field("authorization").mask_pattern("token=[^&]+");
/// log.debug("GET /items?token=123", &[("authorization", "Bearer 123")]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Subsystem {
    name: String,
    fields: Vec<String>,
    patterns: Vec<Regex>,
    /// Whether a pattern is not valid, so everything is masked.
    masks_all: bool,
    values: Vec<String>,
}

impl Subsystem {
    /// Creates a subsystem without masks.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Masks the values of fields with this name, in upper or lower case.
    #[must_use]
    pub fn mask_field(mut self, name: impl Into<String>) -> Self {
        self.fields.push(name.into());
        self
    }

    /// Masks the text that a regular expression matches, in messages and fields. If the expression
    /// is not valid, all messages and fields are masked.
    #[must_use]
    pub fn mask_pattern(mut self, pattern: &str) -> Self {
        match Regex::new(pattern) {
            Ok(pattern) => self.patterns.push(pattern),
            Err(_) => self.masks_all = true,
        }
        self
    }

    /// Masks a secret, in messages and fields.
    #[must_use]
    pub fn mask_value(mut self, secret: impl Into<String>) -> Self {
        let secret = secret.into();
        if !secret.is_empty() {
            self.values.push(secret);
        }
        self
    }

    /// Writes a log line with named fields.
    pub fn write(&self, level: Level, message: &str, fields: &[(&str, &str)]) {
        if !enabled(level) {
            return;
        }
        let masked: Vec<(&str, Cow<'_, str>)> =
            fields.iter().map(|(name, value)| (*name, self.field(name, value))).collect();
        let fields: Vec<(&str, &str)> = masked.iter().map(|(name, value)| (*name, value.as_ref())).collect();
        write_to(&self.name, level, &self.mask(message), &fields);
    }

    /// Writes a line with details of a step.
    pub fn trace(&self, message: &str, fields: &[(&str, &str)]) {
        self.write(Level::Trace, message, fields);
    }

    /// Writes a line for the author of the provider.
    pub fn debug(&self, message: &str, fields: &[(&str, &str)]) {
        self.write(Level::Debug, message, fields);
    }

    /// Writes a line for operators.
    pub fn info(&self, message: &str, fields: &[(&str, &str)]) {
        self.write(Level::Info, message, fields);
    }

    /// Writes a line about an unexpected event.
    pub fn warn(&self, message: &str, fields: &[(&str, &str)]) {
        self.write(Level::Warn, message, fields);
    }

    /// Writes a line about a failure.
    pub fn error(&self, message: &str, fields: &[(&str, &str)]) {
        self.write(Level::Error, message, fields);
    }

    fn field<'a>(&self, name: &str, value: &'a str) -> Cow<'a, str> {
        if self.fields.iter().any(|masked| masked.eq_ignore_ascii_case(name)) {
            return Cow::Borrowed(MASK);
        }
        self.mask(value)
    }

    fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.masks_all {
            return Cow::Borrowed(MASK);
        }
        let mut masked = Cow::Borrowed(text);
        for secret in &self.values {
            if masked.contains(secret.as_str()) {
                masked = Cow::Owned(masked.replace(secret.as_str(), MASK));
            }
        }
        for pattern in &self.patterns {
            if pattern.is_match(&masked) {
                masked = Cow::Owned(pattern.replace_all(&masked, MASK).into_owned());
            }
        }
        masked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_values_and_patterns_are_masked() {
        let log =
            Subsystem::new("http").mask_field("Authorization").mask_value("s3cret").mask_pattern("id=[0-9]+");
        assert_eq!(log.field("authorization", "Bearer x"), MASK);
        assert_eq!(log.field("url", "/a?id=12&key=s3cret"), "/a?***&key=***");
        assert_eq!(log.mask("plain"), "plain");
        assert_eq!(Subsystem::new("").mask_pattern("(").mask("plain"), MASK);
        assert_eq!(Subsystem::new("").mask_value("").mask("plain"), "plain");
    }
}
