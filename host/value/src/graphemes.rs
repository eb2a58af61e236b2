//! Grapheme clusters: user-perceived characters.
//!
//! The boundaries follow Unicode 15.0, the version that Terraform 1.11 uses to count characters.
//! Later versions of Unicode have different tables, and do not break Indic conjuncts.

mod table;

/// The grapheme break property of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Other,
    Control,
    Extend,
    /// The zero width joiner.
    Joiner,
    Prepend,
    RegionalIndicator,
    Pictographic,
    /// A Hangul leading consonant.
    Leading,
    /// A Hangul vowel.
    Vowel,
    /// A Hangul trailing consonant.
    Trailing,
    /// A Hangul syllable without a trailing consonant.
    OpenSyllable,
    /// A Hangul syllable with a trailing consonant.
    ClosedSyllable,
}

impl Class {
    fn of_character(character: char) -> Self {
        let code = u32::from(character);
        match code {
            0x20..0x7F => Self::Other,
            0x1100..=0x115F | 0xA960..=0xA97C => Self::Leading,
            0x1160..=0x11A7 | 0xD7B0..=0xD7C6 => Self::Vowel,
            0x11A8..=0x11FF | 0xD7CB..=0xD7FB => Self::Trailing,
            0xAC00..=0xD7A3 if (code - 0xAC00).is_multiple_of(28) => Self::OpenSyllable,
            0xAC00..=0xD7A3 => Self::ClosedSyllable,
            _ => {
                let index = table::RANGES.partition_point(|(_, last, _)| *last < code);
                match table::RANGES.get(index) {
                    Some((first, _, class)) if *first <= code => *class,
                    _ => Self::Other,
                }
            }
        }
    }
}

/// Iterates over the grapheme clusters of a text.
#[derive(Clone, Debug)]
pub struct Graphemes<'a> {
    rest: &'a str,
}

/// Returns the grapheme clusters of a text, in order.
pub fn graphemes(text: &str) -> Graphemes<'_> {
    Graphemes { rest: text }
}

impl<'a> Iterator for Graphemes<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let length = first_cluster(self.rest)?;
        let (cluster, rest) = self.rest.split_at(length);
        self.rest = rest;
        Some(cluster)
    }
}

/// Returns the length in bytes of the first cluster; `None` if the text is empty.
fn first_cluster(text: &str) -> Option<usize> {
    let mut characters = text.char_indices();
    let (_, first) = characters.next()?;
    let mut previous = (first, Class::of_character(first));
    // The number of regional indicators so far; they form pairs.
    let mut indicators = usize::from(previous.1 == Class::RegionalIndicator);
    // Whether the cluster ends with a pictograph and its extending characters, and whether a joiner
    // follows them.
    let mut is_pictograph = previous.1 == Class::Pictographic;
    let mut is_joined = false;
    for (at, character) in characters {
        let class = Class::of_character(character);
        let continues = match (previous.1, class) {
            (Class::Control, Class::Control) => previous.0 == '\r' && character == '\n',
            (Class::Control, _) | (_, Class::Control) => false,
            (_, Class::Extend | Class::Joiner) | (Class::Prepend, _) => true,
            (Class::Leading, Class::Leading | Class::Vowel | Class::OpenSyllable | Class::ClosedSyllable)
            | (Class::OpenSyllable | Class::Vowel, Class::Vowel | Class::Trailing)
            | (Class::ClosedSyllable | Class::Trailing, Class::Trailing) => true,
            (Class::Joiner, Class::Pictographic) => is_joined,
            (Class::RegionalIndicator, Class::RegionalIndicator) => indicators % 2 == 1,
            _ => false,
        };
        if !continues {
            return Some(at);
        }
        is_joined = is_pictograph && class == Class::Joiner;
        is_pictograph =
            class == Class::Pictographic || (is_pictograph && matches!(class, Class::Extend | Class::Joiner));
        indicators = if class == Class::RegionalIndicator { indicators + 1 } else { 0 };
        previous = (character, class);
    }
    Some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        graphemes(text).collect()
    }

    #[test]
    fn table_ranges_ascend_without_overlap() {
        let mut after = 0;
        for (first, last, _) in table::RANGES {
            assert!(after <= *first && first <= last, "{first:X}");
            after = last + 1;
        }
    }

    #[test]
    fn combining_marks_and_line_breaks_belong_to_their_cluster() {
        assert_eq!(split(""), [""; 0]);
        assert_eq!(split("ab"), ["a", "b"]);
        assert_eq!(split("e\u{301}x\u{300}\u{301}"), ["e\u{301}", "x\u{300}\u{301}"]);
        assert_eq!(split("a\r\nb\n\r"), ["a", "\r\n", "b", "\n", "\r"]);
        assert_eq!(split("\u{301}a\n\u{301}"), ["\u{301}", "a", "\n", "\u{301}"]);
        assert_eq!(split("\u{600}a"), ["\u{600}a"]);
    }

    #[test]
    fn emoji_sequences_and_flags_are_one_cluster() {
        let family = "👨\u{200d}👩\u{200d}👧";
        assert_eq!(split(family), [family]);
        assert_eq!(split("👍🏽❤\u{fe0f}"), ["👍🏽", "❤\u{fe0f}"]);
        assert_eq!(split("🇩🇪🇫🇷🇦"), ["🇩🇪", "🇫🇷", "🇦"]);
        assert_eq!(split("a\u{200d}👩"), ["a\u{200d}", "👩"]);
    }

    #[test]
    fn hangul_is_joined_into_syllables() {
        assert_eq!(split("\u{1100}\u{1161}\u{11a8}\u{1100}"), ["\u{1100}\u{1161}\u{11a8}", "\u{1100}"]);
        assert_eq!(split("가\u{11a8}각\u{11a8}각\u{1161}"), ["가\u{11a8}", "각\u{11a8}", "각", "\u{1161}"]);
    }

    #[test]
    fn indic_conjuncts_are_not_joined() {
        assert_eq!(split("क्षि"), ["क्", "षि"]);
        assert_eq!(split("ক্ত"), ["ক্", "ত"]);
    }

    #[test]
    fn characters_of_later_unicode_versions_are_separate_clusters() {
        assert_eq!(split("a\u{897}").len(), 2);
        assert_eq!(split("a\u{113b8}").len(), 2);
    }
}
