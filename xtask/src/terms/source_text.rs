//! Splits a Rust source file into two texts with the same line numbers: code without comments and
//! strings, and comments and strings without code.
//!
//! The scanner recognizes comments, string and character literals and lifetimes, and no other Rust
//! syntax.

pub(crate) struct SourceText {
    /// The file with comments and literals replaced by spaces. Lines keep their numbers.
    pub(crate) code: String,
    /// The comments and literals, with all other text replaced by spaces.
    pub(crate) text: String,
}

impl SourceText {
    /// Splits a source file. Linear in the length of the source.
    pub(crate) fn split(source: &str) -> Self {
        let mut scanner = Scanner { rest: source, code: String::new(), text: String::new() };
        while let Some(next) = scanner.rest.chars().next() {
            let length = token(scanner.rest, next);
            scanner.take(length);
        }
        Self { code: scanner.code, text: scanner.text }
    }
}

/// The token at the scanner's position, by its length in bytes.
enum Token {
    Code(usize),
    Text(usize),
}

struct Scanner<'a> {
    rest: &'a str,
    code: String,
    text: String,
}

impl Scanner<'_> {
    fn take(&mut self, token: Token) {
        let (length, is_text) = match token {
            Token::Code(length) => (length, false),
            Token::Text(length) => (length, true),
        };
        let (taken, rest) = self.rest.split_at(length.clamp(1, self.rest.len()));
        let blank: String = taken.chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        let (kept, other) =
            if is_text { (&mut self.text, &mut self.code) } else { (&mut self.code, &mut self.text) };
        kept.push_str(taken);
        other.push_str(&blank);
        self.rest = rest;
    }
}

fn token(rest: &str, next: char) -> Token {
    if rest.starts_with("//") {
        return Token::Text(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Token::Text(block_comment(rest));
    }
    match next {
        '"' => Token::Text(string(rest)),
        '\'' => character(rest).map_or(Token::Code(1), Token::Text),
        _ if next.is_alphanumeric() || next == '_' => {
            if let Some(length) = raw_string(rest) {
                return Token::Text(length);
            }
            let word = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            Token::Code(word)
        }
        _ => Token::Code(next.len_utf8()),
    }
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let bytes = rest.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

fn string(rest: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Returns the length of `r"..."`, `r#"..."#` or `br"..."`, if such a literal begins here.
fn raw_string(rest: &str) -> Option<usize> {
    let after_prefix = ["br", "cr", "r"].iter().find_map(|prefix| rest.strip_prefix(prefix))?;
    let hashes = after_prefix.len() - after_prefix.trim_start_matches('#').len();
    let body = after_prefix[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let start = rest.len() - body.len();
    Some(body.find(&end).map_or(rest.len(), |at| start + at + end.len()))
}

/// Returns the length of a character literal; `None` for a lifetime.
fn character(rest: &str) -> Option<usize> {
    let mut inside = rest.char_indices().skip(1);
    match inside.next()? {
        (_, '\\') => {
            inside.next();
            inside.find(|(_, c)| *c == '\'').map(|(at, _)| at + 1)
        }
        _ => inside.next().filter(|(_, c)| *c == '\'').map(|(at, _)| at + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        text.split_whitespace().collect()
    }

    #[test]
    fn separates_comments_and_literals_from_code() {
        let source =
            "fn a<'x>() { // one\n let s = \"two \\\" // three\"; /* four /* five */ */ let c = '\"'; }";
        let split = SourceText::split(source);
        assert_eq!(
            words(&split.code),
            ["fn", "a<'x>()", "{", "let", "s", "=", ";", "let", "c", "=", ";", "}"]
        );
        assert!(split.text.contains("three") && split.text.contains("five"));
        assert_eq!(split.code.lines().count(), source.lines().count());
    }

    #[test]
    fn raw_strings_end_at_their_own_delimiter() {
        let split = SourceText::split("let r = r#\"a \"quoted\" word\"#; let r2 = br\"x\"; expr");
        assert_eq!(words(&split.code), ["let", "r", "=", ";", "let", "r2", "=", ";", "expr"]);
    }

    #[test]
    fn unterminated_tokens_extend_to_the_end() {
        for source in ["\"abc", "/* abc", "r##\"abc\"#", "'", "'\\", "// é"] {
            let split = SourceText::split(source);
            assert_eq!(split.code.chars().count(), source.chars().count(), "{source}");
        }
    }
}
