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

/// The content of a file or of a block's braces.
///
/// JSON does not distinguish attributes from blocks. The caller that reads a body first declares
/// the attributes and blocks that it expects, with [`Body::interpreted`] or
/// [`Body::with_attributes_only`]; before that, the properties are neither attributes nor blocks.
#[derive(Clone, Debug)]
pub struct Body {
    /// `name = expression`, in source order; names are unique.
    pub attributes: Vec<Attribute>,
    /// Blocks in source order.
    pub blocks: Vec<Block>,
    /// The span of the whole body. For a block, this is the text between the braces.
    pub span: Span,
    /// Properties that no caller has requested yet.
    json: Vec<json::Pending>,
    /// Overrides that cannot be merged until callers declare the attributes and blocks that they expect.
    overrides: Vec<Self>,
    /// The span for errors about missing items, if it is not the opening brace.
    end: Option<Span>,
}

/// `name = expression`.
#[derive(Clone, Debug)]
pub struct Attribute {
    pub name: Str,
    pub name_span: Span,
    pub expression: Expression,
    /// The span of the whole definition.
    pub span: Span,
}

/// `kind "label" { ... }`.
#[derive(Clone, Debug)]
pub struct Block {
    /// The block type: `resource`, `variable`, ...
    pub kind: Str,
    pub kind_span: Span,
    pub labels: Vec<Label>,
    /// The content of the braces.
    pub body: Body,
    /// The span from the kind to the last label.
    pub header_span: Span,
    /// The span from the kind to the closing brace.
    pub span: Span,
}

/// A label of a block, quoted or bare.
#[derive(Clone, Debug)]
pub struct Label {
    /// The label without quotes.
    pub text: Str,
    /// The span including quotes.
    pub span: Span,
}

impl Block {
    /// Returns the header as it is displayed in diagnostics: `resource "aws_instance" "web"`.
    pub fn context(&self) -> String {
        let labels = self.labels.iter().map(|label| format!(" \"{}\"", label.text));
        std::iter::once(self.kind.to_string()).chain(labels).collect()
    }
}

impl Body {
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

    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| &*attribute.name == name)
    }

    /// Returns the blocks of a type.
    pub fn blocks_of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Block> {
        self.blocks.iter().filter(move |block| &*block.kind == kind)
    }

    /// Returns the span for an error about a missing required item: the opening brace of a block,
    /// or else the beginning of the body.
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
    pub fn label_texts(&self) -> Vec<&str> {
        self.labels.iter().map(|label| &*label.text).collect()
    }
}

/// Parses a file of blocks and attributes, or a `.tfvars` file, whose attributes are constants. If
/// there are syntax errors, the body contains everything that could be parsed, and is suitable only
/// for finding more errors.
pub fn parse_body(file: &Arc<SourceFile>) -> (Body, Diagnostics) {
    parse::body(file)
}

/// Parses text that is a single expression.
///
/// # Errors
///
/// Returns the syntax errors.
pub fn parse_expression(file: &Arc<SourceFile>) -> Result<Expression, Diagnostics> {
    compile::expression_at(&file.span())
}

/// Parses text that is a template, as `templatefile` does. Bare names in it become
/// [`crate::ReferenceSubject::Name`].
///
/// # Errors
///
/// Returns the syntax errors.
pub fn parse_template(file: &Arc<SourceFile>) -> Result<Expression, Diagnostics> {
    compile::template_in(file, 0, file.text().len(), Names::Plain)
}
