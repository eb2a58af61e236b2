//! Determines the spaces between adjacent tokens of a line.

use super::{Piece, bracket_change};
use crate::syntax::scan::TokenKind as T;

/// Returns true if a space is written between `left` and `right`; `before` is the token before
/// `left` in the same cell.
pub(super) fn is_spaced(before: Option<T>, left: &Piece<'_>, right: &Piece<'_>) -> bool {
    match (left.kind, right.kind) {
        // `a.0 .1` contains two indexes, but `0.1` is a number.
        (T::Dot, _) if before == Some(T::Number) => continues_number(right),
        (_, T::Newline | T::Dot | T::Comma | T::Ellipsis)
        | (T::Dot, _)
        | (T::Identifier, T::OpenParenthesis | T::DoubleColon)
        | (T::DoubleColon, T::Identifier) => false,
        (T::Comma, _) => true,
        // The content of a template is text, including every space.
        (T::QuotedLiteral | T::TemplateLiteral | T::OpenQuote | T::OpenHeredoc, _)
        | (_, T::QuotedLiteral | T::TemplateLiteral | T::CloseQuote | T::CloseHeredoc) => false,
        // In `for x in [a]`, `[` does not index `in`.
        (T::Identifier, _) if left.text == "in" && before == Some(T::Identifier) => true,
        (T::Identifier | T::Number, T::OpenBracket) => false,
        (closing, T::OpenBracket) if bracket_change(closing) < 0 => false,
        (T::Not, _) => false,
        (T::Minus, _) => before.is_some_and(ends_operand),
        (T::OpenBrace, T::CloseBrace) => false,
        (T::OpenBrace, _) | (_, T::CloseBrace) => true,
        // `${ {a = b} }`: three consecutive braces are hard to read.
        (T::OpenInterpolation | T::OpenDirective, T::OpenBrace) | (T::CloseBrace, T::CloseSequence) => true,
        (T::CloseSequence, T::OpenInterpolation | T::OpenDirective) => false,
        (opening, _) if bracket_change(opening) > 0 => false,
        (_, closing) if bracket_change(closing) < 0 => false,
        _ => true,
    }
}

/// Returns true if a digit, a dot and this piece would be scanned as one number.
fn continues_number(piece: &Piece<'_>) -> bool {
    let exponent = piece.text.strip_prefix(['e', 'E']);
    let digits = exponent.map(|exponent| exponent.strip_prefix('-').unwrap_or(exponent));
    piece.kind == T::Number
        || digits.is_some_and(|digits| digits.starts_with(|digit: char| digit.is_ascii_digit()))
}

/// Returns true if a minus after this token is a subtraction. One token does not always determine
/// this: a minus after a keyword or an arrow is treated as a subtraction.
fn ends_operand(kind: T) -> bool {
    !matches!(
        kind,
        T::OpenParenthesis
            | T::OpenBrace
            | T::OpenBracket
            | T::Assign
            | T::Colon
            | T::Comma
            | T::Question
            | T::Plus
            | T::Minus
            | T::Star
            | T::Slash
            | T::Percent
            | T::Equal
            | T::NotEqual
            | T::Greater
            | T::GreaterOrEqual
            | T::Less
            | T::LessOrEqual
            | T::And
            | T::Or
            | T::Not
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_indexes_stay_separate() {
        let piece = |kind, text: &'static str| Piece { kind, text: text.into(), spaces: 0 };
        let dot = piece(T::Dot, ".");
        for (kind, text, spaced) in [
            (T::Number, "1", true),
            (T::Identifier, "e1", true),
            (T::Identifier, "E-1x", true),
            (T::Identifier, "each", false),
            (T::Identifier, "e", false),
            (T::Identifier, "x1", false),
        ] {
            assert_eq!(is_spaced(Some(T::Number), &dot, &piece(kind, text)), spaced, "{text}");
            assert!(!is_spaced(Some(T::Identifier), &dot, &piece(kind, text)), "{text}");
        }
    }
}
