//! Makes plugin output safe to show on a terminal.
//!
//! A plugin is not trusted: its output must not control a terminal, hide text or imitate a line
//! from another source.

use wardian_printable::escape::{Extent, escape};

/// Returns text without control characters, except line breaks and tabs. Characters that are
/// invisible, or that change the direction of text, are replaced by their code points.
pub fn printable(text: &str) -> String {
    escape(text, Extent::Lines).into_owned()
}

/// Returns [`printable`] text with line breaks escaped as `\n`. The result consists of exactly one
/// line.
pub fn printable_line(text: &str) -> String {
    escape(text, Extent::Line).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_line_stays_one_line() {
        assert_eq!(printable_line("done\nERROR forged\u{2028}"), "done\\nERROR forged\\u{2028}");
        assert_eq!(printable("done\nERROR\u{1b}"), "done\nERROR\\u{1b}");
    }
}
