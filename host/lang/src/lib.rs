//! The parser and evaluator of the configuration language: text is parsed into syntax with spans,
//! and expressions are compiled once and evaluated many times. [`format_text`] formats files in the
//! canonical format.
//!
//! The crate performs no I/O: text is passed as [`wardian_diagnostic::SourceFile`]s, and functions
//! that read files or clocks use the [`Scope`] that the caller provides. It does not depend on
//! providers, and does not interpret resources.
//!
//! Invariants: arbitrary text produces a result or diagnostics, never a panic; the parser limits
//! nesting, which bounds recursion; a [`Budget`] limits the values that evaluations produce; every
//! operation propagates unknown values and marks.

mod budget;
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

pub use budget::{Budget, EvaluationLimits};
pub use constraint::{Defaults, TypeConstraint};
pub use evaluate::Cause;
pub use expression::{Call, Expression};
pub use format::format_text;
pub use functions::{
    FunctionOrigin, FunctionSignature, NullArgument, ParameterSignature, decode_yaml, function_names,
    function_signatures, is_function,
};
pub use provider_call::ProviderCall;
pub use quote::quote_string;
pub use reference::{Reference, ReferenceMode, ReferenceSubject, Traversal, TraversalStep};
pub use scope::{EmptyScope, Resolved, Scope};
pub use source_bytes::SourceBytes;
pub use syntax::{
    Attribute, Block, Body, Expected, Label, parse_body, parse_expression, parse_json_body, parse_template,
};
