//! The JSON syntax of configuration files.
//!
//! JSON syntax does not distinguish arguments from blocks; only the caller that reads a body can
//! distinguish them. Therefore, a file is first parsed into a tree of values ([`parse`]), and each
//! [`crate::Body`] contains a subtree. When a caller has declared the attributes and blocks that it
//! expects ([`crate::Expected`]), the body has attributes and blocks as in the native syntax
//! ([`body`]). Values become expressions on first use ([`expression`]), and are compiled only once,
//! even if a body is read several times.
//!
//! A string is a template, unless the argument must be constant, in which case it is a literal.

mod body;
mod expression;
mod parse;
mod scan;
mod text;

use std::sync::{Arc, OnceLock};

use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile, Span};
use wardian_value::{Number, Str};

use crate::Body;
use crate::expression::Compiled;

pub use body::Expected;
pub(crate) use body::Pending;
pub(crate) use expression::{call, compiled, constant, embedded, items, keyword, members, quoted, traversal};

/// A value and its position.
#[derive(Debug)]
pub(crate) struct Json {
    kind: Kind,
    start: usize,
    end: usize,
    /// True if the value contains a member named `dynamic`.
    holds_dynamic: bool,
    compiled: OnceLock<Arc<Compiled>>,
}

#[derive(Debug)]
enum Kind {
    Null,
    Bool(bool),
    Number(Number),
    Text(Str),
    Array(Vec<Arc<Json>>),
    Object(Vec<Member>),
    /// A value that could not be parsed. The error has been reported.
    Invalid,
}

#[derive(Debug)]
struct Member {
    /// The member's name, a [`Kind::Text`].
    name: Arc<Json>,
    value: Arc<Json>,
}

impl Member {
    fn name(&self) -> &Str {
        static NONE: OnceLock<Str> = OnceLock::new();
        match &self.name.kind {
            Kind::Text(name) => name,
            _ => NONE.get_or_init(|| Str::new("")),
        }
    }
}

impl Json {
    fn new(kind: Kind, (start, end): (usize, usize)) -> Self {
        let holds_dynamic = match &kind {
            Kind::Array(items) => items.iter().any(|item| item.holds_dynamic),
            Kind::Object(members) => {
                members.iter().any(|member| &**member.name() == "dynamic" || member.value.holds_dynamic)
            }
            _ => false,
        };
        Self { kind, start, end, holds_dynamic, compiled: OnceLock::new() }
    }

    fn span(&self, file: &Arc<SourceFile>) -> Span {
        Span::new(file, self.start, self.end)
    }

    /// Returns the span of the start of a value: its opening bracket, or the whole value if it has
    /// no bracket.
    fn start_span(&self, file: &Arc<SourceFile>) -> Span {
        match self.kind {
            Kind::Array(_) | Kind::Object(_) => Span::new(file, self.start, self.start + 1),
            _ => self.span(file),
        }
    }
}

/// Parses a file of blocks and attributes in JSON. Returns everything that could be parsed, and the
/// errors.
pub fn parse_json_body(file: &Arc<SourceFile>) -> (Body, Diagnostics) {
    let (value, mut problems) = parse::file(file);
    let rooted = matches!(value.kind, Kind::Object(_) | Kind::Array(_));
    if !rooted {
        let detail = "A JSON configuration must be an object or an array of objects: its first character is \
            \"{\" or \"[\".";
        problems.push(Diagnostic::error("Root value must be object", detail).at(value.start_span(file)));
    }
    let body = if rooted { Body::from_json(file, &Arc::new(value)) } else { Body::empty(file.span()) };
    (body, problems)
}
