//! Splits the text into lines, indents them, and aligns their equals signs and comments.

use std::ops::Range;

use wardian_value::graphemes;

use super::spacing::is_spaced;
use super::{Piece, bracket_change};
use crate::syntax::scan::TokenKind;

const INDENTATION: usize = 2;

/// A line with three cells. The last two cells may be empty. A multi-line heredoc or `/* */`
/// comment belongs to one line.
struct Line {
    start: usize,
    /// The index of the equals sign, if the brackets in the rest of the line are balanced.
    assignment: usize,
    /// The index of the comment that ends the line, if the line also has other content.
    comment: usize,
    end: usize,
}

#[derive(Clone, Copy)]
enum Cell {
    Assignment,
    Comment,
}

/// Sets the number of spaces in front of each piece.
pub(super) fn arrange(pieces: &mut [Piece<'_>]) {
    let lines = lines(pieces);
    indent(pieces, &lines);
    for line in &lines {
        space(&mut pieces[line.start..line.assignment]);
        space(&mut pieces[line.assignment..line.comment]);
    }
    // Comments are aligned after equals signs, because aligning the equals signs moves the
    // comments.
    align(pieces, &lines, Cell::Assignment);
    align(pieces, &lines, Cell::Comment);
}

impl Line {
    fn new(pieces: &[Piece<'_>], start: usize, end: usize) -> Self {
        let ends_in_comment = end - start > 1
            && matches!(pieces[end - 1].kind, TokenKind::LineComment | TokenKind::BlockComment);
        let comment = if ends_in_comment { end - 1 } else { end };
        let assignment = (start + 1..comment)
            .find(|at| pieces[*at].kind == TokenKind::Assign)
            .filter(|at| brackets(&pieces[*at..comment]) == 0)
            .unwrap_or(comment);
        Self { start, assignment, comment, end }
    }

    fn cell(&self, cell: Cell) -> Range<usize> {
        match cell {
            Cell::Assignment => self.assignment..self.comment,
            Cell::Comment => self.comment..self.end,
        }
    }

    /// Returns the number of brackets that the line opens, minus the number of brackets that it closes.
    fn brackets(&self, pieces: &[Piece<'_>]) -> isize {
        // The content of a heredoc that begins on this line is not counted, unless the heredoc is
        // the whole value of the argument.
        let heredoc = (self.start..self.assignment).find(|at| pieces[*at].kind == TokenKind::OpenHeredoc);
        brackets(&pieces[self.start..heredoc.unwrap_or(self.assignment)])
            + brackets(&pieces[self.assignment..self.comment])
    }
}

fn brackets(pieces: &[Piece<'_>]) -> isize {
    pieces.iter().map(|piece| bracket_change(piece.kind)).sum()
}

/// Returns the lines, without the end of the file. The spaces before the end of the file are preserved.
fn lines(pieces: &[Piece<'_>]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut start = 0;
    for (at, piece) in pieces.iter().enumerate() {
        let end = match piece.kind {
            TokenKind::Newline => at + 1,
            TokenKind::LineComment if piece.text.ends_with('\n') => at + 1,
            TokenKind::End => at,
            _ => continue,
        };
        if start < end {
            lines.push(Line::new(pieces, start, end));
        }
        start = end;
    }
    lines
}

/// Indents the lines by one step for each line that leaves brackets open, regardless of how many it
/// leaves open. The step ends on the line that closes all of them.
fn indent(pieces: &mut [Piece<'_>], lines: &[Line]) {
    let mut steps: Vec<usize> = Vec::new();
    for line in lines {
        if pieces[line.start].kind == TokenKind::Newline {
            pieces[line.start].spaces = 0;
            continue;
        }
        let brackets = line.brackets(pieces);
        if brackets < 0 {
            close(&mut steps, brackets.unsigned_abs());
        }
        pieces[line.start].spaces = INDENTATION * steps.len();
        if brackets > 0 {
            steps.push(brackets.unsigned_abs());
        }
    }
}

fn close(steps: &mut Vec<usize>, mut brackets: usize) {
    while let Some(open) = steps.last_mut() {
        if brackets < *open {
            *open -= brackets;
            return;
        }
        brackets -= *open;
        steps.pop();
        if brackets == 0 {
            return;
        }
    }
}

fn space(cell: &mut [Piece<'_>]) {
    let mut before = None;
    for at in 1..cell.len() {
        let (left, right) = (&cell[at - 1], &cell[at]);
        let spaces = usize::from(is_spaced(before, left, right));
        before = Some(left.kind);
        cell[at].spaces = spaces;
    }
}

/// Aligns the cells of adjacent lines to one column.
fn align(pieces: &mut [Piece<'_>], lines: &[Line], cell: Cell) {
    for group in lines.chunk_by(|above, below| above.cell(cell).is_empty() == below.cell(cell).is_empty()) {
        if group.first().is_none_or(|line| line.cell(cell).is_empty()) {
            continue;
        }
        let widths: Vec<usize> =
            group.iter().map(|line| width(&pieces[line.start..line.cell(cell).start])).collect();
        let widest = widths.iter().copied().max().unwrap_or(0);
        for (line, width) in group.iter().zip(widths) {
            pieces[line.cell(cell).start].spaces = widest - width + 1;
        }
    }
}

fn width(pieces: &[Piece<'_>]) -> usize {
    pieces.iter().map(|piece| piece.spaces + columns(&piece.text)).sum()
}

/// Returns the width in user-perceived characters; a wide character counts as one.
fn columns(text: &str) -> usize {
    if text.is_ascii() && !text.contains('\r') { text.len() } else { graphemes(text).count() }
}
