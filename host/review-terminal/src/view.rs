//! The state of the view, and the keys that change it.

use std::collections::HashSet;
use std::sync::Arc;

use wardian_printable::{PrintableText, printable};
use wardian_review::{ChangeClass, ChangeId, Review, SourcePosition};

use crate::detail::Detail;
use crate::graph::GraphView;
use crate::hidden::HiddenList;
use crate::list::{Filter, Row, rows};
use crate::palette::Palette;

/// Maximum length of a typed text.
const MAX_TYPED: usize = 200;
/// Maximum number of changes to which the user can return.
const MAX_HISTORY: usize = 100;

/// The effect of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewApproval {
    /// Nothing can be approved.
    None,
    /// The plan is applied.
    Apply,
    /// The plan is saved.
    Save,
}

#[derive(Clone, Copy, Debug)]
pub struct ViewSettings {
    pub has_color: bool,
    pub approval: ViewApproval,
    /// Whether source lines can be opened in an editor.
    pub has_editor: bool,
}

/// A key that the user has pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewKey {
    Char(char),
    Enter,
    Escape,
    Backspace,
    Tab,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-Z.
    Suspend,
}

/// An effect that the caller carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewEffect {
    /// The view may have changed and must be drawn.
    Draw,
    /// The user has approved the plan, and the view ends.
    Approve,
    /// The view ends without approval.
    Quit,
    OpenSource(SourcePosition),
    Suspend,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Focus {
    List,
    Detail,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Browse,
    /// The user types the text of the filter.
    Search,
    /// The user types an answer.
    Confirm(String),
    Help,
    Graph,
    Hide,
}

/// The details of the selected row, broken into lines for a width.
#[derive(Clone, Debug)]
pub(crate) struct CachedDetail {
    pub(crate) row: Option<Row>,
    pub(crate) width: u16,
    pub(crate) detail: Detail,
}

/// The terminal view of a review.
#[derive(Debug)]
pub struct ReviewView {
    pub(crate) review: Arc<Review>,
    pub(crate) settings: ViewSettings,
    pub(crate) palette: Palette,
    pub(crate) filter: Filter,
    pub(crate) unfolded: HashSet<usize>,
    pub(crate) rows: Vec<Row>,
    pub(crate) selected: usize,
    /// The first row on the screen.
    pub(crate) top: usize,
    pub(crate) focus: Focus,
    pub(crate) mode: Mode,
    pub(crate) detail: Option<CachedDetail>,
    /// The first line of the details on the screen.
    pub(crate) detail_top: usize,
    pub(crate) graph: Option<GraphView>,
    pub(crate) hidden: HiddenList,
    /// The number of changes that the filter did not show when the user began to approve the plan.
    pub(crate) hidden_changes: usize,
    pub(crate) help_top: usize,
    /// A message in the last line, until the next key.
    pub(crate) notice: Option<PrintableText>,
    /// The heights of the list and the details at the last frame.
    pub(crate) heights: (usize, usize),
    /// Rows to which the user can return.
    history: Vec<Row>,
}

impl ReviewView {
    /// Creates the view. The cost is linear in the size of the plan.
    pub fn new(review: Arc<Review>, settings: ViewSettings) -> Self {
        let mut view = Self {
            palette: Palette { has_color: settings.has_color },
            review,
            settings,
            filter: Filter::default(),
            unfolded: HashSet::new(),
            rows: Vec::new(),
            selected: 0,
            top: 0,
            focus: Focus::List,
            mode: Mode::Browse,
            detail: None,
            detail_top: 0,
            graph: None,
            hidden: HiddenList::default(),
            hidden_changes: 0,
            help_top: 0,
            notice: None,
            heights: (1, 1),
            history: Vec::new(),
        };
        view.update_rows();
        view
    }

    /// Shows a message until the next key.
    pub fn notify(&mut self, notice: PrintableText) {
        self.notice = Some(notice);
    }

    /// Handles a key. A key that changes the filter, or selects a change by a reference, costs time in
    /// proportion to the plan.
    pub fn press(&mut self, key: ViewKey) -> ViewEffect {
        self.notice = None;
        match key {
            ViewKey::Interrupt => return ViewEffect::Quit,
            ViewKey::Suspend => return ViewEffect::Suspend,
            _ => {}
        }
        match &mut self.mode {
            Mode::Browse => return self.browse(key),
            Mode::Search => self.search(key),
            Mode::Confirm(answer) => match key {
                ViewKey::Char(character) if answer.len() < MAX_TYPED => answer.push(character),
                ViewKey::Backspace => drop(answer.pop()),
                ViewKey::Escape => self.mode = Mode::Browse,
                ViewKey::Enter => {
                    let is_yes = answer.trim() == "yes";
                    self.mode = Mode::Browse;
                    if is_yes {
                        return ViewEffect::Approve;
                    }
                    self.notify("The answer is not \"yes\", so nothing was approved.".into());
                }
                _ => {}
            },
            Mode::Help => match key {
                ViewKey::Up | ViewKey::Char('k') => self.help_top = self.help_top.saturating_sub(1),
                ViewKey::Down | ViewKey::Char('j') => self.help_top += 1,
                ViewKey::PageUp => self.help_top = self.help_top.saturating_sub(self.heights.0),
                ViewKey::PageDown => self.help_top += self.heights.0,
                _ => self.mode = Mode::Browse,
            },
            Mode::Graph => match key {
                ViewKey::Escape | ViewKey::Char('g' | 'q') => self.mode = Mode::Browse,
                ViewKey::Enter => {
                    self.mode = Mode::Browse;
                    if let Some(id) = self.graph.as_ref().and_then(|graph| graph.change(&self.review)) {
                        self.follow(id);
                    }
                }
                key => {
                    if let Some(graph) = &mut self.graph {
                        graph.press(key);
                    }
                }
            },
            Mode::Hide => match key {
                ViewKey::Escape | ViewKey::Char('h' | 'q') => self.mode = Mode::Browse,
                key => {
                    if self.hidden.press(key, &self.review, &mut self.filter.hidden) {
                        self.update_rows();
                    }
                }
            },
        }
        ViewEffect::Draw
    }

    fn search(&mut self, key: ViewKey) {
        match key {
            ViewKey::Char(character) if self.filter.text.len() < MAX_TYPED => {
                self.filter.text.push(character);
                self.update_rows();
            }
            ViewKey::Backspace => {
                self.filter.text.pop();
                self.update_rows();
            }
            ViewKey::Escape => {
                self.filter.text.clear();
                self.mode = Mode::Browse;
                self.update_rows();
            }
            ViewKey::Enter => self.mode = Mode::Browse,
            ViewKey::Up => self.step(-1),
            ViewKey::Down => self.step(1),
            _ => {}
        }
    }

    fn browse(&mut self, key: ViewKey) -> ViewEffect {
        let (list_page, detail_page) = (self.heights.0.max(2) - 1, self.heights.1.max(2) - 1);
        match key {
            ViewKey::Char('q') => return ViewEffect::Quit,
            ViewKey::Char('s') => return self.open_source(),
            ViewKey::Char('a') => self.ask_for_approval(),
            ViewKey::Char('?') => {
                self.help_top = 0;
                self.mode = Mode::Help;
            }
            ViewKey::Char('/') => self.mode = Mode::Search,
            ViewKey::Char('h') => self.mode = Mode::Hide,
            ViewKey::Char('g') => {
                let selected = self.selected_change().and_then(|id| {
                    let resource = &self.review.change(id)?.resource;
                    self.review.dependencies.find(resource)
                });
                self.graph = Some(GraphView::new(&self.review.dependencies, selected));
                self.mode = Mode::Graph;
            }
            ViewKey::Char('d') => self.toggle(&[ChangeClass::Destroy]),
            ViewKey::Char('r') => self.toggle(&[ChangeClass::Replace]),
            ViewKey::Char('u') => self.toggle(&[ChangeClass::Update]),
            ViewKey::Char('c') => self.toggle(&[ChangeClass::Create]),
            ViewKey::Char('m') => {
                self.toggle(&[
                    ChangeClass::Move,
                    ChangeClass::Import,
                    ChangeClass::Forget,
                    ChangeClass::Read,
                ]);
            }
            ViewKey::Char('f') => {
                self.filter.has_only_findings = !self.filter.has_only_findings;
                self.update_rows();
            }
            ViewKey::Char('x') | ViewKey::Escape => {
                self.filter = Filter::default();
                self.update_rows();
            }
            ViewKey::Char('+') => {
                self.unfolded = (0..self.review.groups.len()).collect();
                self.update_rows();
            }
            ViewKey::Char('-') => {
                self.unfolded.clear();
                self.update_rows();
            }
            ViewKey::Char(digit @ '1'..='9') => {
                let number = digit.to_digit(10).unwrap_or(1) as usize;
                let links = self.detail.as_ref().map(|cached| &cached.detail.links);
                match links.and_then(|links| links.get(number - 1)).copied() {
                    Some(id) => self.follow(id),
                    None => self.notify(printable!("There is no reference with the number {number}.")),
                }
            }
            ViewKey::Backspace => {
                if let Some(row) = self.history.pop() {
                    self.show_row(row);
                }
            }
            ViewKey::Tab => {
                self.focus = if self.focus == Focus::List { Focus::Detail } else { Focus::List };
            }
            ViewKey::Enter | ViewKey::Right | ViewKey::Char(' ' | 'l') => self.unfold(),
            ViewKey::Left => self.fold(),
            key if self.focus == Focus::Detail => match key {
                ViewKey::Up | ViewKey::Char('k') => self.detail_top = self.detail_top.saturating_sub(1),
                ViewKey::Down | ViewKey::Char('j') => self.detail_top += 1,
                ViewKey::PageUp => self.detail_top = self.detail_top.saturating_sub(detail_page),
                ViewKey::PageDown => self.detail_top += detail_page,
                ViewKey::Home => self.detail_top = 0,
                ViewKey::End => self.detail_top = usize::MAX / 2,
                _ => {}
            },
            ViewKey::Up | ViewKey::Char('k') => self.step(-1),
            ViewKey::Down | ViewKey::Char('j') => self.step(1),
            ViewKey::PageUp => self.select(self.selected.saturating_sub(list_page)),
            ViewKey::PageDown => self.select(self.selected + list_page),
            ViewKey::Home => self.select(0),
            ViewKey::End => self.select(usize::MAX),
            _ => {}
        }
        ViewEffect::Draw
    }

    fn open_source(&mut self) -> ViewEffect {
        if !self.settings.has_editor {
            self.notify(
                "No editor is started: VISUAL or EDITOR must be set, and the plan must not be of -untrusted."
                    .into(),
            );
            return ViewEffect::Draw;
        }
        match self.detail.as_ref().and_then(|cached| cached.detail.source.clone()) {
            Some(source) => ViewEffect::OpenSource(source),
            None => {
                self.notify("The source of this row is not known.".into());
                ViewEffect::Draw
            }
        }
    }

    fn ask_for_approval(&mut self) {
        match self.settings.approval {
            ViewApproval::None => {
                self.notify(
                    "Nothing can be approved here: use `apply -review`, or `plan -review -out=FILE`.".into(),
                );
            }
            _ if self.review.errored => {
                self.notify("The plan is incomplete because of errors, so it cannot be approved.".into());
            }
            ViewApproval::Apply | ViewApproval::Save => {
                self.hidden_changes = self.filter.hidden_changes(&self.review);
                self.mode = Mode::Confirm(String::new());
            }
        }
    }

    /// Shows only changes of some classes, in addition to those that are shown by the same keys.
    fn toggle(&mut self, classes: &[ChangeClass]) {
        if classes.iter().all(|class| self.filter.classes.contains(class)) {
            self.filter.classes.retain(|class| !classes.contains(class));
        } else {
            self.filter.classes.extend(classes);
        }
        self.update_rows();
    }

    fn unfold(&mut self) {
        match self.row() {
            Some(Row::Group(index)) if self.focus == Focus::List => {
                if !self.unfolded.remove(&index) {
                    self.unfolded.insert(index);
                }
                self.update_rows();
            }
            _ => self.focus = Focus::Detail,
        }
    }

    fn fold(&mut self) {
        if self.focus == Focus::Detail {
            self.focus = Focus::List;
            return;
        }
        let group = match self.row() {
            Some(Row::Group(index)) => Some(index),
            Some(Row::Change { id, is_member: true }) => self.group_of(id),
            _ => None,
        };
        if let Some(index) = group {
            self.unfolded.remove(&index);
            self.update_rows();
            self.show_row(Row::Group(index));
        }
    }

    fn group_of(&self, id: ChangeId) -> Option<usize> {
        self.review.groups.iter().position(|group| group.members.contains(&id))
    }

    pub(crate) fn row(&self) -> Option<Row> {
        self.rows.get(self.selected).copied()
    }

    fn selected_change(&self) -> Option<ChangeId> {
        match self.row()? {
            Row::Change { id, .. } => Some(id),
            Row::Group(index) => self.review.groups.get(index)?.members.first().copied(),
            _ => None,
        }
    }

    /// Selects the row of a change, and remembers the selected row. The group of the change is unfolded.
    fn follow(&mut self, id: ChangeId) {
        if let Some(row) = self.row() {
            self.history.push(row);
            let excess = self.history.len().saturating_sub(MAX_HISTORY);
            self.history.drain(..excess);
        }
        let Some(index) = self.group_of(id) else { return };
        let is_member = self.review.groups.get(index).is_some_and(|group| group.members.len() > 1);
        self.show_row(Row::Change { id, is_member });
    }

    /// Selects a row, which is unfolded or removed from the filter if necessary.
    fn show_row(&mut self, row: Row) {
        if !self.rows.contains(&row) {
            if let Row::Change { id, is_member: true } = row {
                self.unfolded.extend(self.group_of(id));
            }
            self.update_rows();
            if !self.rows.contains(&row) {
                self.filter = Filter::default();
                self.update_rows();
            }
        }
        if let Some(index) = self.rows.iter().position(|one| *one == row) {
            self.select(index);
        }
    }

    /// Selects a row. A heading is never the last row, and the row below it is selected instead.
    fn select(&mut self, index: usize) {
        self.selected = index.min(self.rows.len().saturating_sub(1));
        if matches!(self.row(), Some(Row::Heading(_))) {
            self.selected += 1;
        }
        self.detail_top = 0;
    }

    /// Selects the next or the previous row that is not a heading.
    fn step(&mut self, direction: isize) {
        let mut index = self.selected;
        while let Some(next) = index.checked_add_signed(direction).filter(|next| *next < self.rows.len()) {
            index = next;
            if !matches!(self.rows.get(index), Some(Row::Heading(_))) {
                self.select(index);
                return;
            }
        }
    }

    /// Determines the rows again. The selected row remains selected if it is still shown.
    fn update_rows(&mut self) {
        let selected = self.row();
        self.rows = rows(&self.review, &self.filter, &self.unfolded);
        self.detail = None;
        let index = selected.and_then(|row| self.rows.iter().position(|one| *one == row));
        match index {
            Some(index) => self.selected = index,
            None => self.select(0),
        }
    }
}
