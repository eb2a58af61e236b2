//! The graph: the changing resources in columns, each to the right of the resources on which it
//! depends.

use std::collections::HashSet;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use wardian_printable::printable;
use wardian_review::{ChangeId, DependencyGraph, ResourceId, Review};

use crate::palette::{Palette, Tone};
use crate::text::{StyledLine, fill, line};
use crate::view::ViewKey;

/// Maximum width of a column.
const MAX_COLUMN_WIDTH: u16 = 36;

/// The state of the graph.
#[derive(Clone, Debug)]
pub(crate) struct GraphView {
    columns: Vec<Vec<ResourceId>>,
    column: usize,
    row: usize,
    /// The first column and row on the screen.
    left: usize,
    top: usize,
    /// The number of rows on the screen.
    height: usize,
}

impl GraphView {
    /// Returns the graph, with a resource selected. The cost is linear in the size of the graph.
    pub(crate) fn new(graph: &DependencyGraph, selected: Option<ResourceId>) -> Self {
        let columns = graph.columns();
        let mut view = Self { columns, column: 0, row: 0, left: 0, top: 0, height: 1 };
        for (index, column) in view.columns.iter().enumerate() {
            if let Some(row) = column.iter().position(|id| Some(*id) == selected) {
                (view.column, view.row) = (index, row);
                break;
            }
        }
        view
    }

    pub(crate) fn selected(&self) -> Option<ResourceId> {
        self.columns.get(self.column)?.get(self.row).copied()
    }

    /// Moves the selection.
    pub(crate) fn press(&mut self, key: ViewKey) {
        let page = self.height.saturating_sub(1).max(1);
        match key {
            ViewKey::Up | ViewKey::Char('k') => self.row = self.row.saturating_sub(1),
            ViewKey::Down | ViewKey::Char('j') => self.row += 1,
            ViewKey::PageUp => self.row = self.row.saturating_sub(page),
            ViewKey::PageDown => self.row += page,
            ViewKey::Home => self.row = 0,
            ViewKey::End => self.row = usize::MAX,
            ViewKey::Left => self.column = self.column.saturating_sub(1),
            ViewKey::Right => self.column += 1,
            _ => {}
        }
        self.column = self.column.min(self.columns.len().saturating_sub(1));
        let length = self.columns.get(self.column).map_or(0, Vec::len);
        self.row = self.row.min(length.saturating_sub(1));
    }

    /// Returns the change to show for the selected resource.
    pub(crate) fn change(&self, review: &Review) -> Option<ChangeId> {
        review.dependencies.node(self.selected()?)?.changes.first().copied()
    }

    pub(crate) fn draw(&mut self, review: &Review, buffer: &mut Buffer, area: Rect, palette: Palette) {
        let graph = &review.dependencies;
        if self.columns.is_empty() {
            StyledLine::new("No resource changes.", Tone::Plain).draw(buffer, area, palette, Style::new());
            return;
        }
        let rows_area = Rect { height: area.height.saturating_sub(2), ..area };
        self.height = usize::from(rows_area.height).max(1);
        let width = MAX_COLUMN_WIDTH.min(area.width).max(1);
        let shown = usize::from((area.width / width).max(1));
        scroll(&mut self.left, self.column, shown);
        scroll(&mut self.top, self.row, self.height);
        let selected = self.selected();
        let node = selected.and_then(|id| graph.node(id));
        let empty = Vec::new();
        let (before, after) = node.map_or((&empty, &empty), |node| (&node.depends_on, &node.dependents));
        let (before, after): (HashSet<&ResourceId>, HashSet<&ResourceId>) =
            (before.iter().collect(), after.iter().collect());
        for (offset, column) in self.columns.iter().skip(self.left).take(shown).enumerate() {
            let Ok(offset) = u16::try_from(offset) else { break };
            let x = area.x.saturating_add(offset.saturating_mul(width));
            let rows = (rows_area.y..rows_area.bottom()).zip(column.iter().skip(self.top));
            for (y, id) in rows {
                let Some(node) = graph.node(*id) else { continue };
                let place = Rect { x, y, width: width.saturating_sub(1), height: 1 };
                let mark = match () {
                    () if Some(*id) == selected => "> ",
                    () if before.contains(id) => "< ",
                    () if after.contains(id) => "+ ",
                    () => "  ",
                };
                let count = node.changes.len();
                let many = if count > 1 { printable!(" ×{count}") } else { "".into() };
                let text = StyledLine::new(mark, Tone::Bold)
                    .with(node.class.symbol(), Tone::Class(node.class))
                    .with(printable!(" {}{many}", line(&node.address)), Tone::Plain);
                text.draw(buffer, place, palette, Style::new());
                if Some(*id) == selected {
                    fill(buffer, place, Palette::selected());
                }
            }
        }
        let Some(node) = node else { return };
        let place = |row: u16| Rect { y: rows_area.bottom().saturating_add(row), height: 1, ..area };
        if area.height >= 2 {
            StyledLine::new(line(&node.address), Tone::Bold).draw(buffer, place(0), palette, Style::new());
            let legend = printable!(
                "column {} of {}; depends on {} (<), needed by {} (+)",
                self.column + 1,
                self.columns.len(),
                node.depends_on.len(),
                node.dependents.len()
            );
            StyledLine::new(legend, Tone::Dim).draw(buffer, place(1), palette, Style::new());
        }
    }
}

/// Changes the first visible position so that the selected one is visible.
pub(crate) fn scroll(first: &mut usize, selected: usize, visible: usize) {
    let visible = visible.max(1);
    if selected < *first {
        *first = selected;
    } else if selected >= *first + visible {
        *first = selected + 1 - visible;
    }
}
