//! The canonical layout of configuration files, byte for byte that of
//! `terraform fmt`.
//!
//! It works on tokens, so that comments and everything else that means nothing to
//! an evaluation stay where they are:
//!
//! 1. `rewrite` turns the tokens of a file into pieces of text to be written,
//!    and changes what the canonical form writes in another way: labels of blocks
//!    are quoted, `"${x}"` as a whole argument becomes `x`, types in `variable`
//!    blocks lose the quotes they had in old configurations.
//! 2. `spacing` says which neighbours have a space between them.
//! 3. `layout` splits the pieces in lines, indents these by the brackets that are
//!    open, and aligns the equals signs and the comments of neighbouring lines.
//!
//! Line breaks are never made and only those at the ends of an unwrapped
//! interpolation are lost; what stands inside literal text is left alone.
//!
//! What looks odd here is odd there too, and kept, since a file that one of both
//! programs accepts as formatted must be so for the other: comments between a
//! block's kind and its last label are dropped; a second pass may find more to do; a
//! file that has nothing but spaces in its last line keeps these.
//!
//! One thing is not done: to break a file. Where `terraform fmt` loses a part of the
//! code (a label with a `$` or `%`, the index in `a[true]` and `a[null]`), joins a
//! number and what follows it (`a.0 .1`), or unwraps an expression so that it ends too
//! early (`"${a # b` before more lines), the text is kept, or is put in parentheses.

mod labels;
mod layout;
mod rewrite;
mod spacing;

use std::borrow::Cow;
use std::sync::Arc;

use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile};

use crate::parse_body;
use crate::syntax::scan::{Start, TokenKind, scan};

/// A token as it will be written.
struct Piece<'a> {
    kind: TokenKind,
    text: Cow<'a, str>,
    /// How many spaces stand before it. Until the layout is made: how many bytes
    /// stood between it and the token before.
    spaces: usize,
}

/// How many bytes a formatted file may have; alignment can make a small file of
/// uncommon lines into a huge one.
const LONGEST_RESULT: usize = 1 << 28;

/// The text of `file` in canonical layout.
///
/// # Errors
///
/// Syntax errors; a result that would be out of all proportion.
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
                "With its arguments and comments aligned, {} would have more than {} MB. Break \
                 its longest lines, or put a blank line before and after them.",
                file.name(),
                LONGEST_RESULT >> 20
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
            .filter(|length| *length <= LONGEST_RESULT)
    })?;
    let mut written = String::with_capacity(length);
    for piece in pieces {
        written.extend(std::iter::repeat_n(' ', piece.spaces));
        written.push_str(&piece.text);
    }
    Some(written)
}

/// By how much a token changes the number of open brackets.
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
