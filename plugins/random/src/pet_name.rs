//! Generates pet names: an animal, an adjective and adverbs.
//!
//! The word lists were written for this project. They are about as long as the official provider's
//! lists, and the probability of two equal names is therefore about the same.

use crate::entropy::{self, EntropyError};

const ADVERBS: &str = include_str!("words/adverbs.txt");
const ADJECTIVES: &str = include_str!("words/adjectives.txt");
const NAMES: &str = include_str!("words/names.txt");

/// Generates a name with a number of words: an animal, an adjective and an animal, or adverbs
/// before both. If the number is less than one, the name has two words.
pub(crate) fn generate(words: i64, separator: &str) -> Result<String, EntropyError> {
    if words == 1 {
        return one_of(NAMES).map(str::to_owned);
    }
    let mut name = Vec::new();
    for _ in 2..words {
        name.push(one_of(ADVERBS)?);
    }
    name.push(one_of(ADJECTIVES)?);
    name.push(one_of(NAMES)?);
    // The separator is also converted to lower case, for compatibility.
    Ok(name.join(separator).to_lowercase())
}

fn one_of(list: &'static str) -> Result<&'static str, EntropyError> {
    let words: Vec<&str> = list.split_ascii_whitespace().collect();
    Ok(words[entropy::random_index(words.len())?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_lists_are_long_without_duplicates() {
        for list in [ADVERBS, ADJECTIVES, NAMES] {
            let words: Vec<&str> = list.split_ascii_whitespace().collect();
            assert!(words.len() > 300, "{}", words.len());
            assert!(words.is_sorted_by(|left, right| left < right));
            assert!(words.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase())));
        }
    }

    #[test]
    fn name_has_word_count_and_separator() {
        for (asked, given) in [(1, 1), (2, 2), (3, 3), (7, 7), (0, 2), (-4, 2)] {
            let name = generate(asked, "-").unwrap();
            assert_eq!(name.split('-').count(), given, "{name}");
        }
        assert!(generate(2, "_X_").unwrap().contains("_x_"));
        assert!(!generate(3, "").unwrap().contains('-'));
    }
}
