//! Makes plugin output safe to show in a terminal.
//!
//! A plugin is not trusted: its output must not control a terminal, hide text or imitate a line of
//! another source.

/// Returns text without control characters except line ends and tabs. Characters that are
/// invisible, or that change the direction of text, are replaced by their code points.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            _ if c.is_control() => shown.push(char::REPLACEMENT_CHARACTER),
            _ if is_format(c) => shown.extend(c.escape_unicode()),
            _ => shown.push(c),
        }
    }
    shown
}

/// Returns [`printable`] text with line ends escaped as `\n`, so that it is exactly one line.
pub fn printable_line(text: &str) -> String {
    printable(text).replace('\n', "\\n")
}

/// Whether a character is in Unicode's general category Cf, or is a line or paragraph separator.
fn is_format(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{600}'..='\u{605}'
            | '\u{61c}'
            | '\u{6dd}'
            | '\u{70f}'
            | '\u{890}'..='\u{891}'
            | '\u{8e2}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{110bd}'
            | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deceptive_characters_are_replaced_by_numbers() {
        assert_eq!(printable("a\u{202e}b\u{200b}\u{feff}"), "a\\u{202e}b\\u{200b}\\u{feff}");
        assert_eq!(printable("\u{2066}\u{ad}\u{e0041}"), "\\u{2066}\\u{ad}\\u{e0041}");
        let plain = "Gr\u{fc}\u{df}e \u{4f60}\u{597d} \u{5e9}\u{5dc}\u{5d5}\u{5dd}\n\tnext";
        assert_eq!(printable(plain), plain);
        assert_eq!(printable("\u{1b}[2J\r"), "\u{fffd}[2J\u{fffd}");
    }

    #[test]
    fn log_line_stays_one_line() {
        assert_eq!(printable_line("done\nERROR forged\u{2028}"), "done\\nERROR forged\\u{2028}");
    }
}
