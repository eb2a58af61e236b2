//! Recovers after invalid code, and reports tokens that are always errors.

use super::Parser;
use crate::syntax::scan::{Token, TokenKind};

/// Maximum number of reported bitwise operators.
const MAX_BIT_OPERATORS: usize = 4;

impl Parser<'_> {
    /// Skips up to and including the bracket that closes the current bracket. Nested brackets of
    /// the same kind are also skipped. Returns the closing bracket, or the end token.
    pub(super) fn recover(&mut self, end: TokenKind) -> Token {
        self.recovering = true;
        let mut open = 0_usize;
        loop {
            let token = self.read();
            if token.kind == TokenKind::End {
                return token;
            }
            if token.kind == end {
                if open == 0 {
                    return token;
                }
                open -= 1;
            } else if closer(token.kind) == Some(end) {
                open += 1;
            }
        }
    }

    /// Skips up to and including the next arguments in parentheses.
    pub(super) fn recover_over_arguments(&mut self) {
        loop {
            match self.read().kind {
                TokenKind::OpenParenthesis | TokenKind::End => break,
                _ => {}
            }
        }
        self.recover(TokenKind::CloseParenthesis);
    }

    /// Skips to the end of the line. Line breaks inside brackets that are opened on the way are
    /// ignored.
    pub(super) fn recover_behind_item(&mut self) {
        self.recovering = true;
        let mut open: Vec<TokenKind> = Vec::new();
        loop {
            let token = self.read();
            match token.kind {
                TokenKind::End => return,
                TokenKind::Newline if open.is_empty() => return,
                kind => {
                    if let Some(closer) = closer(kind) {
                        open.push(closer);
                    } else if is_closer(kind) {
                        while let Some(expected) = open.pop() {
                            if expected == kind {
                                break;
                            }
                        }
                    }
                }
            }
        }
    }

    /// Before parsing, reports tokens that are not part of Terraform's syntax.
    pub(super) fn refuse_unknown_tokens(&mut self) {
        let mut seen = Seen::default();
        for index in 0..self.tokens.len() {
            if let Some(token) = self.tokens.get(index).copied()
                && let Some((summary, detail)) = unknown_token(token.kind, self.text_of(token), &mut seen)
            {
                self.problem(summary, detail, token.place());
            }
        }
    }
}

/// Counts tokens that are reported only a limited number of times.
#[derive(Default)]
struct Seen {
    bit_operators: usize,
    backticks: usize,
    apostrophes: usize,
    semicolons: usize,
}

impl Seen {
    /// Counts a quotation mark, and returns whether it is reported. Quotation marks occur in pairs,
    /// so only the first mark of each of the first two pairs is reported.
    fn count_quotation_mark(count: &mut usize) -> bool {
        let is_first = count.is_multiple_of(2);
        *count += usize::from(*count <= 2);
        is_first
    }
}

fn unknown_token(kind: TokenKind, text: &str, seen: &mut Seen) -> Option<(&'static str, &'static str)> {
    const CHARACTER: &str = "Invalid character";
    Some(match kind {
        TokenKind::Ampersand | TokenKind::Pipe | TokenKind::Caret | TokenKind::Tilde => {
            seen.bit_operators += 1;
            if seen.bit_operators > MAX_BIT_OPERATORS {
                return None;
            }
            let detail = match kind {
                TokenKind::Ampersand => "Bitwise operators are not supported. The logical \"and\" is \"&&\".",
                TokenKind::Pipe => "Bitwise operators are not supported. The logical \"or\" is \"||\".",
                TokenKind::Tilde => "Bitwise operators are not supported. The logical \"not\" is \"!\".",
                _ => "Bitwise operators are not supported.",
            };
            ("Unsupported operator", detail)
        }
        TokenKind::Backtick if Seen::count_quotation_mark(&mut seen.backticks) => {
            (CHARACTER, "Backticks are not quotes. For a string of several lines, use a heredoc (<<EOT).")
        }
        TokenKind::Apostrophe if Seen::count_quotation_mark(&mut seen.apostrophes) => {
            (CHARACTER, "Single quotes are not allowed. Put double quotes around strings.")
        }
        TokenKind::Semicolon => {
            seen.semicolons += 1;
            if seen.semicolons > 1 {
                return None;
            }
            (
                CHARACTER,
                "Semicolons are not separators. Put each argument and block on a new line, and separate the \
                 elements of a collection with commas.",
            )
        }
        TokenKind::QuotedNewline => (
            "Invalid multi-line string",
            "A quoted string must end on the line on which it starts. For a string of several lines, use a \
             heredoc (<<EOT), or write \"\\n\" for a line break.",
        ),
        TokenKind::Invalid if matches!(text, "\u{201c}" | "\u{201d}") => {
            (CHARACTER, "Typographic quotes are not allowed. Put plain double quotes around strings.")
        }
        TokenKind::Invalid => (CHARACTER, "This character is only allowed inside strings."),
        _ => return None,
    })
}

/// Returns the closing bracket that matches an opening bracket.
fn closer(kind: TokenKind) -> Option<TokenKind> {
    Some(match kind {
        TokenKind::OpenBrace => TokenKind::CloseBrace,
        TokenKind::OpenBracket => TokenKind::CloseBracket,
        TokenKind::OpenParenthesis => TokenKind::CloseParenthesis,
        TokenKind::OpenQuote => TokenKind::CloseQuote,
        TokenKind::OpenHeredoc => TokenKind::CloseHeredoc,
        TokenKind::OpenInterpolation | TokenKind::OpenDirective => TokenKind::CloseSequence,
        _ => return None,
    })
}

fn is_closer(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::CloseBrace
            | TokenKind::CloseBracket
            | TokenKind::CloseParenthesis
            | TokenKind::CloseQuote
            | TokenKind::CloseHeredoc
            | TokenKind::CloseSequence
    )
}
