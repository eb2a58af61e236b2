//! Values and paths of attributes.

use std::fmt;
use std::sync::Arc;

/// A value in a difference. Differences are flat: containers are represented by their elements, and
/// only empty containers are values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ReviewedValue {
    Null,
    /// A value that is known only after the apply.
    Unknown,
    /// A sensitive value. Its content is not part of the model.
    Sensitive,
    Bool(bool),
    /// A number as it is written in the document.
    Number(Arc<str>),
    /// A text of any length, possibly with several lines. It is not escaped.
    Text(Arc<str>),
    EmptyList,
    EmptyMap,
}

impl ReviewedValue {
    /// Returns a number that identifies the kind of the value. Values of one kind have equal shapes.
    pub(crate) fn shape(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Unknown => 1,
            Self::Sensitive => 2,
            Self::Bool(_) => 3,
            Self::Number(_) => 4,
            Self::Text(_) => 5,
            Self::EmptyList => 6,
            Self::EmptyMap => 7,
        }
    }
}

/// The path of an attribute: `ingress[0].port`, `tags["a b"]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AttributePath {
    pub(crate) text: Arc<str>,
    pub(crate) pattern: Arc<str>,
}

impl AttributePath {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the path with `[*]` instead of list indexes: `ingress[*].port`. Attributes with equal
    /// patterns are hidden together and counted together.
    pub fn pattern(&self) -> &Arc<str> {
        &self.pattern
    }

    /// Returns the name of the attribute at the top level of the object: `ingress`.
    pub fn root(&self) -> &str {
        let end = self.text.find(['.', '[']).unwrap_or(self.text.len());
        self.text.get(..end).unwrap_or_default()
    }
}

impl fmt::Display for AttributePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The effect of a change on an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttributeEffect {
    Add,
    Remove,
    Change,
}

/// The difference of one attribute, or of one element of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeChange {
    pub path: AttributePath,
    /// The value before the change; `None` if it is absent.
    pub before: Option<ReviewedValue>,
    /// The value after the change; `None` if it is absent.
    pub after: Option<ReviewedValue>,
    /// Whether the difference forces the replacement of the object.
    pub forces_replacement: bool,
}

impl AttributeChange {
    pub fn effect(&self) -> AttributeEffect {
        match (&self.before, &self.after) {
            (None, _) => AttributeEffect::Add,
            (_, None) => AttributeEffect::Remove,
            _ => AttributeEffect::Change,
        }
    }
}

/// One step of a path while a difference is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathPart<'a> {
    Name(&'a str),
    Index(usize),
}

/// Returns the text and the pattern of a path.
pub(crate) fn write_path(parts: &[PathPart<'_>], text: &mut String, pattern: &mut String) {
    use std::fmt::Write as _;
    text.clear();
    pattern.clear();
    for (position, part) in parts.iter().enumerate() {
        match part {
            PathPart::Name(name) if is_identifier(name) => {
                let separator = if position == 0 { "" } else { "." };
                for target in [&mut *text, &mut *pattern] {
                    target.push_str(separator);
                    target.push_str(name);
                }
            }
            PathPart::Name(name) => {
                for target in [&mut *text, &mut *pattern] {
                    push_key(name, target);
                }
            }
            PathPart::Index(index) => {
                // Writing to a string does not fail.
                let _ = write!(text, "[{index}]");
                pattern.push_str("[*]");
            }
        }
    }
}

/// Appends a key of a map in quotes and brackets. Invisible characters are kept: renderers escape them.
fn push_key(name: &str, target: &mut String) {
    target.push_str("[\"");
    for character in name.chars() {
        match character {
            '"' | '\\' => target.extend(['\\', character]),
            '\n' => target.push_str("\\n"),
            '\r' => target.push_str("\\r"),
            '\t' => target.push_str("\\t"),
            other => target.push(other),
        }
    }
    target.push_str("\"]");
}

fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && characters.all(|character| character.is_alphanumeric() || matches!(character, '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_text_and_pattern() {
        let (mut text, mut pattern, mut pattern_of_key) = (String::new(), String::new(), String::new());
        let parts = [PathPart::Name("ingress"), PathPart::Index(3), PathPart::Name("a b")];
        write_path(&parts, &mut text, &mut pattern);
        assert_eq!(text, "ingress[3][\"a b\"]");
        assert_eq!(pattern, "ingress[*][\"a b\"]");
        let path = AttributePath { text: text.into(), pattern: pattern.into() };
        assert_eq!(path.root(), "ingress");
        write_path(&[PathPart::Name("a\"\\\n👩‍💻")], &mut String::new(), &mut pattern_of_key);
        assert_eq!(pattern_of_key, "[\"a\\\"\\\\\\n👩‍💻\"]");
    }
}
