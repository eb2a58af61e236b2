//! The rows of the list: groups of changes, their members, and the other parts of the review.

use std::collections::HashSet;
use std::sync::Arc;

use wardian_printable::{PrintableText, append, printable};
use wardian_review::{ActionEvent, ChangeClass, ChangeId, ChangeKind, Review, ReviewedChange};

use crate::palette::Tone;
use crate::text::{StyledLine, end_of, line};

/// Maximum number of attributes that a row names.
const MAX_NAMED_ATTRIBUTES: usize = 3;

/// A row of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    /// A group of several changes, by its index.
    Group(usize),
    Change {
        id: ChangeId,
        /// Whether the row is below the row of its group.
        is_member: bool,
    },
    Heading(Section),
    Drift(usize),
    Output(usize),
    Finding(usize),
    Warning(usize),
    /// A group of invocations of an action.
    Action(usize),
    Access(usize),
}

/// A part of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Findings,
    Warnings,
    Actions,
    Drift,
    Outputs,
    Accesses,
}

impl Section {
    /// Whether the section is shown if only findings are shown.
    fn has_findings(self) -> bool {
        matches!(self, Self::Findings | Self::Warnings | Self::Actions | Self::Accesses)
    }
}

/// The user's selection of rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    /// The classes that are shown; all if it is empty.
    pub(crate) classes: HashSet<ChangeClass>,
    /// Whether no changes are shown, only actions, findings and accesses.
    pub(crate) has_only_findings: bool,
    /// The text that addresses, types or attributes contain.
    pub(crate) text: String,
    /// The patterns of hidden attributes.
    pub(crate) hidden: HashSet<Arc<str>>,
}

impl Filter {
    pub(crate) fn is_active(&self) -> bool {
        self.has_only_findings || !(self.classes.is_empty() && self.text.is_empty() && self.hidden.is_empty())
    }

    /// Returns the number of changes that are not shown. The cost is linear in the size of the plan.
    pub(crate) fn hidden_changes(&self, review: &Review) -> usize {
        review.changes.iter().filter(|change| !self.shows(change)).count()
    }

    /// Returns whether a change is shown. An update is not shown if all of its attributes are hidden;
    /// other changes are always shown.
    fn shows(&self, change: &ReviewedChange) -> bool {
        let is_hidden_update = || {
            !self.hidden.is_empty()
                && change.kind == ChangeKind::Update
                && !change.attributes.is_empty()
                && change.attributes.iter().all(|one| self.hidden.contains(one.path.pattern()))
        };
        !self.has_only_findings
            && (self.classes.is_empty() || self.classes.contains(&change.class()))
            && self.contains_text(change)
            && !is_hidden_update()
    }

    fn contains_text(&self, change: &ReviewedChange) -> bool {
        self.text.is_empty()
            || contains(&change.address, &self.text)
            || contains(&change.type_name, &self.text)
            || change.attributes.iter().any(|one| contains(one.path.as_str(), &self.text))
    }

    fn shows_text(&self, text: &str) -> bool {
        self.classes.is_empty() && (self.text.is_empty() || contains(text, &self.text))
    }
}

/// Returns whether a text contains another one, without regard to ASCII case.
fn contains(text: &str, part: &str) -> bool {
    let (text, part) = (text.as_bytes(), part.as_bytes());
    text.windows(part.len().max(1)).any(|window| window.eq_ignore_ascii_case(part))
}

/// Returns the rows that a filter shows. The cost is linear in the size of the plan.
pub(crate) fn rows(review: &Review, filter: &Filter, unfolded: &HashSet<usize>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (index, group) in review.groups.iter().enumerate() {
        let shown: Vec<ChangeId> =
            review.members(group).filter(|(_, change)| filter.shows(change)).map(|(id, _)| id).collect();
        let is_single = group.members.len() == 1;
        if !is_single && !shown.is_empty() {
            rows.push(Row::Group(index));
        }
        if is_single || unfolded.contains(&index) {
            rows.extend(shown.into_iter().map(|id| Row::Change { id, is_member: !is_single }));
        }
    }
    let mut section = |heading: Section, found: Vec<Row>| {
        if !found.is_empty() && (heading.has_findings() || !filter.has_only_findings) {
            rows.push(Row::Heading(heading));
            rows.extend(found);
        }
    };
    let findings = review.findings.iter().enumerate().filter(|(_, one)| filter.shows_text(&one.address));
    section(Section::Findings, findings.map(|(index, _)| Row::Finding(index)).collect());
    let warnings = review.warnings.iter().enumerate().filter(|(_, one)| filter.shows_text(&one.summary));
    section(Section::Warnings, warnings.map(|(index, _)| Row::Warning(index)).collect());
    let actions = review.invocation_groups.iter().enumerate();
    let actions = actions.filter(|(_, one)| filter.shows_text(&one.action));
    section(Section::Actions, actions.map(|(index, _)| Row::Action(index)).collect());
    let drift = review.drift.iter().enumerate().filter(|(_, one)| filter.shows_text(&one.address));
    section(Section::Drift, drift.map(|(index, _)| Row::Drift(index)).collect());
    let outputs = review.outputs.iter().enumerate().filter(|(_, one)| filter.shows_text(&one.name));
    section(Section::Outputs, outputs.map(|(index, _)| Row::Output(index)).collect());
    let accesses = review.accesses.iter().enumerate().filter(|(_, one)| filter.shows_text(&one.target));
    section(Section::Accesses, accesses.map(|(index, _)| Row::Access(index)).collect());
    rows
}

/// Returns the text of a row of a width.
pub(crate) fn row_line(review: &Review, row: Row, unfolded: &HashSet<usize>, width: u16) -> StyledLine {
    match row {
        Row::Group(index) => {
            let Some(group) = review.groups.get(index) else { return StyledLine::default() };
            let class = group.class();
            let mark = if unfolded.contains(&index) { "▾ " } else { "▸ " };
            let paths = group.attributes.iter().map(|one| one.path.as_str());
            StyledLine::new(mark, Tone::Plain)
                .with(class.symbol(), Tone::Class(class))
                .with(printable!(" {}× {}", group.members.len(), line(&group.type_name)), Tone::Bold)
                .with(named(paths), Tone::Dim)
                .with(if group.actions.is_empty() { "" } else { "  invokes actions" }, Tone::Dim)
        }
        Row::Change { id, is_member } => {
            let Some(change) = review.change(id) else { return StyledLine::default() };
            change_line(change, if is_member { "    " } else { "  " }, width)
        }
        Row::Heading(section) => StyledLine::new(
            match section {
                Section::Drift => "Changed outside of the configuration's runs",
                Section::Outputs => "Outputs",
                Section::Findings => "Checks",
                Section::Warnings => "Warnings",
                Section::Actions => "Actions",
                Section::Accesses => "Accesses of plugins",
            },
            Tone::Bold,
        ),
        Row::Drift(index) => review
            .drift
            .get(index)
            .map_or_else(StyledLine::default, |change| change_line(change, "  ", width)),
        Row::Output(index) => review.outputs.get(index).map_or_else(StyledLine::default, |output| {
            StyledLine::new("  ", Tone::Plain)
                .with(output.class.symbol(), Tone::Class(output.class))
                .with(printable!(" {}", line(&output.name)), Tone::Plain)
        }),
        Row::Finding(index) => review.findings.get(index).map_or_else(StyledLine::default, |finding| {
            marked(if finding.is_error { "error" } else { "failed" }, line(&finding.address))
        }),
        Row::Warning(index) => review
            .warnings
            .get(index)
            .map_or_else(StyledLine::default, |warning| marked("warning", line(&warning.summary))),
        Row::Action(index) => review.invocation_groups.get(index).map_or_else(StyledLine::default, |group| {
            let count = group.members.len();
            let times = if count == 1 { PrintableText::new() } else { printable!("{count}× ") };
            StyledLine::new("  ", Tone::Plain)
                .with(times, Tone::Bold)
                .with(line(&group.action), Tone::Plain)
                .with(printable!("  {}", event(group.event.as_ref())), Tone::Dim)
        }),
        Row::Access(index) => review.accesses.get(index).map_or_else(StyledLine::default, |access| {
            let text = printable!("{} {}", line(&access.capability), line(&access.target));
            let plugin = printable!("  {}", line(&access.plugin));
            if access.is_denied {
                marked("denied", text)
            } else {
                StyledLine::new("  ", Tone::Plain).with(text, Tone::Plain)
            }
            .with(plugin, Tone::Dim)
        }),
    }
}

/// Returns a row that begins with a word that a reviewer must not miss.
fn marked(word: &'static str, text: PrintableText) -> StyledLine {
    StyledLine::new("  ", Tone::Plain)
        .with(word, Tone::Warning)
        .with(" ", Tone::Plain)
        .with(text, Tone::Plain)
}

/// Returns the event that triggers an action.
pub(crate) fn event(event: Option<&ActionEvent>) -> PrintableText {
    event.map_or_else(|| "requested with -invoke".into(), |event| line(event.description()))
}

fn change_line(change: &ReviewedChange, indent: &'static str, width: u16) -> StyledLine {
    let class = change.class();
    let used = indent.len() + class.symbol().len() + 1;
    let address = end_of(line(&change.address), usize::from(width).saturating_sub(used));
    let mut text = StyledLine::new(indent, Tone::Plain)
        .with(class.symbol(), Tone::Class(class))
        .with(printable!(" {address}"), Tone::Plain);
    if change.deposed.is_some() {
        text.push(" (deposed)", Tone::Warning);
    }
    if class == ChangeClass::Replace {
        text.push(named(change.forced_by.iter().map(|path| path.as_str())), Tone::Dim);
    } else if class == ChangeClass::Update {
        text.push(named(change.attributes.iter().map(|one| one.path.as_str())), Tone::Dim);
    }
    text
}

/// Returns the first attributes of a change.
fn named<'a>(paths: impl Iterator<Item = &'a str>) -> PrintableText {
    let mut text = PrintableText::new();
    for (index, path) in paths.take(MAX_NAMED_ATTRIBUTES + 1).enumerate() {
        if index == MAX_NAMED_ATTRIBUTES {
            text.push(", …");
            break;
        }
        text.push(if index == 0 { "  " } else { ", " });
        append!(text, "{}", line(path));
    }
    text
}
