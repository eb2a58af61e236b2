//! Draws the view.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::style::Style;
use unicode_width::UnicodeWidthStr as _;
use wardian_printable::{PrintableText, append, printable};
use wardian_review::ChangeClass;

use crate::detail::Detail;
use crate::graph::scroll;
use crate::help;
use crate::list::row_line;
use crate::palette::{Palette, Tone};
use crate::text::{StyledLine, end_of, fill, line};
use crate::view::{CachedDetail, Focus, Mode, ReviewView, ViewApproval};

/// The minimum size of the screen.
const MIN_WIDTH: u16 = 16;
const MIN_HEIGHT: u16 = 3;
/// The minimum height of a screen with list and details.
const MIN_SPLIT_HEIGHT: u16 = 10;
/// The minimum width of an answer that the user types.
const MIN_ANSWER_WIDTH: usize = 4;
/// The maximum width of a search text in the first line.
const MAX_FILTER_WIDTH: usize = 24;
/// The minimum width of a screen with the details next to the list.
const MIN_WIDE: u16 = 100;

impl ReviewView {
    /// Draws the view into an empty buffer. Returns the position of the cursor if the user types text.
    pub fn draw(&mut self, buffer: &mut Buffer) -> Option<Position> {
        let area = *buffer.area();
        if area.width < MIN_WIDTH || area.height < MIN_HEIGHT {
            let text = StyledLine::new("Enlarge the window, or press q.", Tone::Plain);
            for (y, part) in (area.y..area.bottom()).zip(text.wrapped(area.width.max(1), 0)) {
                part.draw(buffer, Rect { y, height: 1, ..area }, self.palette, Style::new());
            }
            return None;
        }
        let header = Rect { height: 1, ..area };
        let body = Rect { y: area.y + 1, height: area.height - 2, ..area };
        let footer = Rect { y: area.bottom() - 1, height: 1, ..area };
        self.draw_header(buffer, header);
        match self.mode {
            Mode::Help => {
                self.heights.0 = usize::from(body.height);
                self.help_top = help::draw(buffer, body, self.help_top, self.palette);
            }
            Mode::Graph => {
                if let Some(graph) = &mut self.graph {
                    graph.draw(&self.review, buffer, body, self.palette);
                }
            }
            Mode::Hide => {
                self.hidden.draw(&self.review, &self.filter.hidden, buffer, body, self.palette);
            }
            Mode::Browse | Mode::Search | Mode::Confirm(_) => self.draw_panes(buffer, body),
        }
        self.draw_footer(buffer, footer)
    }

    fn draw_panes(&mut self, buffer: &mut Buffer, body: Rect) {
        if body.height < MIN_SPLIT_HEIGHT {
            match self.focus {
                Focus::List => {
                    // The references of the selected row can be followed even if they are not shown.
                    self.update_detail(body.width);
                    self.draw_list(buffer, body);
                }
                Focus::Detail => self.draw_detail(buffer, body),
            }
            return;
        }
        if body.width >= MIN_WIDE {
            let list = Rect { width: body.width / 2, ..body };
            let separator = Rect { x: list.right(), width: 1, ..body };
            let detail = Rect { x: separator.right() + 1, width: body.width - list.width - 2, ..body };
            for y in separator.y..separator.bottom() {
                buffer.set_string(separator.x, y, "│", self.palette.style(Tone::Dim));
            }
            self.draw_list(buffer, list);
            self.draw_detail(buffer, detail);
            return;
        }
        let needed = u16::try_from(self.rows.len()).unwrap_or(u16::MAX).max(1);
        let list = Rect { height: needed.min(body.height / 2), ..body };
        let separator = Rect { y: list.bottom(), height: 1, ..body };
        let detail = Rect { y: separator.bottom(), height: body.height - list.height - 1, ..body };
        let rule = "─".repeat(usize::from(separator.width));
        buffer.set_string(separator.x, separator.y, rule, self.palette.style(Tone::Dim));
        self.draw_list(buffer, list);
        self.draw_detail(buffer, detail);
    }

    fn draw_list(&mut self, buffer: &mut Buffer, area: Rect) {
        self.heights.0 = usize::from(area.height);
        scroll(&mut self.top, self.selected, self.heights.0);
        if self.rows.is_empty() {
            let text = if self.filter.is_active() {
                "No change matches. x shows everything."
            } else {
                "The plan has no changes."
            };
            StyledLine::new(text, Tone::Plain).draw(buffer, area, self.palette, Style::new());
            return;
        }
        let rows = self.rows.iter().enumerate().skip(self.top);
        for (y, (index, row)) in (area.y..area.bottom()).zip(rows) {
            let is_selected = index == self.selected;
            let mark = Rect { y, width: 1, height: 1, ..area };
            if is_selected {
                StyledLine::new(">", Tone::Bold).draw(buffer, mark, self.palette, Style::new());
            }
            let place = Rect { x: area.x + 1, y, width: area.width.saturating_sub(1), height: 1 };
            row_line(&self.review, *row, &self.unfolded, place.width).draw(
                buffer,
                place,
                self.palette,
                Style::new(),
            );
            if is_selected && self.focus == Focus::List {
                fill(buffer, Rect { y, height: 1, ..area }, Palette::selected());
            }
        }
    }

    fn update_detail(&mut self, width: u16) {
        let row = self.row();
        let is_current =
            self.detail.as_ref().is_some_and(|cached| cached.row == row && cached.width == width);
        if !is_current {
            let detail = Detail::new(&self.review, row, &self.filter.hidden, width);
            self.detail = Some(CachedDetail { row, width, detail });
        }
    }

    fn draw_detail(&mut self, buffer: &mut Buffer, area: Rect) {
        self.update_detail(area.width);
        self.heights.1 = usize::from(area.height);
        let Some(cached) = &self.detail else { return };
        let lines = &cached.detail.lines;
        self.detail_top = self.detail_top.min(lines.len().saturating_sub(self.heights.1));
        for (y, text) in (area.y..area.bottom()).zip(lines.iter().skip(self.detail_top)) {
            text.draw(buffer, Rect { y, height: 1, ..area }, self.palette, Style::new());
        }
        let below = lines.len().saturating_sub(self.detail_top + self.heights.1);
        if below > 0 && area.height > 1 {
            let last = Rect { y: area.bottom() - 1, height: 1, ..area };
            buffer.set_stringn(
                last.x,
                last.y,
                " ".repeat(usize::from(last.width)),
                usize::from(last.width),
                Style::new(),
            );
            StyledLine::new(printable!("↓ {} more lines", below + 1), Tone::Dim).draw(
                buffer,
                last,
                self.palette,
                Style::new(),
            );
        }
    }

    fn draw_header(&self, buffer: &mut Buffer, area: Rect) {
        let review = &self.review;
        let mut text = StyledLine::new(" ", Tone::Plain);
        // A user who approves must not miss that the view does not show everything.
        if self.filter.is_active() {
            text.push(self.filter_text(), Tone::Warning);
            text.push(" │ ", Tone::Plain);
        }
        let mut is_first = true;
        for class in ChangeClass::ALL {
            let count = review.counts.count(class);
            if count > 0 {
                text.push(if is_first { "" } else { ", " }, Tone::Plain);
                text.push(printable!("{count} {}", class.name()), Tone::Bold);
                is_first = false;
            }
        }
        match review.invocations.len() {
            0 => {}
            count => {
                text.push(if is_first { "" } else { ", " }, Tone::Plain);
                text.push(
                    printable!("{count} {}", if count == 1 { "action" } else { "actions" }),
                    Tone::Bold,
                );
                is_first = false;
            }
        }
        if is_first {
            text.push("No changes", Tone::Bold);
        }
        if review.errored {
            text.push("  ", Tone::Plain);
            text.push("incomplete because of errors", Tone::Warning);
        }
        let denied = review.denied_accesses().len();
        let warned = [
            (review.findings.len(), "check failed", "checks failed"),
            (denied, "access denied", "accesses denied"),
            (review.warnings.len(), "warning", "warnings"),
        ];
        for (count, one, several) in warned.into_iter().filter(|(count, ..)| *count > 0) {
            text.push("  ", Tone::Plain);
            text.push(printable!("{count} {}", if count == 1 { one } else { several }), Tone::Warning);
        }
        text.push(printable!("  {}", line(&review.title)), Tone::Plain);
        text.draw(buffer, area, self.palette, Style::new());
        fill(buffer, area, Palette::bar());
    }

    /// Returns what the filter shows: `only: update /name`.
    fn filter_text(&self) -> PrintableText {
        let filter = &self.filter;
        let mut only = PrintableText::from("only:");
        for class in ChangeClass::ALL.into_iter().filter(|class| filter.classes.contains(class)) {
            append!(only, " {}", class.name());
        }
        if filter.has_only_findings {
            only.push(" findings");
        }
        if !filter.text.is_empty() {
            append!(only, " /{}", end_of(line(&filter.text), MAX_FILTER_WIDTH));
        }
        match filter.hidden.len() {
            0 => only,
            count => {
                let attributes = if count == 1 { "attribute" } else { "attributes" };
                let hidden = printable!("{count} {attributes} hidden");
                let is_alone =
                    filter.classes.is_empty() && filter.text.is_empty() && !filter.has_only_findings;
                if is_alone { hidden } else { printable!("{only}, {hidden}") }
            }
        }
    }

    fn draw_footer(&self, buffer: &mut Buffer, area: Rect) -> Option<Position> {
        let typed = |before: PrintableText, text: &str| {
            // The end of the text is visible.
            let width = usize::from(area.width).saturating_sub(before.as_str().width() + 1);
            let end = end_of(line(text), width);
            printable!("{before}{end}")
        };
        let (text, has_cursor) = match &self.mode {
            _ if self.notice.is_some() => (self.notice.clone().unwrap_or_default(), false),
            Mode::Search => (typed(" Search: ".into(), &self.filter.text), true),
            Mode::Confirm(answer) => {
                let verb = match self.settings.approval {
                    ViewApproval::Save => "Save",
                    ViewApproval::Apply | ViewApproval::None => "Apply",
                };
                let question = match self.hidden_changes {
                    0 => printable!(" {verb} the plan? Type yes: "),
                    1 => printable!(" {verb} with 1 change hidden? Type yes: "),
                    count => printable!(" {verb} with {count} changes hidden? Type yes: "),
                };
                let question = if question.as_str().width() + MIN_ANSWER_WIDTH > usize::from(area.width) {
                    match self.hidden_changes {
                        0 => " Type yes: ".into(),
                        count => printable!(" {count} hidden. yes? "),
                    }
                } else {
                    question
                };
                (typed(question, answer), true)
            }
            Mode::Help => (" Esc: back".into(), false),
            Mode::Graph => (" arrows: move  Enter: show  Esc: back".into(), false),
            Mode::Hide => (" space: hide or show  Esc: back".into(), false),
            Mode::Browse => {
                let position =
                    printable!(" {}/{}", (self.selected + 1).min(self.rows.len()), self.rows.len());
                let approve = match self.settings.approval {
                    ViewApproval::None => "",
                    ViewApproval::Apply => "  a: apply",
                    ViewApproval::Save => "  a: save",
                };
                let approve = PrintableText::from(approve);
                (
                    printable!(
                        "{position}  ?: help{approve}  q: quit  /: search  d r u c m f: filter  h: hide  g: graph  s: \
                         source"
                    ),
                    false,
                )
            }
        };
        let tone = if self.notice.is_some() { Tone::Bold } else { Tone::Plain };
        let used = StyledLine::new(text, tone).draw(buffer, area, self.palette, Style::new());
        fill(buffer, area, Palette::bar());
        has_cursor.then(|| Position::new(area.x + used.min(area.width - 1), area.y))
    }
}
