//! The language: configuration text becomes syntax with spans, and expressions that
//! are compiled once and evaluated many times.
//! [`format_text`] lays files out in the canonical way.
//!
//! Nothing here does I/O: text comes in as [`SourceFile`]s, and functions that
//! read files or clocks ask the [`Scope`] that the caller provides. Nothing here
//! knows a provider or what a resource means.
//!
//! Always holds: arbitrary text gives a result or diagnostics, never a panic;
//! recursion is bounded by the nesting that the parser admits; unknown values and
//! marks flow through every operation.

mod compile;
mod constraint;
mod evaluate;
mod expression;
mod format;
mod functions;
mod node;
mod provider_call;
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
pub use reference::{Reference, ResourceMode, Subject, Traversal, TraversalStep};
pub use scope::{EmptyScope, Resolved, Scope};
pub use source_bytes::SourceBytes;
pub use syntax::{
    Attribute, Block, Body, Expected, Label, parse_body, parse_expression, parse_json_body, parse_template,
};
