//! Diagnostics as JSON, with the structure of Terraform's `-json` outputs.

use serde::Serialize;

use wardian_value::Type;

use crate::{Diagnostic, FunctionNote, ParameterNote, Position, Severity, Span};

#[derive(Serialize)]
struct Json<'a> {
    severity: &'static str,
    summary: &'a str,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<Range<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<Snippet<'a>>,
}

#[derive(Serialize)]
struct Range<'a> {
    filename: &'a str,
    start: JsonPosition,
    end: JsonPosition,
}

#[derive(Serialize)]
struct JsonPosition {
    line: usize,
    column: usize,
    byte: usize,
}

#[derive(Serialize)]
struct Snippet<'a> {
    context: Option<&'a str>,
    code: &'a str,
    start_line: usize,
    highlight_start_offset: usize,
    highlight_end_offset: usize,
    values: Vec<Note<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<Call<'a>>,
}

#[derive(Serialize)]
struct Call<'a> {
    called_as: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<Signature<'a>>,
}

#[derive(Serialize)]
struct Signature<'a> {
    name: &'a str,
    params: Vec<Parameter<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    variadic_param: Option<Parameter<'a>>,
    return_type: serde_json::Value,
}

#[derive(Serialize)]
struct Parameter<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    ty: serde_json::Value,
}

#[derive(Serialize)]
struct Note<'a> {
    traversal: &'a str,
    statement: &'a str,
}

impl From<Position> for JsonPosition {
    fn from(position: Position) -> Self {
        Self { line: position.line, column: position.column, byte: position.byte }
    }
}

impl Diagnostic {
    /// Returns [`Diagnostic::document`] as a JSON value.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self.document()).unwrap_or_default()
    }

    /// Returns the diagnostic with the structure of Terraform's `-json` outputs. The properties are
    /// in Terraform's order.
    pub fn document(&self) -> impl Serialize + '_ {
        Json {
            severity: match self.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            summary: &self.summary,
            detail: &self.detail,
            address: self.address.as_deref(),
            range: self.subject.as_ref().map(range),
            snippet: self.subject.as_ref().map(|span| self.snippet(span)),
        }
    }

    fn snippet<'a>(&'a self, span: &'a Span) -> Snippet<'a> {
        let start = span.start_position();
        let code = overlapped_lines(span);
        let line_start = span.file.line_start(start.line);
        let offset = |byte: usize| byte.saturating_sub(line_start).min(code.len());
        Snippet {
            context: self.enclosing_block(),
            code,
            start_line: start.line,
            highlight_start_offset: offset(span.start),
            highlight_end_offset: offset(highlight_end(span)),
            values: self
                .values
                .iter()
                .map(|note| Note { traversal: &note.traversal, statement: &note.statement })
                .collect(),
            function_call: self.function.as_deref().map(call),
        }
    }
}

fn call(function: &FunctionNote) -> Call<'_> {
    Call {
        called_as: &function.called_as,
        signature: function.signature.as_ref().map(|signature| Signature {
            name: &signature.name,
            params: signature.parameters.iter().map(parameter).collect(),
            variadic_param: signature.variadic.as_ref().map(parameter),
            return_type: type_json(&signature.result),
        }),
    }
}

fn parameter(parameter: &ParameterNote) -> Parameter<'_> {
    Parameter { name: &parameter.name, ty: type_json(&parameter.ty) }
}

fn type_json(ty: &Type) -> serde_json::Value {
    serde_json::from_str(&ty.to_json()).unwrap_or_default()
}

fn range(span: &Span) -> Range<'_> {
    let start = span.start_position();
    let end = if span.end > span.start {
        span.end_position()
    } else {
        Position { column: start.column + 1, byte: start.byte + 1, ..start }
    };
    Range { filename: span.file.name(), start: start.into(), end: end.into() }
}

/// Returns the end of the highlighted text. For an empty span, one character is highlighted.
fn highlight_end(span: &Span) -> usize {
    if span.end > span.start { span.end } else { span.start + 1 }
}

/// Returns the complete lines that overlap a span.
fn overlapped_lines(span: &Span) -> &str {
    let (start, end) = (span.start_position(), span.end_position());
    let last_line_start = span.file.line_start(end.line);
    let text_end = last_line_start + span.file.line(end.line).len();
    span.file.text().get(span.file.line_start(start.line)..text_end).unwrap_or("")
}
