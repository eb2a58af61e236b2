//! Converts doc comments to descriptions in Markdown.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// Returns the description of an item as an expression; `None` without doc comments.
///
/// Lines of a paragraph are joined, because the line breaks of source code have no meaning. Lines
/// in lists, tables, quotations and code remain separate.
pub(crate) fn from_doc_comments(attributes: &[Attribute]) -> Option<TokenStream> {
    let mut lines = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        let Meta::NameValue(meta) = &attribute.meta else { continue };
        match &meta.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
                lines.extend(text.value().split('\n').map(str::to_owned));
            }
            // `#[doc = concat!(..)]` in a macro: the text is known only after its expansion.
            other => return Some(quote!(#other)),
        }
    }
    let text = unwrapped(&lines);
    (!text.is_empty()).then(|| quote!(#text))
}

fn unwrapped(lines: &[String]) -> String {
    let mut text = String::new();
    let mut in_code = false;
    let mut may_join = false;
    for line in lines {
        let line = line.strip_prefix(' ').unwrap_or(line).trim_end();
        let starts_code = line.trim_start().starts_with("```");
        let is_verbatim = in_code || starts_code || is_separate(line);
        if line.is_empty() && !in_code {
            if !text.is_empty() {
                text.push('\n');
            }
            may_join = false;
            continue;
        }
        if may_join && !is_verbatim {
            text.push(' ');
            text.push_str(line.trim_start());
        } else {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(line);
        }
        if starts_code {
            in_code = !in_code;
        }
        may_join = !in_code && !starts_code && !line.trim_start().starts_with(['#', '|']);
    }
    text.trim_end().to_owned()
}

/// Returns whether a line cannot continue the paragraph before it.
fn is_separate(line: &str) -> bool {
    let trimmed = line.trim_start();
    let digits = trimmed.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = digits.len() < trimmed.len() && digits.starts_with(". ");
    is_numbered || ["- ", "* ", "+ ", "> ", "| ", "#"].iter().any(|marker| trimmed.starts_with(marker))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(text: &str) -> String {
        unwrapped(&text.lines().map(|line| format!(" {line}")).collect::<Vec<_>>())
    }

    #[test]
    fn paragraphs_are_joined_and_lists_are_not() {
        assert_eq!(joined("One\ntwo.\n\nThree\nfour."), "One two.\n\nThree four.");
        assert_eq!(joined("Either:\n\n- a\n  b\n- c\n\nEnd."), "Either:\n\n- a b\n- c\n\nEnd.");
        assert_eq!(joined("Such as:\n```\na\n\n b\n```\nEnd."), "Such as:\n```\na\n\n b\n```\nEnd.");
        assert_eq!(joined(""), "");
    }
}
