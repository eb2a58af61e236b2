//! The details of the selected row.

mod group;

use std::collections::HashSet;
use std::sync::Arc;

use wardian_printable::{PrintableText, append, printable};
use wardian_review::{
    AttributeChange, AttributeEffect, ChangeClass, ChangeId, ChangeKind, DifferenceLine, GroupedInvocations,
    PluginAccess, ReferencePlace, ReplaceOrder, ResourceId, Review, ReviewCause, ReviewWarning,
    ReviewedChange, ReviewedValue, SourcePosition, line_difference, omitted_start, omitted_starts,
};

use crate::list::{Row, event};
use crate::palette::Tone;
use crate::text::{MAX_VALUE_CHARACTERS, StyledLine, line, line_from};

/// Maximum number of attributes that are shown.
const MAX_ATTRIBUTES: usize = 2000;
/// Maximum number of lines of a text.
const MAX_TEXT_LINES: usize = 200;
/// Maximum number of invocations of one action.
const MAX_INVOCATIONS: usize = 50;
/// Maximum number of references with a number, which the user can follow.
pub(crate) const MAX_LINKS: usize = 9;

/// The details of a row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Detail {
    pub(crate) lines: Vec<StyledLine>,
    /// The changes to which references with the numbers 1 to 9 lead.
    pub(crate) links: Vec<ChangeId>,
    /// The position of the row's block.
    pub(crate) source: Option<SourcePosition>,
}

/// Collects the lines of a detail, broken to its width.
struct Writer<'a> {
    review: &'a Review,
    hidden: &'a HashSet<Arc<str>>,
    width: u16,
    detail: Detail,
}

impl Detail {
    /// Returns the details of a row for a width. The cost is linear in the size of the change.
    pub(crate) fn new(review: &Review, row: Option<Row>, hidden: &HashSet<Arc<str>>, width: u16) -> Self {
        let mut writer = Writer { review, hidden, width, detail: Self::default() };
        match row {
            None => writer.text("Nothing is selected."),
            Some(Row::Group(index)) => {
                if let Some(group) = review.groups.get(index) {
                    writer.group(group);
                }
            }
            Some(Row::Change { id, .. }) => {
                if let Some(change) = review.change(id) {
                    writer.change(change, Some(id));
                }
            }
            Some(Row::Heading(_)) => {}
            Some(Row::Drift(index)) => {
                if let Some(change) = review.drift.get(index) {
                    writer.drift(change);
                }
            }
            Some(Row::Output(index)) => {
                if let Some(output) = review.outputs.get(index) {
                    writer.push(StyledLine::new(printable!("output.{}", line(&output.name)), Tone::Bold), 2);
                    writer.attributes(&output.attributes);
                }
            }
            Some(Row::Finding(index)) => {
                if let Some(finding) = review.findings.get(index) {
                    writer.push(StyledLine::new(line(&finding.address), Tone::Bold), 2);
                    writer.push(StyledLine::new(finding.title(), Tone::Warning), 0);
                    for message in &finding.messages {
                        writer.lines_of(message);
                    }
                }
            }
            Some(Row::Warning(index)) => {
                if let Some(warning) = review.warnings.get(index) {
                    writer.warning(warning);
                }
            }
            Some(Row::Action(index)) => {
                if let Some(group) = review.invocation_groups.get(index) {
                    writer.invocations(group);
                }
            }
            Some(Row::Access(index)) => {
                if let Some(access) = review.accesses.get(index) {
                    writer.access(access);
                }
            }
        }
        writer.detail
    }
}

impl Writer<'_> {
    fn push(&mut self, text: StyledLine, indent: usize) {
        self.detail.lines.extend(text.wrapped(self.width, indent));
    }

    fn text(&mut self, text: impl Into<PrintableText>) {
        self.push(StyledLine::new(text, Tone::Plain), 2);
    }

    fn dim(&mut self, text: impl Into<PrintableText>) {
        self.push(StyledLine::new(text, Tone::Dim), 2);
    }

    fn heading(&mut self, text: &'static str) {
        self.detail.lines.push(StyledLine::default());
        self.push(StyledLine::new(text, Tone::Bold), 0);
    }

    fn lines_of(&mut self, text: &str) {
        for one in text.lines().take(MAX_TEXT_LINES) {
            self.text(line(one));
        }
    }

    /// Writes a change: with its actions and dependencies if it is planned and has an ID.
    fn change(&mut self, change: &ReviewedChange, id: Option<ChangeId>) {
        self.push(StyledLine::new(line(&change.address), Tone::Bold), 2);
        let mut about = action(change.kind);
        if let Some(reason) = &change.reason {
            about.push(printable!(": {}", line(reason.description())), Tone::Plain);
        }
        self.push(about, 2);
        if let Some(key) = &change.deposed {
            self.push(StyledLine::new(printable!("deposed object {}", line(key)), Tone::Warning), 2);
        }
        if let Some(from) = &change.moved_from {
            self.text(printable!("moved from {}", line(from)));
        }
        if let Some(id) = &change.imported_id {
            self.text(printable!("imported with the ID {}", line(id)));
        }
        let mut origin = line(&change.provider);
        if let Some(source) = &change.source {
            append!(origin, ", {}:{}", line(&source.file), source.line);
            self.detail.source = Some(source.clone());
        }
        self.dim(origin);
        self.causes(&change.causes, true);
        if !change.attributes.is_empty() || change.unchanged > 0 {
            self.heading("Attributes");
            self.attributes(&change.attributes);
            if change.unchanged > 0 {
                self.dim(printable!("  ({} unchanged)", change.unchanged));
            }
        }
        let Some(id) = id else { return };
        self.triggered_actions(id);
        if let Some(resource) = self.review.dependencies.find(&change.resource) {
            self.dependencies(resource);
        }
    }

    fn drift(&mut self, change: &ReviewedChange) {
        self.change(change, None);
        if self.review.is_relevant_drift(change) {
            self.detail.lines.push(StyledLine::default());
            self.text("Planned values depend on this change.");
        }
        if let Some(resource) = self.review.dependencies.find(&change.resource)
            && let Some(id) =
                self.review.dependencies.node(resource).and_then(|node| node.changes.first().copied())
        {
            self.heading("Planned changes");
            self.link(id, "planned: ", line(&change.resource));
        }
    }

    fn triggered_actions(&mut self, id: ChangeId) {
        let review = self.review;
        let mut invocations = review.invocations_by(id).peekable();
        if invocations.peek().is_some() {
            self.heading("Actions");
        }
        for invocation in invocations.take(MAX_ATTRIBUTES) {
            let trigger = invocation.trigger.as_ref().map(|trigger| &trigger.event);
            self.text(printable!("{}, {}", line(&invocation.address), event(trigger)));
        }
    }

    /// Writes the invocations of an action. Those of one object contain the configuration.
    fn invocations(&mut self, group: &GroupedInvocations) {
        let review = self.review;
        self.push(StyledLine::new(line(&group.action), Tone::Bold), 2);
        let count = group.members.len();
        let times = if count == 1 { PrintableText::new() } else { printable!("{count} invocations, ") };
        self.text(printable!("{times}{}", event(group.event.as_ref())));
        let members = || group.members.iter().filter_map(|id| review.invocation(*id));
        if let Some(first) = members().next() {
            self.dim(line(&first.provider));
        }
        for invocation in members().take(MAX_INVOCATIONS) {
            self.detail.lines.push(StyledLine::default());
            if count > 1 || *invocation.address != *group.action {
                self.push(StyledLine::new(line(&invocation.address), Tone::Bold), 2);
            }
            if let Some(trigger) = &invocation.trigger {
                match trigger.change {
                    Some(id) => self.link(id, "change of ", line(&trigger.object)),
                    None => self.text(printable!("change of {}", line(&trigger.object))),
                }
            }
            for argument in invocation.arguments.iter().take(MAX_ATTRIBUTES) {
                let text = StyledLine::new(line(argument.path.as_str()), Tone::Plain)
                    .with(" = ", Tone::Plain)
                    .with(short_value(&argument.value), Tone::Plain);
                self.push(text, 4);
            }
        }
        let more = count.saturating_sub(MAX_INVOCATIONS);
        if more > 0 {
            self.dim(printable!("and {more} more invocations"));
        }
    }

    fn warning(&mut self, warning: &ReviewWarning) {
        self.push(StyledLine::new(line(&warning.summary), Tone::Bold), 2);
        if let Some(source) = &warning.source {
            self.dim(printable!("{}:{}", line(&source.file), source.line));
            self.detail.source = Some(source.clone());
        }
        self.detail.lines.push(StyledLine::default());
        self.lines_of(&warning.detail);
    }

    fn access(&mut self, access: &PluginAccess) {
        self.push(StyledLine::new(line(&access.plugin), Tone::Bold), 2);
        let (decision, tone) =
            if access.is_denied { ("denied", Tone::Warning) } else { ("allowed", Tone::Bold) };
        let times =
            if access.count == 1 { PrintableText::new() } else { printable!(" {} times", access.count) };
        let text = StyledLine::new(decision, tone)
            .with(printable!("{times}: {} ", line(&access.capability)), Tone::Plain)
            .with(line(&access.target), Tone::Plain);
        self.push(text, 2);
        if let Some(reason) = &access.reason {
            self.lines_of(reason);
        }
        if let Some(rule) = &access.rule {
            self.dim(printable!("rule: {}", line(rule)));
        }
        if !access.objects.is_empty() {
            self.heading("For");
        }
        for object in access.objects.iter().take(MAX_TEXT_LINES) {
            self.text(line(object));
        }
    }

    /// Writes the causes of a change. If `has_links` is false, they do not refer to the changes of instances.
    fn causes(&mut self, causes: &[ReviewCause], has_links: bool) {
        if causes.is_empty() {
            return;
        }
        self.heading("Causes");
        for cause in causes {
            match cause {
                ReviewCause::Drift { attributes } => {
                    let mut text = PrintableText::from("changed outside of the configuration's runs");
                    append_list(&mut text, attributes.iter().map(|path| path.as_str()));
                    self.text(text);
                }
                ReviewCause::Upstream { resource, change, through } => {
                    let mut text = line(resource);
                    append_place(&mut text, through);
                    match change.or_else(|| self.first_change(resource)).filter(|_| has_links) {
                        Some(id) => self.link(id, "change of ", text),
                        None => self.text(printable!("change of {text}")),
                    }
                }
                ReviewCause::Variable { name, source, through } => {
                    let mut text = printable!("variable {}", line(name));
                    append_place(&mut text, through);
                    if let Some(source) = source {
                        append!(text, ", {}:{}", line(&source.file), source.line);
                    }
                    self.text(text);
                }
            }
        }
    }

    fn first_change(&self, resource: &str) -> Option<ChangeId> {
        let graph = &self.review.dependencies;
        graph.node(graph.find(resource)?)?.changes.first().copied()
    }

    fn dependencies(&mut self, resource: ResourceId) {
        let graph = &self.review.dependencies;
        let Some(node) = graph.node(resource) else { return };
        for (heading, others) in [("Depends on", &node.depends_on), ("Needed by", &node.dependents)] {
            if others.is_empty() {
                continue;
            }
            self.heading(heading);
            for other in others.iter().filter_map(|id| graph.node(*id)).take(MAX_TEXT_LINES) {
                let Some(first) = other.changes.first() else { continue };
                let count = other.changes.len();
                let suffix = if count > 1 { printable!(" ({count} changes)") } else { PrintableText::new() };
                let symbol = other.class.symbol();
                self.link(*first, "", printable!("{symbol} {}{suffix}", line(&other.address)));
            }
        }
        let affected = graph.affected(resource).len();
        if affected > node.dependents.len() {
            self.dim(printable!("  {affected} changing resources depend on it in all"));
        }
    }

    /// Writes a reference to a change. The first ones have numbers.
    fn link(&mut self, id: ChangeId, before: &'static str, text: PrintableText) {
        let number = self.detail.links.iter().position(|known| *known == id);
        let number = number.or_else(|| {
            let next = self.detail.links.len();
            (next < MAX_LINKS).then(|| {
                self.detail.links.push(id);
                next
            })
        });
        let mark = match number {
            Some(number) => printable!("[{}] ", number + 1),
            None => "    ".into(),
        };
        self.push(StyledLine::new(mark, Tone::Bold).with(before, Tone::Plain).with(text, Tone::Link), 4);
    }

    fn attributes(&mut self, attributes: &[AttributeChange]) {
        let shown = |one: &&AttributeChange| !self.hidden.contains(one.path.pattern());
        let hidden = attributes.len() - attributes.iter().filter(shown).count();
        let shown: Vec<&AttributeChange> = attributes.iter().filter(shown).collect();
        for attribute in shown.iter().take(MAX_ATTRIBUTES) {
            self.attribute(attribute);
        }
        let more = shown.len().saturating_sub(MAX_ATTRIBUTES);
        if more > 0 {
            self.dim(printable!("  and {more} more attributes"));
        }
        if hidden > 0 {
            self.dim(printable!("  ({hidden} hidden)"));
        }
    }

    fn attribute(&mut self, attribute: &AttributeChange) {
        let (symbol, class) = match attribute.effect() {
            AttributeEffect::Add => ("+", ChangeClass::Create),
            AttributeEffect::Remove => ("-", ChangeClass::Destroy),
            AttributeEffect::Change => ("~", ChangeClass::Update),
        };
        let mut text = StyledLine::new(symbol, Tone::Class(class))
            .with(" ", Tone::Plain)
            .with(line(attribute.path.as_str()), Tone::Plain);
        let texts = [&attribute.before, &attribute.after];
        let is_long = texts
            .into_iter()
            .flatten()
            .any(|value| matches!(value, ReviewedValue::Text(text) if text.contains('\n')));
        let forced = if attribute.forces_replacement { "  # forces replacement" } else { "" };
        if is_long {
            text.push(":", Tone::Plain);
            text.push(forced, Tone::Bold);
            self.push(text, 4);
            if let (Some(ReviewedValue::Text(before)), Some(ReviewedValue::Text(after))) =
                (&attribute.before, &attribute.after)
            {
                self.lines_that_differ(before, after);
            } else {
                self.long_value(false, attribute.before.as_ref());
                self.long_value(true, attribute.after.as_ref());
            }
            return;
        }
        match (&attribute.before, &attribute.after) {
            (Some(before), Some(after)) => {
                let [before, after] = changed_values(before, after);
                text.push(": ", Tone::Plain);
                text.push(before, Tone::Dim);
                text.push(" → ", Tone::Plain);
                text.push(after, Tone::Plain);
            }
            (Some(value), None) | (None, Some(value)) => {
                text.push(" = ", Tone::Plain);
                text.push(short_value(value), Tone::Plain);
            }
            (None, None) => {}
        }
        text.push(forced, Tone::Bold);
        self.push(text, 4);
    }

    /// Writes a value with one line for each of its lines.
    fn long_value(&mut self, is_added: bool, value: Option<&ReviewedValue>) {
        let Some(value) = value else { return };
        let ReviewedValue::Text(text) = value else {
            self.value_line(is_added, short_value(value));
            return;
        };
        let mut lines = text.split('\n');
        for one in lines.by_ref().take(MAX_TEXT_LINES) {
            self.value_line(is_added, line(one));
        }
        let more = lines.count();
        if more > 0 {
            self.dim(printable!("      and {more} more lines"));
        }
    }

    /// Writes the lines that differ between two texts.
    fn lines_that_differ(&mut self, before: &str, after: &str) {
        let lines = line_difference(before, after);
        let omitted = omitted_starts(&lines, MAX_VALUE_CHARACTERS);
        // The lines of each side are limited, so that one side does not hide the other.
        let (mut removed, mut added, mut others, mut more) = (0, 0, 0, 0);
        for (one, omitted) in lines.into_iter().zip(omitted) {
            let count = match one {
                DifferenceLine::Removed(_) => &mut removed,
                DifferenceLine::Added(_) => &mut added,
                DifferenceLine::Equal(_) | DifferenceLine::Skipped => &mut others,
                DifferenceLine::EndRemoved | DifferenceLine::EndAdded => &mut 0,
            };
            if *count >= MAX_TEXT_LINES {
                more += 1;
                continue;
            }
            *count += 1;
            match one {
                DifferenceLine::Removed(text) => self.value_line(false, line_from(text, omitted)),
                DifferenceLine::Added(text) => self.value_line(true, line_from(text, omitted)),
                DifferenceLine::Equal(text) => {
                    let start = StyledLine::new("      ", Tone::Plain);
                    self.push(start.with(line(text), Tone::Dim), 6);
                }
                DifferenceLine::Skipped => self.dim("      …"),
                DifferenceLine::EndRemoved => self.value_line(false, "(line break at the end)".into()),
                DifferenceLine::EndAdded => self.value_line(true, "(line break at the end)".into()),
            }
        }
        if more > 0 {
            self.dim(printable!("      and {more} more lines"));
        }
    }

    fn value_line(&mut self, is_added: bool, text: PrintableText) {
        let (mark, class) = if is_added { ("+", ChangeClass::Create) } else { ("-", ChangeClass::Destroy) };
        let start = StyledLine::new("    ", Tone::Plain).with(mark, Tone::Class(class));
        self.push(start.with(" ", Tone::Plain).with(text, Tone::Plain), 6);
    }
}

/// Appends the place of a reference: ` (a, b)`.
fn append_place(text: &mut PrintableText, place: &ReferencePlace) {
    match place {
        ReferencePlace::Attributes(attributes) => append_list(text, attributes.iter().map(|name| &**name)),
        ReferencePlace::Repetition => text.push(" (count or for_each)"),
        ReferencePlace::DependsOn => text.push(" (depends_on)"),
        ReferencePlace::Trigger => text.push(" (replace_triggered_by)"),
    }
}

/// Appends the first attributes of a list: ` (a, b)`.
fn append_list<'a>(text: &mut PrintableText, names: impl Iterator<Item = &'a str>) {
    let mut is_first = true;
    for name in names {
        text.push(if is_first { " (" } else { ", " });
        append!(text, "{}", line(name));
        is_first = false;
    }
    if !is_first {
        text.push(")");
    }
}

/// Returns the symbol of a kind of change and its meaning.
fn action(kind: ChangeKind) -> StyledLine {
    let meaning = match kind {
        ChangeKind::Replace(ReplaceOrder::DestroyFirst) => "replace, destroyed first",
        ChangeKind::Replace(ReplaceOrder::CreateFirst) => "replace, created first",
        ChangeKind::Replace(ReplaceOrder::ForgetFirst) => "replace, the old object is forgotten",
        ChangeKind::Update => "update in place",
        ChangeKind::Forget => "forget without destroying",
        ChangeKind::Read => "read during the apply",
        other => other.class().name(),
    };
    StyledLine::new(kind.class().symbol(), Tone::Class(kind.class()))
        .with(" ", Tone::Plain)
        .with(meaning, Tone::Bold)
}

/// Returns the values before and after a change, each in one line. Long texts that differ look different.
fn changed_values(before: &ReviewedValue, after: &ReviewedValue) -> [PrintableText; 2] {
    let omitted = match (before, after) {
        (ReviewedValue::Text(before), ReviewedValue::Text(after)) => {
            omitted_start(before, after, MAX_VALUE_CHARACTERS)
        }
        _ => 0,
    };
    [before, after].map(|value| short_value_from(value, omitted))
}

/// Returns a value in one line.
fn short_value(value: &ReviewedValue) -> PrintableText {
    short_value_from(value, 0)
}

/// Returns a value in one line. If it is a text, some of its first characters are omitted.
fn short_value_from(value: &ReviewedValue, omitted: usize) -> PrintableText {
    match value {
        ReviewedValue::Null => "null".into(),
        ReviewedValue::Unknown => "(known after apply)".into(),
        ReviewedValue::Sensitive => "(sensitive value)".into(),
        ReviewedValue::Bool(true) => "true".into(),
        ReviewedValue::Bool(false) => "false".into(),
        ReviewedValue::Number(number) => line(number),
        ReviewedValue::Text(text) => {
            let mut quoted = PrintableText::from("\"");
            append!(quoted, "{}", line_from(text, omitted));
            quoted.push("\"");
            if text.chars().nth(MAX_VALUE_CHARACTERS).is_some() {
                append!(quoted, " ({} bytes)", text.len());
            }
            quoted
        }
        ReviewedValue::EmptyList => "[]".into(),
        ReviewedValue::EmptyMap => "{}".into(),
    }
}
