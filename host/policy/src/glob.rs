//! Glob patterns for strings.
//!
//! | in a pattern | matches |
//! |---|---|
//! | `*` | any number of characters except `/` |
//! | `**` | any number of characters |
//! | anything else | itself |
//!
//! Matching follows all alternatives simultaneously, without backtracking. The cost is proportional
//! to the product of the lengths of pattern and string, regardless of the number of wildcards.
//! Patterns have a maximum length ([`MAX_PATTERN_LENGTH`]), so matching is linear in the length of
//! the string.

use std::fmt;

pub(crate) const MAX_PATTERN_LENGTH: usize = 1024;

/// Maximum length of a string that is matched with wildcards. A longer string is treated as
/// undecidable: it matches no rule that allows, and every rule that denies.
pub(crate) const MAX_TEXT_LENGTH: usize = 64 << 10;

/// A compiled pattern.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Glob {
    steps: Box<[Step]>,
    has_wildcards: bool,
    text: Box<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Step {
    Byte(u8),
    Star,
    DoubleStar,
}

/// The reason why a pattern is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GlobError {
    #[error("it is empty")]
    Empty,
    #[error("it is longer than {MAX_PATTERN_LENGTH} bytes")]
    TooLong,
    #[error("it contains a control character")]
    Control,
    #[error("\"***\" is not a wildcard; use \"**\" to match everything")]
    Stars,
}

/// The result of a match whose outcome cannot be determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnUndecidable {
    /// The pattern does not match: for rules that allow.
    NoMatch,
    /// The pattern matches: for rules that deny.
    Match,
}

impl Glob {
    pub(crate) fn parse(text: &str) -> Result<Self, GlobError> {
        if text.is_empty() {
            return Err(GlobError::Empty);
        }
        if text.len() > MAX_PATTERN_LENGTH {
            return Err(GlobError::TooLong);
        }
        if text.chars().any(char::is_control) {
            return Err(GlobError::Control);
        }
        if text.contains("***") {
            return Err(GlobError::Stars);
        }
        let mut steps = Vec::with_capacity(text.len());
        let mut bytes = text.bytes().peekable();
        while let Some(byte) = bytes.next() {
            steps.push(match byte {
                b'*' if bytes.next_if_eq(&b'*').is_some() => Step::DoubleStar,
                b'*' => Step::Star,
                byte => Step::Byte(byte),
            });
        }
        Ok(Self { steps: steps.into(), has_wildcards: text.contains('*'), text: text.into() })
    }

    /// Returns the pattern's source.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the only string that matches, if the pattern has no wildcards.
    pub(crate) fn literal(&self) -> Option<&str> {
        (!self.has_wildcards).then_some(&*self.text)
    }

    /// Whether the pattern starts with a wildcard.
    pub(crate) fn starts_with_wildcard(&self) -> bool {
        matches!(self.steps.first(), Some(Step::Star | Step::DoubleStar))
    }

    pub(crate) fn matches(&self, text: &str, on_undecidable: OnUndecidable) -> bool {
        if !self.has_wildcards {
            return *self.text == *text;
        }
        if text.len() > MAX_TEXT_LENGTH {
            return on_undecidable == OnUndecidable::Match;
        }
        match *self.steps {
            [Step::DoubleStar] => return true,
            [Step::Star] => return !text.contains('/'),
            _ => {}
        }
        self.run(text.bytes().map(Input::Byte))
    }

    /// Whether this pattern matches every string that `other` matches. May return false
    /// negatives, but no false positives.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        // Wildcards of `other` are treated as separate symbols that only wildcards match.
        self.run(other.steps.iter().map(|step| match step {
            Step::Byte(byte) => Input::Byte(*byte),
            Step::Star => Input::Star,
            Step::DoubleStar => Input::DoubleStar,
        }))
    }

    /// Whether no string matches both patterns. May return false negatives, but no false positives.
    pub(crate) fn excludes(&self, other: &Self) -> bool {
        match (self.literal(), other.literal()) {
            (Some(one), Some(two)) => one != two,
            (Some(one), None) => !other.matches(one, OnUndecidable::Match),
            (None, Some(two)) => !self.matches(two, OnUndecidable::Match),
            (None, None) => {
                let differs = |(one, two): (&Step, &Step)| matches!((one, two), (Step::Byte(one), Step::Byte(two)) if one != two);
                let both_bytes =
                    |(one, two): &(&Step, &Step)| matches!((one, two), (Step::Byte(_), Step::Byte(_)));
                let forwards = self.steps.iter().zip(other.steps.iter());
                let backwards = self.steps.iter().rev().zip(other.steps.iter().rev());
                forwards.take_while(both_bytes).any(differs) || backwards.take_while(both_bytes).any(differs)
            }
        }
    }

    fn run(&self, input: impl Iterator<Item = Input>) -> bool {
        let end = self.steps.len();
        // The set of current states, which are positions in the pattern.
        let mut states = vec![false; end + 1];
        let mut next = vec![false; end + 1];
        add_state(&mut states, &self.steps, 0);
        for letter in input {
            next.fill(false);
            let mut alive = false;
            for (state, step) in self.steps.iter().enumerate() {
                if !states.get(state).copied().unwrap_or(false) {
                    continue;
                }
                let target = match (step, letter) {
                    (Step::Byte(wanted), Input::Byte(byte)) if *wanted == byte => state + 1,
                    (Step::Star, Input::Star) => state,
                    (Step::Star, Input::Byte(byte)) if byte != b'/' => state,
                    (Step::DoubleStar, _) => state,
                    _ => continue,
                };
                add_state(&mut next, &self.steps, target);
                alive = true;
            }
            if !alive {
                return false;
            }
            std::mem::swap(&mut states, &mut next);
        }
        states.last().copied().unwrap_or(false)
    }
}

#[derive(Clone, Copy)]
enum Input {
    Byte(u8),
    Star,
    DoubleStar,
}

/// Adds a state, and the states that can be reached from it without consuming a character.
fn add_state(states: &mut [bool], steps: &[Step], mut state: usize) {
    loop {
        match states.get_mut(state) {
            Some(mark) if !*mark => *mark = true,
            _ => return,
        }
        if !matches!(steps.get(state), Some(Step::Star | Step::DoubleStar)) {
            return;
        }
        state += 1;
    }
}

impl fmt::Debug for Glob {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Glob({})", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::{Duration, Instant};

    fn matches(pattern: &str, text: &str) -> bool {
        Glob::parse(pattern).unwrap().matches(text, OnUndecidable::NoMatch)
    }

    #[test]
    fn glob_wildcards_match_as_documented() {
        for (pattern, yes, no) in [
            ("a", &["a"][..], &["b", "aa", ""][..]),
            ("AWS_*", &["AWS_", "AWS_REGION"], &["AWS", "XAWS_A", "AWS_A/B"]),
            ("*", &["", "a.b"], &["a/b", "/"]),
            ("**", &["", "a/b", "/"], &[]),
            ("https://x/*/y", &["https://x/a/y", "https://x//y"], &["https://x/a/b/y"]),
            ("https://x/**/y", &["https://x/a/b/y"], &["https://x/y"]),
            ("a*b*c", &["abc", "a1b2c", "abcbc"], &["ac", "abcd"]),
        ] {
            for text in yes {
                assert!(matches(pattern, text), "{pattern} {text}");
            }
            for text in no {
                assert!(!matches(pattern, text), "{pattern} {text}");
            }
        }
    }

    #[test]
    fn rejects_invalid_patterns() {
        assert_eq!(Glob::parse(""), Err(GlobError::Empty));
        assert_eq!(Glob::parse("a\nb"), Err(GlobError::Control));
        assert_eq!(Glob::parse("a***"), Err(GlobError::Stars));
        assert_eq!(Glob::parse(&"a".repeat(MAX_PATTERN_LENGTH + 1)), Err(GlobError::TooLong));
    }

    #[test]
    fn many_wildcards_match_in_linear_time() {
        let pattern = "*a".repeat(MAX_PATTERN_LENGTH / 2);
        let text = "a".repeat(20_000) + "b";
        let began = Instant::now();
        assert!(!matches(&pattern, &text));
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }

    #[test]
    fn too_long_string_is_undecidable() {
        let text = "a".repeat(MAX_TEXT_LENGTH + 1);
        let pattern = Glob::parse("a*").unwrap();
        assert!(!pattern.matches(&text, OnUndecidable::NoMatch));
        assert!(pattern.matches(&text, OnUndecidable::Match));
    }

    proptest! {
        #[test]
        fn pattern_without_wildcards_matches_itself(text in "[^*\\p{Cc}]{1,40}") {
            prop_assert!(matches(&text, &text));
        }

        #[test]
        fn covers_and_excludes_have_no_false_positives(one in "[ab/*]{1,6}", two in "[ab/*]{1,6}", text in "[ab/]{0,6}") {
            let (Ok(one), Ok(two)) = (Glob::parse(&one), Glob::parse(&two)) else { return Ok(()) };
            let by_one = one.matches(&text, OnUndecidable::NoMatch);
            let by_two = two.matches(&text, OnUndecidable::NoMatch);
            prop_assert!(!(one.covers(&two) && by_two && !by_one), "{:?} covers {:?}", one, two);
            prop_assert!(!(one.excludes(&two) && by_one && by_two), "{:?} excludes {:?}", one, two);
            prop_assert!(one.covers(&one));
        }
    }
}
