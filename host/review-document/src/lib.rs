//! Renders the reviews of plans as an HTML page ([`write_page`]) and as a comment in Markdown
//! ([`markdown_comment`]), and describes the causes of changes ([`explanations`]).
//!
//! Invariants:
//! - Text from a plan is inert: each format has a type for its output, to which only literals of this
//!   crate and escaped text can be added.
//! - A page needs no network access, and is readable without scripts.
//! - The cost is linear in the size of the reviews and of the output.
//!
//! The crate performs no I/O except for writing to the given writer. It depends only on the model,
//! `wardian-review`, and on the escaping of `wardian-printable`.

mod explanation;
mod html;
mod markdown;
mod value_text;

pub use explanation::{Fragment, explanations, group_explanations, member_explanations};
pub use html::write_page;
pub use markdown::{CommentFormat, CommentOptions, markdown_comment};
pub use value_text::value_text;
