//! Parses the text of literals, with escapes.

use std::borrow::Cow;

use super::Parser;
use crate::syntax::scan::Token;

impl<'a> Parser<'a> {
    /// Returns quoted text with its escapes resolved.
    pub(super) fn quoted_text(&mut self, token: Token) -> Cow<'a, str> {
        let raw = self.text_of(token);
        if !raw.contains(['\\', '$', '%']) {
            return Cow::Borrowed(raw);
        }
        let mut text = String::with_capacity(raw.len());
        let mut rest = raw;
        while let Some(special) = rest.find(['\\', '$', '%']) {
            text.push_str(&rest[..special]);
            rest = &rest[special..];
            rest = if rest.starts_with('\\') {
                let at = token.start + raw.len() - rest.len();
                self.escape(rest, at, &mut text)
            } else {
                template_escape(rest, &mut text)
            };
        }
        text.push_str(rest);
        Cow::Owned(text)
    }

    /// Resolves the escape at the start of `rest`, which begins at byte `at` of the file;
    /// returns the remaining text.
    fn escape<'t>(&mut self, rest: &'t str, at: usize, text: &mut String) -> &'t str {
        let Some(selector) = rest.chars().nth(1) else {
            text.push_str(rest);
            return "";
        };
        let behind = &rest[1 + selector.len_utf8()..];
        let plain = match selector {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '"' | '\\' => selector,
            'u' | 'U' => return self.numbered_escape(rest, selector, at, text),
            _ => {
                let detail = format!(
                    "A backslash cannot be followed by {selector:?}, but only by n, r, t, a quote, uNNNN, \
                     UNNNNNNNN or another backslash for a literal backslash."
                );
                self.problem("Invalid escape sequence", &detail, (at, at + rest.len() - behind.len()));
                selector
            }
        };
        text.push(plain);
        behind
    }

    /// Resolves `\uNNNN` or `\UNNNNNNNN`.
    fn numbered_escape<'t>(
        &mut self,
        rest: &'t str,
        selector: char,
        at: usize,
        text: &mut String,
    ) -> &'t str {
        let wanted = if selector == 'u' { 4 } else { 8 };
        let digits = rest[2..].bytes().take(wanted).take_while(u8::is_ascii_hexdigit).count();
        let (sequence, behind) = rest.split_at(2 + digits);
        let detail = if digits < wanted {
            Some(format!("\"\\{selector}\" must be followed by {wanted} hexadecimal digits."))
        } else {
            let character = u32::from_str_radix(&sequence[2..], 16).ok().and_then(char::from_u32);
            text.extend(character);
            character.is_none().then(|| format!("There is no Unicode code point {}.", &sequence[2..]))
        };
        if let Some(detail) = detail {
            self.problem("Invalid escape sequence", &detail, (at, at + sequence.len()));
        }
        behind
    }
}

/// Resolves the escapes in the text of a heredoc or of a template file.
pub(super) fn plain_text(raw: &str) -> Cow<'_, str> {
    if !raw.contains("$${") && !raw.contains("%%{") {
        return Cow::Borrowed(raw);
    }
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(special) = rest.find(['$', '%']) {
        text.push_str(&rest[..special]);
        rest = template_escape(&rest[special..], &mut text);
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// Resolves `$${` and `%%{`; every other `$` or `%` is literal. Returns the remaining text.
fn template_escape<'t>(rest: &'t str, text: &mut String) -> &'t str {
    for (escape, meaning) in [("$${", "${"), ("%%{", "%{")] {
        if let Some(behind) = rest.strip_prefix(escape) {
            text.push_str(meaning);
            return behind;
        }
    }
    let (sign, behind) = rest.split_at(1);
    text.push_str(sign);
    behind
}
