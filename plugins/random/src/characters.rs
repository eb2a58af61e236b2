//! Random text of given kinds of characters: what `random_string` and both
//! forms of `random_password` generate.

use crate::entropy::{self, EntropyError};

const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const NUMERIC: &str = "0123456789";
const SPECIAL: &str = "!@#$%&*()-_=+[]{}<>:?";

/// One kind of character: whether it may appear, and how often it must.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    /// It may fill the places that no minimum claims.
    pub(crate) allowed: bool,
    /// It appears at least this often, even where it is not allowed to fill.
    pub(crate) minimum: i64,
}

/// What text to generate.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    pub(crate) length: i64,
    pub(crate) upper: Kind,
    pub(crate) lower: Kind,
    pub(crate) numeric: Kind,
    pub(crate) special: Kind,
    /// Takes the place of the usual special characters unless empty.
    pub(crate) override_special: String,
}

/// Why there is no text for a recipe.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecipeError {
    #[error("the minimums ask for {claimed} characters, more than the length of {length}")]
    TooShort { claimed: i64, length: i64 },
    #[error("no kind of character is enabled that could fill the result")]
    NothingToFillWith,
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

impl Recipe {
    /// Generates the text. Lengths count characters.
    pub(crate) fn generate(&self) -> Result<String, RecipeError> {
        let special = match self.override_special.as_str() {
            "" => SPECIAL,
            chosen => chosen,
        };
        let kinds =
            [(self.upper, UPPER), (self.lower, LOWER), (self.numeric, NUMERIC), (self.special, special)];

        let mut result = Vec::new();
        let mut filling = Vec::new();
        let mut claimed = 0_i64;
        for (kind, alphabet) in kinds {
            claimed = claimed.saturating_add(kind.minimum.max(0));
            let alphabet: Vec<char> = alphabet.chars().collect();
            if claimed > self.length {
                let length = self.length;
                return Err(RecipeError::TooShort { claimed, length });
            }
            draw(&alphabet, kind.minimum, &mut result)?;
            if kind.allowed {
                filling.extend(alphabet);
            }
        }
        draw(&filling, self.length - claimed, &mut result)?;
        entropy::shuffle(&mut result)?;
        Ok(result.into_iter().collect())
    }
}

fn draw(alphabet: &[char], count: i64, result: &mut Vec<char>) -> Result<(), RecipeError> {
    if count > 0 && alphabet.is_empty() {
        return Err(RecipeError::NothingToFillWith);
    }
    for _ in 0..count {
        result.push(alphabet[entropy::random_index(alphabet.len())?]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(allowed: bool, minimum: i64) -> Kind {
        Kind { allowed, minimum }
    }

    fn recipe(length: i64) -> Recipe {
        Recipe {
            length,
            upper: kind(true, 0),
            lower: kind(true, 0),
            numeric: kind(true, 0),
            special: kind(true, 0),
            override_special: String::new(),
        }
    }

    fn count(text: &str, alphabet: &str) -> usize {
        text.chars().filter(|char| alphabet.contains(*char)).count()
    }

    #[test]
    fn length_is_exact_and_characters_are_known() {
        for length in [1, 2, 72, 500] {
            let text = recipe(length).generate().unwrap();
            let known = [UPPER, LOWER, NUMERIC, SPECIAL].concat();
            assert_eq!(count(&text, &known), usize::try_from(length).unwrap());
        }
    }

    #[test]
    fn minimums_hold_even_for_kinds_that_may_not_fill() {
        let mut recipe = recipe(10);
        recipe.lower = kind(false, 2);
        recipe.numeric = kind(false, 3);
        recipe.special = kind(false, 1);
        recipe.upper = kind(true, 1);
        for _ in 0..50 {
            let text = recipe.generate().unwrap();
            assert_eq!(count(&text, LOWER), 2);
            assert_eq!(count(&text, NUMERIC), 3);
            assert_eq!(count(&text, SPECIAL), 1);
            assert_eq!(count(&text, UPPER), 4);
        }
    }

    #[test]
    fn chosen_special_characters_replace_the_usual_ones() {
        let mut recipe = recipe(40);
        recipe.override_special = "~é".to_owned();
        recipe.upper.allowed = false;
        recipe.lower.allowed = false;
        recipe.numeric.allowed = false;
        let text = recipe.generate().unwrap();
        assert_eq!(text.chars().count(), 40);
        assert_eq!(count(&text, "~é"), 40);
    }

    #[test]
    fn every_place_is_as_likely_for_a_minimum() {
        let mut recipe = recipe(4);
        recipe.upper.allowed = false;
        recipe.special.allowed = false;
        recipe.numeric = kind(false, 1);
        let mut places = [0; 4];
        for _ in 0..4000 {
            let text = recipe.generate().unwrap();
            places[text.find(|char: char| char.is_ascii_digit()).unwrap()] += 1;
        }
        assert!(places.iter().all(|found| (800..1200).contains(found)), "{places:?}");
    }

    #[test]
    fn impossible_recipes_are_refused() {
        let mut short = recipe(3);
        short.upper.minimum = 2;
        short.lower.minimum = 2;
        assert!(matches!(short.generate(), Err(RecipeError::TooShort { claimed: 4, length: 3 })));

        let mut empty = recipe(3);
        empty.upper.allowed = false;
        empty.lower.allowed = false;
        empty.numeric.allowed = false;
        empty.special.allowed = false;
        assert!(matches!(empty.generate(), Err(RecipeError::NothingToFillWith)));
        empty.numeric.minimum = 3;
        assert_eq!(count(&empty.generate().unwrap(), NUMERIC), 3);
    }
}
