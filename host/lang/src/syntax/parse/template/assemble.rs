//! Assembles the flat elements of a template into nested parts.

use std::iter::Peekable;
use std::sync::Arc;
use std::vec::IntoIter;

use wardian_value::Str;

use super::super::{ByteRange, Parser};
use super::{Directive, Layout, Piece, quoted};
use crate::node::{Kind, Part};

type Flat = Peekable<IntoIter<Piece>>;

const UNBALANCED: &str = "The directives of this template do not match: this directive has no start.";

impl Parser<'_> {
    pub(super) fn assembled(&mut self, layout: Layout) -> Kind {
        let Layout { mut pieces, end, .. } = layout;
        if let [Piece::Interpolation(_)] = pieces.as_slice()
            && let Some(Piece::Interpolation(node)) = pieces.pop()
        {
            return Kind::Interpolation(Arc::new(node));
        }
        let mut pieces = pieces.into_iter().peekable();
        let mut parts = Vec::new();
        while let Some(piece) = pieces.next() {
            let part = self.part(piece, &mut pieces, end);
            add(&mut parts, part);
        }
        match parts.as_mut_slice() {
            [] => quoted(String::new()),
            [Part::Literal(text)] => quoted(String::from(&**text)),
            _ => Kind::Template(parts),
        }
    }

    /// Returns the part that begins with a piece, or `None` if the directives do not match.
    fn part(&mut self, piece: Piece, pieces: &mut Flat, end: ByteRange) -> Option<Part> {
        match piece {
            Piece::Literal(mut text) => {
                while let Some(Piece::Literal(more)) =
                    pieces.next_if(|next| matches!(next, Piece::Literal(_)))
                {
                    text.push_str(&more);
                }
                Some(Part::Literal(Str::new(&text)))
            }
            Piece::Interpolation(node) => Some(Part::Interpolation(Arc::new(node))),
            Piece::Directive(directive, place) => match directive {
                Directive::If(condition) => {
                    let (then, otherwise) = self.nested(|parser| parser.sides(pieces, place, end))??;
                    Some(Part::If { condition: Arc::new(condition), then, otherwise })
                }
                Directive::For { collection, slot, has_key } => {
                    let body = self.nested(|parser| parser.repeated(pieces, place, end))??;
                    Some(Part::For { collection: Arc::new(collection), slot, has_key, body })
                }
                _ => {
                    self.problem(&unexpected(&directive), UNBALANCED, place);
                    None
                }
            },
        }
    }

    /// Parses the two branches of an `if` directive.
    fn sides(
        &mut self,
        pieces: &mut Flat,
        open: ByteRange,
        end: ByteRange,
    ) -> Option<(Vec<Part>, Vec<Part>)> {
        let mut then = Vec::new();
        let mut otherwise = None;
        loop {
            let Some(piece) = pieces.next() else {
                self.refuse_open("if", "endif", open, end);
                return None;
            };
            match piece {
                Piece::Directive(Directive::EndIf, _) => return Some((then, otherwise.unwrap_or_default())),
                Piece::Directive(Directive::Else, _) if otherwise.is_none() => otherwise = Some(Vec::new()),
                Piece::Directive(directive @ (Directive::Else | Directive::EndFor), place) => {
                    let detail = format!("The \"if\" at {} must be closed by an \"endif\".", self.span(open));
                    self.problem(&unexpected(&directive), &detail, place);
                    return None;
                }
                piece => {
                    let part = self.part(piece, pieces, end);
                    add(otherwise.as_mut().unwrap_or(&mut then), part);
                }
            }
        }
    }

    /// Parses the body of a `for` directive.
    fn repeated(&mut self, pieces: &mut Flat, open: ByteRange, end: ByteRange) -> Option<Vec<Part>> {
        let mut body = Vec::new();
        loop {
            let Some(piece) = pieces.next() else {
                self.refuse_open("for", "endfor", open, end);
                return None;
            };
            match piece {
                Piece::Directive(Directive::EndFor, _) => return Some(body),
                Piece::Directive(directive @ (Directive::Else | Directive::EndIf), place) => {
                    let detail =
                        format!("The \"for\" at {} must be closed by an \"endfor\".", self.span(open));
                    self.problem(&unexpected(&directive), &detail, place);
                    return None;
                }
                piece => {
                    let part = self.part(piece, pieces, end);
                    add(&mut body, part);
                }
            }
        }
    }

    fn refuse_open(&mut self, keyword: &str, missing: &str, open: ByteRange, end: ByteRange) {
        let detail = format!(
            "The \"{keyword}\" at {} has no \"{missing}\" before the end of the template.",
            self.span(open)
        );
        self.problem("Unexpected end of template", &detail, end);
    }
}

/// Adds a part if it is not empty.
fn add(parts: &mut Vec<Part>, part: Option<Part>) {
    match part {
        Some(Part::Literal(text)) if text.is_empty() => {}
        part => parts.extend(part),
    }
}

fn unexpected(directive: &Directive) -> String {
    let name = match directive {
        Directive::If(_) => "if",
        Directive::Else => "else",
        Directive::EndIf => "endif",
        Directive::For { .. } => "for",
        Directive::EndFor => "endfor",
    };
    format!("Unexpected {name} directive")
}
