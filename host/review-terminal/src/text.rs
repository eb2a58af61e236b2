//! Lines of styled text, and their drawing within a width.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use unicode_width::UnicodeWidthStr as _;
use wardian_printable::PrintableText;

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

/// Returns the end of a text that fits into a width. The end of an address identifies an object better
/// than its module.
pub(crate) fn end_of(text: PrintableText, width: usize) -> PrintableText {
    if text.as_str().width() <= width {
        return text;
    }
    let mut start = text.as_str().len();
    let mut used = 1;
    for (position, character) in text.as_str().char_indices().rev() {
        let mut bytes = [0; 4];
        used += character.encode_utf8(&mut bytes).width();
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

    /// Breaks the line into lines of a width. Words are not kept together: addresses and values have
    /// none.
    pub(crate) fn wrapped(self, width: u16, indent: usize) -> Vec<Self> {
        let width = usize::from(width).max(1);
        let total: usize = self.0.iter().map(|(text, _)| text.as_str().width()).sum();
        if total <= width {
            return vec![self];
        }
        let indent = if indent * 2 < width { indent } else { 0 };
        let mut lines = vec![Self::default()];
        let mut used = 0;
        for (text, tone) in self.0 {
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let part = fitting(rest, width.saturating_sub(used));
                if part == 0 {
                    let mut next = Self::default();
                    let mut space = PrintableText::new();
                    space.push_repeated(" ", indent);
                    next.push(space, Tone::Plain);
                    lines.push(next);
                    // A character that is wider than the line is omitted.
                    if used <= indent && fitting(rest, width - indent) == 0 {
                        let first = rest.chars().next().map_or(1, char::len_utf8);
                        rest = rest.get(first..).unwrap_or_default();
                    }
                    used = indent;
                    continue;
                }
                let (taken, left) = rest.split_at_checked(part).unwrap_or((rest, ""));
                used += taken.width();
                // The text is already escaped; escaping it again does not change it.
                if let Some(last) = lines.last_mut() {
                    last.push(PrintableText::from_line(taken), tone);
                }
                rest = left;
            }
        }
        lines
    }

    #[cfg(test)]
    pub(crate) fn text(&self) -> String {
        self.0.iter().map(|(text, _)| text.as_str()).collect()
    }
}

/// Returns the length of the longest start of a text that fits into a width.
fn fitting(text: &str, width: usize) -> usize {
    let mut used = 0;
    let mut end = 0;
    for (position, character) in text.char_indices() {
        let mut bytes = [0; 4];
        let own = character.encode_utf8(&mut bytes).width();
        if used + own > width {
            break;
        }
        used += own;
        end = position + character.len_utf8();
    }
    end
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
    let end = buffer.set_stringn(area.x, area.y, text, usize::from(width), style).0;
    if !is_cut {
        return end.saturating_sub(area.x);
    }
    let end = buffer.set_stringn(end, area.y, "…", 1, style).0;
    end.saturating_sub(area.x).max(area.width)
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
                prop_assert_eq!(buffer[(x, 0)].symbol(), " ");
            }
        }
    }
}
