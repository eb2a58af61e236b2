//! Lines of a POSIX shell: their words, and the quotes of text that is inserted into them.
//!
//! bash passes the line as the user has typed it, and replaces only the text after the last word
//! break: the start of the word, an opening quote, or a character of `COMP_WORDBREAKS` such as `=`.

/// The default of `COMP_WORDBREAKS`.
pub(super) const WORD_BREAKS: &str = " \t\n\"'@><=;|&(:";

/// A line up to the cursor.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ShellLine {
    /// The words of the last command, without quotes. The last word may be empty.
    pub(super) words: Vec<String>,
    /// The number of bytes of the last word that precede the text that the shell replaces.
    pub(super) kept: usize,
    /// The quote that is open at the cursor.
    pub(super) quote: Option<Quote>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quote {
    Single,
    Double,
}

impl ShellLine {
    /// Splits a line into words. Nothing is expanded.
    pub(super) fn parse(line: &str, word_breaks: &str) -> Self {
        let mut parsed = Self { words: Vec::new(), kept: 0, quote: None };
        let mut word: Option<String> = None;
        let mut characters = line.chars();
        while let Some(character) = characters.next() {
            match (character, parsed.quote) {
                ('\'', Some(Quote::Single)) | ('"', Some(Quote::Double)) => parsed.quote = None,
                (_, Some(Quote::Single)) => word.get_or_insert_default().push(character),
                ('\\', Some(Quote::Double)) => {
                    let word = word.get_or_insert_default();
                    match characters.next() {
                        Some(next @ ('"' | '\\' | '$' | '`')) => word.push(next),
                        Some(next) => word.extend(['\\', next]),
                        None => {}
                    }
                }
                (_, Some(Quote::Double)) => word.get_or_insert_default().push(character),
                ('\'' | '"', None) => {
                    let word = word.get_or_insert_default();
                    parsed.kept = word.len();
                    parsed.quote = Some(if character == '"' { Quote::Double } else { Quote::Single });
                }
                ('\\', None) => word.get_or_insert_default().extend(characters.next()),
                // The words of another command are not completed.
                (';' | '|' | '&' | '(' | '\n', None) => {
                    parsed.words.clear();
                    word = None;
                    parsed.kept = 0;
                }
                (_, None) if character.is_whitespace() => {
                    parsed.words.extend(word.take());
                    parsed.kept = 0;
                }
                (_, None) => {
                    let word = word.get_or_insert_default();
                    word.push(character);
                    if word_breaks.contains(character) {
                        parsed.kept = word.len();
                    }
                }
            }
        }
        parsed.words.push(word.unwrap_or_default());
        parsed
    }

    /// Returns the text that the shell inserts for a complete word.
    pub(super) fn insertion(&self, word: &str) -> Option<String> {
        let text = word.get(self.kept..)?;
        match self.quote {
            None => Some(escaped(text, |character| !is_plain(character))),
            Some(Quote::Double) => {
                Some(escaped(text, |character| matches!(character, '"' | '\\' | '$' | '`')))
            }
            // A single quote cannot occur between single quotes.
            Some(Quote::Single) => (!text.contains('\'')).then(|| text.to_owned()),
        }
    }
}

/// Returns a word without its quotes. The last quote may be open.
pub(super) fn unquoted(word: &str) -> String {
    // White space in the word is quoted, or else the shell would have split it.
    let mut line = ShellLine::parse(word, "");
    if line.words.len() == 1 { line.words.pop().unwrap_or_default() } else { word.to_owned() }
}

fn escaped(text: &str, is_special: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if is_special(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// Returns whether a character has no meaning in a shell.
fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || "-_./=:,+@%^".contains(character)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(line: &str, words: &[&str], candidate: &str, insertion: Option<&str>) {
        let line = ShellLine::parse(line, WORD_BREAKS);
        assert_eq!(line.words, words);
        assert_eq!(line.insertion(candidate).as_deref(), insertion);
    }

    #[test]
    fn insertion_follows_the_last_word_break() {
        check("wardian pl", &["wardian", "pl"], "plan", Some("plan"));
        check("wardian plan ", &["wardian", "plan", ""], "-out=", Some("-out="));
        check("w -target=", &["w", "-target="], "-target=a.b[\"c\"]", Some("a.b\\[\\\"c\\\"\\]"));
        check("w a.b\\[\\\"c", &["w", "a.b[\"c"], "a.b[\"c d\"]", Some("a.b\\[\\\"c\\ d\\\"\\]"));
        check("w 'a.b[\"", &["w", "a.b[\""], "a.b[\"c\"]", Some("a.b[\"c\"]"));
        check("w -target='a.", &["w", "-target=a."], "-target=a.b[\"$x\"]", Some("a.b[\"$x\"]"));
        check("w -target=\"a.", &["w", "-target=a."], "-target=a.b[\"$x\"]", Some("a.b[\\\"\\$x\\\"]"));
        check("w 'a", &["w", "a"], "a'b", None);
        check("cd x && wardian sh", &["wardian", "sh"], "show", Some("show"));
    }

    #[test]
    fn words_are_unquoted() {
        for (word, expected) in
            [("a", "a"), ("'a b", "a b"), ("\"\"", ""), ("a\\ b", "a b"), ("a b", "a b"), ("", "")]
        {
            assert_eq!(unquoted(word), expected, "{word}");
        }
    }

    proptest! {
        #[test]
        fn inserted_words_are_read_back(word in "[ -~é字]{0,20}", start in 0..20_usize) {
            let start = word.char_indices().map(|(index, _)| index).nth(start).unwrap_or(0);
            let typed = escaped(&word[..start], |character| !is_plain(character));
            let line = ShellLine::parse(&format!("w {typed}"), WORD_BREAKS);
            let inserted = line.insertion(&word).unwrap();
            // The shell keeps the typed text up to the last word break.
            let kept = escaped(&word[..line.kept], |character| !is_plain(character));
            let read = ShellLine::parse(&format!("w {kept}{inserted}"), WORD_BREAKS);
            prop_assert_eq!(&read.words, &["w".to_owned(), word]);
        }

        #[test]
        fn arbitrary_lines_do_not_panic(line in any::<String>(), candidate in any::<String>()) {
            let line = ShellLine::parse(&line, WORD_BREAKS);
            let _ = line.insertion(&candidate);
        }
    }
}
