//! The canonical format of configuration files. It is byte for byte the same as the format of
//! `terraform fmt`.
//!
//! The formatter works on tokens. This preserves comments and all other text without a meaning for
//! evaluation:
//!
//! 1. `rewrite` converts the tokens of a file to pieces of output text, and changes text that has a
//!    different canonical form: block labels are quoted, `"${x}"` as a whole argument becomes `x`,
//!    types in `variable` blocks lose their legacy quotes.
//! 2. `spacing` determines which neighbours have a space between them.
//! 3. `layout` splits the pieces into lines, indents the lines by their open brackets, and
//!    aligns the equals signs and comments of neighboring lines.
//!
//! Line breaks are never added, and are removed only at the ends of an unwrapped interpolation;
//! literal text is not changed.
//!
//! Peculiarities of `terraform fmt` are reproduced, because Terraform and Wardian must accept each
//! other's formatted files: comments between a block's kind and its last label are dropped; a
//! second pass may change more; if the last line of a file contains only spaces, the spaces are
//! preserved.
//!
//! There is one exception: this formatter never damages a file. `terraform fmt` can drop some of
//! the code (a label with a `$` or `%`, the index in `a[true]` and `a[null]`), join a number with
//! the following text (`a.0 .1`), or unwrap an expression that then ends too early (`"${a # b`
//! before more lines). In these cases, this formatter preserves the text or puts it in parentheses.

mod labels;
mod layout;
mod rewrite;
mod spacing;

use std::borrow::Cow;
use std::sync::Arc;

use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile};

use crate::parse_body;
use crate::syntax::scan::{Start, TokenKind, scan};

/// A token to be formatted.
struct Piece<'a> {
    kind: TokenKind,
    text: Cow<'a, str>,
    /// The number of spaces before the token. Before the layout is computed, this is the number of
    /// bytes between the token and the previous one.
    spaces: usize,
}

/// Maximum size in bytes of a formatted file. The limit is necessary because alignment can make a
/// small file with unusual lines huge.
const MAX_RESULT_LENGTH: usize = 1 << 28;

/// Formats the text of `file` in the canonical format.
///
/// # Errors
///
/// Returns an error if the file contains syntax errors, or if the result is disproportionately large.
pub fn format_text(file: &Arc<SourceFile>) -> Result<String, Diagnostics> {
    parse_body(file).1.into_result(())?;
    let text = file.text();
    let tokens = scan(text, 0, text.len(), Start::Normal);
    let mut pieces = rewrite::pieces(text, &tokens);
    layout::arrange(&mut pieces);
    write(&pieces).ok_or_else(|| {
        Diagnostic::error(
            "File cannot be formatted",
            format!(
                "With its arguments and comments aligned, {} would be larger than {} MB. Break its longest \
                 lines, or add a blank line before and after them.",
                file.name(),
                MAX_RESULT_LENGTH >> 20
            ),
        )
        .into()
    })
}

fn write(pieces: &[Piece<'_>]) -> Option<String> {
    let length = pieces.iter().try_fold(0_usize, |length, piece| {
        length
            .checked_add(piece.spaces)?
            .checked_add(piece.text.len())
            .filter(|length| *length <= MAX_RESULT_LENGTH)
    })?;
    let mut formatted = String::with_capacity(length);
    for piece in pieces {
        formatted.extend(std::iter::repeat_n(' ', piece.spaces));
        formatted.push_str(&piece.text);
    }
    Some(formatted)
}

/// Returns the change in the number of open brackets at a token.
fn bracket_change(kind: TokenKind) -> isize {
    match kind {
        TokenKind::OpenBrace
        | TokenKind::OpenBracket
        | TokenKind::OpenParenthesis
        | TokenKind::OpenInterpolation
        | TokenKind::OpenDirective => 1,
        TokenKind::CloseBrace
        | TokenKind::CloseBracket
        | TokenKind::CloseParenthesis
        | TokenKind::CloseSequence => -1,
        _ => 0,
    }
}
