//! Patterns over texts.
//!
//! | in a pattern | matches |
//! |---|---|
//! | `*` | any characters but `/`, also none |
//! | `**` | any characters, also none |
//! | anything else | itself |
//!
//! Matching follows all ways through the pattern at once, and never goes back: its cost
//! is the product of the two lengths, however many stars there are. Patterns are short
//! ([`MOST_PATTERN`]), so that this is linear in the text.

use std::fmt;

/// The longest pattern, in bytes.
pub(crate) const MOST_PATTERN: usize = 1024;

/// The longest text that a pattern with wildcards matches; a longer one matches nothing
/// in a rule that allows, and everything in one that denies.
pub(crate) const MOST_TEXT: usize = 64 << 10;

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

/// Why a text is no pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GlobProblem {
    #[error("it is empty")]
    Empty,
    #[error("it is longer than {MOST_PATTERN} bytes")]
    TooLong,
    #[error("it has a control character in it")]
    Control,
    #[error("three stars in a row mean nothing; \"**\" is everything")]
    Stars,
}

/// Whose doubts a match settles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// What cannot be told does not match: for rules that allow.
    Excludes,
    /// What cannot be told matches: for rules that deny.
    Includes,
}

impl Glob {
    pub(crate) fn parse(text: &str) -> Result<Self, GlobProblem> {
        if text.is_empty() {
            return Err(GlobProblem::Empty);
        }
        if text.len() > MOST_PATTERN {
            return Err(GlobProblem::TooLong);
        }
        if text.chars().any(char::is_control) {
            return Err(GlobProblem::Control);
        }
        if text.contains("***") {
            return Err(GlobProblem::Stars);
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

    /// The pattern as it was written.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The only text that it matches, if there is only one.
    pub(crate) fn literal(&self) -> Option<&str> {
        (!self.has_wildcards).then_some(&*self.text)
    }

    /// Whether it begins with a star.
    pub(crate) fn begins_open(&self) -> bool {
        matches!(self.steps.first(), Some(Step::Star | Step::DoubleStar))
    }

    pub(crate) fn matches(&self, text: &str, doubt: Doubt) -> bool {
        if !self.has_wildcards {
            return *self.text == *text;
        }
        if text.len() > MOST_TEXT {
            return doubt == Doubt::Includes;
        }
        match *self.steps {
            [Step::DoubleStar] => return true,
            [Step::Star] => return !text.contains('/'),
            _ => {}
        }
        self.run(text.bytes().map(Input::Byte))
    }

    /// Whether every text that `other` matches is matched by this one. May say no where
    /// it is so; never says yes where it is not.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        // The other's stars are matched by stars alone, as letters of their own.
        self.run(other.steps.iter().map(|step| match step {
            Step::Byte(byte) => Input::Byte(*byte),
            Step::Star => Input::Star,
            Step::DoubleStar => Input::DoubleStar,
        }))
    }

    /// Whether no text is matched by both. May say no where it is so; never says yes
    /// where it is not.
    pub(crate) fn excludes(&self, other: &Self) -> bool {
        match (self.literal(), other.literal()) {
            (Some(one), Some(two)) => one != two,
            (Some(one), None) => !other.matches(one, Doubt::Includes),
            (None, Some(two)) => !self.matches(two, Doubt::Includes),
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
        // Which places in the pattern have been reached.
        let mut reached = vec![false; end + 1];
        let mut next = vec![false; end + 1];
        reach(&mut reached, &self.steps, 0);
        for letter in input {
            next.fill(false);
            let mut alive = false;
            for (place, step) in self.steps.iter().enumerate() {
                if !reached.get(place).copied().unwrap_or(false) {
                    continue;
                }
                let onto = match (step, letter) {
                    (Step::Byte(wanted), Input::Byte(byte)) if *wanted == byte => place + 1,
                    (Step::Star, Input::Star) => place,
                    (Step::Star, Input::Byte(byte)) if byte != b'/' => place,
                    (Step::DoubleStar, _) => place,
                    _ => continue,
                };
                reach(&mut next, &self.steps, onto);
                alive = true;
            }
            if !alive {
                return false;
            }
            std::mem::swap(&mut reached, &mut next);
        }
        reached.last().copied().unwrap_or(false)
    }
}

#[derive(Clone, Copy)]
enum Input {
    Byte(u8),
    Star,
    DoubleStar,
}

/// Marks a place, and those behind it that take no letter to get to.
fn reach(reached: &mut [bool], steps: &[Step], mut place: usize) {
    loop {
        match reached.get_mut(place) {
            Some(mark) if !*mark => *mark = true,
            _ => return,
        }
        if !matches!(steps.get(place), Some(Step::Star | Step::DoubleStar)) {
            return;
        }
        place += 1;
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
        Glob::parse(pattern).unwrap().matches(text, Doubt::Excludes)
    }

    #[test]
    fn stars_match_what_the_table_says() {
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
    fn what_is_no_pattern_is_refused() {
        assert_eq!(Glob::parse(""), Err(GlobProblem::Empty));
        assert_eq!(Glob::parse("a\nb"), Err(GlobProblem::Control));
        assert_eq!(Glob::parse("a***"), Err(GlobProblem::Stars));
        assert_eq!(Glob::parse(&"a".repeat(MOST_PATTERN + 1)), Err(GlobProblem::TooLong));
    }

    #[test]
    fn many_stars_cost_no_more_than_their_number() {
        let pattern = "*a".repeat(MOST_PATTERN / 2);
        let text = "a".repeat(20_000) + "b";
        let began = Instant::now();
        assert!(!matches(&pattern, &text));
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }

    #[test]
    fn a_text_too_long_to_match_is_in_doubt() {
        let text = "a".repeat(MOST_TEXT + 1);
        let pattern = Glob::parse("a*").unwrap();
        assert!(!pattern.matches(&text, Doubt::Excludes));
        assert!(pattern.matches(&text, Doubt::Includes));
    }

    proptest! {
        #[test]
        fn a_text_without_stars_matches_itself(text in "[^*\\p{Cc}]{1,40}") {
            prop_assert!(matches(&text, &text));
        }

        #[test]
        fn covering_and_excluding_are_true(one in "[ab/*]{1,6}", two in "[ab/*]{1,6}", text in "[ab/]{0,6}") {
            let (Ok(one), Ok(two)) = (Glob::parse(&one), Glob::parse(&two)) else { return Ok(()) };
            let by_one = one.matches(&text, Doubt::Excludes);
            let by_two = two.matches(&text, Doubt::Excludes);
            prop_assert!(!(one.covers(&two) && by_two && !by_one), "{:?} covers {:?}", one, two);
            prop_assert!(!(one.excludes(&two) && by_one && by_two), "{:?} excludes {:?}", one, two);
            prop_assert!(one.covers(&one));
        }
    }
}
