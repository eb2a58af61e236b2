//! Diagnostics: errors and warnings with the source spans they point at.
//!
//! [`SourceFile`] holds a file's text, [`Span`] is a part of it, and a [`Diagnostic`]
//! renders as text for a terminal, as one line for logs, or as Terraform's JSON.
//! [`closest`] finds the name for a "did you mean" suggestion.
//!
//! In the workspace, this crate depends only on `value`. It does no I/O and does not depend
//! on the language's syntax or functions: other crates describe those in strings.
//!
//! Invariants: rendering never panics, whatever a span's bounds are; control characters of
//! source lines never reach a terminal; a span of an excerpt points into the file that the
//! excerpt was taken from.

mod diagnosed;
mod diagnostic;
mod diagnostics;
mod json;
mod source;
mod suggestion;
mod text;

pub use diagnosed::Diagnosed;
pub use diagnostic::{
    Diagnostic, DiagnosticOrigin, FunctionNote, ParameterNote, Severity, SignatureNote, ValueNote,
};
pub use diagnostics::Diagnostics;
pub use source::{Position, SourceFile, Span};
pub use suggestion::closest;
pub use text::{NoStyle, Style, Tone};
