//! The macros of `wardian-printable`: format strings whose arguments are escaped.
//!
//! A format string is split into literals, which are appended unchanged, and arguments, which are
//! escaped. The macros use only the public methods of the text, so the macros can do no more than
//! their callers.

mod format;

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

use format::{Argument, Piece, parse};

/// Formats printable text: `printable!("Read {path} in {seconds:.1} s")`.
#[proc_macro]
pub fn printable(input: TokenStream) -> TokenStream {
    const TEXT: &str = "__printable_text";
    let text: TokenStream = TokenTree::from(Ident::new(TEXT, Span::mixed_site())).into();
    let appending = expand(&text, input, "").unwrap_or_else(|problem| problem);
    let mut block = TokenStream::new();
    block.extend(source("let mut"));
    block.extend(text.clone());
    block.extend(source("= ::wardian_printable::PrintableText::new();"));
    block.extend(appending);
    block.extend(text);
    group(Delimiter::Brace, block)
}

/// Appends to printable text, or to another type with the same methods: `append!(page, " =
/// {value}")`.
#[proc_macro]
pub fn append(input: TokenStream) -> TokenStream {
    append_to_target(input, "")
}

/// The same as `append!`, followed by a line break.
#[proc_macro]
pub fn append_line(input: TokenStream) -> TokenStream {
    append_to_target(input, "\\n")
}

fn append_to_target(input: TokenStream, end: &str) -> TokenStream {
    let mut input = input.into_iter();
    let target = input.by_ref().take_while(|token| !is_comma(token)).collect();
    group(Delimiter::Brace, expand(&target, input.collect(), end).unwrap_or_else(|problem| problem))
}

/// Returns the statements that append formatted text to a target.
fn expand(target: &TokenStream, input: TokenStream, end: &str) -> Result<TokenStream, TokenStream> {
    let mut arguments = split(input).into_iter();
    let mut statements = TokenStream::new();
    let mut values = TokenStream::new();
    let mut names = TokenStream::new();
    if let Some(first) = arguments.next() {
        let literal = string_literal(&first)?;
        let bound: Vec<(Option<String>, TokenStream)> = arguments.map(named).collect();
        for (index, (_, value)) in bound.iter().enumerate() {
            values.extend([punct('&'), TokenTree::Group(Group::new(Delimiter::Parenthesis, value.clone()))]);
            values.extend([punct(',')]);
            names.extend([value_name(index), punct(',')]);
        }
        let pieces = parse(&literal.to_string()).map_err(|problem| error(problem, literal.span()))?;
        let mut used = vec![false; bound.len()];
        let mut next = 0;
        for piece in pieces {
            statements.extend(match piece {
                Piece::Literal(text) => call(target, "push", source(&text)),
                Piece::Argument(argument, specification) => {
                    let value = resolve(argument, &mut next, &bound, &mut used, literal.span())?;
                    if specification.is_empty() {
                        call(target, "append", value)
                    } else {
                        call(target, "append", padded(&value, &specification, literal.span()))
                    }
                }
            });
        }
        if used.iter().any(|used| !used) {
            return Err(error("an argument is never used", literal.span()));
        }
    }
    if !end.is_empty() {
        statements.extend(call(target, "push", source(&format!("\"{end}\""))));
    }
    // Like `format!`, this keeps temporary values alive until the end of the statement.
    let mut matched = source("match");
    matched.extend(group(Delimiter::Parenthesis, values));
    let mut arm = group(Delimiter::Parenthesis, names);
    arm.extend(source("=>"));
    arm.extend(group(Delimiter::Brace, statements));
    matched.extend(group(Delimiter::Brace, arm));
    Ok(matched)
}

/// Returns the expression for an argument.
fn resolve(
    argument: Argument,
    next: &mut usize,
    bound: &[(Option<String>, TokenStream)],
    used: &mut [bool],
    span: Span,
) -> Result<TokenStream, TokenStream> {
    let index = match argument {
        Argument::Next => {
            *next += 1;
            *next - 1
        }
        Argument::Position(index) => index,
        Argument::Name(name) => match bound.iter().position(|(bound, _)| bound.as_ref() == Some(&name)) {
            Some(index) => index,
            None => return Ok(TokenStream::from_iter([punct('&'), identifier(&name, span).into()])),
        },
    };
    *used.get_mut(index).ok_or_else(|| error("a placeholder has no argument", span))? = true;
    Ok(value_name(index).into())
}

/// Returns the formatted argument: `&format_args!("{:<width$}", value, width = width)`.
fn padded(value: &TokenStream, specification: &str, span: Span) -> TokenStream {
    let mut arguments: TokenStream =
        TokenTree::from(Literal::string(&format!("{{:{specification}}}"))).into();
    arguments.extend([punct(',')]);
    arguments.extend(value.clone());
    for name in format::counts(specification) {
        let name = TokenTree::from(identifier(name, span));
        arguments.extend([punct(','), name.clone(), punct('='), name]);
    }
    let mut formatted = source("&::core::format_args!");
    formatted.extend(group(Delimiter::Parenthesis, arguments));
    formatted
}

/// Splits arguments at their commas.
fn split(input: TokenStream) -> Vec<TokenStream> {
    let mut parts = Vec::new();
    let mut part = TokenStream::new();
    for token in input {
        if is_comma(&token) {
            parts.push(std::mem::take(&mut part));
        } else {
            part.extend([token]);
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

/// Splits `name = value`.
fn named(argument: TokenStream) -> (Option<String>, TokenStream) {
    let tokens: Vec<TokenTree> = argument.into_iter().collect();
    if let [TokenTree::Ident(name), TokenTree::Punct(sign), value @ ..] = tokens.as_slice()
        && sign.as_char() == '='
        && sign.spacing() == Spacing::Alone
    {
        return (Some(name.to_string()), value.iter().cloned().collect());
    }
    (None, tokens.into_iter().collect())
}

/// Returns the only token of a stream, which must be a string literal.
fn string_literal(stream: &TokenStream) -> Result<Literal, TokenStream> {
    let mut tokens = stream.clone().into_iter();
    match (tokens.next(), tokens.next()) {
        (Some(TokenTree::Literal(literal)), None) => Ok(literal),
        // The literal was passed through another macro.
        (Some(TokenTree::Group(group)), None) if group.delimiter() == Delimiter::None => {
            string_literal(&group.stream())
        }
        (first, _) => {
            let span = first.map_or_else(Span::call_site, |first| first.span());
            Err(error("the format string must be a literal", span))
        }
    }
}

/// Returns `target.method(argument);`.
fn call(target: &TokenStream, method: &str, argument: TokenStream) -> TokenStream {
    let mut statement = target.clone();
    statement.extend([punct('.'), TokenTree::from(Ident::new(method, Span::call_site()))]);
    statement.extend(group(Delimiter::Parenthesis, argument));
    statement.extend([punct(';')]);
    statement
}

fn error(problem: &str, span: Span) -> TokenStream {
    let message = TokenTree::from(Literal::string(problem));
    let mut failure = source("::core::compile_error!");
    failure.extend(group(Delimiter::Parenthesis, message.into()));
    failure.extend([punct(';')]);
    failure
        .into_iter()
        .map(|mut token| {
            token.set_span(span);
            token
        })
        .collect()
}

fn value_name(index: usize) -> TokenTree {
    Ident::new(&format!("__printable_value_{index}"), Span::mixed_site()).into()
}

fn identifier(name: &str, span: Span) -> Ident {
    Ident::new(name, span)
}

fn is_comma(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(sign) if sign.as_char() == ',')
}

fn punct(sign: char) -> TokenTree {
    Punct::new(sign, Spacing::Alone).into()
}

fn group(delimiter: Delimiter, stream: TokenStream) -> TokenStream {
    TokenTree::from(Group::new(delimiter, stream)).into()
}

/// Parses source text from this crate. Invalid text produces no tokens, which causes compilation to
/// fail.
fn source(text: &str) -> TokenStream {
    text.parse().unwrap_or_default()
}
