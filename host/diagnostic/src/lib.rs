//! Diagnostics: errors and warnings with the source spans that they point at.
//!
//! A [`SourceFile`] contains a file's text, a [`Span`] is a range of it, and a [`Diagnostic`] can
//! be rendered as text for a terminal, as one log line, or as Terraform's JSON. [`closest`] finds
//! the name for a "did you mean" suggestion.
//!
//! In the workspace, this crate depends only on `value`. It performs no I/O, and does not depend on
//! the language's syntax or functions: other crates pass strings that describe them.
//!
//! Invariants: rendering never panics for any bounds of a span; control characters of source lines
//! are never printed; a span of an excerpt refers to the file from which the excerpt was taken.

mod diagnosed;
mod diagnostic;
mod diagnostics;
mod json;
mod source;
mod suggestion;
mod system_reason;
mod text;

pub use diagnosed::Diagnosed;
pub use diagnostic::{
    Diagnostic, DiagnosticOrigin, FunctionNote, ParameterNote, Severity, SignatureNote, ValueNote,
};
pub use diagnostics::Diagnostics;
pub use source::{Position, SourceFile, Span};
pub use suggestion::{closest, did_you_mean};
pub use system_reason::system_reason;
pub use text::{NoStyle, PlainStyle, Style, Tone};
