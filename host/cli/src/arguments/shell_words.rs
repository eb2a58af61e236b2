//! Splits the text of `TF_CLI_ARGS` or `EDITOR` into words like a shell: white space separates words, `'…'`
//! preserves every character, `"…"` preserves every character except `\`, and `\` preserves the
//! next character. Nothing is expanded.

/// Splits text into words. Returns the reason if the text is invalid.
pub(crate) fn split(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            c if c.is_whitespace() => words.extend(word.take()),
            '\\' => {
                let next = characters.next().ok_or("a backslash is the last character")?;
                word.get_or_insert_default().push(next);
            }
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next().ok_or("a single quote is not closed")? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next().ok_or("a double quote is not closed")? {
                        '"' => break,
                        '\\' => word.push(characters.next().ok_or("a double quote is not closed")?),
                        c => word.push(c),
                    }
                }
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_in_a_shell() {
        let check = |text: &str, words: &[&str]| assert_eq!(split(text).unwrap(), words, "{text}");
        check("", &[]);
        check("  -a  -b=1 ", &["-a", "-b=1"]);
        check("-var 'a=b c' -var \"d=\\\"e\\\"\"", &["-var", "a=b c", "-var", "d=\"e\""]);
        check("a\\ b'' ''", &["a b", ""]);
    }

    #[test]
    fn unclosed_quote_is_an_error() {
        for text in ["'a", "\"a", "a\\", "\"a\\\""] {
            assert!(split(text).is_err(), "{text}");
        }
    }
}
