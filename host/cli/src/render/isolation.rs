//! Names and values in right-to-left scripts.

use wardian_printable::PrintableText;
use wardian_printable::direction::has_right_to_left;

/// Returns a name or a value in one line. If it contains right-to-left text, it is isolated, so a terminal
/// that reorders such text does not change the order of the text around it.
pub(crate) fn isolated(text: &str) -> PrintableText {
    let line = PrintableText::from_line(text);
    if !has_right_to_left(line.as_str()) {
        return line;
    }
    let mut isolated = PrintableText::from(START);
    isolated.append(&line);
    isolated.push(END);
    isolated
}

const START: &str = "\u{2068}";
const END: &str = "\u{2069}";

/// Appends a part of printable text, including the characters that isolate names and values.
pub(crate) fn append_part(text: &mut PrintableText, part: &str) {
    let mut rest = part;
    while let Some(at) =
        rest.find([wardian_printable::direction::ISOLATE_START, wardian_printable::direction::ISOLATE_END])
    {
        let (before, after) = rest.split_at(at);
        text.append_lines(before);
        text.push(if after.starts_with(START) { START } else { END });
        rest = after.get(START.len()..).unwrap_or_default();
    }
    text.append_lines(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_right_to_left_text_is_isolated() {
        assert_eq!(isolated("a\n").as_str(), "a\\n");
        assert_eq!(isolated("שלום\u{2068}").as_str(), "\u{2068}שלום\\u{2068}\u{2069}");
        let mut text = PrintableText::new();
        append_part(&mut text, "a \u{2068}שלום\u{2069} b\u{202e}");
        assert_eq!(text.as_str(), "a \u{2068}שלום\u{2069} b\\u{202e}");
    }
}
