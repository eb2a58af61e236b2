//! Code that the fuzz targets share: inspection of parsed input, scopes for evaluation, and
//! arbitrary values.
//!
//! Each target checks the requirements for any input: no panic, and no unbounded recursion, memory
//! or time. Further properties are asserted if they are cheap to check.

mod look;
mod scope;
mod soundness;
mod values;

pub use look::{look_at_body, look_at_diagnostics, look_at_expression};
pub use scope::{Named, Nothing};
pub use soundness::{assert_agrees, assert_keeps_marks};
pub use values::{any_argument, hidden};

use std::sync::Arc;

use wardian_diagnostic::SourceFile;

/// Returns the input as a source file; `None` if it is not UTF-8, which the real caller rejects.
pub fn file(name: &str, data: &[u8]) -> Option<Arc<SourceFile>> {
    Some(SourceFile::new(name, std::str::from_utf8(data).ok()?))
}

/// Returns whether the evaluation of the text can be far more expensive than its size suggests, in
/// any implementation: nested loops and nested encodings multiply the cost.
pub fn multiplies(text: &str) -> bool {
    text.matches("for").count() > 2 || text.matches('(').count() > 6 || text.matches("[*]").count() > 4
}
