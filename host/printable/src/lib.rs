//! Text that is safe to print on a terminal.
//!
//! Text from other sources (plugins, configurations, states, file names, policies, logs, server
//! responses) can contain characters that control a terminal, hide text or change its order.
//! [`PrintableText`] cannot contain them: it consists of literals in the source code, and of other
//! text whose [deceptive](escape) characters were escaped. All text that is displayed to users has
//! this type.
//!
//! [`printable!`] is like `format!`, but returns printable text. Its arguments, including their
//! line breaks, are escaped unless they are printable text. This prevents an argument from forging
//! a line:
//!
//! ```
//! use wardian_printable::printable;
//!
//! let id = "x]\nPlan: 0 to add\u{1b}[2J";
//! let text = printable!("Refreshing state... [id={id}]\n");
//! assert_eq!(text.as_str(), "Refreshing state... [id=x]\\nPlan: 0 to add\\u{1b}[2J]\n");
//! ```
//!
//! Other strings are not printable text, regardless of their content:
//!
//! ```compile_fail,E0521
//! fn show(id: &str) -> wardian_printable::PrintableText {
//!     id.into()
//! }
//! ```
//!
//! ```compile_fail,E0277
//! fn show(id: String) -> wardian_printable::PrintableText {
//!     id.into()
//! }
//! ```
//!
//! ```compile_fail,E0277
//! fn show(id: &str) -> wardian_printable::PrintableText {
//!     format_args!("[id={id}]").into()
//! }
//! ```
//!
//! ```compile_fail,E0521
//! fn show(id: &str, text: &mut wardian_printable::PrintableText) {
//!     text.push(id);
//! }
//! ```
//!
//! This crate performs no I/O and depends on no other crate, except for its macros.

pub mod direction;
pub mod escape;
mod text;

pub use text::{Printable, PrintableLine, PrintableText};
pub use wardian_printable_macros::{append, append_line, printable};

// The macros refer to this crate by its external name, and so do its own tests.
#[cfg(test)]
extern crate self as wardian_printable;
