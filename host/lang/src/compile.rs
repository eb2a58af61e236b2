//! From hcl-edit's syntax tree to our own.

use std::sync::Arc;

use wardian_value::Str;

use crate::node::Node;
use crate::{Diagnostic, Diagnostics, Expression, SourceFile, Span};

/// Compiles the expression that is the text of a span.
pub(crate) fn expression_at(span: &Span) -> Result<Expression, Diagnostics> {
    Err(Diagnostic::error("Not yet", "").at(span.clone()).into())
}

/// Compiles a whole file as a template.
pub(crate) fn template_file(file: &Arc<SourceFile>) -> Result<Expression, Diagnostics> {
    Err(Diagnostic::error("Not yet", "").at(file.span()).into())
}

/// A bare name as an expression of its own.
pub(crate) fn bare_name(_name: &Str, span: &Span) -> Arc<Node> {
    let _ = span;
    unimplemented!()
}
