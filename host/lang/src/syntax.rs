//! Bodies, blocks and attributes: the structure of a file.

pub(crate) mod json;
mod parse;
pub(crate) mod scan;

use std::sync::Arc;

use wardian_diagnostic::{Diagnostics, SourceFile, Span};
use wardian_value::Str;

use crate::compile::Names;
use crate::{Expression, compile};

pub use json::{Expected, parse_json_body};

pub(crate) use parse::{expression, template};

/// What stands in a file or between the braces of a block.
///
/// JSON does not say which of its properties are attributes and which are blocks.
/// Whoever reads a body says so first, with [`Body::interpreted`] or
/// [`Body::with_attributes_only`]; until then they are neither.
#[derive(Clone, Debug)]
pub struct Body {
    /// `name = expression`, in the order of the text; names are unique.
    pub attributes: Vec<Attribute>,
    /// Blocks in the order of the text.
    pub blocks: Vec<Block>,
    /// All of it; for a block the text between the braces.
    pub span: Span,
    /// Properties that nobody has asked for yet.
    json: Vec<json::Pending>,
    /// What lies on top, and cannot be merged before readers say what they expect.
    overrides: Vec<Self>,
    /// The place where something is missing, if it is not the opening brace.
    end: Option<Span>,
}

/// `name = expression`.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// The name.
    pub name: Str,
    /// Its place.
    pub name_span: Span,
    /// What it is set to.
    pub expression: Expression,
    /// The whole definition.
    pub span: Span,
}

/// `kind "label" { ... }`.
#[derive(Clone, Debug)]
pub struct Block {
    /// `resource`, `variable`, ...
    pub kind: Str,
    /// Its place.
    pub kind_span: Span,
    /// The labels.
    pub labels: Vec<Label>,
    /// What stands between the braces.
    pub body: Body,
    /// From the kind to the last label.
    pub header_span: Span,
    /// From the kind to the closing brace.
    pub span: Span,
}

/// A label of a block, quoted or bare.
#[derive(Clone, Debug)]
pub struct Label {
    /// Without quotes.
    pub text: Str,
    /// With quotes.
    pub span: Span,
}

impl Body {
    /// A body with nothing in it.
    pub fn empty(span: Span) -> Self {
        Self {
            attributes: Vec::new(),
            blocks: Vec::new(),
            span,
            json: Vec::new(),
            overrides: Vec::new(),
            end: None,
        }
    }

    /// The attribute of that name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| &*attribute.name == name)
    }

    /// The blocks of that kind.
    pub fn blocks_of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Block> {
        self.blocks.iter().filter(move |block| &*block.kind == kind)
    }

    /// Where something that must be inside is missing: the opening brace of a
    /// block, or else the beginning.
    pub fn missing_item_span(&self) -> Span {
        if let Some(end) = &self.end {
            return end.clone();
        }
        let start = self.span.start;
        let brace = start.saturating_sub(1);
        let has_brace = self.span.file.text().get(brace..start) == Some("{");
        Span::new(&self.span.file, if has_brace { brace } else { start }, start)
    }
}

impl Block {
    /// The texts of the labels.
    pub fn label_texts(&self) -> Vec<&str> {
        self.labels.iter().map(|label| &*label.text).collect()
    }
}

/// Reads a file of blocks and attributes; also `.tfvars`, whose attributes are
/// constants. Where there are syntax errors, the body is what could be made out
/// besides: good enough to find more errors in, not to be used for anything else.
pub fn parse_body(file: &Arc<SourceFile>) -> (Body, Diagnostics) {
    parse::body(file)
}

/// Reads text that is one expression.
///
/// # Errors
///
/// Syntax errors.
pub fn parse_expression(file: &Arc<SourceFile>) -> Result<Expression, Diagnostics> {
    compile::expression_at(&file.span())
}

/// Reads text that is a template, as `templatefile` does: bare names in it are
/// [`crate::Subject::Name`].
///
/// # Errors
///
/// Syntax errors.
pub fn parse_template(file: &Arc<SourceFile>) -> Result<Expression, Diagnostics> {
    compile::template_in(file, 0, file.text().len(), Names::Plain)
}
