//! Breaks sentences into lines.

use unicode_width::UnicodeWidthStr as _;
use wardian_printable::PrintableText;

use super::isolation::append_part;

/// Breaks lines with more than `width` columns between words. The continuation lines have the
/// indentation of the broken line, plus `hanging` columns.
pub(crate) fn wrap(text: &PrintableText, width: usize, hanging: usize) -> PrintableText {
    let mut wrapped = PrintableText::new();
    for (index, line) in text.as_str().split('\n').enumerate() {
        if index > 0 {
            wrapped.push("\n");
        }
        let indentation = line.len() - line.trim_start_matches(' ').len();
        wrapped.push_repeated(" ", indentation);
        let mut column = indentation;
        let mut is_first = true;
        for word in line[indentation..].split(' ') {
            let length = word.width();
            if !is_first && column + 1 + length > width {
                wrapped.push("\n");
                wrapped.push_repeated(" ", indentation + hanging);
                column = indentation + hanging;
            } else if !is_first {
                wrapped.push(" ");
                column += 1;
            }
            // The word is taken from printable text, so it is printable as well.
            append_part(&mut wrapped, word);
            column += length;
            is_first = false;
        }
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &'static str, width: usize, hanging: usize) -> String {
        wrap(&text.into(), width, hanging).into_string()
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrapped("one two three four\nfive", 10, 0), "one two\nthree four\nfive");
        assert_eq!(wrapped("averyveryverylongword x", 10, 0), "averyveryverylongword\nx");
        assert_eq!(wrapped("", 10, 0), "");
        assert_eq!(wrapped("a\n\nb", 10, 0), "a\n\nb");
    }

    #[test]
    fn wrapped_list_items_are_aligned_with_their_text() {
        assert_eq!(wrapped("- one two three", 9, 2), "- one two\n  three");
        assert_eq!(wrapped("  Note: one two", 12, 2), "  Note: one\n    two");
    }
}
