//! Names of pets: an animal, what it is like, and how much so.
//!
//! The lists are the project's own and of about the size of those that the
//! official provider draws from, so that names collide about as rarely.

use crate::entropy::{self, EntropyError};

const ADVERBS: &str = include_str!("words/adverbs.txt");
const ADJECTIVES: &str = include_str!("words/adjectives.txt");
const NAMES: &str = include_str!("words/names.txt");

/// A name of so many words: an animal alone, an adjective and an animal, or
/// adverbs before both. Counts below one give two words.
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
    // Lower case covers the separator too, as it always has.
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
    fn lists_are_long_plain_and_without_repetition() {
        for list in [ADVERBS, ADJECTIVES, NAMES] {
            let words: Vec<&str> = list.split_ascii_whitespace().collect();
            assert!(words.len() > 300, "{}", words.len());
            assert!(words.is_sorted_by(|left, right| left < right));
            assert!(words.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase())));
        }
    }

    #[test]
    fn word_counts_and_separators() {
        for (asked, given) in [(1, 1), (2, 2), (3, 3), (7, 7), (0, 2), (-4, 2)] {
            let name = generate(asked, "-").unwrap();
            assert_eq!(name.split('-').count(), given, "{name}");
        }
        assert!(generate(2, "_X_").unwrap().contains("_x_"));
        assert!(!generate(3, "").unwrap().contains('-'));
    }
}
