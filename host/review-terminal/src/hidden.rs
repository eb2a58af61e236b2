//! The list of attributes that the user can hide.

use std::collections::HashSet;
use std::sync::Arc;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use wardian_printable::printable;
use wardian_review::Review;

use crate::graph::scroll;
use crate::palette::{Palette, Tone};
use crate::text::{StyledLine, fill, line};
use crate::view::ViewKey;

/// The state of the list, whose rows are the attributes that change most often.
#[derive(Clone, Debug, Default)]
pub(crate) struct HiddenList {
    selected: usize,
    top: usize,
    height: usize,
}

impl HiddenList {
    /// Moves the selection, or hides or shows the selected attribute. Returns whether the hidden
    /// attributes have changed.
    pub(crate) fn press(&mut self, key: ViewKey, review: &Review, hidden: &mut HashSet<Arc<str>>) -> bool {
        let last = review.frequent_attributes.len().saturating_sub(1);
        let page = self.height.saturating_sub(1).max(1);
        match key {
            ViewKey::Up | ViewKey::Char('k') => self.selected = self.selected.saturating_sub(1),
            ViewKey::Down | ViewKey::Char('j') => self.selected += 1,
            ViewKey::PageUp => self.selected = self.selected.saturating_sub(page),
            ViewKey::PageDown => self.selected += page,
            ViewKey::Home => self.selected = 0,
            ViewKey::End => self.selected = last,
            ViewKey::Enter | ViewKey::Char(' ') => {
                let Some(attribute) = review.frequent_attributes.get(self.selected) else { return false };
                if !hidden.remove(&attribute.pattern) {
                    hidden.insert(Arc::clone(&attribute.pattern));
                }
                return true;
            }
            _ => {}
        }
        self.selected = self.selected.min(last);
        false
    }

    pub(crate) fn draw(
        &mut self,
        review: &Review,
        hidden: &HashSet<Arc<str>>,
        buffer: &mut Buffer,
        area: Rect,
        palette: Palette,
    ) {
        let title = if review.frequent_attributes.is_empty() {
            "No attribute changes in updates and replacements."
        } else {
            "Hide attributes of updates: space hides or shows, Esc returns"
        };
        StyledLine::new(title, Tone::Bold).draw(buffer, area, palette, Style::new());
        let rows = Rect { y: area.y.saturating_add(1), height: area.height.saturating_sub(1), ..area };
        self.height = usize::from(rows.height);
        scroll(&mut self.top, self.selected, self.height);
        let attributes = review.frequent_attributes.iter().enumerate().skip(self.top);
        for (y, (index, attribute)) in (rows.y..rows.bottom()).zip(attributes) {
            let place = Rect { y, height: 1, ..rows };
            let mark = if hidden.contains(&attribute.pattern) { "[hidden] " } else { "[shown]  " };
            StyledLine::new(mark, Tone::Bold)
                .with(line(&attribute.pattern), Tone::Plain)
                .with(printable!("  {} {}", attribute.changes, changes(attribute.changes)), Tone::Dim)
                .draw(buffer, place, palette, Style::new());
            if index == self.selected {
                fill(buffer, place, Palette::selected());
            }
        }
    }
}

fn changes(count: usize) -> &'static str {
    if count == 1 { "change" } else { "changes" }
}
