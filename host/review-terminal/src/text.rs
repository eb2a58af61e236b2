//! Lines of styled text, and their drawing within a width.
//!
//! Each text that contains right-to-left characters is drawn in an isolate. Otherwise, a terminal that
//! reorders such text could exchange the values before and after a change, or the list and the details.

use std::ops::Range;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;
use wardian_printable::direction::{ISOLATE_END, ISOLATE_START, has_right_to_left};
use wardian_printable::{PrintableText, printable};

use crate::palette::{Palette, Tone};

/// Maximum number of characters of a value that are shown. Longer values are cut.
pub(crate) const MAX_VALUE_CHARACTERS: usize = 2000;

/// Text of the plan in one line: deceptive characters and line breaks are escaped, and long text is
/// cut before it is escaped.
pub(crate) fn line(text: &str) -> PrintableText {
    match text.char_indices().nth(MAX_VALUE_CHARACTERS) {
        None => PrintableText::from_line(text),
        Some((end, _)) => {
            let mut cut = PrintableText::from_line(text.get(..end).unwrap_or_default());
            cut.push("…");
            cut
        }
    }
}

/// Text of the plan in one line without some of its first characters, which another line has too.
pub(crate) fn line_from(text: &str, omitted: usize) -> PrintableText {
    if omitted == 0 {
        return line(text);
    }
    let rest = text.char_indices().nth(omitted).map_or("", |(at, _)| text.get(at..).unwrap_or_default());
    printable!("…({omitted} equal characters){}", line(rest))
}

/// Returns the end of a text that fits into a width. The end of an address identifies an object better
/// than its module.
pub(crate) fn end_of(text: PrintableText, width: usize) -> PrintableText {
    if text.as_str().width() <= width {
        return text;
    }
    let mut start = text.as_str().len();
    let mut used = 1;
    for (position, grapheme) in text.as_str().grapheme_indices(true).rev() {
        used += grapheme.width();
        if used > width {
            break;
        }
        start = position;
    }
    let mut end = PrintableText::from("…");
    // The text is already escaped; escaping it again does not change it.
    end.append(&PrintableText::from_line(text.as_str().get(start..).unwrap_or_default()));
    end
}

/// A line of text in one or several styles.
#[derive(Clone, Debug, Default)]
pub(crate) struct StyledLine(Vec<(PrintableText, Tone)>);

impl StyledLine {
    pub(crate) fn new(text: impl Into<PrintableText>, tone: Tone) -> Self {
        Self(vec![(text.into(), tone)])
    }

    pub(crate) fn push(&mut self, text: impl Into<PrintableText>, tone: Tone) {
        self.0.push((text.into(), tone));
    }

    pub(crate) fn with(mut self, text: impl Into<PrintableText>, tone: Tone) -> Self {
        self.push(text, tone);
        self
    }

    /// Draws the line into the first row of an area. If it is too long, its end is replaced by an
    /// ellipsis. Returns the number of columns that are used.
    pub(crate) fn draw(&self, buffer: &mut Buffer, area: Rect, palette: Palette, base: Style) -> u16 {
        let mut used = 0;
        for (position, (text, tone)) in self.0.iter().enumerate() {
            let is_last = position + 1 == self.0.len();
            let left = area.width.saturating_sub(used);
            if left == 0 {
                break;
            }
            let style = base.patch(palette.style(*tone));
            let place = Rect { x: area.x.saturating_add(used), width: left, height: 1, ..area };
            // A following text needs at least the column of an ellipsis.
            used += put(buffer, place, text, style, !is_last);
        }
        used
    }

    /// Breaks the line into lines of a width between words. Only words that are longer than a line are
    /// broken.
    pub(crate) fn wrapped(self, width: u16, indent: usize) -> Vec<Self> {
        let width = usize::from(width).max(1);
        let whole: String = self.0.iter().map(|(text, _)| text.as_str()).collect();
        if whole.width() <= width {
            return vec![self];
        }
        let indent = if indent * 2 < width { indent } else { 0 };
        let mut lines = Vec::new();
        // The position of the first piece of text that is not in a line yet.
        let mut pieces = self.0.iter();
        let (mut piece, mut piece_start) = (pieces.next(), 0);
        for part in line_parts(&whole, width, width - indent) {
            let mut line = Self::default();
            if !lines.is_empty() && indent > 0 {
                let mut space = PrintableText::new();
                space.push_repeated(" ", indent);
                line.push(space, Tone::Plain);
            }
            while let Some((text, tone)) = piece {
                let text = text.as_str();
                let start = part.start.saturating_sub(piece_start).min(text.len());
                let end = part.end.saturating_sub(piece_start).min(text.len());
                if let Some(taken) = text.get(start..end).filter(|taken| !taken.is_empty()) {
                    // The text is already escaped; escaping it again does not change it.
                    line.push(PrintableText::from_line(taken), *tone);
                }
                if piece_start + text.len() > part.end {
                    break;
                }
                piece_start += text.len();
                piece = pieces.next();
            }
            lines.push(line);
        }
        lines
    }

    #[cfg(test)]
    pub(crate) fn text(&self) -> String {
        self.0.iter().map(|(text, _)| text.as_str()).collect()
    }
}

/// Returns the parts of a text that fit into lines: into `first` columns for the first line, and into
/// `others` for the others. Spaces at breaks are omitted. The cost is linear in the length of the text.
fn line_parts(text: &str, first: usize, others: usize) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut line, mut used, mut limit) = (0..0, 0, first);
    let mut position = 0;
    for word in text.split_inclusive(' ') {
        let start = position;
        position += word.len();
        let length = word.trim_end_matches(' ').len();
        let columns = word.get(..length).unwrap_or_default().width();
        let spaces = word.len() - length;
        if length == 0 {
            used += spaces;
            continue;
        }
        if used + columns > limit && columns <= others && line.end > line.start {
            parts.push(std::mem::replace(&mut line, start..start));
            (used, limit) = (0, others);
        }
        if used + columns <= limit {
            line.end = start + length;
            used += columns + spaces;
            continue;
        }
        // The word is longer than a line.
        for (offset, grapheme) in word.get(..length).unwrap_or_default().grapheme_indices(true) {
            let own = grapheme.width();
            let at = start + offset;
            if used + own > limit && (line.end > line.start || used > 0) {
                parts.push(std::mem::replace(&mut line, at..at));
                (used, limit) = (0, others);
            }
            if own > limit {
                // The character is wider than the line, and is omitted.
                line = at + grapheme.len()..at + grapheme.len();
                continue;
            }
            used += own;
            line.end = at + grapheme.len();
        }
        used += spaces;
    }
    if line.end > line.start || parts.is_empty() {
        parts.push(line);
    }
    parts
}

/// Draws a text into the first row of an area, cut with an ellipsis. Returns the columns that are used.
pub(crate) fn put(
    buffer: &mut Buffer,
    area: Rect,
    text: &PrintableText,
    style: Style,
    is_followed: bool,
) -> u16 {
    let area = area.intersection(*buffer.area());
    if area.is_empty() {
        return 0;
    }
    let text = text.as_str();
    let is_cut =
        text.width() > usize::from(area.width) || is_followed && text.width() == usize::from(area.width);
    let width = if is_cut { area.width - 1 } else { area.width };
    let mut end = buffer.set_stringn(area.x, area.y, text, usize::from(width), style).0;
    if is_cut {
        end = buffer.set_stringn(end, area.y, "…", 1, style).0;
    }
    if end > area.x && has_right_to_left(text) {
        isolate(buffer, area.x..end, area.y);
    }
    let used = end.saturating_sub(area.x);
    if is_cut { used.max(area.width) } else { used }
}

/// Adds the characters that isolate a text, which use no columns, to the cells of a row. Each cell still
/// begins with its own character: a terminal adds a character without columns to the cell before it.
fn isolate(buffer: &mut Buffer, columns: Range<u16>, y: u16) {
    let Some(last) = own_cell(buffer, columns.end.saturating_sub(1), y) else { return };
    let before = columns.start.checked_sub(1).filter(|x| *x >= buffer.area().x);
    let mut bytes = [0; 4];
    if let Some(x) = before.and_then(|x| own_cell(buffer, x, y)) {
        append(buffer, x, y, ISOLATE_START.encode_utf8(&mut bytes));
    } else if let Some(cell) = buffer.cell_mut((columns.start, y)) {
        let symbol = format!("{ISOLATE_START}{}", cell.symbol());
        cell.set_symbol(&symbol);
    }
    append(buffer, last, y, ISOLATE_END.encode_utf8(&mut bytes));
}

fn append(buffer: &mut Buffer, x: u16, y: u16, text: &str) {
    if let Some(cell) = buffer.cell_mut((x, y)) {
        let symbol = format!("{}{text}", cell.symbol());
        cell.set_symbol(&symbol);
    }
}

/// Returns the column of the cell that contains a column: the one before it if a wide character covers
/// both.
fn own_cell(buffer: &Buffer, x: u16, y: u16) -> Option<u16> {
    let is_wide = |x: u16| buffer.cell((x, y)).is_some_and(|cell| cell.symbol().width() > 1);
    match x.checked_sub(1) {
        Some(before) if before >= buffer.area().x && is_wide(before) => Some(before),
        _ => buffer.cell((x, y)).map(|_| x),
    }
}

/// Fills the first row of an area with a style.
pub(crate) fn fill(buffer: &mut Buffer, area: Rect, style: Style) {
    buffer.set_style(Rect { height: area.height.min(1), ..area }.intersection(*buffer.area()), style);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_wrapped_by_width() {
        let wrapped = |text: &str, width| -> Vec<String> {
            let lines = StyledLine::new(line(text), Tone::Plain).wrapped(width, 2);
            lines.iter().map(StyledLine::text).collect()
        };
        assert_eq!(wrapped("abc", 3), ["abc"]);
        assert_eq!(wrapped("abcdefgh", 5), ["abcde", "  fgh"]);
        assert_eq!(wrapped("世界世界", 5), ["世界", "  世", "  界"]);
        assert_eq!(wrapped("a\u{1b}", 20), ["a\\u{1b}"]);
        assert_eq!(wrapped("one two three", 8), ["one two", "  three"]);
        assert_eq!(wrapped("one  two   three", 9), ["one  two", "  three"]);
        assert_eq!(wrapped("世界 世界 世界", 10), ["世界 世界", "  世界"]);
        assert_eq!(wrapped("to abcdefghij", 6), ["to abc", "  defg", "  hij"]);
        // An emoji of several characters is one unit.
        assert_eq!(wrapped("aa 👩‍💻👩‍💻", 6), ["aa", "  👩‍💻👩‍💻"]);
        assert_eq!(wrapped("世", 1), [""]);
    }

    #[test]
    fn styles_are_kept_in_broken_lines() {
        let text = StyledLine::new("ab cd", Tone::Bold).with("ef gh", Tone::Plain).wrapped(7, 2);
        let texts: Vec<Vec<(&str, Tone)>> = text
            .iter()
            .map(|line| line.0.iter().map(|(text, tone)| (text.as_str(), *tone)).collect())
            .collect();
        assert_eq!(
            texts,
            [
                vec![("ab cd", Tone::Bold), ("ef", Tone::Plain)],
                vec![("  ", Tone::Plain), ("gh", Tone::Plain)]
            ]
        );
    }

    #[test]
    fn right_to_left_text_is_isolated() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 20, 1));
        let area = *buffer.area();
        StyledLine::new("~ ", Tone::Plain)
            .with(line("שלום"), Tone::Plain)
            .with(" → ", Tone::Plain)
            .with(line("世界 مرحبا"), Tone::Plain)
            .draw(&mut buffer, area, Palette { has_color: false }, Style::new());
        let cells: Vec<&str> = buffer.content.iter().map(|cell| cell.symbol()).collect();
        assert_eq!(cells[1], " \u{2068}");
        assert_eq!(cells[5], "ם\u{2069}");
        assert_eq!(cells[8], " \u{2068}");
        assert_eq!(cells[18], "ا\u{2069}");
        let mut buffer = Buffer::empty(Rect::new(0, 0, 3, 1));
        put(&mut buffer, area, &line("שלום"), Style::new(), false);
        assert_eq!(buffer.content[0].symbol(), "\u{2068}ש");
        assert_eq!(buffer.content[2].symbol(), "…\u{2069}");
    }

    proptest! {
        #[test]
        fn wrapped_lines_fit(text in any::<String>(), width in 1..40_u16) {
            for one in StyledLine::new(line(&text), Tone::Plain).wrapped(width, 2) {
                prop_assert!(one.text().width() <= usize::from(width).max(2), "{:?}", one.text());
            }
        }

        #[test]
        fn drawn_text_stays_in_its_area(text in any::<String>(), width in 0..20_u16) {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 24, 1));
            let area = Rect::new(2, 0, width, 1);
            StyledLine::new(line(&text), Tone::Bold)
                .with(line(&text), Tone::Plain)
                .draw(&mut buffer, area, Palette { has_color: true }, Style::new());
            for x in (0..24).filter(|x| *x < 2 || *x >= 2 + width) {
                let symbol = buffer[(x, 0)].symbol();
                // The character that begins an isolate is in the cell before it.
                prop_assert_eq!(symbol.strip_suffix(ISOLATE_START).unwrap_or(symbol), " ");
            }
        }
    }
}
