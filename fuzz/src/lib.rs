//! What the fuzz targets share: a look at everything that can be asked of what was
//! read, scopes to evaluate in, and arbitrary values.
//!
//! A target holds the language to what it promises of any input: no panic, no
//! unbounded recursion, memory or time. Where more can be said at little cost it is
//! asserted.

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

/// The input as the file that a program would have made of it; `None` where it is not
/// UTF-8, which is refused before anything here sees it.
pub fn file(name: &str, data: &[u8]) -> Option<Arc<SourceFile>> {
    Some(SourceFile::new(name, std::str::from_utf8(data).ok()?))
}

/// Whether evaluating the text costs what its author chose and not what its size says:
/// loops in loops and encodings of encodings multiply, in every implementation.
pub fn multiplies(text: &str) -> bool {
    text.matches("for").count() > 2 || text.matches('(').count() > 6 || text.matches("[*]").count() > 4
}
