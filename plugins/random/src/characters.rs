//! Generates random strings from character classes: the values of `random_string`, and of the
//! resource and the ephemeral resource `random_password`.

use crate::entropy::{self, EntropyError};

const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const NUMERIC: &str = "0123456789";
const SPECIAL: &str = "!@#$%&*()-_=+[]{}<>:?";

/// The rules for one class of characters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CharacterClass {
    /// Whether the class may occur more often than its minimum.
    pub(crate) allowed: bool,
    /// The minimum number of characters of the class, even if it is not otherwise allowed.
    pub(crate) minimum: i64,
}

#[derive(Debug, Clone)]
pub(crate) struct StringRules {
    pub(crate) length: i64,
    pub(crate) upper: CharacterClass,
    pub(crate) lower: CharacterClass,
    pub(crate) numeric: CharacterClass,
    pub(crate) special: CharacterClass,
    /// Special characters that replace the default special characters, unless this is empty.
    pub(crate) override_special: String,
}

/// The reason why no string can be generated.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StringRulesError {
    #[error("the minimums require {claimed} characters, but the length is {length}")]
    TooShort { claimed: i64, length: i64 },
    #[error("no character class is enabled for the remaining characters")]
    NoEnabledClass,
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

impl StringRules {
    /// Generates a string. The length is the number of characters.
    pub(crate) fn generate(&self) -> Result<String, StringRulesError> {
        let special = match self.override_special.as_str() {
            "" => SPECIAL,
            chosen => chosen,
        };
        let classes =
            [(self.upper, UPPER), (self.lower, LOWER), (self.numeric, NUMERIC), (self.special, special)];

        let mut result = Vec::new();
        let mut filling = Vec::new();
        let mut claimed = 0_i64;
        for (class, alphabet) in classes {
            claimed = claimed.saturating_add(class.minimum.max(0));
            let alphabet: Vec<char> = alphabet.chars().collect();
            if claimed > self.length {
                let length = self.length;
                return Err(StringRulesError::TooShort { claimed, length });
            }
            draw(&alphabet, class.minimum, &mut result)?;
            if class.allowed {
                filling.extend(alphabet);
            }
        }
        draw(&filling, self.length - claimed, &mut result)?;
        entropy::shuffle(&mut result)?;
        Ok(result.into_iter().collect())
    }
}

fn draw(alphabet: &[char], count: i64, result: &mut Vec<char>) -> Result<(), StringRulesError> {
    if count > 0 && alphabet.is_empty() {
        return Err(StringRulesError::NoEnabledClass);
    }
    for _ in 0..count {
        result.push(alphabet[entropy::random_index(alphabet.len())?]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(allowed: bool, minimum: i64) -> CharacterClass {
        CharacterClass { allowed, minimum }
    }

    fn rules(length: i64) -> StringRules {
        StringRules {
            length,
            upper: class(true, 0),
            lower: class(true, 0),
            numeric: class(true, 0),
            special: class(true, 0),
            override_special: String::new(),
        }
    }

    fn count(text: &str, alphabet: &str) -> usize {
        text.chars().filter(|char| alphabet.contains(*char)).count()
    }

    #[test]
    fn length_is_exact_and_characters_are_known() {
        for length in [1, 2, 72, 500] {
            let text = rules(length).generate().unwrap();
            let known = [UPPER, LOWER, NUMERIC, SPECIAL].concat();
            assert_eq!(count(&text, &known), usize::try_from(length).unwrap());
        }
    }

    #[test]
    fn minimums_apply_to_disabled_classes() {
        let mut rules = rules(10);
        rules.lower = class(false, 2);
        rules.numeric = class(false, 3);
        rules.special = class(false, 1);
        rules.upper = class(true, 1);
        for _ in 0..50 {
            let text = rules.generate().unwrap();
            assert_eq!(count(&text, LOWER), 2);
            assert_eq!(count(&text, NUMERIC), 3);
            assert_eq!(count(&text, SPECIAL), 1);
            assert_eq!(count(&text, UPPER), 4);
        }
    }

    #[test]
    fn override_special_replaces_default_characters() {
        let mut rules = rules(40);
        rules.override_special = "~é".to_owned();
        rules.upper.allowed = false;
        rules.lower.allowed = false;
        rules.numeric.allowed = false;
        let text = rules.generate().unwrap();
        assert_eq!(text.chars().count(), 40);
        assert_eq!(count(&text, "~é"), 40);
    }

    #[test]
    fn minimum_is_uniformly_distributed() {
        let mut rules = rules(4);
        rules.upper.allowed = false;
        rules.special.allowed = false;
        rules.numeric = class(false, 1);
        let mut places = [0; 4];
        for _ in 0..4000 {
            let text = rules.generate().unwrap();
            places[text.find(|char: char| char.is_ascii_digit()).unwrap()] += 1;
        }
        assert!(places.iter().all(|found| (800..1200).contains(found)), "{places:?}");
    }

    #[test]
    fn impossible_rules_are_errors() {
        let mut short = rules(3);
        short.upper.minimum = 2;
        short.lower.minimum = 2;
        assert!(matches!(short.generate(), Err(StringRulesError::TooShort { claimed: 4, length: 3 })));

        let mut empty = rules(3);
        empty.upper.allowed = false;
        empty.lower.allowed = false;
        empty.numeric.allowed = false;
        empty.special.allowed = false;
        assert!(matches!(empty.generate(), Err(StringRulesError::NoEnabledClass)));
        empty.numeric.minimum = 3;
        assert_eq!(count(&empty.generate().unwrap(), NUMERIC), 3);
    }
}
