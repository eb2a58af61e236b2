//! The language: turns configuration text into syntax with spans, and into expressions that are
//! compiled once and evaluated many times. [`format_text`] formats files in the canonical
//! layout.
//!
//! The crate does no I/O: text is passed in as [`wardian_diagnostic::SourceFile`]s, and
//! functions that read files or clocks use the [`Scope`] that the caller provides. It does not
//! depend on providers, and resources have no meaning in it.
//!
//! Invariants: arbitrary text produces a result or diagnostics, never a panic; the nesting that
//! the parser accepts bounds recursion; unknown values and marks flow through every operation.

mod compile;
mod constraint;
mod evaluate;
mod expression;
mod format;
mod functions;
mod node;
mod provider_call;
mod quote;
mod reference;
mod scope;
mod source_bytes;
mod syntax;

pub use constraint::{Defaults, TypeConstraint};
pub use evaluate::Cause;
pub use expression::{Call, Expression};
pub use format::format_text;
pub use functions::{
    FunctionOrigin, FunctionSignature, NullArgument, ParameterSignature, function_names, function_signatures,
    is_function,
};
pub use provider_call::ProviderCall;
pub use quote::quote_string;
pub use reference::{Reference, ReferenceMode, ReferenceSubject, Traversal, TraversalStep};
pub use scope::{EmptyScope, Resolved, Scope};
pub use source_bytes::SourceBytes;
pub use syntax::{
    Attribute, Block, Body, Expected, Label, parse_body, parse_expression, parse_json_body, parse_template,
};
