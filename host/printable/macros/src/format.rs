//! Parses format strings in source text.

/// A literal or a placeholder of a format string.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Literal(String),
    /// An argument, and the specification of its format, which may be empty.
    Argument(Argument, String),
}

/// The argument of a placeholder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    Next,
    Position(usize),
    Name(String),
}

/// Splits the source text of a string literal into pieces.
///
/// # Errors
/// Returns an error if the text is not a format string.
pub(crate) fn parse(literal: &str) -> Result<Vec<Piece>, &'static str> {
    let start = literal.find('"').ok_or("the format string must be a string literal")?;
    let end = literal.rfind('"').filter(|end| *end > start).ok_or("the string literal is not closed")?;
    let (before, text, after) = (&literal[..=start], &literal[start + 1..end], &literal[end..]);
    let is_raw = before.starts_with('r');
    if !is_raw && before != "\"" {
        return Err("the format string must not be a byte string");
    }
    let mut pieces = Vec::new();
    let mut piece = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if !is_raw => {
                piece.push(character);
                let escaped = characters.next().ok_or("the escape is incomplete")?;
                piece.push(escaped);
                if escaped == 'u' {
                    // The braces belong to a Unicode escape.
                    for digit in characters.by_ref() {
                        piece.push(digit);
                        if digit == '}' {
                            break;
                        }
                    }
                }
            }
            '{' | '}' if characters.peek() == Some(&character) => {
                characters.next();
                piece.push(character);
            }
            '{' => {
                if !piece.is_empty() {
                    pieces.push(Piece::Literal(format!("{before}{piece}{after}")));
                    piece.clear();
                }
                let mut placeholder = String::new();
                loop {
                    match characters.next().ok_or("a placeholder has no closing brace")? {
                        '}' => break,
                        character => placeholder.push(character),
                    }
                }
                let (argument, specification) = placeholder.split_once(':').unwrap_or((&placeholder, ""));
                pieces.push(Piece::Argument(self::argument(argument.trim()), specification.to_owned()));
            }
            '}' => return Err("a closing brace has no opening brace; write two braces for a literal brace"),
            _ => piece.push(character),
        }
    }
    if !piece.is_empty() {
        pieces.push(Piece::Literal(format!("{before}{piece}{after}")));
    }
    Ok(pieces)
}

fn argument(text: &str) -> Argument {
    match text.parse() {
        _ if text.is_empty() => Argument::Next,
        Ok(position) => Argument::Position(position),
        Err(_) => Argument::Name(text.to_owned()),
    }
}

/// Returns the variables that are named in a format specification, such as `width` in `<width$`.
pub(crate) fn counts(specification: &str) -> impl Iterator<Item = &str> {
    let ends = specification.match_indices('$').map(|(end, _)| end);
    ends.filter_map(|end| {
        let before = specification.get(..end)?;
        let start = before.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
        before.get(start..).filter(|name| !name.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_arguments_are_separated() {
        let literal = |text: &str| Piece::Literal(text.to_owned());
        let name = |name: &str, specification: &str| {
            Piece::Argument(Argument::Name(name.to_owned()), specification.to_owned())
        };
        assert_eq!(
            parse(r#""\u{1b}{a}{{b}}{:<w$}\"{0}""#),
            Ok(vec![
                literal(r#""\u{1b}""#),
                name("a", ""),
                literal(r#""{b}""#),
                Piece::Argument(Argument::Next, "<w$".to_owned()),
                literal(r#""\"""#),
                Piece::Argument(Argument::Position(0), String::new()),
            ])
        );
        assert_eq!(parse("r#\"\\{x}\"#"), Ok(vec![literal("r#\"\\\"#"), name("x", "")]));
        assert_eq!(parse("\"\""), Ok(vec![]));
        assert!(parse("b\"x\"").is_err());
        assert!(parse("\"}\"").is_err());
        assert!(parse("\"{x\"").is_err());
    }

    #[test]
    fn width_arguments_are_recognized() {
        assert_eq!(counts("<width$").collect::<Vec<_>>(), ["width"]);
        assert_eq!(counts("w$.p$").collect::<Vec<_>>(), ["w", "p"]);
        assert_eq!(counts("<20").count(), 0);
    }
}
