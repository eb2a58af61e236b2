//! The syntax of the CLI configuration: HCL 1 (the syntax of Terraform before 0.12) and JSON. The
//! same parser reads both.
//!
//! The configuration parser cannot read this syntax, since the documented form of `dev_overrides`
//! has quoted names before `=` in a block. HCL 2 does not allow such names.
//!
//! ```text
//! file   = entries | "{" entries "}"
//! entry  = key { string } ( "=" | ":" ) value
//!        | key { string } object
//! key    = identifier | string
//! value  = string | number | "true" | "false" | "null" | list | object
//! list   = "[" { value [","] } "]"
//! object = "{" { entry [","] } "}"
//! ```
//!
//! Comments are `#`, `//` and `/* */`. Block labels become nested objects, which makes HCL and JSON
//! equivalent: `host "x" {}` is `host = { x = {} }`.
//!
//! This module performs no I/O.

use serde_json::Value;
use std::path::Path;

use crate::file_position::FilePosition;

/// A name and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub key: String,
    /// The value; [`SettingValue::Object`] for a block.
    pub value: SettingValue,
    /// The byte offset of the name in the file.
    pub offset: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingValue {
    /// A quoted string.
    Text(String),
    /// A number as it is written in the file.
    Number(String),
    /// `true` or `false`.
    Bool(bool),
    /// `null`, which has the same effect as omitting the setting.
    Null,
    /// A list in brackets.
    List(Vec<SettingValue>),
    /// Entries in braces, in source order. Names can occur more than once.
    Object(Vec<Entry>),
}

impl SettingValue {
    /// Returns the value as JSON. If several entries have the same name, the last one applies.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => Value::String(text.clone()),
            Self::Number(number) => number
                .parse::<serde_json::Number>()
                .map_or_else(|_| Value::String(number.clone()), Value::Number),
            Self::Bool(value) => Value::Bool(*value),
            Self::Null => Value::Null,
            Self::List(values) => Value::Array(values.iter().map(Self::to_json).collect()),
            Self::Object(entries) => {
                let members = entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json()));
                Value::Object(members.collect())
            }
        }
    }
}

/// Text that is neither HCL nor JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{position}: syntax error: {message}")]
pub struct SyntaxError {
    pub position: FilePosition,
    pub message: String,
}

/// Parses a file. The path is used in messages.
///
/// # Errors
/// Returns the first syntax error.
pub fn parse(text: &str, path: &Path) -> Result<Vec<Entry>, SyntaxError> {
    let mut parser = Parser { text, path, offset: 0, depth: 0 };
    // Windows editors write a byte order mark at the start.
    parser.take("\u{feff}");
    parser.skip_space()?;
    if !parser.take("{") {
        return parser.entries(None);
    }
    let entries = parser.entries(Some('}'))?;
    parser.skip_space()?;
    if parser.peek().is_some() {
        return Err(parser.error("nothing may follow the closing brace"));
    }
    Ok(entries)
}

const MAX_DEPTH: usize = 32;

struct Parser<'a> {
    text: &'a str,
    path: &'a Path,
    offset: usize,
    depth: usize,
}

impl Parser<'_> {
    fn entries(&mut self, end: Option<char>) -> Result<Vec<Entry>, SyntaxError> {
        self.deeper()?;
        let mut entries = Vec::new();
        loop {
            self.skip_space()?;
            match self.peek() {
                found if found == end => break,
                None => return Err(self.error("a closing brace is missing")),
                Some(_) => entries.push(self.entry()?),
            }
            self.skip_space()?;
            self.take(",");
        }
        self.offset += end.map_or(0, char::len_utf8);
        self.depth -= 1;
        Ok(entries)
    }

    fn entry(&mut self) -> Result<Entry, SyntaxError> {
        let mut keys = vec![self.key()?];
        loop {
            self.skip_space()?;
            match self.peek() {
                Some('"') => keys.push(self.key()?),
                Some('=' | ':') => {
                    self.offset += 1;
                    self.skip_space()?;
                    let value = self.value()?;
                    return self.nest(keys, value);
                }
                Some('{') => {
                    let value = self.value()?;
                    return self.nest(keys, value);
                }
                _ => return Err(self.error("expected \"=\" and a value, or a block in braces")),
            }
        }
    }

    fn nest(&self, keys: Vec<(String, usize)>, value: SettingValue) -> Result<Entry, SyntaxError> {
        if keys.len() > MAX_DEPTH {
            return Err(self.error("a block has too many labels"));
        }
        let mut keys = keys.into_iter();
        let Some((key, offset)) = keys.next() else {
            return Err(self.error("a name is missing"));
        };
        let value = keys
            .rev()
            .fold(value, |value, (key, offset)| SettingValue::Object(vec![Entry { key, value, offset }]));
        Ok(Entry { key, value, offset })
    }

    fn key(&mut self) -> Result<(String, usize), SyntaxError> {
        let offset = self.offset;
        if self.peek() == Some('"') {
            return Ok((self.string()?, offset));
        }
        let word = self.word();
        if word.starts_with(|first: char| first.is_alphabetic() || first == '_') {
            Ok((word.to_owned(), offset))
        } else {
            self.offset = offset;
            Err(self.error("expected the name of a setting"))
        }
    }

    fn value(&mut self) -> Result<SettingValue, SyntaxError> {
        match self.peek() {
            Some('"') => self.string().map(SettingValue::Text),
            Some('{') => {
                self.offset += 1;
                self.entries(Some('}')).map(SettingValue::Object)
            }
            Some('[') => {
                self.offset += 1;
                self.list().map(SettingValue::List)
            }
            _ => {
                let offset = self.offset;
                let word = self.word();
                match word {
                    "true" => Ok(SettingValue::Bool(true)),
                    "false" => Ok(SettingValue::Bool(false)),
                    "null" => Ok(SettingValue::Null),
                    number if number.starts_with(|first: char| first.is_ascii_digit() || first == '-') => {
                        Ok(SettingValue::Number(number.to_owned()))
                    }
                    _ => {
                        self.offset = offset;
                        Err(self.error(
                            "expected a value: a quoted string, a number, true, false, a list or an object",
                        ))
                    }
                }
            }
        }
    }

    fn list(&mut self) -> Result<Vec<SettingValue>, SyntaxError> {
        self.deeper()?;
        let mut values = Vec::new();
        loop {
            self.skip_space()?;
            match self.peek() {
                Some(']') => break,
                None => return Err(self.error("a closing bracket is missing")),
                Some(_) => values.push(self.value()?),
            }
            self.skip_space()?;
            self.take(",");
        }
        self.offset += 1;
        self.depth -= 1;
        Ok(values)
    }

    fn deeper(&mut self) -> Result<(), SyntaxError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(self.error("the nesting is too deep")) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<String, SyntaxError> {
        self.offset += 1;
        let mut content = String::new();
        loop {
            let Some(character) = self.next() else {
                return Err(self.error("a closing quote is missing"));
            };
            match character {
                '"' => return Ok(content),
                '\n' => {
                    self.offset -= 1;
                    return Err(self.error("a closing quote is missing on this line"));
                }
                '\\' => content.push(self.escape()?),
                other => content.push(other),
            }
        }
    }

    fn escape(&mut self) -> Result<char, SyntaxError> {
        let escaped = self.next();
        Ok(match escaped {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some(same @ ('"' | '\\' | '/')) => same,
            Some('u') => {
                let first = self.code_unit()?;
                if !(0xd800..0xdc00).contains(&first) {
                    return char::from_u32(first).ok_or_else(|| self.error("not a character"));
                }
                if !self.take("\\u") {
                    return Err(self.error("the second half of a surrogate pair is missing"));
                }
                let second = self.code_unit()?;
                let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400);
                low.and_then(|low| char::from_u32(0x10000 + ((first - 0xd800) << 10) + low))
                    .ok_or_else(|| self.error("not a character"))?
            }
            _ => return Err(self.error("unknown escape; a literal backslash is written twice")),
        })
    }

    fn code_unit(&mut self) -> Result<u32, SyntaxError> {
        let digits = self.text.get(self.offset..self.offset + 4);
        let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let unit = unit.ok_or_else(|| self.error("expected four hexadecimal digits"))?;
        self.offset += 4;
        Ok(unit)
    }

    fn word(&mut self) -> &str {
        let rest = self.rest();
        let is_word =
            |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '+');
        let length = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
        let start = self.offset;
        self.offset += length;
        self.text.get(start..self.offset).unwrap_or_default()
    }

    fn skip_space(&mut self) -> Result<(), SyntaxError> {
        loop {
            let rest = self.rest();
            self.offset += rest.len() - rest.trim_start().len();
            let rest = self.rest();
            if rest.starts_with('#') || rest.starts_with("//") {
                self.offset += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                let Some(end) = rest.find("*/") else {
                    return Err(self.error("this comment is not closed"));
                };
                self.offset += end + 2;
            } else {
                return Ok(());
            }
        }
    }

    fn rest(&self) -> &str {
        self.text.get(self.offset..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.offset += character.len_utf8();
        Some(character)
    }

    fn take(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.offset += expected.len();
        }
        found
    }

    fn error(&self, message: &str) -> SyntaxError {
        let position = FilePosition::from_offset(self.path, self.text, self.offset);
        SyntaxError { position, message: message.to_owned() }
    }
}
