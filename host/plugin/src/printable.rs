//! What plugins say, made fit for a person's screen.
//!
//! A plugin is a stranger: what it says must not steer a terminal, hide text or
//! forge a line of somebody else's.

/// Text without control characters, but for line ends and tabs; and with what
/// would be invisible, or turn its neighbours around, written as its number.
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

/// [`printable`], with line ends as `\n`: a line of a log that cannot look like
/// two.
pub fn printable_line(text: &str) -> String {
    printable(text).replace('\n', "\\n")
}

/// Unicode's general category Cf, and the separators of lines and paragraphs.
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
    fn what_deceives_the_eye_is_written_as_its_number() {
        assert_eq!(printable("a\u{202e}b\u{200b}\u{feff}"), "a\\u{202e}b\\u{200b}\\u{feff}");
        assert_eq!(printable("\u{2066}\u{ad}\u{e0041}"), "\\u{2066}\\u{ad}\\u{e0041}");
        let plain = "Gr\u{fc}\u{df}e \u{4f60}\u{597d} \u{5e9}\u{5dc}\u{5d5}\u{5dd}\n\tnext";
        assert_eq!(printable(plain), plain);
        assert_eq!(printable("\u{1b}[2J\r"), "\u{fffd}[2J\u{fffd}");
    }

    #[test]
    fn a_log_line_stays_one_line() {
        assert_eq!(printable_line("done\nERROR forged\u{2028}"), "done\\nERROR forged\\u{2028}");
    }
}
