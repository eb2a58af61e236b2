//! Removes and adds white space in JSON text.

/// Returns the text without white space between its tokens. Strings and numbers keep their
/// notation.
pub(crate) fn compact(json: &str) -> String {
    let is_space = |byte: u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let mut compacted = String::with_capacity(json.len());
    // The start of the text that is not copied yet.
    let mut start = 0;
    let mut at = 0;
    let bytes = json.as_bytes();
    while let Some(&byte) = bytes.get(at) {
        if byte == b'"' {
            at += string_length(&bytes[at..]);
        } else if is_space(byte) {
            compacted.push_str(&json[start..at]);
            at += bytes[at..].iter().take_while(|&&byte| is_space(byte)).count();
            start = at;
        } else {
            at += 1;
        }
    }
    compacted.push_str(&json[start..]);
    compacted
}

/// Formats compact JSON with two spaces per level and one line per element, like Go: empty objects
/// and arrays are on one line; `<`, `>`, `&` and the two Unicode line separators are escaped inside
/// strings. The text may be a part of a document that begins at the given depth, outside of strings.
pub(crate) fn indent(json: &str, mut depth: usize) -> String {
    let mut laid_out = String::with_capacity(json.len() * 2);
    let mut rest = json;
    while let Some(first) = rest.bytes().next() {
        match first {
            b'"' => {
                let (string, after) = split_string(rest);
                push_escaped(&mut laid_out, string);
                rest = after;
                continue;
            }
            b'{' | b'[' => {
                laid_out.push(char::from(first));
                if let Some(closing @ (b'}' | b']')) = rest.as_bytes().get(1).copied() {
                    laid_out.push(char::from(closing));
                    rest = &rest[2..];
                    continue;
                }
                depth += 1;
                new_line(&mut laid_out, depth);
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut laid_out, depth);
                laid_out.push(char::from(first));
            }
            b',' => {
                laid_out.push(',');
                new_line(&mut laid_out, depth);
            }
            b':' => laid_out.push_str(": "),
            _ => {
                let end = rest.bytes().position(|byte| matches!(byte, b',' | b'}' | b']'));
                let (plain, after) = rest.split_at(end.unwrap_or(rest.len()));
                laid_out.push_str(plain);
                rest = after;
                continue;
            }
        }
        rest = &rest[1..];
    }
    laid_out
}

fn new_line(laid_out: &mut String, depth: usize) {
    const SPACES: &str = "                                ";
    laid_out.push('\n');
    let mut left = 2 * depth;
    while left > 0 {
        let count = left.min(SPACES.len());
        laid_out.push_str(&SPACES[..count]);
        left -= count;
    }
}

/// Splits `text` after its first string. The text must start with a quotation mark.
fn split_string(text: &str) -> (&str, &str) {
    text.split_at(string_length(text.as_bytes()))
}

/// Returns the length of the string at the beginning of `text`, with its quotation marks. A string
/// without an end includes all of `text`.
fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\');
    while let Some(found) = text.get(at..).and_then(|rest| rest.iter().position(is_special)) {
        at += found;
        if text[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    text.len()
}

fn push_escaped(laid_out: &mut String, string: &str) {
    // The first byte of both line separators.
    const SEPARATOR: u8 = 0xe2;
    let is_candidate = |byte: u8| matches!(byte, b'<' | b'>' | b'&' | SEPARATOR);
    if !has_any(string, is_candidate) {
        laid_out.push_str(string);
        return;
    }
    let mut rest = string;
    while let Some(at) = rest.bytes().position(is_candidate) {
        let (plain, found) = rest.split_at(at);
        laid_out.push_str(plain);
        let mut characters = found.chars();
        match characters.next() {
            Some('<') => laid_out.push_str("\\u003c"),
            Some('>') => laid_out.push_str("\\u003e"),
            Some('&') => laid_out.push_str("\\u0026"),
            Some('\u{2028}') => laid_out.push_str("\\u2028"),
            Some('\u{2029}') => laid_out.push_str("\\u2029"),
            other => laid_out.extend(other),
        }
        rest = characters.as_str();
    }
    laid_out.push_str(rest);
}

/// Returns whether the text contains such a byte. The loop has no early exit, so that the compiler
/// vectorizes it: almost all texts contain no such byte.
fn has_any(text: &str, is_found: impl Fn(u8) -> bool) -> bool {
    text.bytes().fold(false, |found, byte| found | is_found(byte))
}

pub(crate) fn push_string(json: &mut String, text: &str) {
    let is_escaped = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
    json.push('"');
    if !has_any(text, is_escaped) {
        json.push_str(text);
        json.push('"');
        return;
    }
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        if !is_escaped(byte) {
            continue;
        }
        json.push_str(&text[start..at]);
        start = at + 1;
        match byte {
            b'"' => json.push_str("\\\""),
            b'\\' => json.push_str("\\\\"),
            b'\n' => json.push_str("\\n"),
            b'\r' => json.push_str("\\r"),
            b'\t' => json.push_str("\\t"),
            0x08 => json.push_str("\\b"),
            0x0c => json.push_str("\\f"),
            _ => {
                let digits = b"0123456789abcdef";
                json.push_str("\\u00");
                json.push(char::from(digits[usize::from(byte >> 4)]));
                json.push(char::from(digits[usize::from(byte & 15)]));
            }
        }
    }
    json.push_str(&text[start..]);
    json.push('"');
}

/// Builds a JSON object or array, including its commas.
pub(crate) struct Parts<'a> {
    json: &'a mut String,
    closing: char,
    any: bool,
}

impl<'a> Parts<'a> {
    pub(crate) fn object(json: &'a mut String) -> Self {
        json.push('{');
        Self { json, closing: '}', any: false }
    }

    pub(crate) fn array(json: &'a mut String) -> Self {
        json.push('[');
        Self { json, closing: ']', any: false }
    }

    /// Returns a builder of array elements without brackets.
    pub(crate) fn elements(json: &'a mut String) -> Self {
        Self { json, closing: ']', any: false }
    }

    /// Returns the text to which the next array element must be appended.
    pub(crate) fn item(&mut self) -> &mut String {
        if self.any {
            self.json.push(',');
        }
        self.any = true;
        self.json
    }

    /// Returns the text to which the value of an object member must be appended.
    pub(crate) fn member(&mut self, name: &str) -> &mut String {
        let json = self.item();
        push_string(json, name);
        json.push(':');
        json
    }

    pub(crate) fn text(&mut self, name: &str, value: &str) {
        push_string(self.member(name), value);
    }

    pub(crate) fn number(&mut self, name: &str, value: u64) {
        self.member(name).push_str(&value.to_string());
    }

    /// Adds a member if its value is true.
    pub(crate) fn flag(&mut self, name: &str, value: bool) {
        if value {
            self.member(name).push_str("true");
        }
    }

    pub(crate) fn end(self) {
        self.json.push(self.closing);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn indent_matches_go_layout() {
        let compacted = compact("{ \"a b\" :\t[ 1.50,{ } ,[\n], \"<\\\" ] & \u{2028}\" ],\"c\":null }");
        assert_eq!(compacted, "{\"a b\":[1.50,{},[],\"<\\\" ] & \u{2028}\"],\"c\":null}");
        let expected = "{\n  \"a b\": [\n    1.50,\n    {},\n    [],\n    \"\\u003c\\\" ] \\u0026 \\u2028\"\n  ],\n  \"c\": null\n}";
        assert_eq!(indent(&compacted, 0), expected);
        let (before, after) = compacted.split_at(compacted.find("{}").unwrap());
        assert_eq!(indent(before, 0) + &indent(after, 2), expected);
    }

    proptest! {
        #[test]
        fn compact_keeps_strings_verbatim(text in any::<String>()) {
            let mut json = String::new();
            push_string(&mut json, &text);
            prop_assert_eq!(serde_json::from_str::<String>(&indent(&json, 0)).unwrap(), text);
        }

        #[test]
        fn arbitrary_text_is_laid_out_without_panic(text in "[\\[\\]{}:, \"\\\\a\n<]{0,40}") {
            let _ = indent(&compact(&text), 0);
        }
    }
}
