//! Right-to-left text.
//!
//! A terminal or a browser that implements the Unicode Bidirectional Algorithm reorders a line that
//! contains right-to-left text: also the characters next to it, such as the arrow between two values.
//! Text in isolates has no effect on the order of the rest of its line. Escaping a text also escapes the
//! isolates in it, so callers add them around each name or value after it is escaped.

use std::borrow::Cow;

/// Begins text whose first letter determines its direction (first strong isolate).
pub const ISOLATE_START: char = '\u{2068}';
/// Ends such text (pop directional isolate).
pub const ISOLATE_END: char = '\u{2069}';

/// Returns whether a text contains characters of scripts that are written from right to left.
pub fn has_right_to_left(text: &str) -> bool {
    // All these characters begin with bytes from 0xd6 on.
    text.bytes().any(|byte| byte >= 0xd6) && text.chars().any(is_right_to_left)
}

/// Returns a text in an isolate if it contains right-to-left characters.
pub fn isolated(text: &str) -> Cow<'_, str> {
    if has_right_to_left(text) {
        Cow::Owned(format!("{ISOLATE_START}{text}{ISOLATE_END}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Whether a character is in one of the blocks that Unicode reserves for right-to-left scripts.
fn is_right_to_left(character: char) -> bool {
    matches!(
        character,
        '\u{590}'..='\u{8ff}'
            | '\u{fb1d}'..='\u{fdff}'
            | '\u{fe70}'..='\u{feff}'
            | '\u{10800}'..='\u{10fff}'
            | '\u{1e800}'..='\u{1efff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_right_to_left_text_is_isolated() {
        for text in ["", "plain", "Grüße 你好 👍🏽 → ×", "\u{1f469}\u{200d}\u{1f4bb}"] {
            assert_eq!(isolated(text), text);
        }
        for text in ["שלום", "a مرحبا 1", "\u{10840}", "\u{1e900}"] {
            assert_eq!(isolated(text), format!("\u{2068}{text}\u{2069}"));
        }
    }
}
