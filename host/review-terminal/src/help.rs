//! The keys of the view.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use crate::palette::{Palette, Tone};
use crate::text::StyledLine;

/// The keys, with their effects.
pub(crate) const KEYS: [(&str, &str); 21] = [
    ("Up, Down, k, j", "Move the selection, or scroll the details"),
    ("PageUp, PageDown", "Move by one screen"),
    ("Home, End", "Move to the beginning or the end"),
    ("Tab", "Switch between the list and the details"),
    ("Enter, Right", "Unfold the group, or show the details"),
    ("Left", "Fold the group, or return to the list"),
    ("+, -", "Unfold or fold all groups"),
    ("d, r, u, c", "Show only objects that are destroyed, replaced, updated or created"),
    ("m", "Show only moves, imports, reads and objects that are forgotten"),
    ("f", "Show only actions, failed checks, warnings and accesses of plugins"),
    ("/", "Search for an address, a type or an attribute"),
    ("h", "Hide attributes that change often"),
    ("x", "Show everything again"),
    ("1 to 9", "Follow the reference with this number"),
    ("Backspace", "Return to the previous change"),
    ("g", "Show the graph of the changing resources"),
    ("s", "Open the source line in the editor ($VISUAL or $EDITOR)"),
    ("a", "Approve: `apply -review`, or `plan -review -out=FILE`"),
    ("Ctrl-Z", "Suspend"),
    ("?", "Show these keys"),
    ("q, Ctrl-C", "Quit; nothing is approved"),
];

/// The column of the effects.
const COLUMN: usize = 20;

/// Returns the lines of the help for a width.
fn lines(width: u16) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    for (keys, effect) in KEYS {
        if width < 60 {
            lines.push(StyledLine::new(keys, Tone::Bold));
            lines.extend(StyledLine::new("  ", Tone::Plain).with(effect, Tone::Plain).wrapped(width, 2));
        } else {
            let mut gap = wardian_printable::PrintableText::new();
            gap.push_repeated(" ", COLUMN.saturating_sub(keys.len()));
            let text = StyledLine::new(keys, Tone::Bold).with(gap, Tone::Plain).with(effect, Tone::Plain);
            lines.extend(text.wrapped(width, COLUMN));
        }
    }
    lines
}

/// Draws the help from a line on. Returns the first line that is drawn: the end of the help is at the
/// bottom of the screen at the latest.
pub(crate) fn draw(buffer: &mut Buffer, area: Rect, top: usize, palette: Palette) -> usize {
    let lines = lines(area.width);
    let top = top.min(lines.len().saturating_sub(usize::from(area.height)));
    for (y, text) in (area.y..area.bottom()).zip(lines.iter().skip(top)) {
        text.draw(buffer, Rect { y, height: 1, ..area }, palette, Style::new());
    }
    top
}
